package engine

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

const (
	shareDelay  = 2 * time.Second // after a change, until its effects are counted apart from what was before
	shareLeast  = 5               // connections that must be expected of each backend: below, the test is not valid
	shareChance = 1e-9            // of an honest group to be taken for a dishonest one
)

// shares watches whether new connections spread over backends as the weights say. Versions of Open vSwitch have differed there.
type shares struct {
	mu      sync.Mutex
	watched map[vip.ID]*watch
}

// watch is what a VIP's backends have got since its last change.
type watch struct {
	of    *apps.VIP // another pointer: it has changed
	since time.Time
	begun bool
	base  []int64 // by backend
	told  bool
}

// checkShares compares counts with weights, for VIPs whose groups have bucket ids on all switches: without, a switch divides by
// rules of its own.
func (e *Engine) checkShares(v *apps.View) {
	for _, i := range v.Switches {
		if !i.OF15 {
			return
		}
	}
	e.shares.mu.Lock()
	defer e.shares.mu.Unlock()
	if e.shares.watched == nil {
		e.shares.watched = map[vip.ID]*watch{}
	}
	for id := range e.shares.watched {
		if v.VIP(id) == nil {
			delete(e.shares.watched, id)
		}
	}
	now := e.cfg.Now()
	for _, x := range v.VIPs {
		if x.Spec.Mode != vip.ModeGroup {
			continue
		}
		w := e.shares.watched[x.ID]
		if w == nil || w.of != x {
			e.shares.watched[x.ID] = &watch{of: x, since: now}
			continue
		}
		if w.told || now.Sub(w.since) < shareDelay {
			continue
		}
		counts := make([]int64, len(x.Backends))
		for i := range x.Backends {
			counts[i], _ = e.tally.of(x.Backends[i].Endpoint)
		}
		if !w.begun {
			w.begun, w.base = true, counts
			continue
		}
		if message := w.deviation(counts); message != "" {
			w.told = true
			e.tell("vip", x.Spec.Name, message)
		}
	}
}

// deviation says how counts differ from weights beyond chance, "" if they do not.
func (w *watch) deviation(counts []int64) string {
	var got []int64
	var weights []int
	var names []string
	for i := range w.of.Backends {
		b := &w.of.Backends[i]
		if b.State == vip.StateUp && b.Weight > 0 {
			got = append(got, counts[i]-w.base[i])
			weights = append(weights, b.Weight)
			names = append(names, b.Name)
		}
	}
	p, worst := chanceOf(got, weights)
	if p >= shareChance {
		return ""
	}
	var all, total int64
	for i := range got {
		all, total = all+got[i], total+int64(weights[i])
	}
	return fmt.Sprintf("new connections do not spread as the weights say: %s has had %d of %d, and its share is %.1f%%; by chance once in %.0e changes",
		names[worst], got[worst], all, 100*float64(weights[worst])/float64(total), 1/max(p, 1e-300))
}

// chanceOf is the probability of counts at least as far from what the weights say (Pearson's chi-squared test), and the one
// that is farthest. It is 1 while there are too few to tell.
func chanceOf(counts []int64, weights []int) (p float64, worst int) {
	var n, total float64
	for i := range counts {
		n, total = n+float64(counts[i]), total+float64(weights[i])
	}
	if len(counts) < 2 || n*float64(slices.Min(weights)) < shareLeast*total {
		return 1, 0
	}
	var chi2, most float64
	for i := range counts {
		want := n * float64(weights[i]) / total
		part := (float64(counts[i]) - want) * (float64(counts[i]) - want) / want
		if chi2 += part; part > most {
			most, worst = part, i
		}
	}
	return distuv.ChiSquared{K: float64(len(counts) - 1)}.Survival(chi2), worst
}
