package store

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// A backup is the database's file, gzipped: that adds a checksum and a mark of its end, which the file has not.

// Backup writes a backup of one state of the store; writes go on meanwhile.
func (s boltStore) Backup(w io.Writer) error {
	z := gzip.NewWriter(w)
	if err := s.db.View(func(tx *bbolt.Tx) error { _, err := tx.WriteTo(z); return err }); err != nil {
		return fmt.Errorf("store: backup: %w", boltError(err))
	}
	return z.Close()
}

// Backup writes a backup of the store in a data directory that no evenflow uses, else the error is [ErrLocked]. A directory
// without a store is an error.
func Backup(dir string, w io.Writer) error {
	path := filepath.Join(dir, File)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, ReadOnly: true})
	if errors.Is(err, bolterrors.ErrTimeout) {
		err = ErrLocked
	}
	if err != nil {
		return fmt.Errorf("store: %s: %w", path, err)
	}
	return errors.Join(boltStore{db}.Backup(w), db.Close())
}

// Contents is what a backup holds.
type Contents struct {
	Schema int
	VIPs   int
}

// Check reads a backup to its end and says what it holds. Errors are [ErrDamaged] and [ErrNewer].
func Check(r io.Reader) (Contents, error) {
	dir, err := os.MkdirTemp("", "evenflow-check-*")
	if err != nil {
		return Contents{}, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // in the system's directory for such things
	path := filepath.Join(dir, File)
	if err := unpack(r, path); err != nil {
		return Contents{}, err
	}
	return check(path)
}

// unpack writes the database of a backup into a new file, which is on disk when it returns.
func unpack(r io.Reader, path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewReader(r)
	if err == nil {
		_, err = io.Copy(f, z)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends too early", ErrDamaged)
	case errors.Is(err, gzip.ErrHeader):
		return fmt.Errorf("%w: it is no backup", ErrDamaged)
	case errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	case err != nil:
		return err
	}
	return f.Sync()
}

// check opens a database that nobody uses, changes nothing, and reads all of it.
func check(path string) (c Contents, err error) {
	// bbolt trusts its file: it would read beyond the end of one that is too short, which ends the process.
	size, err := os.Stat(path)
	if err != nil {
		return c, err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > size.Size() {
			return fmt.Errorf("%w: %d bytes of %d", ErrDamaged, size.Size(), tx.Size())
		}
		var first error
		for err := range tx.Check() { // to its end, which its goroutine needs
			if first == nil {
				first = fmt.Errorf("%w: %w", ErrDamaged, err)
			}
		}
		if first != nil {
			return first
		}
		for _, name := range buckets() {
			if tx.Bucket([]byte(name)) == nil && name != BucketEvents { // which came later, and is made when it is missing
				return fmt.Errorf("%w: it has no bucket %q", ErrDamaged, name)
			}
		}
		schema, err := schemaOf(boltTx{tx}, len(migrations())+1)
		c = Contents{Schema: schema, VIPs: tx.Bucket([]byte(BucketVIPs)).Stats().KeyN}
		return err
	})
	return c, err
}
