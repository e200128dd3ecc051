package vip

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/evenflow/evenflow/anova"
)

// Fed is a scheduler that goes by the loads of the ports of backends, as they were last read: those of Zhong, Lin, Cui, Shi and Liu, "An
// Efficient SDN Load Balancing Scheme Based on Variance Analysis for Massive Mobile Users" (2015). They are there to be compared with. A
// load says little of what a backend can take: a slow one shows little of it, and attracts more.
type Fed interface {
	Scheduler
	// Feed gives the loads of all candidates, in the order given to NewCandidates, in any unit; NaN: unknown. rejected says that they
	// have been found to differ beyond chance. It is called about once a second, never twice at a time, and while Pick is.
	Feed(c *Candidates, loads []float64, rejected bool)
}

// NeedsLoads reports whether a scheduler is a [Fed] one.
func NeedsLoads(scheduler string) bool {
	return scheduler == Greedy || scheduler == Roulette || scheduler == StickyRoulette
}

// perWeight are the loads of the usable candidates by their weights: with equal weights the paper's. What is unknown is taken for the mean.
func (c *Candidates) perWeight(loads []float64) []float64 {
	out := make([]float64, len(c.usable))
	sum, known := 0.0, 0
	for i := range c.usable {
		out[i] = math.NaN()
		if u := &c.usable[i]; u.index < len(loads) && loads[u.index] >= 0 {
			out[i] = loads[u.index] / float64(u.weight)
			sum, known = sum+out[i], known+1
		}
	}
	for i, x := range out {
		if math.IsNaN(x) {
			out[i] = sum / float64(max(known, 1))
		}
	}
	return out
}

// greedy takes the backend with the least load at the last reading, for all connections until the next. Equals take turns.
type greedy struct {
	least atomic.Pointer[leastLoaded]
	next  atomic.Uint64
}

// leastLoaded are the usable candidates of the least load.
type leastLoaded struct {
	of    *Candidates
	these []int
}

func (g *greedy) Feed(c *Candidates, loads []float64, _ bool) {
	l := &leastLoaded{of: c}
	least := math.Inf(1)
	for i, x := range c.perWeight(loads) {
		if x < least {
			least, l.these = x, l.these[:0]
		}
		if x == least {
			l.these = append(l.these, i)
		}
	}
	g.least.Store(l)
}

func (g *greedy) Pick(c *Candidates, _ Flow) (int, bool) {
	if len(c.usable) == 0 {
		return 0, false
	}
	n := g.next.Add(1) - 1
	if l := g.least.Load(); l != nil && l.of == c {
		return c.usable[l.these[n%uint64(len(l.these))]].index, true
	}
	return c.usable[n%uint64(len(c.usable))].index, true // not fed since a change
}

// roulette draws a backend for each connection, the likelier the less load it has: 1/x over the sum of those.
type roulette struct {
	wheel  atomic.Pointer[wheel]
	random atomic.Uint64
}

type wheel struct {
	anova.Wheel
	of *Candidates
}

func (r *roulette) Feed(c *Candidates, loads []float64, _ bool) {
	r.wheel.Store(&wheel{anova.NewWheel(c.perWeight(loads)), c})
}

func (r *roulette) Pick(c *Candidates, _ Flow) (int, bool) {
	if len(c.usable) == 0 {
		return 0, false
	}
	return r.draw(c).index, true
}

// draw is a usable candidate; there must be one.
func (r *roulette) draw(c *Candidates) *usable {
	random := mix(r.random.Add(golden))
	if w := r.wheel.Load(); w != nil && w.of == c {
		return &c.usable[w.Draw(float64(random>>11)/(1<<53))]
	}
	return c.at(scale(random, c.total)) // not fed since a change
}

// stickyRoulette draws when loads have been found to differ, and gives all connections to the backend drawn until the next time.
type stickyRoulette struct {
	roulette
	chosen atomic.Uint32 // id of a backend; 0: none yet
}

func (s *stickyRoulette) Feed(c *Candidates, loads []float64, rejected bool) {
	s.roulette.Feed(c, loads, rejected)
	if rejected && len(c.usable) > 0 {
		s.chosen.Store(s.draw(c).id)
	}
}

func (s *stickyRoulette) Pick(c *Candidates, _ Flow) (int, bool) {
	if len(c.usable) == 0 {
		return 0, false
	}
	for {
		chosen := s.chosen.Load()
		if i := slices.IndexFunc(c.usable, func(u usable) bool { return u.id == chosen }); i >= 0 {
			return c.usable[i].index, true
		}
		s.chosen.CompareAndSwap(chosen, s.draw(c).id) // the one chosen has gone, or there was none
	}
}
