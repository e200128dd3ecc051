package vip

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// roundRobin takes the usable backends one after the other, whatever their weight.
type roundRobin struct{ next atomic.Uint64 }

func (r *roundRobin) Pick(c *Candidates, _ Flow) (int, bool) {
	if len(c.usable) == 0 {
		return 0, false
	}
	n := r.next.Add(1) - 1
	return c.usable[n%uint64(len(c.usable))].index, true
}

// weightedRoundRobin takes each backend as often as its weight says, spread out.
type weightedRoundRobin struct{ next atomic.Uint64 }

func (r *weightedRoundRobin) Pick(c *Candidates, _ Flow) (int, bool) {
	if len(c.usable) == 0 {
		return 0, false
	}
	return c.smooth(r.next.Add(1) - 1).index, true
}

// leastConnections takes the backend with the fewest live connections per weight. Equals take turns by weight: else the
// first would get all connections too short to be counted.
type leastConnections struct{ next atomic.Uint64 }

func (l *leastConnections) Pick(c *Candidates, _ Flow) (int, bool) {
	if len(c.usable) == 0 {
		return 0, false
	}
	best := c.smooth(l.next.Add(1) - 1)
	live := best.connections()
	for i := range c.usable {
		u := &c.usable[i]
		if n := u.connections(); less(n, u.weight, live, best.weight) {
			best, live = u, n
		}
	}
	return best.index, true
}

// twoChoices draws two backends by weight and takes the one with fewer live connections per weight (Mitzenmacher, "The
// Power of Two Choices in Randomized Load Balancing", 2001): nearly as even as the least of all, without the herd that
// follows a backend which is new.
type twoChoices struct{ random atomic.Uint64 }

func (t *twoChoices) Pick(c *Candidates, _ Flow) (int, bool) {
	switch len(c.usable) {
	case 0:
		return 0, false
	case 1:
		return c.usable[0].index, true
	}
	r := mix(t.random.Add(golden))
	a := c.at(scale(r, c.total))
	// The second among all but the first: its share is cut out of the circle.
	x := scale(mix(r), c.total-a.weight)
	if x >= a.start {
		x += a.weight
	}
	b := c.at(x)
	if less(b.connections(), b.weight, a.connections(), a.weight) {
		return b.index, true
	}
	return a.index, true
}

// sourceHash gives a client address always the same backend: the best of weighted rendezvous scores (Schindelhauer and
// Schomaker, "Weighted Distributed Hash Tables", 2005). A backend that leaves moves only its own clients, a new one takes
// only its share.
type sourceHash struct{ seed uint64 }

func (s *sourceHash) Pick(c *Candidates, f Flow) (int, bool) {
	if len(c.usable) == 0 {
		return 0, false
	}
	client := s.client(f)
	var best *usable
	least := math.Inf(1)
	for i := range c.usable {
		u := &c.usable[i]
		// Uniform in (0,1): 53 bits, and half a step off zero.
		uniform := (float64(mix(client^mix(uint64(u.id)))>>11) + 0.5) / (1 << 53)
		if cost := -math.Log(uniform) / float64(u.weight); best == nil || cost < least {
			best, least = u, cost
		}
	}
	return best.index, true
}

func (s *sourceHash) client(f Flow) uint64 {
	a := f.Client.As16()
	h := s.seed
	for i := 0; i < len(a); i += 8 {
		var w uint64
		for _, b := range a[i : i+8] {
			w = w<<8 | uint64(b)
		}
		h = mix(h ^ w)
	}
	return h
}

const golden = 0x9e3779b97f4a7c15

// mix is the output step of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += golden
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// scale maps a random number to [0, n).
func scale(random, n uint64) uint64 {
	hi, _ := bits.Mul64(random, n)
	return hi
}
