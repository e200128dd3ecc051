package controller

import (
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/evenflow/evenflow/openflow"
)

// gate bounds the connections that have not said yet which switch they are. When there is no room, the one of them that has
// waited longest of the address which has most is hung up on: whoever opens many crowds out its own.
type gate struct {
	max int

	mu      sync.Mutex
	waiting []*Switch // the oldest first
}

// enter lets a connection in.
func (g *gate) enter(sw *Switch) {
	g.mu.Lock()
	g.waiting = append(g.waiting, sw)
	var out *Switch
	if len(g.waiting) > g.max {
		out = g.crowd()
	}
	g.mu.Unlock()
	if out != nil {
		out.end(ErrCrowded)
	}
}

// crowd removes the oldest connection of the address that has most.
func (g *gate) crowd() *Switch {
	count := map[string]int{}
	most := ""
	for _, sw := range g.waiting {
		a := sw.peer()
		if count[a]++; count[a] > count[most] {
			most = a
		}
	}
	i := slices.IndexFunc(g.waiting, func(sw *Switch) bool { return sw.peer() == most })
	out := g.waiting[i]
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return out
}

// leave tells that a connection has said who it is, or has ended.
func (g *gate) leave(sw *Switch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, sw); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
}

// peer is the peer's address without its port.
func (sw *Switch) peer() string {
	if host, _, err := net.SplitHostPort(sw.info.Remote); err == nil {
		return host
	}
	return sw.info.Remote
}

// endings count why connections have ended, by a few words for each reason.
type endings struct {
	mu     sync.Mutex
	counts map[string]uint64
}

// reasons are the errors that sessions end with, the more telling first.
var reasons = []struct {
	err  error
	name string
}{
	{ErrTLS, "TLS"}, {ErrCrowded, "crowded out"}, {ErrFull, "too many switches"}, {ErrExcess, "sends too much"}, {ErrUnknown, "does not tell what it holds"},
	{ErrDuplicate, "datapath id in use"}, {ErrTakenOver, "taken over"}, {ErrAuxiliary, "auxiliary"}, {ErrStalled, "does not read"},
	{ErrSilent, "does not answer echo requests"}, {ErrNoAnswer, "does not answer"}, {ErrProtocol, "not OpenFlow"},
	{ErrClosed, "closed by the peer"},
}

const (
	versionReason = "no common version"
	otherReason   = "other"
)

func (e *endings) add(why error) {
	name := otherReason
	var version *openflow.NegotiationError
	if errors.As(why, &version) {
		name = versionReason
	}
	for _, r := range reasons {
		if errors.Is(why, r.err) {
			name = r.name
			break
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counts == nil {
		e.counts = map[string]uint64{}
	}
	e.counts[name]++
}

// Endings are how many connections have ended, by reason; the controller's own end is none.
func (c *Controller) Endings() map[string]uint64 {
	c.endings.mu.Lock()
	defer c.endings.mu.Unlock()
	out := map[string]uint64{}
	for _, r := range reasons {
		out[r.name] = c.endings.counts[r.name]
	}
	for _, name := range []string{versionReason, otherReason} {
		out[name] = c.endings.counts[name]
	}
	return out
}
