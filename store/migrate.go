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
	b, err := tx.Get(bucketMeta, "schema")
	if err != nil {
		return err
	}
	have := want
	if b != nil {
		if have, err = strconv.Atoi(string(b)); err != nil || have < 1 {
			return fmt.Errorf("schema %q is no number", b)
		}
		if have > want {
			return fmt.Errorf("%w: schema %d, this version reads up to %d", ErrNewer, have, want)
		}
	}
	for ; have < want; have++ {
		if err := steps[have-1](tx); err != nil {
			return fmt.Errorf("from schema %d to %d: %w", have, have+1, err)
		}
	}
	if now := strconv.Itoa(want); now != string(b) {
		return tx.Put(bucketMeta, "schema", []byte(now))
	}
	return nil
}
