package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func mustOpen(t *testing.T, dir string, steps ...migration) Store {
	t.Helper()
	s, err := open(dir, steps)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpenCreates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := mustOpen(t, dir)
	update(t, s, func(tx Tx) error { return tx.Put(BucketVIPs, "a", []byte("1")) })
	s.Close()
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, File): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want mode %o: it holds keys", path, st.Mode(), err, mode)
		}
	}
	s = mustOpen(t, dir)
	defer s.Close()
	if got := dump(t, s, BucketVIPs) + " " + dump(t, s, bucketMeta); got != "a=1 schema=1" {
		t.Errorf("after reopening: %q", got)
	}
}

func TestOpenRefusesSecondUser(t *testing.T) {
	dir := t.TempDir()
	defer mustOpen(t, dir).Close()
	_, err := Open(dir)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir+": another evenflow uses it") {
		t.Error(err)
	}
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, File), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), File) {
		t.Error(err)
	}
	if _, err := Open("/dev/null/x"); err == nil {
		t.Error("opened below a device")
	}
}

func TestMigrate(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	update(t, s, func(tx Tx) error { return tx.Put(BucketVIPs, "a", []byte("1")) })
	s.Close()

	appendTo := func(suffix string) migration {
		return func(tx Tx) error {
			v, err := tx.Get(BucketVIPs, "a")
			return errors.Join(err, tx.Put(BucketVIPs, "a", append(v, suffix...)))
		}
	}
	broken := func(tx Tx) error {
		return errors.Join(tx.Put(BucketVIPs, "half", nil), errors.New("broken"))
	}
	if _, err := open(dir, []migration{appendTo("-two"), broken}); err == nil || !strings.Contains(err.Error(), "from schema 2 to 3: broken") {
		t.Errorf("a broken migration: %v", err)
	}
	s = mustOpen(t, dir) // nothing was changed, and the lock is free
	if got := dump(t, s, BucketVIPs) + " " + dump(t, s, bucketMeta); got != "a=1 schema=1" {
		t.Errorf("after a broken migration: %q", got)
	}
	s.Close()

	for range 2 { // the second time there is nothing to do
		s = mustOpen(t, dir, appendTo("-two"), appendTo("-three"))
		if got := dump(t, s, BucketVIPs) + " " + dump(t, s, bucketMeta); got != "a=1-two-three schema=3" {
			t.Errorf("after migration: %q", got)
		}
		s.Close()
	}
	if _, err := Open(dir); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "schema 3, this version reads up to 1") {
		t.Errorf("a later schema: %v", err)
	}
	s = mustOpen(t, t.TempDir(), broken, broken)
	defer s.Close()
	if got := dump(t, s, bucketMeta); got != "schema=3" {
		t.Errorf("a new store: %q, want the latest schema without any migration", got)
	}
}

func TestSchemaIsTheLastMigration(t *testing.T) {
	if len(migrations())+1 != Schema {
		t.Errorf("%d migrations lead to schema %d, not %d", len(migrations()), len(migrations())+1, Schema)
	}
}

// childDir names the environment variable that makes the test binary the writer of TestKill.
const childDir = "EVENFLOW_STORE_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		writeUntilKilled(dir)
	}
	os.Exit(m.Run())
}

// writeUntilKilled gives out ids and puts a value for each, and says each number once it is answered.
func writeUntilKilled(dir string) {
	s, err := Open(dir)
	for err == nil {
		var id uint64
		err = s.Update(func(tx Tx) error {
			if id, err = NextID(tx, "vip", 1<<40); err != nil {
				return err
			}
			return tx.Put(BucketVIPs, IDKey(id), fmt.Append(nil, "value ", id))
		})
		fmt.Println(id)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A killed writer loses nothing that was answered, and no id is given twice.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	answered := uint64(0)
	for round := range 3 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childDir+"="+dir)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			id, err := strconv.ParseUint(lines.Text(), 10, 64)
			if err != nil || id <= answered {
				t.Fatalf("round %d: id %q after %d", round, lines.Text(), answered)
			}
			answered = id
			if n == 20+round { // in the midst of its writes; what it still says is read too
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if child.Wait() == nil {
			t.Fatal("the writer ended by itself")
		}
		s := mustOpen(t, dir)
		err = s.View(func(tx Tx) error {
			for id := uint64(1); id <= answered; id++ {
				if v, err := tx.Get(BucketVIPs, IDKey(id)); string(v) != fmt.Sprint("value ", id) {
					return fmt.Errorf("round %d: %d was answered and is lost: %q %v", round, id, v, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		s.Close()
	}
	if answered < 60 {
		t.Errorf("only %d writes in three rounds", answered)
	}
}
