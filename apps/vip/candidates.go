package vip

import (
	"math"
	"sort"
	"sync/atomic"
)

// Candidate is a backend as a scheduler sees it.
type Candidate struct {
	ID     uint32        // of the backend
	Weight int           // 0: takes no new connections
	Up     bool          // in StateUp
	Live   *atomic.Int64 // its live connections, counted by the caller; nil: 0
}

// Candidates are the backends of a VIP made ready for choosing. They are immutable: a change of a weight or a state makes
// new ones; only the counts of live connections move.
type Candidates struct {
	usable []usable
	total  uint64 // of the weights, divided by their greatest common divisor
	step   uint64 // coprime to total: see goldenStep
}

// usable is a candidate that is up and has a weight. Its share of the weights is [start, start+weight).
type usable struct {
	index  int
	id     uint32
	weight uint64
	start  uint64
	live   *atomic.Int64
}

// NewCandidates prepares the backends of a VIP, most often in the order of VIP.Backends. Those that are not up or weigh
// nothing are never picked.
func NewCandidates(all []Candidate) *Candidates {
	c := &Candidates{usable: make([]usable, 0, len(all))}
	var divisor uint64
	for i, x := range all {
		if x.Up && x.Weight > 0 {
			c.usable = append(c.usable, usable{index: i, id: x.ID, weight: uint64(x.Weight), live: x.Live})
			divisor = gcd(divisor, uint64(x.Weight))
		}
	}
	for i := range c.usable {
		u := &c.usable[i]
		u.weight /= divisor
		u.start = c.total
		c.total += u.weight
	}
	c.step = goldenStep(c.total)
	return c
}

// Len is how many backends can be picked.
func (c *Candidates) Len() int { return len(c.usable) }

// at is the candidate whose share of the weights holds x, which is below c.total.
func (c *Candidates) at(x uint64) *usable {
	i := sort.Search(len(c.usable), func(i int) bool { return c.usable[i].start > x })
	return &c.usable[i-1]
}

// smooth is the n-th candidate in an order in which each comes as often as its weight says in total picks, and spread out:
// steps of the golden ratio around a circle fall evenly (the three-distance theorem). It needs no state but n.
func (c *Candidates) smooth(n uint64) *usable {
	return c.at(n % c.total * c.step % c.total)
}

func (u *usable) connections() uint64 {
	if u.live == nil {
		return 0
	}
	return uint64(max(u.live.Load(), 0))
}

// less compares connections per weight, exactly.
func less(liveA, weightA, liveB, weightB uint64) bool { return liveA*weightB < liveB*weightA }

// goldenStep is the number coprime to total, near total divided by the golden ratio, whose steps around a circle of total
// fall most evenly: that with the smallest partial quotients in the continued fraction of step/total.
func goldenStep(total uint64) uint64 {
	const window = 32
	best, step := uint64(math.MaxUint64), uint64(1)
	near := uint64(float64(total) / math.Phi)
	for s := max(near, window+1) - window; s <= near+window && s < total; s++ {
		if q, coprime := largestQuotient(s, total); coprime && q < best {
			best, step = q, s
		}
	}
	return step
}

// largestQuotient is the largest partial quotient of a/b, and whether a and b are coprime.
func largestQuotient(a, b uint64) (q uint64, coprime bool) {
	for a != 0 {
		q = max(q, b/a)
		a, b = b%a, a
	}
	return q, b == 1
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
