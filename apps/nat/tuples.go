package nat

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"sync"

	"github.com/evenflow/evenflow/apps/vip"
)

// tuples knows the answers of all connections of all VIPs. No two may look alike: neither the backend nor the reverse rules
// could tell them apart, as may happen when several ports or VIPs lead to one port of a backend.
//
// They are kept by 64 bits of hashes with a random seed, a third of their size. Two different ones with the same bits pass for alike
// (among a million connections once in some ten million cases), which only moves a connection to another backend; so do, of which half
// of the bits are the same, those of one port of a client with two backends (once in four thousand million pairs of backends).
type tuples struct {
	seed   maphash.Seed
	shards [2 * shardCount]tupleShard
}

type tupleShard struct {
	mu     sync.Mutex
	owners open[uint32, tupleOwner] // by half of the hash, as the other half is what the table goes by
}

func newTuples() *tuples { return &tuples{seed: maphash.MakeSeed()} }

// tupleOwner is the connection whose answers a tuple is: with the tuple's destination, or in a hairpin its source, as client.
type tupleOwner struct {
	vip     vip.ID
	vport   uint16
	hairpin bool
}

func (o tupleOwner) key(t fiveTuple) key {
	if o.hairpin {
		return key{t.src, t.dport, o.vport}
	}
	return key{t.dst, t.dport, o.vport}
}

// golden is 2⁶⁴ divided by the golden ratio: an odd number without a pattern.
const golden = 0x9e3779b97f4a7c15

// find is where a tuple is kept, under which hash and key.
func (x *tuples) find(t fiveTuple) (sh *tupleShard, hash, key uint32) {
	sh, h := x.near(t)
	far, near := bits.Mul64(h^binary.BigEndian.Uint64(t.src[:8]), golden^binary.BigEndian.Uint64(t.src[8:]))
	return sh, slotHash(h), uint32(far ^ near)
}

// near is where a tuple is kept, whichever backend answers: so this is known before one is chosen. Those of one port of a client
// that differ in nothing else lie side by side, at most as many as there are backends.
func (x *tuples) near(t fiveTuple) (sh *tupleShard, hash uint64) {
	t.src = address{}
	h := maphash.Comparable(x.seed, t)
	return &x.shards[h%uint64(len(x.shards))], h
}

// prefetch has fetched what find will lead to, also for another source.
func (x *tuples) prefetch(t fiveTuple) {
	sh, h := x.near(t)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.owners.prefetch(slotHash(h))
}

// claim takes a tuple; false if somebody has it.
func (x *tuples) claim(t fiveTuple, o tupleOwner) bool {
	sh, hash, key := x.find(t)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if _, taken := sh.owners.get(hash, key); taken {
		return false
	}
	sh.owners.set(hash, key, o)
	return true
}

// release gives a claimed tuple back.
func (x *tuples) release(t fiveTuple) {
	sh, hash, key := x.find(t)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.owners.remove(hash, key)
}

// owner is who has claimed a tuple. Whoever asks must check that the connection's tuple is the one asked for.
func (x *tuples) owner(t fiveTuple) (tupleOwner, bool) {
	sh, hash, key := x.find(t)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.owners.get(hash, key)
}
