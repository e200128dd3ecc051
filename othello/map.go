package othello

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
)

// ErrDigest says that two keys have one digest: another digest function is needed.
var ErrDigest = errors.New("othello: two keys with one digest")

// Map is a map that answers by an Othello: the Othello's value is a key's place in an array of keys and values ("array C" of
// the paper). It can do what other maps do, and export data planes: Othellos with the same hash functions, of the same keys,
// with a value of any kind for each. It serves one goroutine.
type Map[K comparable, V any] struct {
	index   *Othello // of the i-th entry: i, and its edge is the i-th too
	digest  func(K) uint64
	entries []entry[K, V]
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// NewMap is an empty Map with room for some keys; it grows and shrinks as it must. Distinct keys should have distinct digests
// (those of hash/maphash with a fixed seed have, with probability 1-n*n/2^65); the source of seeds may be nil for a random one.
func NewMap[K comparable, V any](digest func(K) uint64, capacity int, seeds rand.Source) (*Map[K, V], error) {
	o, err := New(MaxWidth, capacity, seeds)
	if err != nil {
		return nil, err
	}
	return &Map[K, V]{index: o, digest: digest}, nil
}

// Len is the number of keys.
func (m *Map[K, V]) Len() int { return len(m.entries) }

// Hash is the present pair of hash functions; exports have the same.
func (m *Map[K, V]) Hash() Hash { return m.index.hash }

// Rebuilds counts how often all was built anew: for a cycle, or for the number of keys.
func (m *Map[K, V]) Rebuilds() int { return m.index.rebuilds }

// All are the keys and values, in no order. The map must not be changed meanwhile.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i := range m.entries {
			if !yield(m.entries[i].key, m.entries[i].value) {
				return
			}
		}
	}
}

// Get is the value of a key, if it is in: exactly, there are no false hits.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	if i := m.index.Lookup(m.digest(key)); m.holds(i, key) {
		return m.entries[i].value, true
	}
	return value, false
}

// Set gives a key a value, whether it is in or not. It fails with ErrDigest, and changes nothing, if another key has this
// key's digest.
func (m *Map[K, V]) Set(key K, value V) error {
	d := m.digest(key)
	i := m.index.Lookup(d)
	if m.holds(i, key) {
		m.entries[i].value = value
		return nil
	}
	if int(i) < len(m.entries) && m.index.edges[i].key == d {
		return fmt.Errorf("%w: %v and %v", ErrDigest, m.entries[i].key, key)
	}
	if err := m.index.add(d, uint32(len(m.entries))); err != nil {
		return err
	}
	m.entries = append(m.entries, entry[K, V]{key, value})
	return nil
}

// Delete takes a key out and puts the last entry into its place; false: it was not in.
func (m *Map[K, V]) Delete(key K) bool {
	i := m.index.Lookup(m.digest(key))
	if !m.holds(i, key) {
		return false
	}
	last := len(m.entries) - 1
	m.index.remove(i)
	if int(i) != last {
		m.index.change(i, i)
	}
	m.entries[i] = m.entries[last]
	m.entries[last] = entry[K, V]{} // let go what it points to
	m.entries = m.entries[:last]
	return true
}

// Uint16 is a data plane with a value of 16 bits for each entry. No key is hashed.
func (m *Map[K, V]) Uint16(value func(K, V) uint16) *Uint16 {
	c, _ := m.export(16, func(k K, v V) uint32 { return uint32(value(k, v)) }) // every value fits
	return c.uint16()
}

// Packed is a data plane with a value of 1 to 32 bits for each entry. No key is hashed.
func (m *Map[K, V]) Packed(width int, value func(K, V) uint32) (*Packed, error) {
	if err := checkWidth(width); err != nil {
		return nil, err
	}
	c, err := m.export(width, value)
	if err != nil {
		return nil, err
	}
	return c.packed(width), nil
}

func (m *Map[K, V]) holds(i uint32, key K) bool {
	return int(i) < len(m.entries) && m.entries[i].key == key
}

// export decides the cells anew along the edges that are there, from one root per component.
func (m *Map[K, V]) export(width int, value func(K, V) uint32) (cells, error) {
	o := m.index
	values := make([]uint32, len(m.entries))
	for i := range m.entries {
		e := &m.entries[i]
		values[i] = value(e.key, e.value)
		if values[i]&^maskOf(width) != 0 {
			return cells{}, fmt.Errorf("%w: %#x of key %v in %d bits", ErrValue, values[i], e.key, width)
		}
	}
	c := newCells(o.hash, maskOf(width))
	decided := make([]bool, len(c.a))
	for root := range c.a {
		if decided[root] || o.headA[root] == 0 {
			continue
		}
		for _, to := range o.component(end{0, uint32(root), 0}) {
			if to.array == 0 {
				decided[to.cell] = true
			}
			if to.by == 0 {
				continue
			}
			e := &o.edges[to.by-1]
			if to.array == 0 {
				c.a[e.a] = c.b[e.b] ^ values[to.by-1]
			} else {
				c.b[e.b] = c.a[e.a] ^ values[to.by-1]
			}
		}
	}
	return c, nil
}
