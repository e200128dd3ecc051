package othello

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// ErrFull says that there are as many keys as an Othello can hold.
var ErrFull = errors.New("othello: full")

// MaxKeys is how many keys an Othello can hold.
const MaxKeys = 1 << 30

// minCapacity is how many keys there is always room for.
const minCapacity = 16

// Othello is a dictionary from 64-bit keys to values of a fixed width that can be changed. Adding, changing and deleting a
// key take constant time on average: the graph's components are small. It serves one goroutine.
type Othello struct {
	width        int
	mask         uint32
	capacity     int // keys that the arrays have room for
	hash         Hash
	a, b         []uint32 // cells
	headA, headB []uint32 // of each cell: its first edge + 1, 0 for none
	edges        []edge   // without gaps, in no order
	random       *rand.Rand
	reached      []end // scratch of component
	rebuilds     int
}

// edge is a key, with the next edge (+ 1) in the lists of its two cells.
type edge struct {
	key          uint64
	value        uint32
	a, b         uint32
	nextA, nextB uint32
}

// end is a cell reached by an edge (+ 1, 0 where the way began).
type end struct{ array, cell, by uint32 }

// New is an empty Othello for values of 1 to 32 bits, with room for some keys; it grows and shrinks as it must. The source
// of seeds may be nil for a random one.
func New(width, capacity int, seeds rand.Source) (*Othello, error) {
	if err := checkWidth(width); err != nil {
		return nil, err
	}
	if capacity > MaxKeys {
		return nil, fmt.Errorf("%w: room for %d keys asked, at most %d", ErrFull, capacity, MaxKeys)
	}
	if seeds == nil {
		seeds = rand.NewPCG(rand.Uint64(), rand.Uint64())
	}
	o := &Othello{width: width, mask: maskOf(width), capacity: max(capacity, minCapacity), random: rand.New(seeds)}
	o.rebuild()
	o.rebuilds = 0
	return o, nil
}

// Len is the number of keys.
func (o *Othello) Len() int { return len(o.edges) }

// Width is the number of bits of a value.
func (o *Othello) Width() int { return o.width }

// Hash is the present pair of hash functions; each rebuild draws another.
func (o *Othello) Hash() Hash { return o.hash }

// Rebuilds counts how often all was built anew: for a cycle, or for the number of keys.
func (o *Othello) Rebuilds() int { return o.rebuilds }

// Lookup is the value of a key that is in, and some value for any other.
func (o *Othello) Lookup(key uint64) uint32 {
	a, b := o.hash.Cells(key)
	return o.a[a] ^ o.b[b]
}

// Get is the value of a key, if it is in.
func (o *Othello) Get(key uint64) (value uint32, ok bool) {
	if i, ok := o.find(key); ok {
		return o.edges[i].value, true
	}
	return 0, false
}

// Set gives a key a value, whether it is in or not.
func (o *Othello) Set(key uint64, value uint32) error {
	if value&^o.mask != 0 {
		return fmt.Errorf("%w: %#x of key %#x in %d bits", ErrValue, value, key, o.width)
	}
	if i, ok := o.find(key); ok {
		o.change(i, value)
		return nil
	}
	return o.add(key, value)
}

// Delete takes a key out; false: it was not in.
func (o *Othello) Delete(key uint64) bool {
	i, ok := o.find(key)
	if ok {
		o.remove(i)
	}
	return ok
}

// Uint16 is a data plane of the present keys and values, with the same hash functions.
func (o *Othello) Uint16() (*Uint16, error) {
	if o.width > 16 {
		return nil, fmt.Errorf("%w: of %d bits in 16", ErrValue, o.width)
	}
	return cells{o.hash, o.a, o.b}.uint16(), nil
}

// Packed is a data plane of the present keys and values, with the same hash functions.
func (o *Othello) Packed() *Packed { return cells{o.hash, o.a, o.b}.packed(o.width) }

// find is the edge of a key.
func (o *Othello) find(key uint64) (i uint32, ok bool) {
	a, _ := o.hash.Cells(key)
	for e := o.headA[a]; e != 0; e = o.edges[e-1].nextA {
		if o.edges[e-1].key == key {
			return e - 1, true
		}
	}
	return 0, false
}

