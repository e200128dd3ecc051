package nat

import (
	"maps"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// respite is how many seconds a switch that has refused a connection's rule, most likely for want of room, is given no new
// connections. It is longer than a client waits before it sends its SYN again: that one is refused then, and so the client told.
const respite = 5

// Refused ends a connection that cannot have its rules. What its client sends next is refused; answers of the backend that were
// on their way reach the client under the backend's address, and mean nothing to it.
func (a *App) Refused(v *apps.View, d flows.DPID, r *flows.Rule, out apps.Reply) {
	a.with(v, d, r, out, func(c *locked, h halves) {
		c.e.missing |= h
		c.end()
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	next, now := map[flows.DPID]uint32{}, a.now()
	if old := a.full.Load(); old != nil {
		maps.Copy(next, *old)
	}
	maps.DeleteFunc(next, func(_ flows.DPID, until uint32) bool { return until <= now })
	next[d] = now + respite
	a.full.Store(&next)
}

// hasRoom reports whether a switch may be given a new connection.
func (a *App) hasRoom(d flows.DPID) bool {
	full := a.full.Load()
	return full == nil || (*full)[d] <= a.now()
}
