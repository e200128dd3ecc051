package engine

import (
	"fmt"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
)

// mergeWindow is how long a change is held back, for others that follow at once: each generation costs.
const mergeWindow = 100 * time.Millisecond

// stepRetry is when a look is repeated that failed, or that time alone may change.
const stepRetry = time.Second

// step brings the VIPs that choose by generations a step ahead: a set that has changed makes a new generation, and a step that
// all switches have confirmed is followed by the next. What is decided is stored, and in the view that is returned.
func (e *Engine) step(v *apps.View) *apps.View {
	now := e.cfg.Now()
	gs := e.generations
	gs.due = time.Time{}
	some := map[vip.ID]*vip.Generations{}
	for _, x := range v.VIPs {
		if !x.Deferred() {
			continue
		}
		next := e.nextGenerations(v, x, now)
		if x.Spec.Mode == vip.ModeOthello {
			begun := next.Newest() != nil && len(next.Newest().Owners) == 0
			next = othello.Settle(next, func() []othello.State { return e.liveOf(v, x, now) })
			if begun && x.Proto() == apps.ProtoUDP {
				next = othello.Carry(next, x.Address)
			}
		}
		if next != x.Generations {
			some[x.ID] = next
			gs.confirmed[x.ID] = time.Time{}
		}
	}
	if len(some) > 0 {
		if err := e.storeGenerations(some); err != nil {
			e.tell("error", "store", fmt.Sprintf("a change of backends is not stored, and waits: %v", err))
			gs.lookAt(now.Add(stepRetry))
			some = nil
		}
	}
	for _, x := range v.VIPs {
		if next := some[x.ID]; next != nil {
			e.noteStep(x, next, now)
		}
	}
	changing := 0
	for id, g := range gs.all {
		if !g.Steady() {
			changing++
		} else {
			delete(gs.confirmed, id)
		}
	}
	gs.changing.Store(int32(changing))
	if len(some) == 0 {
		return v
	}
	return e.newView()
}

// nextGenerations is what a VIP's generations are to be now: the same pointer if they stay.
func (e *Engine) nextGenerations(v *apps.View, x *apps.VIP, now time.Time) *vip.Generations {
	g := x.Generations.Without(func(id uint32) bool {
		b := x.BackendByID(id)
		return b == nil || !v.Serves(x, b)
	})
	if !g.Steady() {
		if since := e.confirmedSince(v, x, now); !since.IsZero() {
			if at := since.Add(cacheLag); now.Before(at) {
				e.generations.lookAt(at)
			} else {
				if g = g.Next(x.Spec.HandOver); g.Steady() && x.Spec.Mode == vip.ModeDeferred {
					g = g.Trail(e.generations.away(now))
				}
				e.generations.lookAt(now) // there may be more to do at once
			}
		}
		return g
	}
	if g != nil && g.Behind != 0 && !e.generations.away(now) {
		return g.Resettle()
	}
	if g != nil {
		g = e.retire(v, x, g, now)
	}
	want, newest := v.Wants(x), g.Newest()
	if newest.Divides(want) || newest != nil && len(g.Kept) >= x.Spec.HandOver {
		if next := e.relieve(v, x, g, now); next != g {
			return next
		}
		if next := e.learn(v, x, g, now); next != g {
			return next
		}
	}
	if newest == nil && len(want.Members) == 0 || newest.Divides(want) {
		if g != nil && g.Drop { // it was for a change that needs no dropping
			kept := *g
			kept.Drop, g = false, &kept
		}
		delete(e.generations.differ, x.ID)
		return g
	}
	if e.generations.differ[x.ID].IsZero() {
		e.generations.differ[x.ID] = now
	}
	if at := e.generations.differ[x.ID].Add(mergeWindow); now.Before(at) {
		e.generations.lookAt(at)
		return g
	}
	if limit := x.Spec.HandOver; g != nil && limit > 1 && len(g.Kept) >= limit {
		if !g.Spare() && !g.Drop {
			return g // the change waits
		}
		g = g.Retire()
		if len(g.Kept) >= limit {
			e.generations.lookAt(now)
			return g
		}
	}
	delete(e.generations.differ, x.ID)
	return g.BeginAs(want)
}

// confirmedSince is since when every switch has confirmed the present step; the zero time: not all have.
func (e *Engine) confirmedSince(v *apps.View, x *apps.VIP, now time.Time) time.Time {
	gs := e.generations
	if !e.status.confirmed(vipOwner(x.VIP), v) {
		gs.confirmed[x.ID] = time.Time{}
		return time.Time{}
	}
	for _, until := range gs.missing {
		if now.Before(until) {
			gs.lookAt(until)
			gs.confirmed[x.ID] = time.Time{}
			return time.Time{}
		}
	}
	if gs.confirmed[x.ID].IsZero() {
		gs.confirmed[x.ID] = now
	}
	return gs.confirmed[x.ID]
}

