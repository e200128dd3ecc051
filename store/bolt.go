package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// File is the name of the database in its directory.
const File = "evenflow.db"

// fill is how full pages are left that are written: most keys are written in ascending order, after which nothing comes between.
const fill = 0.9

// lockWait is how long the lock of a process that is just ending is waited for.
const lockWait = time.Second

// Open opens the store of a data directory, both of which are created if absent. Errors are [ErrLocked] and [ErrNewer].
func Open(dir string) (Store, error) { return open(dir, migrations()) }

func open(dir string, steps []migration) (Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	path := filepath.Join(dir, File)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("store: data directory %s: %w", dir, ErrLocked)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", path, err)
	}
	err = syncDir(dir) // the file's name must outlive a crash as its data does
	if err == nil {
		err = db.Update(func(tx *bbolt.Tx) error {
			for _, name := range buckets() {
				if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
					return err
				}
			}
			return migrate(boltTx{tx}, steps)
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store: %s: %w", path, err), db.Close())
	}
	return boltStore{db}, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type boltStore struct{ db *bbolt.DB }

func (s boltStore) View(f func(Tx) error) error {
	return boltError(s.db.View(func(tx *bbolt.Tx) error { return f(boltTx{tx}) }))
}

func (s boltStore) Update(f func(Tx) error) error {
	return boltError(s.db.Update(func(tx *bbolt.Tx) error { return f(boltTx{tx}) }))
}

func (s boltStore) Close() error { return s.db.Close() }

func boltError(err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return ErrClosed
	case errors.Is(err, bolterrors.ErrTxNotWritable):
		return ErrReadOnly
	}
	return err
}

type boltTx struct{ tx *bbolt.Tx }

func (t boltTx) bucket(name string) (*bbolt.Bucket, error) {
	b := t.tx.Bucket([]byte(name))
	if b == nil {
		return nil, fmt.Errorf("store: %w: %q", ErrBucket, name)
	}
	return b, nil
}

func (t boltTx) Get(bucket, key string) ([]byte, error) {
	b, err := t.bucket(bucket)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(b.Get([]byte(key))), nil
}

func (t boltTx) Put(bucket, key string, value []byte) error {
	b, err := t.bucket(bucket)
	if err != nil {
		return err
	}
	b.FillPercent = fill
	if err := b.Put([]byte(key), bytes.Clone(value)); err != nil {
		return fmt.Errorf("store: put %s/%s: %w", bucket, key, boltError(err))
	}
	return nil
}

func (t boltTx) Delete(bucket, key string) error {
	b, err := t.bucket(bucket)
	if err != nil {
		return err
	}
	if err := b.Delete([]byte(key)); err != nil {
		return fmt.Errorf("store: delete %s/%s: %w", bucket, key, boltError(err))
	}
	return nil
}

func (t boltTx) List(bucket string, each func(string, []byte) error) error {
	b, err := t.bucket(bucket)
	if err != nil {
		return err
	}
	return b.ForEach(func(k, v []byte) error { return each(string(k), bytes.Clone(v)) })
}
