package store

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

func backup(t *testing.T, s Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Backup(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// filled is a store with n VIPs, and a value that takes pages of its own.
func filled(t *testing.T, dir string, n int) Store {
	t.Helper()
	s := mustOpen(t, dir)
	update(t, s, func(tx Tx) error {
		for range n {
			id, err := NextID(tx, "vips", 1000)
			if err := errors.Join(err, tx.Put(BucketVIPs, IDKey(id), fmt.Append(nil, "vip ", id))); err != nil {
				return err
			}
		}
		return tx.Put(BucketConfig, "large", bytes.Repeat([]byte("x"), 20000))
	})
	return s
}

func TestBackupAndRestore(t *testing.T) {
	s := filled(t, t.TempDir(), 3)
	want := dump(t, s, BucketVIPs)
	b := backup(t, s)
	update(t, s, func(tx Tx) error { return tx.Put(BucketVIPs, "later", nil) })
	s.Close()
	if c, err := Check(bytes.NewReader(b)); err != nil || c != (Contents{Schema: 1, VIPs: 3}) {
		t.Errorf("check: %+v, %v", c, err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	if c, err := Restore(dir, bytes.NewReader(b), false); err != nil || c.VIPs != 3 {
		t.Fatalf("restore: %+v, %v", c, err)
	}
	s = mustOpen(t, dir)
	if got := dump(t, s, BucketVIPs); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Close()
	if names := files(t, dir); names != File {
		t.Errorf("left in the directory: %s", names)
	}
	if st, err := os.Stat(filepath.Join(dir, File)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v: it holds keys", st.Mode(), err)
	}
	if err := s.Backup(io.Discard); !errors.Is(err, ErrClosed) {
		t.Errorf("backup of a closed store: %v", err)
	}
	if err := Memory().Backup(io.Discard); !errors.Is(err, ErrNoFile) {
		t.Errorf("backup of memory: %v", err)
	}
}

func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestOfflineBackup(t *testing.T) {
	dir := t.TempDir()
	if err := Backup(dir, io.Discard); !errors.Is(err, os.ErrNotExist) || files(t, dir) != "" {
		t.Errorf("of nothing: %v, made %q", err, files(t, dir))
	}
	s := filled(t, dir, 2)
	if err := Backup(dir, io.Discard); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is in use: %v", err)
	}
	s.Close()
	var b bytes.Buffer
	if err := Backup(dir, &b); err != nil {
		t.Fatal(err)
	}
	if c, err := Check(&b); err != nil || c.VIPs != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Each backup taken while others write is one state: two values always written together agree in it.
func TestBackupDuringWrites(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	defer s.Close()
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			// Values that grow and shrink move from page to page.
			value := bytes.Repeat(fmt.Append(nil, n, " "), 1+n%2000)
			if err := s.Update(func(tx Tx) error {
				return errors.Join(tx.Put(BucketVIPs, "a", value), tx.Put(BucketConfig, "b", value), tx.Put(BucketVIPs, IDKey(uint64(n)), value))
			}); err != nil {
				stopped <- err
				return
			}
		}
	}()
	for n := range 10 {
		dir := t.TempDir()
		if _, err := Restore(dir, bytes.NewReader(backup(t, s)), false); err != nil {
			t.Fatalf("backup %d: %v", n, err)
		}
		r := mustOpen(t, dir)
		err := r.View(func(tx Tx) error {
			a, err := tx.Get(BucketVIPs, "a")
			b, err2 := tx.Get(BucketConfig, "b")
			if !bytes.Equal(a, b) {
				t.Errorf("backup %d: two states in one", n)
			}
			return errors.Join(err, err2)
		})
		if err != nil {
			t.Error(err)
		}
		r.Close()
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	from := filled(t, t.TempDir(), 2)
	defer from.Close()
	b := backup(t, from)
	changed := bytes.Clone(b)
	changed[len(b)/2] ^= 4
	later := mustOpen(t, t.TempDir(), func(Tx) error { return nil })
	defer later.Close()
	for name, tt := range map[string]struct {
		backup []byte
		is     error
		want   string
	}{
		"empty":               {nil, ErrDamaged, "it ends too early"},
		"cut off in the head": {b[:5], ErrDamaged, "it ends too early"},
		"cut in half":         {b[:len(b)/2], ErrDamaged, "it ends too early"},
		"cut by a byte":       {b[:len(b)-1], ErrDamaged, "it ends too early"},
		"a bit flipped":       {changed, ErrDamaged, ""},
		"something else":      {[]byte("name: evenflow\nversion: 1\n"), ErrDamaged, "it is no backup"},
		"no database":         {zip(bytes.Repeat([]byte("x"), 100000)), ErrDamaged, "invalid database"},
		"half a database":     {zip(unzip(t, b)[:3*os.Getpagesize()]), ErrDamaged, fmt.Sprintf("%d bytes of", 3*os.Getpagesize())},
		"another's database":  {zip(strange(t)), ErrDamaged, "it has no bucket"},
		"of a later version":  {backup(t, later), ErrNewer, "schema 2, this version reads up to 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Check(bytes.NewReader(tt.backup)); !errors.Is(err, tt.is) || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("check: %v", err)
			}
			dir := t.TempDir()
			s := filled(t, dir, 1)
			before := dump(t, s, BucketVIPs)
			s.Close()
			if _, err := Restore(dir, bytes.NewReader(tt.backup), true); !errors.Is(err, tt.is) || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("restore: %v", err)
			}
			s = mustOpen(t, dir)
			defer s.Close()
			if got := dump(t, s, BucketVIPs); got != before || files(t, dir) != File {
				t.Errorf("the refused restore left %q in %s", got, files(t, dir))
			}
		})
	}
}

