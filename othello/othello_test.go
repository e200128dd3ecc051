package othello

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// Long random churn beside a Go map: every key exact, none lost, at every size from empty to full and back.
func TestOthelloUnderChurn(t *testing.T) {
	for _, width := range []int{1, 12, 16, 32} {
		random := rand.New(rand.NewPCG(uint64(width), 5))
		o, err := New(width, 0, rand.NewPCG(6, 7))
		if err != nil {
			t.Fatal(err)
		}
		model := make(map[uint64]uint32)
		var keys []uint64 // of the model, to draw from
		for step := range 200_000 {
			growing := step/25_000%2 == 0
			switch draw := random.IntN(10); {
			case draw < 2 && len(keys) > 0: // a change
				k, v := keys[random.IntN(len(keys))], random.Uint32()&o.mask
				model[k] = v
				mustSet(t, o, k, v)
			case draw < 7 == growing || len(keys) == 0: // a new key
				k, v := random.Uint64N(1<<20), random.Uint32()&o.mask
				if _, in := model[k]; !in {
					keys = append(keys, k)
				}
				model[k] = v
				mustSet(t, o, k, v)
			default:
				i := random.IntN(len(keys))
				k := keys[i]
				keys[i] = keys[len(keys)-1]
				keys = keys[:len(keys)-1]
				delete(model, k)
				if !o.Delete(k) || o.Delete(k) {
					t.Fatalf("step %d: key %#x is not deleted once", step, k)
				}
			}
			if step%20_000 == 19_999 {
				checkOthello(t, o, model)
			}
		}
		if o.Rebuilds() == 0 {
			t.Error("not one rebuild")
		}
	}
}

func mustSet(t *testing.T, o *Othello, k uint64, v uint32) {
	t.Helper()
	if err := o.Set(k, v); err != nil {
		t.Fatal(err)
	}
}

// checkOthello compares an Othello, and the data planes made of it, with what it should hold.
func checkOthello(t *testing.T, o *Othello, model map[uint64]uint32) {
	t.Helper()
	if o.Len() != len(model) {
		t.Fatalf("%d keys, want %d", o.Len(), len(model))
	}
	planes := []Plane{o.Packed()}
	if wide, err := o.Uint16(); (err == nil) != (o.width <= 16) {
		t.Fatalf("width %d in 16 bits: error %v", o.width, err)
	} else if err == nil {
		planes = append(planes, wide)
	}
	for k, want := range model {
		if got := o.Lookup(k); got != want {
			t.Fatalf("key %#x: lookup gives %#x, want %#x", k, got, want)
		}
		if got, ok := o.Get(k); !ok || got != want {
			t.Fatalf("key %#x: get gives %#x %v, want %#x", k, got, ok, want)
		}
		for _, p := range planes {
			if got := p.Lookup(k); got != want {
				t.Fatalf("key %#x: %T gives %#x, want %#x", k, p, got, want)
			}
		}
	}
	for k := range uint64(1000) {
		if _, ok := o.Get(k<<32 | 1<<24); ok {
			t.Fatalf("an unknown key %#x is found", k)
		}
	}
	for _, p := range planes {
		if p.Hash() != o.Hash() {
			t.Errorf("%T has other hash functions", p)
		}
	}
}

// Adding and changing touch few cells on average, however many keys there are.
func TestOthelloChangesFewCells(t *testing.T) {
	const n = 1 << 16
	o, err := New(12, n, rand.NewPCG(8, 9))
	if err != nil {
		t.Fatal(err)
	}
	for k := range uint64(n) {
		mustSet(t, o, k, uint32(k)&4095)
	}
	touched := 0
	for k := range uint64(1000) {
		i, _ := o.find(k)
		touched += len(o.component(end{0, o.edges[i].a, i + 1}))
	}
	if touched > 1000*20 {
		t.Errorf("%d cells for 1000 changes of %d keys", touched, n)
	}
	if o.Rebuilds() > 8 {
		t.Errorf("%d rebuilds while filling, want some 0.4", o.Rebuilds())
	}
}

func TestOthelloGivesMemoryBack(t *testing.T) {
	o, err := New(12, 0, rand.NewPCG(10, 11))
	if err != nil {
		t.Fatal(err)
	}
	for k := range uint64(10_000) {
		mustSet(t, o, k, 1)
	}
	for k := range uint64(9_999) {
		o.Delete(k)
	}
	if p := o.Packed(); p.Bytes() > 500 || p.Lookup(9_999) != 1 {
		t.Errorf("%d bytes for one key, value %d", p.Bytes(), p.Lookup(9_999))
	}
}

func TestOthelloRefusesWhatCannotBe(t *testing.T) {
	o, err := New(12, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Set(1, 4096); !errors.Is(err, ErrValue) || o.Len() != 0 {
		t.Errorf("13 bits in 12: error %v, %d keys", err, o.Len())
	}
	if _, err := New(0, 4, nil); err == nil {
		t.Error("width 0 passes")
	}
	if _, err := New(12, MaxKeys+1, nil); !errors.Is(err, ErrFull) {
		t.Errorf("error %v, want %v", err, ErrFull)
	}
}
