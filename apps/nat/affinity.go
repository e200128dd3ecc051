package nat

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/evenflow/evenflow/apps/vip"
)

// affinity knows to which backend each client address of a VIP is to come again, until a time that its new connections do not
// put off. It is bounded: beyond, clients are balanced as without it, and counted.
type affinity struct {
	seed   maphash.Seed
	shards [shardCount]affinityShard
}

type affinityShard struct {
	mu      sync.Mutex
	clients map[address]bond
	swept   uint32 // Unix time in seconds of the last look for bonds that are over
	_       [40]byte
}

// bond is a client's with a backend.
type bond struct {
	backend uint32
	since   uint32 // Unix time in seconds
	chosen  bool   // since the start, not taken from a connection that was found
}

func (b bond) over(now, timeout uint32) bool { return now-b.since >= timeout && now >= b.since }

// affinitySeconds is the time that a VIP's clients are bound for, 0 if they are not.
func affinitySeconds(s *vip.Spec) uint32 {
	if s.Affinity == nil {
		return 0
	}
	return uint32(s.Affinity.Timeout.Seconds())
}

// bonds are the VIP's clients, made when the first is bound.
func (s *service) bonds() *affinity {
	if a := s.affinity.Load(); a != nil {
		return a
	}
	a := &affinity{seed: maphash.MakeSeed()}
	if !s.affinity.CompareAndSwap(nil, a) {
		if other := s.affinity.Load(); other != nil {
			return other
		}
	}
	return a
}

// choose is the index of the backend for a new connection: its client's, while that takes connections, else one that the
// scheduler chooses, which is the client's from then on.
func (s *service) choose(p *plan, k key, f vip.Flow) (index int, ok bool) {
	if p.affinity == 0 {
		return p.scheduler.Pick(p.candidates, f)
	}
	now, sh := s.app.now(), s.bonds().shard(k.client)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if t := sh.bound(p, k.client, now); t != nil {
		return t.place, true
	}
	if index, ok = p.scheduler.Pick(p.candidates, f); ok {
		s.bind(sh, k.client, bond{p.targets[index].id, now, true}, now, p.affinity)
	}
	return index, ok
}

// bound is the backend that takes a client's next connection, nil if that is the scheduler's choice.
func (s *service) bound(p *plan, client address) *target {
	a := s.affinity.Load()
	if p.affinity == 0 || a == nil {
		return nil
	}
	sh := a.shard(client)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.bound(p, client, s.app.now())
}

// bound is the backend that a client is bound to and that takes connections, nil if there is none. The caller holds mu.
func (sh *affinityShard) bound(p *plan, client address, now uint32) *target {
	if b, known := sh.clients[client]; known && !b.over(now, p.affinity) {
		if t := p.target(b.backend); t != nil && t.takes {
			return t
		}
	}
	return nil
}

// rebind makes the bonds of clients whose connections were found in a switch and are new to the table: what they would be had these
// just been made, one after another. They are of before the start, or of before affinity: they outdo none that has been chosen since.
func (s *service) rebind(pairs map[key]*pair) {
	p, now := s.plan.Load(), s.app.now()
	if p.affinity == 0 {
		return
	}
	var fresh []key
	for k, c := range pairs {
		if c.fresh {
			fresh = append(fresh, k)
		}
	}
	slices.SortFunc(fresh, func(a, b key) int { return pairs[a].since.Compare(pairs[b].since) })
	last := map[address]bond{}
	for _, k := range fresh {
		c := pairs[k]
		b, since := last[k.client], s.app.seconds(c.since)
		if b.backend != c.target.id || b.over(since, p.affinity) {
			last[k.client] = bond{backend: c.target.id, since: since}
		}
	}
	for client, found := range last {
		if found.over(now, p.affinity) {
			continue
		}
		sh := s.bonds().shard(client)
		sh.mu.Lock()
		b, known := sh.clients[client]
		switch {
		case !known || b.over(now, p.affinity):
			s.bind(sh, client, found, now, p.affinity)
		case b.backend == found.backend:
			b.since = min(b.since, found.since)
			s.bind(sh, client, b, now, p.affinity)
		case !b.chosen && found.since > b.since: // of another switch
			s.bind(sh, client, found, now, p.affinity)
		}
		sh.mu.Unlock()
	}
}

// bind keeps a bond if there is room, which is made by dropping those that are over, once a second at most.
func (s *service) bind(sh *affinityShard, client address, b bond, now, timeout uint32) {
	if _, known := sh.clients[client]; !known && len(sh.clients) >= s.app.cfg.MaxClients/shardCount {
		if sh.swept != now {
			sh.swept = now
			for c, old := range sh.clients {
				if old.over(now, timeout) {
					delete(sh.clients, c)
				}
			}
		}
		if len(sh.clients) >= s.app.cfg.MaxClients/shardCount {
			s.app.counters.unbound.Add(1)
			return
		}
	}
	if sh.clients == nil {
		sh.clients = map[address]bond{}
	}
	sh.clients[client] = b
}

func (a *affinity) shard(client address) *affinityShard {
	return &a.shards[maphash.Comparable(a.seed, client)%shardCount]
}
