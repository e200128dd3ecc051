package engine

import (
	"context"
	"maps"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

const (
	phaseInterval = time.Second            // between two looks, if nothing tells of a change
	phasePause    = 100 * time.Millisecond // between two looks at least
	phaseSettle   = 5 * time.Second        // a VIP that waits for its switches no longer than this is not told of
)

// phases are what has been told of VIPs, by id.
type phases map[vip.ID]phase

type phase struct {
	of      *apps.VIP // as it was when last looked at
	told    vip.Phase
	pending time.Time // since when the VIP waits for its switches; zero: it does not
}

// watchPhases tells of VIPs that change between up, degraded and down, and of backends that have drained, until ctx ends.
func (e *Engine) watchPhases(ctx context.Context) error {
	p := phases{}
	for {
		e.status.mu.Lock()
		changed := e.status.changed
		e.status.mu.Unlock()
		begun := time.Now()
		e.tellPhases(p)
		took := time.Since(begun)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-time.After(phaseInterval):
		}
		if !wait(ctx, max(phasePause, 10*took)) { // with many thousands of VIPs a look is a small part of the time as well
			return ctx.Err()
		}
	}
}

func (e *Engine) tellPhases(p phases) {
	now, v := e.cfg.Now(), e.view.Load()
	counts := e.courses.begin(now, e.ctl.Switches())
	switches, room := e.connected(), vip.Status{}
	maps.DeleteFunc(p, func(id vip.ID, _ phase) bool { return v.VIP(id) == nil })
	for _, x := range v.VIPs {
		r := e.readVIPOn(x, switches, room) // one at a time: with many VIPs and switches all reads together are large
		room = r.Status
		counts.note(x, r.Status.Backends)
		old, known := p[x.ID]
		next := old.next(now, r.Status.Phase)
		next.of = x
		p[x.ID] = next
		if next.told != old.told && (known || next.told != vip.PhaseUp) {
			e.tell("vip", r.Name, withReason(string(next.told), r.Status.Reason))
		}
		for i, b := range r.Status.Backends {
			y := &x.Backends[i]
			if b.State == vip.StateDrained && e.status.drainEnds(x.ID, y.ID, y.DrainSince) && known && old.of.BackendByID(y.ID) != nil {
				e.tell("backend", r.Name+"/"+b.Name, withReason(string(b.State), b.Reason))
			}
		}
	}
	counts.end()
}

// next is what is to be told of a VIP that is now in phase f. A short wait for switches is nothing to tell.
func (p phase) next(now time.Time, f vip.Phase) phase {
	if f != vip.PhasePending {
		return phase{told: f}
	}
	if p.pending.IsZero() {
		p.pending = now
	}
	if now.Sub(p.pending) >= phaseSettle {
		p.told = f
	}
	return p
}

func withReason(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}