// away reports whether a switch is that may be forwarding still, by what it last had.
func (gs *generations) away(now time.Time) bool {
	for d, until := range gs.missing {
		if end := until.Add(awayMost); now.Before(end) {
			gs.lookAt(end)
			return true
		}
		delete(gs.missing, d)
	}
	return false
}

// retire drops the oldest generations while no packet of their connections has been seen for long, but none by which a switch may still choose.
// Connections of those that went before, for pins, are where the oldest has them.
func (e *Engine) retire(v *apps.View, x *apps.VIP, g *vip.Generations, now time.Time) *vip.Generations {
	quiet := map[uint32]time.Time{} // what has been dropped is not in it any more
	for _, k := range g.Kept[min(1, len(g.Kept)):] {
		since, known := e.generations.quiet[x.ID][k.ID]
		if !known {
			since = now
		}
		if heard := e.tally.aged(x.ID, k.ID); heard.After(since) {
			since = heard
		}
		quiet[k.ID] = since
	}
	if heard, oldest := e.tally.aged(x.ID, 0), g.Kept[len(g.Kept)-1:]; len(g.Kept) > 1 && heard.After(quiet[oldest[0].ID]) {
		quiet[oldest[0].ID] = heard
	}
	e.generations.quiet[x.ID] = quiet
	for len(g.Kept) > 1 && g.Kept[len(g.Kept)-1].ID != g.Behind {
		at := quiet[g.Kept[len(g.Kept)-1].ID].Add(time.Duration(x.Spec.HandOverIdle))
		switch {
		case now.Before(at):
			e.generations.lookAt(at)
			return g
		case !e.tally.agesRead(v, at): // a busy switch may have had packets
			e.generations.lookAt(now.Add(stepRetry))
			return g
		}
		g = g.Retire()
	}
	return g
}

// lookAt has the loop look again at a time.
func (gs *generations) lookAt(at time.Time) {
	if gs.due.IsZero() || at.Before(gs.due) {
		gs.due = at
	}
}

// stepsDue reports whether it is time to look.
func (gs *generations) stepsDue(now time.Time) bool {
	return !gs.due.IsZero() && !now.Before(gs.due)
}

// confirmedOne tells the loop that a switch has confirmed something that a step may wait for.
func (gs *generations) confirmedOne() {
	if gs.changing.Load() == 0 {
		return
	}
	select {
	case gs.wake <- struct{}{}:
	default:
	}
}

// expectKnown has the switches waited for that are known and not connected, at the start.
func (e *Engine) expectKnown() {
	until := e.cfg.Now().Add(absence)
	for _, d := range e.topo.Snapshot().Switches() {
		e.generations.missing[d] = until
	}
}

// confirmed reports whether all switches of a view have confirmed what an owner wants.
func (s *status) confirmed(o apps.Owner, v *apps.View) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range v.Switches {
		if _, open, known := s.acks.of(d, o); !known || open.pending || open.err != "" {
			return false
		}
	}
	return true
}

// changing reports whether a change of a VIP's set of backends is not through, and why it waits, if it does.
func changing(v *apps.View, x *apps.VIP) (under bool, waits string) {
	if !x.Deferred() {
		return false, ""
	}
	newest := x.Generations.Newest()
	if want := v.Wants(x); newest == nil && len(want.Members) == 0 || newest.Divides(want) {
		return !x.Generations.Steady(), ""
	}
	if !x.Generations.Steady() || newest == nil || len(x.Generations.Kept) < x.Spec.HandOver {
		return true, ""
	}
	oldest := x.Generations.Kept[len(x.Generations.Kept)-1].ID
	return true, fmt.Sprintf("a change of backends waits: %d generations are kept, and connections that began in the oldest, %d, have had packets "+
		"in the last %s; ?drop_oldest=true breaks what is left of them", len(x.Generations.Kept), oldest, time.Duration(x.Spec.HandOverIdle))
}

// handOver is a VIP's part in its status.
func (e *Engine) handOver(v *apps.View, x *apps.VIP) *vip.HandOver {
	if !x.Deferred() {
		return nil
	}
	h := &vip.HandOver{Step: vip.StepSteady}
	if g := x.Generations; g != nil {
		h.Step, h.Generations = g.Step, len(g.Kept)
		if newest := g.Newest(); newest != nil {
			h.Generation, h.Pins, h.Cells = newest.ID, len(newest.Pins), othello.Cells(newest.Pins)
		}
	}
	if took, known := e.generations.times.of(x.ID); known {
		h.SettleTime = new(vip.Duration(took.Round(time.Millisecond)))
	}
	_, h.Waiting = changing(v, x)
	return h
}

// dropOldest are generations that let the next change of a VIP drop the oldest of them; none if they do.
func (e *Engine) dropOldest(x *vip.VIP) map[vip.ID]*vip.Generations {
	g := e.generations.all[x.ID]
	if g == nil || g.Drop {
		return nil
	}
	next := *g
	next.Drop = true
	return map[vip.ID]*vip.Generations{x.ID: &next}
}
