package nat

import "unsafe"

// open is an open hash table: all that is known of a key lies in one line of the processor's cache, while a map looks at two, and
// hashes anew. With a million connections each line is one more wait for memory, which is what a new one costs most. The zero open
// is empty. Whoever uses it brings a hash of each key, which is never 0.
type open[K comparable, V any] struct {
	slots []openSlot[K, V] // as many as a power of two, of which a quarter or more is empty; nil before the first
	used  int
}

type openSlot[K comparable, V any] struct {
	hash  uint32 // 0: empty
	key   K
	value V
}

// slotsTouched are so few slots that they are within one page of memory. A new table has one of so many written to at first:
// a page that was read before is one that is shared, of zeros, and to part it each processor must be interrupted.
const slotsTouched = 64

// slotHash is the part of a hash that an open takes; the lowest bits are left to choose the table.
func slotHash(h uint64) uint32 { return max(uint32(h>>32), 1) }

// get is the value of a key, if it has one.
func (t *open[K, V]) get(hash uint32, k K) (v V, found bool) {
	if t.used == 0 {
		return v, false
	}
	i, found := t.seek(hash, k)
	return t.slots[i].value, found
}

// prefetch has the processor fetch what get and set will look at first.
func (t *open[K, V]) prefetch(hash uint32) {
	if t.used != 0 {
		prefetch(unsafe.Pointer(&t.slots[t.home(hash)]))
	}
}

// set gives a key its value.
func (t *open[K, V]) set(hash uint32, k K, v V) {
	if 4*(t.used+1) > 3*len(t.slots) {
		t.grow()
	}
	i, found := t.seek(hash, k)
	if !found {
		t.used++
	}
	t.slots[i] = openSlot[K, V]{hash, k, v}
}

// remove empties a key's slot, and moves back what lies behind it because of it.
func (t *open[K, V]) remove(hash uint32, k K) {
	if t.used == 0 {
		return
	}
	hole, found := t.seek(hash, k)
	if !found {
		return
	}
	for i := t.next(hole); t.slots[i].hash != 0; i = t.next(i) {
		if t.distance(t.home(t.slots[i].hash), i) >= t.distance(hole, i) {
			t.slots[hole], hole = t.slots[i], i
		}
	}
	t.slots[hole] = openSlot[K, V]{}
	t.used--
}

// all are the keys with their values, in no order. That which is visited may be removed.
func (t *open[K, V]) all(yield func(K, V) bool) {
	if t.used == 0 {
		return
	}
	first := 0 // an empty slot: what moves back never passes it
	for t.slots[first].hash != 0 {
		first++
	}
	for i := t.next(first); i != first; {
		s := t.slots[i]
		if s.hash != 0 && !yield(s.key, s.value) {
			return
		}
		if now := &t.slots[i]; now.hash == s.hash && now.key == s.key { // else another one has moved here
			i = t.next(i)
		}
	}
}

// seek is the slot of a key, or the empty one where it would be.
func (t *open[K, V]) seek(hash uint32, k K) (i int, found bool) {
	for i = t.home(hash); ; i = t.next(i) {
		switch s := &t.slots[i]; {
		case s.hash == 0:
			return i, false
		case s.hash == hash && s.key == k:
			return i, true
		}
	}
}

func (t *open[K, V]) grow() {
	old := t.slots
	t.slots = make([]openSlot[K, V], max(8, 2*len(old)))
	for i := 0; i < len(t.slots); i += slotsTouched {
		t.slots[i].hash = 0
	}
	for _, s := range old {
		if s.hash != 0 {
			i, _ := t.seek(s.hash, s.key)
			t.slots[i] = s
		}
	}
}

// home is where the search for a hash begins, next the slot after one, distance how many steps lead from one to another.
func (t *open[K, V]) home(hash uint32) int { return int(hash) & (len(t.slots) - 1) }

func (t *open[K, V]) next(i int) int { return (i + 1) & (len(t.slots) - 1) }

func (t *open[K, V]) distance(from, to int) int { return (to - from) & (len(t.slots) - 1) }
