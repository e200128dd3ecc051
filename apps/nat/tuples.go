package nat

import (
	"hash/maphash"
	"sync"

	"github.com/evenflow/evenflow/apps/vip"
)

// tuples knows the answers of all connections of all VIPs. No two may look alike: neither the backend nor the reverse rules
// could tell them apart, as may happen when several ports or VIPs lead to one port of a backend.
//
// They are kept by a 64-bit hash with a random seed, a third of their size. Two different ones of equal hash pass for alike
// (among a million connections once in some ten million cases), which only moves a connection to another backend.
type tuples struct {
	seed   maphash.Seed
	shards [2 * shardCount]tupleShard
}

type tupleShard struct {
	mu     sync.Mutex
	owners map[uint64]tupleOwner
	_      [48]byte
}

func newTuples() *tuples {
	x := &tuples{seed: maphash.MakeSeed()}
	for i := range x.shards {
		x.shards[i].owners = map[uint64]tupleOwner{}
	}
	return x
}

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

func (x *tuples) find(t fiveTuple) (*tupleShard, uint64) {
	h := maphash.Comparable(x.seed, t)
	return &x.shards[h%uint64(len(x.shards))], h
}

// claim takes a tuple; false if somebody has it.
func (x *tuples) claim(t fiveTuple, o tupleOwner) bool {
	sh, h := x.find(t)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if _, taken := sh.owners[h]; taken {
		return false
	}
	sh.owners[h] = o
	return true
}

// release gives a claimed tuple back.
func (x *tuples) release(t fiveTuple) {
	sh, h := x.find(t)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	delete(sh.owners, h)
}

// owner is who has claimed a tuple. Whoever asks must check that the connection's tuple is the one asked for.
func (x *tuples) owner(t fiveTuple) (tupleOwner, bool) {
	sh, h := x.find(t)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	o, ok := sh.owners[h]
	return o, ok
}
