package main

import "math/bits"

// lanes is the digest table again, as fast as we can make it: the four digests of a bucket are compared at once, in one word,
// and both buckets are always read, so that no branch is there to be guessed.
type lanes struct{ buckets []laneBucket }

// laneBucket has a digest, never 0, and a value in each 16 bits.
type laneBucket struct{ digests, values uint64 }

const lane = 0x0001_0001_0001_0001

func buildLanes(d *data) (table, error) {
	from := buildCuckoo(d)
	t := &lanes{make([]laneBucket, len(from.buckets))}
	for i, b := range from.buckets {
		for j, slot := range b {
			t.buckets[i].digests |= uint64(slot>>16) << (16 * j)
			t.buckets[i].values |= uint64(slot&0xffff) << (16 * j)
		}
	}
	return t, nil
}

func (t *lanes) bytes() int { return len(t.buckets) * 16 }

// place are a key's digest and its two buckets, as in cuckoo.
func (t *lanes) place(key uint64) (digest, at, other uint32) {
	h := mix(key)
	digest = max(uint32(h)&0xffff, 1)
	at = scale(uint32(h>>32), len(t.buckets))
	if other = scale(digest*0x9E3779B1, len(t.buckets)); other < at {
		other += uint32(len(t.buckets))
	}
	return digest, at, other - at
}

func (t *lanes) read(digest, at, other uint32) uint16 {
	b, c := &t.buckets[at], &t.buckets[other]
	first, hit, values := b.hits(digest), c.hits(digest), c.values
	if first != 0 {
		hit = first
	}
	if first != 0 {
		values = b.values
	}
	if hit == 0 {
		return none
	}
	return uint16(values >> (bits.TrailingZeros64(hit) &^ 15))
}

// hits has the highest bit of a lane set where the digest is; the lowest that is set is right.
func (b *laneBucket) hits(digest uint32) uint64 {
	x := b.digests ^ uint64(digest)*lane
	return (x - lane) &^ x & (lane << 15)
}

func (t *lanes) get(key uint64) uint16 { return t.read(t.place(key)) }

func (t *lanes) independent(keys []uint64) (sum uint32) {
	for _, k := range keys {
		sum += uint32(t.get(k))
	}
	return sum
}

func (t *lanes) batched(keys []uint64, values []uint32) {
	var places [64]struct{ digest, at, other uint32 }
	for len(keys) > 0 {
		n := min(len(keys), len(places))
		for i, k := range keys[:n] {
			places[i].digest, places[i].at, places[i].other = t.place(k)
		}
		for i, p := range places[:n] {
			values[i] = uint32(t.read(p.digest, p.at, p.other))
		}
		keys, values = keys[n:], values[n:]
	}
}

func (t *lanes) dependent(keys []uint64) (v uint32) {
	for _, k := range keys {
		v = uint32(t.get(k ^ uint64(v)&zero))
	}
	return v
}

func (t *lanes) answer(keys []uint64, values []uint16) {
	for i, k := range keys {
		values[i] = t.get(k)
	}
}
