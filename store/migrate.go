package store

import (
	"fmt"
	"strconv"
)

// migration makes a store of schema n into one of schema n+1.
type migration func(Tx) error

// migrations are those from schema 1 on: none yet.
func migrations() []migration { return nil }

// migrate brings a store to the schema that follows from steps, all in one transaction; a new store is of that schema at
// once. It refuses a store of a later one.
func migrate(tx Tx, steps []migration) error {
	want := len(steps) + 1
	stored, err := schemaOf(tx, want)
	if err != nil {
		return err
	}
	have := stored
	if stored == 0 {
		have = want
	}
	for ; have < want; have++ {
		if err := steps[have-1](tx); err != nil {
			return fmt.Errorf("from schema %d to %d: %w", have, have+1, err)
		}
	}
	if stored != want {
		return tx.Put(bucketMeta, "schema", []byte(strconv.Itoa(want)))
	}
	return nil
}

// schemaOf is the schema of a store, 0 of a new one. Later ones than the latest known are an error.
func schemaOf(tx Tx, latest int) (int, error) {
	b, err := tx.Get(bucketMeta, "schema")
	if err != nil || b == nil {
		return 0, err
	}
	schema, err := strconv.Atoi(string(b))
	if err != nil || schema < 1 {
		return 0, fmt.Errorf("schema %q is no number", b)
	}
	if schema > latest {
		return 0, fmt.Errorf("%w: schema %d, this version reads up to %d", ErrNewer, schema, latest)
	}
	return schema, nil
}
