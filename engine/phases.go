package engine

import (
	"context"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

const (
	phaseInterval = time.Second            // between two looks, if nothing tells of a change
	phasePause    = 100 * time.Millisecond // between two looks at least
	phaseSettle   = 5 * time.Second        // a VIP that waits for its switches no longer than this is not told of
)

// phases are what has been told of VIPs and backends.
type phases struct {
	vips    map[string]phase
	drained map[backendKey]bool // whether it has
}

type phase struct {
	told    vip.Phase
	pending time.Time // since when the VIP waits for its switches; zero: it does not
}

// watchPhases tells of VIPs that change between up, degraded and down, and of backends that have drained, until ctx ends.
func (e *Engine) watchPhases(ctx context.Context) error {
	p := phases{vips: map[string]phase{}, drained: map[backendKey]bool{}}
	for {
		e.status.mu.Lock()
		changed := e.status.changed
		e.status.mu.Unlock()
		begun := time.Now()
		e.tellPhases(&p)
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

func (e *Engine) tellPhases(p *phases) {
	now, all := e.cfg.Now(), e.view.Load().VIPs
	counts := e.courses.begin(now, e.ctl.Switches())
	switches, room := e.connected(), []vip.Applied{}
	there := make(map[string]phase, len(all))
	drained := make(map[backendKey]bool)
	for _, x := range all {
		r := e.readVIPOn(x, switches, room) // one at a time: with many VIPs and switches all reads together are large
		room = r.Status.Applied
		counts.note(x, r.Status.Backends)
		next := p.vips[r.Name].next(now, r.Status.Phase)
		there[r.Name] = next
		if old, known := p.vips[r.Name]; next.told != old.told && (known || next.told != vip.PhaseUp) {
			e.tell("vip", r.Name, withReason(string(next.told), r.Status.Reason))
		}
		for i, b := range r.Status.Backends {
			key := backendKey{x.ID, x.Backends[i].ID}
			drained[key] = b.State == vip.StateDrained
			news := drained[key] && e.status.drainEnds(x.ID, key.backend, x.Backends[i].DrainSince)
			if before, known := p.drained[key]; news && known && !before {
				e.tell("backend", r.Name+"/"+b.Name, withReason(string(b.State), b.Reason))
			}
		}
	}
	counts.end()
	p.vips, p.drained = there, drained
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
