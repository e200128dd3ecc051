package othello

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"testing"
)

// tuple is a key longer than 64 bits.
type tuple struct {
	src  [16]byte
	port uint16
}

func tupleOf(i uint64) (t tuple) {
	binary.BigEndian.PutUint64(t.src[8:], i)
	t.port = uint16(i * 7)
	return t
}

func TestMapUnderChurn(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 13))
	seed := maphash.MakeSeed()
	m, err := NewMap[tuple, string](func(k tuple) uint64 { return maphash.Comparable(seed, k) }, 0, rand.NewPCG(14, 15))
	if err != nil {
		t.Fatal(err)
	}
	model := make(map[tuple]string)
	names := []string{"b1", "b2", "b3", "b4"}
	for step := range 200_000 {
		k := tupleOf(random.Uint64N(30_000))
		if step/40_000%2 == 0 && random.IntN(3) > 0 || random.IntN(4) == 0 {
			v := names[random.IntN(len(names))]
			model[k] = v
			if err := m.Set(k, v); err != nil {
				t.Fatal(err)
			}
		} else {
			_, in := model[k]
			delete(model, k)
			if m.Delete(k) != in {
				t.Fatalf("step %d: deleted %v, was in %v", step, !in, in)
			}
		}
		if step%10_000 == 9_999 {
			checkMap(t, m, model)
		}
	}
}

func checkMap(t *testing.T, m *Map[tuple, string], model map[tuple]string) {
	t.Helper()
	code := func(v string) uint32 { return uint32(v[1]-'0') * 1000 }
	wide := m.Uint16(func(_ tuple, v string) uint16 { return uint16(code(v)) })
	packed, err := m.Packed(12, func(_ tuple, v string) uint32 { return code(v) })
	if err != nil {
		t.Fatal(err)
	}
	if wide.Hash() != m.Hash() || packed.Hash() != m.Hash() {
		t.Fatal("the exports have other hash functions")
	}
	if m.Len() != len(model) {
		t.Fatalf("%d keys, want %d", m.Len(), len(model))
	}
	for i := range uint64(30_000) {
		k := tupleOf(i)
		want, in := model[k]
		if got, ok := m.Get(k); ok != in || got != want {
			t.Fatalf("key %d: %q %v, want %q %v", i, got, ok, want, in)
		}
		if d := m.digest(k); in && (wide.Lookup(d) != code(want) || packed.Lookup(d) != code(want)) {
			t.Fatalf("key %d: exports give %d and %d, want %d", i, wide.Lookup(d), packed.Lookup(d), code(want))
		}
	}
	seen := 0
	for k, v := range m.All() {
		seen++
		if model[k] != v {
			t.Fatalf("all says %q, want %q", v, model[k])
		}
	}
	if seen != len(model) {
		t.Fatalf("all names %d keys, want %d", seen, len(model))
	}
}

// What no key decides keeps its value from one export to the next: unknown keys, which are new connections in a load
// balancer, stay where they were when other keys' values change.
func TestExportsKeepUnknownKeys(t *testing.T) {
	const n = 1000
	m, err := NewMap[uint64, uint32](func(k uint64) uint64 { return k }, 4*n, rand.NewPCG(16, 17))
	if err != nil {
		t.Fatal(err)
	}
	for k := range uint64(n) {
		if err := m.Set(k, uint32(k)&4095); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := m.Packed(12, func(_ uint64, v uint32) uint32 { return v })
	after, _ := m.Packed(12, func(_ uint64, v uint32) uint32 { return v ^ 1 })
	moved := 0
	for k := uint64(n); k < 11*n; k++ {
		if before.Lookup(k) != after.Lookup(k) {
			moved++
		}
	}
	if moved > 4*n { // both cells are free for the most part: at most 1000 of 5321 in each array are not
		t.Errorf("%d of %d unknown keys have another value", moved, 10*n)
	}
	again, _ := m.Packed(12, func(_ uint64, v uint32) uint32 { return v })
	for k := range uint64(11 * n) {
		if before.Lookup(k) != again.Lookup(k) {
			t.Fatalf("key %d: the same export gives another value", k)
		}
	}
}

func TestMapTellsTwoKeysWithOneDigest(t *testing.T) {
	m, err := NewMap[string, int](func(k string) uint64 { return uint64(len(k)) }, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Set("one", 1); err != nil {
		t.Fatal(err)
	}
	if err := m.Set("two", 2); !errors.Is(err, ErrDigest) {
		t.Errorf("error %v, want %v", err, ErrDigest)
	}
	if v, ok := m.Get("one"); !ok || v != 1 {
		t.Errorf("one is %d %v", v, ok)
	}
	if _, ok := m.Get("two"); ok || m.Delete("two") || m.Len() != 1 {
		t.Error("two is in")
	}
}

func TestMapRefusesValuesTooWide(t *testing.T) {
	m, err := NewMap[uint64, uint32](func(k uint64) uint64 { return k }, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Set(1, 5000); err != nil {
		t.Fatal(err)
	}
	value := func(_ uint64, v uint32) uint32 { return v }
	if _, err := m.Packed(12, value); !errors.Is(err, ErrValue) {
		t.Errorf("error %v, want %v", err, ErrValue)
	}
	if _, err := m.Packed(33, value); err == nil {
		t.Error("width 33 passes")
	}
}
