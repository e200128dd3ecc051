package othello

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestBuiltPlanesHoldEveryKey(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 2, 17, 1000, 30000} {
		keys, values, narrow := make([]uint64, n), make([]uint32, n), make([]uint16, n)
		for i := range keys {
			keys[i], values[i] = random.Uint64(), random.Uint32()
			narrow[i] = uint16(values[i])
		}
		for width := 1; width <= MaxWidth; width++ {
			if n > 1000 && width%5 != 2 {
				continue
			}
			for i := range values {
				values[i] &= maskOf(width)
			}
			p, err := BuildPacked(width, keys, values)
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range keys {
				if got := p.Lookup(k); got != values[i] {
					t.Fatalf("%d keys of %d bits: key %d gives %#x, want %#x", n, width, i, got, values[i])
				}
			}
			if unknown := p.Lookup(random.Uint64()); unknown&^maskOf(width) != 0 {
				t.Errorf("an unknown key gives %#x in %d bits", unknown, width)
			}
			for i := range values { // the next width is wider
				values[i] = random.Uint32()
			}
		}
		p, err := BuildUint16(keys, narrow)
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range keys {
			if got := p.Lookup(k); got != uint32(narrow[i]) {
				t.Fatalf("%d keys: key %d gives %#x, want %#x", n, i, got, narrow[i])
			}
		}
	}
}

// Many keys at a time, whether a whole number of batches or not, known and unknown, give what each gives alone.
func TestBatchesGiveWhatLookupGives(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	keys, values, narrow := make([]uint64, 2000), make([]uint32, 2000), make([]uint16, 2000)
	for i := range keys {
		keys[i], values[i] = random.Uint64(), random.Uint32N(1<<13)
		narrow[i] = uint16(values[i])
	}
	wide, err := BuildUint16(keys[:1000], narrow[:1000])
	if err != nil {
		t.Fatal(err)
	}
	packed, err := BuildPacked(13, keys[:1000], values[:1000])
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Plane{wide, packed} {
		for _, n := range []int{0, 1, batch - 1, batch, batch + 1, 2000} {
			got := make([]uint32, n+1)
			got[n] = 1 << 31
			p.LookupBatch(keys[:n], got)
			for i, k := range keys[:n] {
				if got[i] != p.Lookup(k) {
					t.Fatalf("%T, %d keys: key %d gives %#x, alone %#x", p, n, i, got[i], p.Lookup(k))
				}
			}
			if got[n] != 1<<31 {
				t.Errorf("%T, %d keys: writes behind them", p, n)
			}
		}
	}
}

func TestBuiltPlanesAreSmall(t *testing.T) {
	keys := make([]uint64, 1<<16)
	for i := range keys {
		keys[i] = uint64(i)
	}
	packed, err := BuildPacked(12, keys, make([]uint32, len(keys)))
	if err != nil {
		t.Fatal(err)
	}
	wide, err := BuildUint16(keys, make([]uint16, len(keys)))
	if err != nil {
		t.Fatal(err)
	}
	if per := float64(packed.Bytes()) / float64(len(keys)); per > 3.8 {
		t.Errorf("%.2f bytes per key of 12 bits, want at most 3.8", per)
	}
	if per := float64(wide.Bytes()) / float64(len(keys)); per > 4.8 {
		t.Errorf("%.2f bytes per key of 16 bits, want at most 4.8", per)
	}
}

func TestBuildRefusesWhatCannotBe(t *testing.T) {
	tests := []struct {
		name   string
		width  int
		keys   []uint64
		values []uint32
		want   error
	}{
		{"a key twice", 12, []uint64{1, 2, 3, 2}, []uint32{1, 2, 3, 4}, ErrDuplicate},
		{"a value too wide", 12, []uint64{1}, []uint32{4096}, ErrValue},
		{"no value", 12, []uint64{1}, nil, nil},
		{"width 0", 0, nil, nil, nil},
		{"width 33", 33, nil, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := BuildPacked(test.width, test.keys, test.values)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func ExampleBuildUint16() {
	p, err := BuildUint16([]uint64{10, 20, 30}, []uint16{1, 2, 3})
	fmt.Println(p.Lookup(10), p.Lookup(20), p.Lookup(30), err)
	// Output: 1 2 3 <nil>
}
