package main

// maglev is the lookup table of Eisenbud et al., "Maglev" (NSDI 2016), for 16 backends: hash, remainder, one read. It knows no
// connection, so a change of the backends moves some; it is the ceiling for speed.
type maglev struct{ entries []uint16 }

const maglevSize = 65537

func buildMaglev(*data) (table, error) {
	const backends = 16
	t := &maglev{make([]uint16, maglevSize)}
	for i := range t.entries {
		t.entries[i] = none
	}
	var next [backends]uint64
	for filled := 0; filled < maglevSize; {
		for b := range next {
			offset, skip := mix(uint64(b))%maglevSize, mix(uint64(b)|1<<32)%(maglevSize-1)+1
			at := (offset + next[b]*skip) % maglevSize
			for t.entries[at] != none {
				next[b]++
				at = (offset + next[b]*skip) % maglevSize
			}
			t.entries[at] = uint16(b)
			if filled++; filled == maglevSize {
				break
			}
		}
	}
	return t, nil
}

func (t *maglev) bytes() int { return 0 }

func (t *maglev) get(key uint64) uint16 { return t.entries[mix(key)%maglevSize] }

func (t *maglev) independent(keys []uint64) (sum uint32) {
	for _, k := range keys {
		sum += uint32(t.get(k))
	}
	return sum
}

func (t *maglev) dependent(keys []uint64) (v uint32) {
	for _, k := range keys {
		v = uint32(t.get(k ^ uint64(v)&zero))
	}
	return v
}

func (t *maglev) answer(keys []uint64, values []uint16) {
	for i, k := range keys {
		values[i] = t.get(k)
	}
}
