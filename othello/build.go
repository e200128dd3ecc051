package othello

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// ErrDuplicate says that a key was given twice.
var ErrDuplicate = errors.New("othello: a key twice")

const (
	// Cells of each array per 100 keys. A built data plane never gains a key, so it may be as small as a forest can well be had:
	// the graph is one with probability sqrt(1-(100/117)^2) = 0.52. One that keys are added to has room: 0.66 when full.
	builtCells  = 117
	growthCells = 133

	// triesPerSize is after how many cycles in a row the arrays grow, or the keys are looked at: by then one was there twice,
	// but for one case in 10^6.
	triesPerSize = 20
)

// BuildUint16 makes a data plane of 16-bit cells: Lookup(keys[i]) == values[i].
func BuildUint16(keys []uint64, values []uint16) (*Uint16, error) {
	c, err := build(len(keys), len(values), 16, keys, func(i int) uint32 { return uint32(values[i]) })
	if err != nil {
		return nil, err
	}
	return c.uint16(), nil
}

// BuildPacked makes a data plane of cells of a width of 1 to 32 bits: Lookup(keys[i]) == values[i].
func BuildPacked(width int, keys []uint64, values []uint32) (*Packed, error) {
	c, err := build(len(keys), len(values), width, keys, func(i int) uint32 { return values[i] })
	if err != nil {
		return nil, err
	}
	return c.packed(width), nil
}

func build(n, values, width int, keys []uint64, value func(i int) uint32) (cells, error) {
	if err := checkWidth(width); err != nil {
		return cells{}, err
	}
	if n != values {
		return cells{}, fmt.Errorf("othello: %d keys and %d values", n, values)
	}
	if n > MaxKeys {
		return cells{}, ErrFull
	}
	for i := range n {
		if value(i)&^maskOf(width) != 0 {
			return cells{}, fmt.Errorf("%w: %#x of key %#x in %d bits", ErrValue, value(i), keys[i], width)
		}
	}
	edges := make([]Edge, n)
	size := cellsFor(n, builtCells)
	for try := 1; ; try++ {
		h := Hash{Seed: rand.Uint64(), A: size, B: size}
		for i, k := range keys {
			a, b := h.Cells(k)
			edges[i] = Edge{a, b, value(i)}
		}
		c := newCells(h, maskOf(width))
		if Assign(c.a, c.b, edges) == nil {
			return c, nil
		}
		if try%triesPerSize == 0 {
			if k, twice := duplicate(keys); twice {
				return cells{}, fmt.Errorf("%w: %#x", ErrDuplicate, k)
			}
			size += size/8 + 1
		}
	}
}

// cellsFor is the number of cells in each array for n keys, per 100 of which there are some.
func cellsFor(n, per100 int) uint32 { return uint32(max(n, 4)*per100/100 + 1) }

func duplicate(keys []uint64) (key uint64, found bool) {
	sorted := slices.Sorted(slices.Values(keys))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i], true
		}
	}
	return 0, false
}
