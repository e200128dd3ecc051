package nat

import "unsafe"

// open is an open hash table, made for a million keys, of which each look at memory is a wait. Slots, which are looked at in no
// order, are small, and nearly always tell by themselves that a key is new; what is known of keys lies behind each other, without
// gaps, so that it is written in order, never moved when the table grows, and room comes and goes by the page. The zero open is
// empty. Whoever uses it brings a hash of each key, which is never 0.
type open[K comparable, V any] struct {
	slots []openSlot // as many as a power of two, of which a quarter or more is empty; nil before the first
	pages [][]openItem[K, V]
	used  int
}

// openSlot says which item has a hash.
type openSlot struct {
	hash uint32 // 0: empty
	item uint32
}

type openItem[K comparable, V any] struct {
	hash  uint32
	key   K
	value V
}

const (
	pageItems = 64
	// slotsTouched are within one page of memory. Of new slots one in so many is written to at first: a page that was read before is
	// one that is shared, of zeros, and to part it each processor must be interrupted.
	slotsTouched = 512
)

// slotHash is the part of a hash that an open takes; the lowest bits are left to choose the table.
func slotHash(h uint64) uint32 { return max(uint32(h>>32), 1) }

// get is the value of a key, if it has one.
func (t *open[K, V]) get(hash uint32, k K) (v V, found bool) {
	if t.used == 0 {
		return v, false
	}
	i, found := t.seek(hash, k)
	if found {
		v = t.item(t.slots[i].item).value
	}
	return v, found
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
	if found {
		t.item(t.slots[i].item).value = v
		return
	}
	t.slots[i] = openSlot{hash, uint32(t.used)}
	t.push(openItem[K, V]{hash, k, v})
}

// remove takes a key out. The last item takes the place of its item, and what lies behind its slot because of it moves back.
func (t *open[K, V]) remove(hash uint32, k K) {
	if t.used == 0 {
		return
	}
	hole, found := t.seek(hash, k)
	if !found {
		return
	}
	gap, last := t.slots[hole].item, uint32(t.used-1)
	if x := t.item(last); gap != last {
		i := t.home(x.hash)
		for t.slots[i] != (openSlot{x.hash, last}) {
			i = t.next(i)
		}
		t.slots[i].item = gap
		*t.item(gap) = *x
	}
	t.pop()
	for i := t.next(hole); t.slots[i].hash != 0; i = t.next(i) {
		if t.distance(t.home(t.slots[i].hash), i) >= t.distance(hole, i) {
			t.slots[hole], hole = t.slots[i], i
		}
	}
	t.slots[hole] = openSlot{}
}

// all are the keys with their values, in no order. That which is visited may be removed.
func (t *open[K, V]) all(yield func(K, V) bool) {
	for i := t.used - 1; i >= 0; i-- { // backwards: what takes the place of a removed one has been visited
		if x := t.item(uint32(i)); !yield(x.key, x.value) {
			return
		}
	}
}

// seek is the slot of a key, or the empty one where it would be.
func (t *open[K, V]) seek(hash uint32, k K) (i int, found bool) {
	for i = t.home(hash); ; i = t.next(i) {
		switch s := t.slots[i]; {
		case s.hash == 0:
			return i, false
		case s.hash == hash && t.item(s.item).key == k:
			return i, true
		}
	}
}

func (t *open[K, V]) grow() {
	old := t.slots
	t.slots = make([]openSlot, max(8, 2*len(old)))
	for i := 0; i < len(t.slots); i += slotsTouched {
		t.slots[i].hash = 0
	}
	for _, s := range old {
		if s.hash == 0 {
			continue
		}
		i := t.home(s.hash)
		for t.slots[i].hash != 0 {
			i = t.next(i)
		}
		t.slots[i] = s
	}
}

func (t *open[K, V]) item(i uint32) *openItem[K, V] { return &t.pages[i/pageItems][i%pageItems] }

// push appends an item. Tables are many and most are small: the first page grows.
func (t *open[K, V]) push(x openItem[K, V]) {
	page := t.used / pageItems
	if page == len(t.pages) {
		var room []openItem[K, V]
		if page > 0 {
			room = make([]openItem[K, V], 0, pageItems)
		}
		t.pages = append(t.pages, room)
	}
	t.pages[page] = append(t.pages[page], x)
	t.used++
}

// pop takes the last item away, and the page behind one that has become empty.
func (t *open[K, V]) pop() {
	t.used--
	page := t.used / pageItems
	t.pages[page] = t.pages[page][:t.used%pageItems]
	if page+1 < len(t.pages) {
		t.pages[page+1] = nil
		t.pages = t.pages[:page+1]
	}
}

// home is where the search for a hash begins, next the slot after one, distance how many steps lead from one to another.
func (t *open[K, V]) home(hash uint32) int { return int(hash) & (len(t.slots) - 1) }

func (t *open[K, V]) next(i int) int { return (i + 1) & (len(t.slots) - 1) }

func (t *open[K, V]) distance(from, to int) int { return (to - from) & (len(t.slots) - 1) }