func zip(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b) //nolint:errcheck // into memory
	z.Close()
	return out.Bytes()
}

func unzip(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// strange is a database that is no store.
func strange(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRestoreOverAStore(t *testing.T) {
	from := filled(t, t.TempDir(), 2)
	defer from.Close()
	b := backup(t, from)
	dir := t.TempDir()
	s := filled(t, dir, 5)
	if _, err := Restore(dir, bytes.NewReader(b), true); !errors.Is(err, ErrLocked) {
		t.Errorf("over one in use: %v", err)
	}
	s.Close()
	if _, err := Restore(dir, bytes.NewReader(b), false); !errors.Is(err, ErrStore) {
		t.Errorf("over another, not forced: %v", err)
	}
	s = mustOpen(t, dir)
	if got := dump(t, s, BucketVIPs); strings.Count(got, "vip") != 5 {
		t.Errorf("the refused restores left %q", got)
	}
	s.Close()

	if _, err := Restore(dir, bytes.NewReader(b), true); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, dir)
	if got := dump(t, s, BucketVIPs); strings.Count(got, "vip") != 2 {
		t.Errorf("restored %q", got)
	}
	update(t, s, func(tx Tx) error {
		id, err := NextID(tx, "vips", 1000)
		if id != 6 {
			t.Errorf("id %d is given, and was already: want 6", id)
		}
		return err
	})
	s.Close()

	if err := os.WriteFile(filepath.Join(dir, File), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, File+".new"), []byte("left by a kill"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(dir, bytes.NewReader(b), false); !errors.Is(err, ErrStore) {
		t.Errorf("over a broken one, not forced: %v", err)
	}
	if _, err := Restore(dir, bytes.NewReader(b), true); err != nil {
		t.Errorf("over a broken one: %v", err)
	}
	s = mustOpen(t, dir)
	defer s.Close()
	if got := dump(t, s, BucketVIPs); strings.Count(got, "vip") != 2 {
		t.Errorf("restored %q", got)
	}
}

// The directory of a service may be another user's, who must be able to read what root restores.
func TestRestoreKeepsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("needs root")
	}
	from := filled(t, t.TempDir(), 1)
	defer from.Close()
	dir := t.TempDir()
	if err := os.Chown(dir, 12345, 54321); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(dir, bytes.NewReader(backup(t, from)), false); err != nil {
		t.Fatal(err)
	}
	if uid, gid := owner(t, filepath.Join(dir, File)); uid != 12345 || gid != 54321 {
		t.Errorf("owned by %d:%d", uid, gid)
	}
}

// A store whose schema nobody can read is left as it is.
func TestUnreadableSchema(t *testing.T) {
	for _, schema := range []string{"0", "-1", "x", ""} {
		dir := t.TempDir()
		s := filled(t, dir, 1)
		update(t, s, func(tx Tx) error { return tx.Put(bucketMeta, "schema", []byte(schema)) })
		s.Close()
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("schema %q is no number", schema)) {
			t.Errorf("%q: %v", schema, err)
		}
	}
}

func owner(t *testing.T, path string) (uid, gid uint32) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Uid, st.Gid
}
