package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Restore makes a backup the store of a data directory, which is created if absent. Nothing is changed unless the backup is
// whole. A store that is there already is replaced only if force is set, else the error is [ErrStore]; one that is in use never,
// [ErrLocked]. Ids that the replaced store has given out are not given again.
func Restore(dir string, r io.Reader, force bool) (c Contents, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, fmt.Errorf("store: %w", err)
	}
	path := filepath.Join(dir, File)
	old, err := openOld(path, force)
	if err != nil {
		return c, err
	}
	if old != nil {
		defer func() { err = errors.Join(err, old.Close()) }() // it is locked until it has been replaced
	}
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) { // of a restore that was killed
		return c, fmt.Errorf("store: %w", err)
	}
	defer os.Remove(next) //nolint:errcheck // it is gone if all went well
	if err := unpack(r, next); err != nil {
		return c, fmt.Errorf("store: backup: %w", err)
	}
	if c, err = check(next); err != nil {
		return c, fmt.Errorf("store: backup: %w", err)
	}
	if old != nil {
		err = keepSequences(old, next)
	}
	if err == nil {
		err = keepOwner(dir, next)
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return c, fmt.Errorf("store: %s: %w", path, err)
	}
	return c, nil
}

// openOld opens the store that is to be replaced, nil if there is none. A file that is no store may be replaced too.
func openOld(path string, force bool) (*bbolt.DB, error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("store: %s: %w", path, ErrLocked)
	case !force:
		if err == nil {
			err = db.Close()
		}
		return nil, errors.Join(fmt.Errorf("store: %s: %w", path, ErrStore), err)
	case err != nil:
		return nil, nil // broken: nothing can be taken from it
	}
	return db, nil
}

// keepSequences raises the sequences of ids in a new database to those of the old one.
func keepSequences(old *bbolt.DB, path string) (err error) {
	next, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, next.Close()) }()
	return old.View(func(from *bbolt.Tx) error {
		ids := from.Bucket([]byte(bucketIDs))
		if ids == nil {
			return nil
		}
		return next.Update(func(to *bbolt.Tx) error {
			mine := to.Bucket([]byte(bucketIDs))
			return ids.ForEach(func(sequence, last []byte) error {
				if have := mine.Get(sequence); len(last) == 8 && (len(have) != 8 || binary.BigEndian.Uint64(have) < binary.BigEndian.Uint64(last)) {
					return mine.Put(sequence, last)
				}
				return nil
			})
		})
	})
}

// keepOwner gives a file to the owner of its directory: root may restore what a service with a user of its own reads.
func keepOwner(dir, path string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		return os.Chown(path, int(sys.Uid), int(sys.Gid))
	}
	return nil
}
