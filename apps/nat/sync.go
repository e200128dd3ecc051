package nat

import (
	"maps"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// Sync follows the view. The connections of a VIP or backend that has gone, been disabled or died are over: their rules are
// returned for deletion, and what a client sends next is refused. A backend is taken for dead as soon as its state is down,
// unless that is only because the session of its switch is lost; one that drains keeps its connections. Rules that lead to an
// old address of a backend are returned as well, and put back with the new one when they have been removed.
func (a *App) Sync(v *apps.View) map[flows.DPID][]flows.Rule {
	out := map[flows.DPID][]flows.Rule{}
	for _, x := range v.VIPs {
		if !handles(x) {
			continue
		}
		a.mu.Lock()
		s := a.open(v, x)
		a.mu.Unlock()
		if s != nil {
			s.follow(v, x, out)
		}
	}
	for id, s := range *a.services.Load() {
		if !handles(v.VIP(id)) {
			a.close(s, out)
		}
	}
	a.takeLeftovers(out)
	return out
}

// close ends a VIP for ever.
func (a *App) close(s *service, out map[flows.DPID][]flows.Rule) {
	a.mu.Lock()
	next := maps.Clone(*a.services.Load())
	delete(next, s.id)
	a.services.Store(&next)
	a.closed[s.id] = true
	a.mu.Unlock()
	s.sweep(out, func(*target) fate { return over }, true)
}

// follow makes a new plan if there is something new, and ends or mends the connections that it concerns.
func (s *service) follow(v *apps.View, x *apps.VIP, out map[flows.DPID][]flows.Rule) {
	old := s.plan.Load()
	if old.vip == x && !old.cutsDiffer(v) {
		return
	}
	p := newPlan(s, v, x, old)
	s.plan.Store(p)
	if old.affinity > 0 && p.affinity == 0 {
		s.affinity.Store(nil)
	}
	concerned := false
	fates := make(map[*target]fate, len(p.targets))
	for i := range p.targets {
		t := &p.targets[i]
		was := old.target(t.id)
		switch {
		case t.cut && (was == nil || !was.cut):
			fates[t] = over
		case was != nil && t.placed && was.mac != (flows.MAC{}) && was.mac != t.mac:
			fates[t] = moved
		}
		concerned = concerned || fates[t] != stays
	}
	if concerned {
		s.sweep(out, func(t *target) fate { return fates[t] }, false)
	}
}

// cutsDiffer reports whether a backend's connections have ended, or no longer have, without a change to the VIP: when its
// switch has come or gone.
func (p *plan) cutsDiffer(v *apps.View) bool {
	for i := range p.vip.Backends {
		if p.targets[i].cut == v.Keeps(&p.vip.Backends[i]) {
			return true
		}
	}
	return false
}

// fate is what becomes of a backend's connections.
type fate uint8

const (
	stays fate = iota
	moved      // the backend is at another address of Ethernet
	over
)

// sweep visits every connection, and adds the rules that must go.
func (s *service) sweep(out map[flows.DPID][]flows.Rule, of func(*target) fate, closed bool) {
	var x scratch
	if closed {
		s.makeTable() // a packet that comes late must find it closed
	}
	shards := s.shards()
	for i := range shards {
		sh := &shards[i]
		sh.mu.Lock()
		p := s.plan.Load()
		sh.closed = sh.closed || closed
		for k, e := range sh.conns.all {
			t := p.target(e.backend)
			if t == nil {
				continue
			}
			switch of(t) {
			case over:
				s.end(sh, p, t, k)
				out[e.dpid] = append(out[e.dpid], clone(x.half(p, t, k, forward)), clone(x.half(p, t, k, reverse)))
			case moved:
				out[e.dpid] = append(out[e.dpid], clone(x.half(p, t, k, forward)))
				if t.addr == k.client {
					out[e.dpid] = append(out[e.dpid], clone(x.half(p, t, k, reverse)))
				}
			}
		}
		sh.mu.Unlock()
	}
}
