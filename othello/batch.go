package othello

// batch is how many keys are hashed before the first of their cells is read. A processor then waits for that many cells at a
// time, where one lookup after the other lets it see no more than a few ahead.
const batch = 64

// places are the cells of a batch of keys.
type places [batch]struct{ a, b uint32 }

// of hashes the next keys, at most a batch, and says how many.
func (p *places) of(h Hash, keys []uint64) int {
	n := min(len(keys), batch)
	for i, k := range keys[:n] {
		p[i].a, p[i].b = h.Cells(k)
	}
	return n
}

// LookupBatch is Lookup of many keys: values[i] is that of keys[i]. There must be as many values as keys.
func (p *Uint16) LookupBatch(keys []uint64, values []uint32) {
	var at places
	for len(keys) > 0 {
		n := at.of(p.hash, keys)
		for i, c := range at[:n] {
			values[i] = uint32(p.a[c.a] ^ p.b[c.b])
		}
		keys, values = keys[n:], values[n:]
	}
}

// LookupBatch is Lookup of many keys: values[i] is that of keys[i]. There must be as many values as keys.
func (p *Packed) LookupBatch(keys []uint64, values []uint32) {
	var at places
	for len(keys) > 0 {
		n := at.of(p.hash, keys)
		for i, c := range at[:n] {
			values[i] = p.value(c.a, c.b)
		}
		keys, values = keys[n:], values[n:]
	}
}
