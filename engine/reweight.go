package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/store"
)

const (
	leastLive = 5   // live connections for each backend, on the average, below which weights are not moved
	fullPort  = 0.9 // of its capacity: whatever its share, it gets no more
)

// burden is a backend's part in a decision on weights.
type burden struct {
	name          string
	id            uint32
	declared, now int     // weights
	capacity      float64 // in any unit
	live          int64   // connections
	full          bool
}

// reweigh moves weights half-way to where live connections would be as capacities are, within the half and the double of the declared
// ones. Connections, not bytes, are what a backend that is too slow has too many of: of bytes it has too few. The answer is nil if
// nothing is to be moved.
func reweigh(all []burden) []int {
	var live, capacity float64
	for _, b := range all {
		live += float64(b.live)
		capacity += b.capacity
	}
	if live < leastLive*float64(len(all)) || capacity == 0 {
		return nil
	}
	out := make([]int, len(all))
	moved := false
	for i, b := range all {
		fair := live * b.capacity / capacity
		low, high := math.Ceil(float64(b.declared)/2), math.Min(2*float64(b.declared), vip.MaxWeight)
		target := min(max(float64(b.now)*(fair+1)/(float64(b.live)+1), low), high)
		out[i] = int(math.Round(float64(b.now) + (target-float64(b.now))/2))
		if b.full && out[i] > b.now {
			out[i] = b.now
		}
		moved = moved || out[i] != b.now
	}
	if !moved {
		return nil
	}
	return out
}

// burdens are the backends that a watcher compares, as they are now; none if of one it is not known how many connections it has. It is called with the watchers locked.
func (e *Engine) burdens(x *apps.VIP, w *watcher) []burden {
	last, tested := w.detector.Last()
	full := map[string]bool{}
	for i, c := range w.compared {
		if tested && c.limit > 0 && last.Means[i] > fullPort*c.limit {
			full[c.port.String()] = true
		}
	}
	var out []burden
	for i, c := range w.candidates {
		if c.away != "" {
			continue
		}
		b := &x.Backends[i]
		live, known := e.live(x, b, time.Time{})
		if !known {
			return nil
		}
		out = append(out, burden{b.Name, b.ID, x.VIP.Backends[i].Weight, b.Weight, c.capacity, live, full[c.port.String()]})
	}
	return out
}

// reaction is what the loop is to do after a test of a VIP that wants weights to be moved when loads or live connections are uneven, nil if
// nothing. It is called with the watchers locked.
func (e *Engine) reaction(x *apps.VIP, w *watcher) func() {
	if x.Spec.OnImbalance != vip.Reweight || w.detector == nil {
		return nil
	}
	all := e.burdens(x, w)
	w.crowd.test(all, w.settings.Test)
	if w.verdict != anova.Imbalanced && w.crowd.streak < w.settings.Test.Streak {
		return nil
	}
	next := reweigh(all)
	if next == nil {
		return nil
	}
	why := ""
	if w.verdict != anova.Imbalanced {
		why = w.crowd.String() + "; "
	}
	return func() { e.setWeights(x.VIP, all, next, why) }
}

// setWeights stores weights and puts them into effect, unless the VIP has changed meanwhile. why is told before what has been done.
func (e *Engine) setWeights(x *vip.VIP, all []burden, next []int, why string) {
	if e.model.vips[x.ID] != x {
		return
	}
	now := make(map[uint32]weightNow, len(all))
	for id, w := range e.model.weights[x.ID] {
		now[id] = w
	}
	var text []string
	for i, b := range all {
		if next[i] != b.now {
			now[b.id] = weightNow{b.declared, next[i]}
			text = append(text, fmt.Sprintf("%s %d → %d (%d live)", b.name, b.now, next[i], b.live))
		}
	}
	raw, err := json.Marshal(now)
	if err == nil {
		err = e.cfg.Store.Update(func(tx store.Tx) error { return tx.Put(store.BucketWeights, store.IDKey(uint64(x.ID)), raw) })
	}
	if err != nil {
		e.tell("error", "store", fmt.Sprintf("weights of VIP %q not stored, and not changed: %v", x.Spec.Name, err))
		return
	}
	e.model.weights[x.ID] = now
	e.settled.stale = true
	e.tell("imbalance", x.Spec.Name, why+"weights moved by live connections: "+cut(strings.Join(text, ", ")))
}
