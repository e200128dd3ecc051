package othello

import (
	"math/rand/v2"
	"testing"
)

// FuzzMap reads changes from bytes, three for each (what, key, value), and compares with a Go map. Few keys and a small
// capacity make cycles, growth and shrinking frequent.
func FuzzMap(f *testing.F) {
	f.Add([]byte{0, 1, 2, 0, 2, 3, 1, 1, 0})
	f.Add([]byte{0, 1, 2, 1, 1, 2, 1, 1, 2})
	long := make([]byte, 3000)
	for i := range long {
		long[i] = byte(i * i >> 3)
	}
	f.Add(long)
	f.Fuzz(func(t *testing.T, ops []byte) {
		m, err := NewMap[uint64, uint32](func(k uint64) uint64 { return k * k }, 0, rand.NewPCG(uint64(len(ops)), 1))
		if err != nil {
			t.Fatal(err)
		}
		model := make(map[uint64]uint32)
		for ; len(ops) >= 3; ops = ops[3:] {
			k, v := uint64(ops[1])|uint64(ops[0]&6)<<7, uint32(ops[2])
			if ops[0]&1 == 0 {
				model[k] = v
				if err := m.Set(k, v); err != nil {
					t.Fatal(err)
				}
				continue
			}
			_, in := model[k]
			delete(model, k)
			if m.Delete(k) != in {
				t.Fatalf("key %d deleted: %v, want %v", k, !in, in)
			}
		}
		plane, err := m.Packed(8, func(_ uint64, v uint32) uint32 { return v })
		if err != nil {
			t.Fatal(err)
		}
		for k := range uint64(1 << 10) {
			want, in := model[k]
			if v, ok := m.Get(k); ok != in || v != want {
				t.Fatalf("key %d: %d %v, want %d %v", k, v, ok, want, in)
			}
			if in && plane.Lookup(k*k) != want {
				t.Fatalf("key %d: the export gives %d, want %d", k, plane.Lookup(k*k), want)
			}
		}
	})
}
