package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// Counts are what the engine, the topology and the apps have turned away.
func (e *Engine) Counts() []apps.Count {
	out := []apps.Count{
		{Part: "engine", Reason: "sighting without room in the queue", N: e.queue.dropped.Load()},
		{Part: "engine", Reason: "malformed frame", N: e.undelivered.malformed.Load()},
		{Part: "engine", Reason: "packet for no app", N: e.undelivered.unclaimed.Load()},
		{Part: "engine", Reason: "event not listed", N: e.events.lostCount()},
		{Part: "engine", Reason: "sample of loads not usable", N: e.imbalance.lostCount()},
	}
	out = append(out, e.agents.refused.counts()...)
	endings := e.ctl.Endings()
	for _, reason := range slices.Sorted(maps.Keys(endings)) {
		out = append(out, apps.Count{Part: "sessions", Reason: reason, N: endings[reason]})
	}
	if c := e.topoCounts.Load(); c != nil {
		out = append(out,
			apps.Count{Part: "topology", Reason: "LLDP of other systems", N: c.ForeignLLDP},
			apps.Count{Part: "topology", Reason: "forged LLDP", N: c.ForgedLLDP},
			apps.Count{Part: "topology", Reason: "own LLDP at its own port", N: c.LoopedLLDP},
			apps.Count{Part: "topology", Reason: "host ignored", N: c.IgnoredHosts},
			apps.Count{Part: "topology", Reason: "forbidden sender", N: c.Forbidden},
			apps.Count{Part: "topology", Reason: "no room for a host", N: c.TableFull},
			apps.Count{Part: "topology", Reason: "idle host displaced", N: c.Displaced},
			apps.Count{Part: "topology", Reason: "claim refused", N: c.RefusedClaims},
			apps.Count{Part: "topology", Reason: "event lost", N: c.LostEvents})
	}
	for _, app := range e.apps {
		if c, ok := app.(apps.Counted); ok {
			out = append(out, c.Counts()...)
		}
	}
	return out
}

// noteCounts makes the topology's counts, and whom it has refused an address of ours, readable from outside the loop.
func (e *Engine) noteCounts() {
	c := e.topo.Counters()
	old := e.topoCounts.Load()
	if old == nil || *old != c {
		e.topoCounts.Store(&c)
	}
	if old == nil || old.RefusedClaims != c.RefusedClaims || e.usurpers.Load() != nil {
		e.usurpers.Store(nil)
		if u := e.topo.Usurpers(); len(u) > 0 {
			e.usurpers.Store(&u)
		}
	}
}

// usurped is what hosts of a switch do with addresses of VIPs and routers.
func (e *Engine) usurped(d flows.DPID) (out []string) {
	u := e.usurpers.Load()
	if u == nil {
		return nil
	}
	for _, s := range *u {
		if s.At.DPID == d {
			out = append(out, fmt.Sprintf("host %s at port %d uses %s, which is a VIP's or a router's: take it from the host", s.MAC, s.At.No, s.Addr))
		}
	}
	return out
}
