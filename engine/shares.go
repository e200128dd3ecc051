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
	shareLook   = 900 * time.Millisecond // between two looks, however many switches are read meanwhile
	shareDelay  = 2 * time.Second        // after a change, until its effects are counted apart from what was before
	shareWindow = 5 * time.Minute        // after which what was counted is left behind, if it was enough to tell
	shareLeast  = 5                      // connections that must be expected of each backend: below, the test is not valid
	shareEnough = 20                     // of each, in a window that may end
	shareChance = 1e-9                   // of an honest group to be taken for a dishonest one, each time
)

// shares watches whether new connections spread over backends as they should. Versions of Open vSwitch have differed there, and
// somebody may have changed a group.
type shares struct {
	mu      sync.Mutex
	looked  time.Time // at all VIPs
	watched map[vip.ID]*watch
}

// watch is what a VIP's backends have got since its last change, or in the present window.
type watch struct {
	of     *apps.VIP // another pointer: it has changed
	expect []float64 // share of each backend, 0: it takes no connections
	since  time.Time // of the change, then of the window
	begun  bool      // the window has
	base   []int64   // by backend: connections when it began
	skew   string    // what was found to be wrong, "" if nothing; until a whole window is right
}

// reset begins anew with every VIP, but for what was found: a switch has been read for the first time in its session, and its
// counts are of any time.
func (s *shares) reset(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watched {
		w.since, w.begun = now, false
	}
}

// skewOf is what was found to be wrong with a VIP's shares, "" if nothing.
func (s *shares) skewOf(x *apps.VIP) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watched[x.ID]; w != nil && w.of == x {
		return w.skew
	}
	return ""
}

// checkShares compares what backends have got with what they should have, for VIPs of which an app can say that.
func (e *Engine) checkShares(v *apps.View) {
	e.shares.mu.Lock()
	defer e.shares.mu.Unlock()
	now := e.cfg.Now()
	if since := now.Sub(e.shares.looked); since >= 0 && since < shareLook {
		return
	}
	e.shares.looked = now
	if e.shares.watched == nil {
		e.shares.watched = map[vip.ID]*watch{}
	}
	for id := range e.shares.watched {
		if v.VIP(id) == nil {
			delete(e.shares.watched, id)
		}
	}
	for _, x := range v.VIPs {
		w := e.shares.watched[x.ID]
		if w == nil || w.of != x {
			w = &watch{of: x, since: now, expect: e.expected(v, x)}
			e.shares.watched[x.ID] = w
		}
		if w.expect != nil {
			e.watchShares(w, now)
		}
	}
}

// expected are the shares that a VIP's backends should have, nil if no app can say.
func (e *Engine) expected(v *apps.View, x *apps.VIP) []float64 {
	for _, app := range e.apps {
		if s, ok := app.(apps.Sharing); ok {
			if shares := s.Shares(v, x); shares != nil {
				return shares
			}
		}
	}
	return nil
}

// watchShares looks at one VIP.
func (e *Engine) watchShares(w *watch, now time.Time) {
	if !w.begun {
		if _, all := e.status.appliedTo(w.of, e.connected(), w.of.Version, nil); !all {
			w.since = now // a switch still divides as before
		}
		if now.Sub(w.since) < shareDelay {
			return
		}
	}
	counts := make([]int64, len(w.of.Backends))
	for i := range w.of.Backends {
		counts[i], _ = e.tally.of(w.of.Backends[i].Endpoint)
	}
	if !w.begun {
		w.begin(now, counts)
		return
	}
	message, least := w.deviation(counts)
	switch {
	case message != "" && w.skew == "":
		w.skew = message
		e.tell("vip", w.of.Spec.Name, message)
	case now.Sub(w.since) < shareWindow || least < shareEnough:
		return
	case message == "" && w.skew != "":
		w.skew = ""
		e.tell("vip", w.of.Spec.Name, "new connections spread as they should again")
	}
	if message != "" {
		w.skew = message
	}
	w.begin(now, counts)
}

func (w *watch) begin(now time.Time, counts []int64) { w.begun, w.since, w.base = true, now, counts }

// deviation says how counts differ from shares beyond chance, "" if they do not, and how many were expected of whom least is.
func (w *watch) deviation(counts []int64) (message string, least float64) {
	var got []int64
	var want []float64
	var names []string
	all := int64(0)
	for i, share := range w.expect {
		if share > 0 {
			n := counts[i] - w.base[i]
			got, want, names, all = append(got, n), append(want, share), append(names, w.of.Backends[i].Name), all+n
		}
	}
	if len(want) < 2 {
		return "", float64(all)
	}
	least = float64(all) * slices.Min(want)
	p, worst := chanceOf(got, want)
	if p >= shareChance {
		return "", least
	}
	return fmt.Sprintf("new connections do not spread as they should: %s has had %d of %d, and its share is %.1f%%; by chance once in %.0e",
		names[worst], got[worst], all, 100*want[worst], 1/max(p, 1e-300)), least
}

// chanceOf is the probability of counts at least as far from shares, which add up to 1 (Pearson's chi-squared test), and the one
// that is farthest. It is 1 while there are too few to tell.
func chanceOf(counts []int64, shares []float64) (p float64, worst int) {
	n := 0.0
	for _, c := range counts {
		n += float64(c)
	}
	if len(counts) < 2 || n*slices.Min(shares) < shareLeast {
		return 1, 0
	}
	var chi2, most float64
	for i := range counts {
		want := n * shares[i]
		part := (float64(counts[i]) - want) * (float64(counts[i]) - want) / want
		if chi2 += part; part > most {
			most, worst = part, i
		}
	}
	return distuv.ChiSquared{K: float64(len(counts) - 1)}.Survival(chi2), worst
}
