package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// both runs a test against the store on disk and the one in memory, which must behave alike.
func both(t *testing.T, test func(t *testing.T, s Store)) {
	t.Run("bolt", func(t *testing.T) {
		s, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		test(t, s)
	})
	t.Run("memory", func(t *testing.T) { test(t, Memory()) })
}

func update(t *testing.T, s Store, f func(Tx) error) {
	t.Helper()
	if err := s.Update(f); err != nil {
		t.Fatal(err)
	}
}

// dump is the content of a bucket as "key=value …".
func dump(t *testing.T, s Store, bucket string) string {
	t.Helper()
	var out []string
	err := s.View(func(tx Tx) error {
		return tx.List(bucket, func(k string, v []byte) error {
			out = append(out, k+"="+string(v))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestPutGetDeleteList(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		value := []byte("two")
		update(t, s, func(tx Tx) error {
			return errors.Join(tx.Put(BucketVIPs, "b", value), tx.Put(BucketVIPs, "a", []byte("one")), tx.Put(BucketKeys, "empty", nil))
		})
		value[0] = 'X' // it was copied
		if got := dump(t, s, BucketVIPs); got != "a=one b=two" {
			t.Errorf("got %q", got)
		}
		err := s.View(func(tx Tx) error {
			v, err := tx.Get(BucketVIPs, "b")
			v[0] = 'Y' // it is a copy
			none, err2 := tx.Get(BucketVIPs, "none")
			empty, err3 := tx.Get(BucketKeys, "empty")
			if none != nil || empty == nil || len(empty) != 0 {
				t.Errorf("absent %v, want nil; empty %v, want not nil", none, empty)
			}
			return errors.Join(err, err2, err3)
		})
		if err != nil {
			t.Error(err)
		}
		update(t, s, func(tx Tx) error {
			return errors.Join(tx.Delete(BucketVIPs, "a"), tx.Delete(BucketVIPs, "none"), tx.Put(BucketVIPs, "b", []byte("three")))
		})
		if got := dump(t, s, BucketVIPs); got != "b=three" {
			t.Errorf("got %q", got)
		}
	})
}

// The value is larger than what bbolt keeps, and copies, within its directory of buckets.
func TestReadsAreCopies(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		update(t, s, func(tx Tx) error { return tx.Put(BucketConfig, "a", bytes.Repeat([]byte("x"), 10000)) })
		// A write transaction, whose pages can be written to: in another one a mistake would end the process.
		update(t, s, func(tx Tx) error {
			if err := tx.Put(BucketConfig, "b", []byte("y")); err != nil {
				return err
			}
			v, err := tx.Get(BucketConfig, "b")
			v[0] = 'Z'
			err2 := tx.List(BucketConfig, func(_ string, v []byte) error { v[0] = 'Z'; return nil })
			a, err3 := tx.Get(BucketConfig, "a")
			b, err4 := tx.Get(BucketConfig, "b")
			if a[0] != 'x' || b[0] != 'y' {
				t.Errorf("what was read is the store's own: now %c %c", a[0], b[0])
			}
			return errors.Join(err, err2, err3, err4)
		})
	})
}

func TestUpdateIsAllOrNothing(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		update(t, s, func(tx Tx) error { return tx.Put(BucketVIPs, "a", []byte("1")) })
		refused := errors.New("refused")
		err := s.Update(func(tx Tx) error {
			if err := errors.Join(tx.Put(BucketVIPs, "a", []byte("2")), tx.Put(BucketVIPs, "b", nil)); err != nil {
				return err
			}
			if v, _ := tx.Get(BucketVIPs, "a"); string(v) != "2" {
				t.Errorf("a transaction reads %q, not what it wrote", v)
			}
			return refused
		})
		if !errors.Is(err, refused) || dump(t, s, BucketVIPs) != "a=1" {
			t.Errorf("%v, holds %q", err, dump(t, s, BucketVIPs))
		}
	})
}

func TestErrors(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		for name, f := range map[string]func(Tx) error{
			"get":    func(tx Tx) error { _, err := tx.Get("nowhere", "a"); return err },
			"put":    func(tx Tx) error { return tx.Put("nowhere", "a", nil) },
			"delete": func(tx Tx) error { return tx.Delete("nowhere", "a") },
			"list":   func(tx Tx) error { return tx.List("nowhere", nil) },
		} {
			if err := s.Update(f); !errors.Is(err, ErrBucket) || !strings.Contains(err.Error(), "nowhere") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := s.View(func(tx Tx) error { return tx.Put(BucketVIPs, "a", nil) }); !errors.Is(err, ErrReadOnly) {
			t.Errorf("write in View: %v", err)
		}
		if err := s.View(func(tx Tx) error { return tx.Delete(BucketVIPs, "a") }); !errors.Is(err, ErrReadOnly) {
			t.Errorf("delete in View: %v", err)
		}
		if err := s.Update(func(tx Tx) error { return tx.Put(BucketVIPs, "", nil) }); err == nil {
			t.Error("an empty key was taken")
		}
		stop := errors.New("stop")
		update(t, s, func(tx Tx) error { return tx.Put(BucketVIPs, "a", nil) })
		if err := s.View(func(tx Tx) error { return tx.List(BucketVIPs, func(string, []byte) error { return stop }) }); !errors.Is(err, stop) {
			t.Errorf("List goes on after an error: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, f := range []func(func(Tx) error) error{s.View, s.Update} {
			if err := f(func(Tx) error { return nil }); !errors.Is(err, ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
	})
}

func TestNextID(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		next := func(sequence string, limit uint64) (id uint64, err error) {
			err = s.Update(func(tx Tx) error { id, err = NextID(tx, sequence, limit); return err })
			return id, err
		}
		for want := uint64(1); want <= 3; want++ {
			if id, err := next("vip", 3); id != want || err != nil {
				t.Errorf("got %d, %v; want %d", id, err, want)
			}
		}
		if _, err := next("vip", 3); !errors.Is(err, ErrExhausted) || !strings.Contains(err.Error(), `"vip"`) {
			t.Errorf("beyond the limit: %v", err)
		}
		if id, err := next("other", 3); id != 1 || err != nil {
			t.Errorf("another sequence: %d, %v", id, err)
		}
		update(t, s, func(tx Tx) error { return tx.Put(bucketIDs, "bad", []byte("1")) })
		if _, err := next("bad", 3); err == nil {
			t.Error("a damaged sequence was read")
		}
	})
}

func TestIDKeySortsAsNumbers(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		update(t, s, func(tx Tx) error {
			for _, id := range []uint64{10, 9, 65535, 1 << 63} {
				if err := tx.Put(BucketVIPs, IDKey(id), fmt.Append(nil, id)); err != nil {
					return err
				}
			}
			return nil
		})
		const want = "00000000000000000009=9 00000000000000000010=10 00000000000000065535=65535 09223372036854775808=9223372036854775808"
		if got := dump(t, s, BucketVIPs); got != want {
			t.Errorf("got %s", got)
		}
	})
}

func TestManyAtATime(t *testing.T) {
	both(t, func(t *testing.T, s Store) {
		var done sync.WaitGroup
		for range 4 {
			done.Go(func() {
				for range 5 {
					err := s.Update(func(tx Tx) error {
						id, err := NextID(tx, "vip", 1000)
						return errors.Join(err, tx.Put(BucketVIPs, IDKey(id), nil))
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		done.Wait()
		if n := len(strings.Fields(dump(t, s, BucketVIPs))); n != 20 {
			t.Errorf("%d ids, want 20 different ones", n)
		}
	})
}