// add puts in a key that is not in. Its edge is the last.
func (o *Othello) add(key uint64, value uint32) error {
	if len(o.edges) == MaxKeys {
		return ErrFull
	}
	a, b := o.hash.Cells(key)
	o.edges = append(o.edges, edge{key: key, value: value, a: a, b: b})
	if len(o.edges) > o.capacity {
		o.capacity *= 2
		o.rebuild()
		return nil
	}
	delta := o.a[a] ^ o.b[b] ^ value
	switch { // a cell without edges is a component of its own: nothing to walk through, and no cycle
	case o.headA[a] == 0:
		o.a[a] ^= delta
	case o.headB[b] == 0:
		o.b[b] ^= delta
	default:
		component := o.component(end{0, a, 0})
		for _, c := range component {
			if c.array == 1 && c.cell == b {
				o.rebuild()
				return nil
			}
		}
		o.flip(component, delta)
	}
	o.link(uint32(len(o.edges) - 1))
	return nil
}

// change gives an edge another value: without the edge its component falls in two, and one part is flipped.
func (o *Othello) change(i, value uint32) {
	e := &o.edges[i]
	if delta := e.value ^ value; delta != 0 {
		e.value = value
		o.flip(o.component(end{0, e.a, i + 1}), delta)
	}
}

// remove takes an edge out and puts the last into its place. The cells stay as they are.
func (o *Othello) remove(i uint32) {
	last := uint32(len(o.edges) - 1)
	o.unlink(i)
	if i != last {
		o.unlink(last)
		o.edges[i] = o.edges[last]
		o.link(i)
	}
	o.edges = o.edges[:last]
	if o.capacity > minCapacity && len(o.edges) < o.capacity/8 {
		o.capacity = max(o.capacity/4, minCapacity)
		o.rebuild()
	}
}

// component are the cells that edges lead to from a cell, itself included, never back over the edge it was reached by. Good
// until the next call.
func (o *Othello) component(from end) []end {
	o.reached = append(o.reached[:0], from)
	for next := 0; next < len(o.reached); next++ {
		c := o.reached[next]
		if c.array == 0 {
			for e := o.headA[c.cell]; e != 0; e = o.edges[e-1].nextA {
				if e != c.by {
					o.reached = append(o.reached, end{1, o.edges[e-1].b, e})
				}
			}
		} else {
			for e := o.headB[c.cell]; e != 0; e = o.edges[e-1].nextB {
				if e != c.by {
					o.reached = append(o.reached, end{0, o.edges[e-1].a, e})
				}
			}
		}
	}
	return o.reached
}

func (o *Othello) flip(component []end, delta uint32) {
	for _, c := range component {
		if c.array == 0 {
			o.a[c.cell] ^= delta
		} else {
			o.b[c.cell] ^= delta
		}
	}
}

// rebuild draws hash functions until the graph has no cycle, and builds all anew.
func (o *Othello) rebuild() {
	o.rebuilds++
	graph := make([]Edge, len(o.edges))
	for try := 1; ; try++ {
		size := cellsFor(o.capacity, growthCells)
		o.hash = Hash{Seed: o.random.Uint64(), A: size, B: size}
		for i := range o.edges {
			e := &o.edges[i]
			e.a, e.b = o.hash.Cells(e.key)
			graph[i] = Edge{e.a, e.b, e.value}
		}
		c := newCells(o.hash, o.mask)
		if Assign(c.a, c.b, graph) == nil {
			o.a, o.b = c.a, c.b
			break
		}
		if try%triesPerSize == 0 {
			o.capacity += o.capacity/8 + 1
		}
	}
	o.headA, o.headB = make([]uint32, o.hash.A), make([]uint32, o.hash.B)
	for i := range o.edges {
		o.link(uint32(i))
	}
}

func (o *Othello) link(i uint32) {
	e := &o.edges[i]
	e.nextA, e.nextB = o.headA[e.a], o.headB[e.b]
	o.headA[e.a], o.headB[e.b] = i+1, i+1
}

func (o *Othello) unlink(i uint32) {
	e := &o.edges[i]
	at := &o.headA[e.a]
	for *at != i+1 {
		at = &o.edges[*at-1].nextA
	}
	*at = e.nextA
	for at = &o.headB[e.b]; *at != i+1; {
		at = &o.edges[*at-1].nextB
	}
	*at = e.nextB
}
