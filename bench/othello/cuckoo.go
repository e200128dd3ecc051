package main

import "math/rand/v2"

// cuckoo is a hash table that keeps 16 bits of each key's hash, a digest, in the place of the key: the table of software and
// switch load balancers that want memory small (Maglev's connection table in Concury's comparison, SilkRoad). Two keys with
// one digest and a bucket in common are one to it.
type cuckoo struct {
	buckets []bucket
	random  *rand.Rand
	lost    int // keys that found no room
}

// bucket has four slots: a digest in the upper 16 bits, never 0, and a value.
type bucket [4]uint32

const load = 0.95

func buildCuckoo(d *data) *cuckoo {
	t := &cuckoo{buckets: make([]bucket, int(float64(len(d.keys))/load/4)+1), random: rand.New(rand.NewPCG(3, 4))}
	for i, k := range d.keys {
		t.put(k, d.values[i])
	}
	return t
}

func (t *cuckoo) bytes() int { return len(t.buckets) * 16 }

func (t *cuckoo) place(key uint64) (digest, at uint32) {
	h := mix(key)
	if digest = uint32(h) & 0xffff; digest == 0 {
		digest = 1
	}
	return digest, scale(uint32(h>>32), len(t.buckets))
}

// other is the other bucket of a digest; of the other bucket it is the first again.
func (t *cuckoo) other(digest, at uint32) uint32 {
	i := scale(digest*0x9E3779B1, len(t.buckets))
	if i < at {
		i += uint32(len(t.buckets))
	}
	return i - at
}

func (t *cuckoo) put(key uint64, value uint16) {
	digest, at := t.place(key)
	slot := digest<<16 | uint32(value)
	for range 2000 {
		for _, b := range [2]uint32{at, t.other(slot>>16, at)} {
			for i := range t.buckets[b] {
				if old := t.buckets[b][i]; old == 0 || old>>16 == slot>>16 && b == at {
					if old != 0 {
						t.lost++ // to this table the two keys are one
					}
					t.buckets[b][i] = slot
					return
				}
			}
		}
		i := t.random.IntN(4)
		slot, t.buckets[at][i] = t.buckets[at][i], slot
		at = t.other(slot>>16, at)
	}
	t.lost++
}

func (t *cuckoo) get(key uint64) uint16 {
	digest, at := t.place(key)
	b := &t.buckets[at]
	for i := range b {
		if b[i]>>16 == digest {
			return uint16(b[i])
		}
	}
	b = &t.buckets[t.other(digest, at)]
	for i := range b {
		if b[i]>>16 == digest {
			return uint16(b[i])
		}
	}
	return none
}

func (t *cuckoo) independent(keys []uint64) (sum uint32) {
	for _, k := range keys {
		sum += uint32(t.get(k))
	}
	return sum
}

func (t *cuckoo) dependent(keys []uint64) (v uint32) {
	for _, k := range keys {
		v = uint32(t.get(k ^ uint64(v)&zero))
	}
	return v
}

func (t *cuckoo) answer(keys []uint64, values []uint16) {
	for i, k := range keys {
		values[i] = t.get(k)
	}
}

func scale(h uint32, n int) uint32 { return uint32(uint64(h) * uint64(n) >> 32) }

// mix is the mixer that package othello has.
func mix(x uint64) uint64 {
	x = (x ^ x>>27) * 0x3C79AC492BA7B653
	x = (x ^ x>>33) * 0x1C69B3F74AC4AE35
	return x ^ x>>27
}
