package nat

import (
	"hash/maphash"
	"sync"

	"github.com/evenflow/evenflow/apps/vip"
)

// tuples knows the answers of all connections of all VIPs. No two may look alike: neither the backend nor the reverse rules
// could tell them apart, as may happen when several ports or VIPs lead to one port of a backend.
type tuples struct {
	seed   maphash.Seed
	shards [2 * shardCount]tupleShard
}

type tupleShard struct {
	mu     sync.Mutex
	owners map[fiveTuple]tupleOwner
	_      [48]byte
}

func newTuples() *tuples {
	x := &tuples{seed: maphash.MakeSeed()}
	for i := range x.shards {
		x.shards[i].owners = map[fiveTuple]tupleOwner{}
	}
	return x
}

func (x *tuples) shard(t fiveTuple) *tupleShard {
	return &x.shards[maphash.Comparable(x.seed, t)%uint64(len(x.shards))]
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

// claim takes a tuple; false if somebody has it.
func (x *tuples) claim(t fiveTuple, o tupleOwner) bool {
	sh := x.shard(t)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if _, taken := sh.owners[t]; taken {
		return false
	}
	sh.owners[t] = o
	return true
}

func (x *tuples) release(t fiveTuple) {
	sh := x.shard(t)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	delete(sh.owners, t)
}

func (x *tuples) owner(t fiveTuple) (tupleOwner, bool) {
	sh := x.shard(t)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	o, ok := sh.owners[t]
	return o, ok
}
