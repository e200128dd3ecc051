package engine

import (
	"fmt"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// drains are the backends that drain: when the next must be looked at, and how those ended whose time has passed. Only the loop
// uses it. A restart forgets how they ended, not that they did.
type drains struct {
	due  time.Time // zero: none drains
	over map[backendKey]drained
}

type drained struct {
	since  time.Time // of the drain that has ended
	reason string
}

// followDrains notes, for a view that is being made, the next end of a drain, and gives those that have ended their reasons.
func (e *Engine) followDrains(old *apps.View, vips []*apps.VIP) {
	next := drains{over: map[backendKey]drained{}}
	for _, x := range vips {
		var was *apps.VIP
		if old != nil {
			was = old.VIP(x.ID)
		}
		for i := range x.Backends {
			b := &x.Backends[i]
			switch {
			case b.State == vip.StateDrained:
				k := backendKey{x.ID, b.ID}
				end, known := e.drains.over[k]
				if !known || !end.since.Equal(b.DrainSince) {
					end = drained{b.DrainSince, e.drainReason(x, b, was)}
				}
				next.over[k], b.Reason = end, end.reason
			default:
				if d := x.Drain(b.Backend); d != nil && (next.due.IsZero() || d.Ends.Before(next.due)) {
					next.due = d.Ends
				}
			}
		}
	}
	e.drains = next
}

// drainReason says of a drain whose time has passed whether it has ended connections.
func (e *Engine) drainReason(x *apps.VIP, b *apps.Backend, was *apps.VIP) string {
	over := vip.DrainOver(x.Spec.DrainTimeout)
	if was == nil || !drainedFrom(was, b.ID) {
		return over
	}
	if state, reason := e.drainOf(x, b, e.cfg.Now()); state == vip.StateDrained {
		return reason
	}
	if live, known := e.live(x, b, time.Time{}); known {
		return fmt.Sprintf("%s; connections ended: %d", over, live)
	}
	return over + "; connections that were left have been ended"
}

// drainedFrom reports whether a backend was draining before.
func drainedFrom(was *apps.VIP, id uint32) bool {
	for i := range was.Backends {
		if b := &was.Backends[i]; b.ID == id {
			return b.State == vip.StateDraining
		}
	}
	return false
}

// drainOf is how far a backend that drains has come.
func (e *Engine) drainOf(x *apps.VIP, b *apps.Backend, now time.Time) (vip.State, string) {
	if live, known := e.live(x, b, b.DrainSince.Add(reportGrace)); known {
		return vip.Drained(live)
	}
	_, heard := e.tally.of(b.Endpoint)
	if since := e.status.since(x.ID, b.ID); heard.Before(since) {
		heard = since
	}
	return vip.DrainedUnseen(now.Sub(heard))
}
