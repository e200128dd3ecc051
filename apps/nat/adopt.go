package nat

import (
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// pair is the rules of one connection that a switch holds.
type pair struct {
	target *target
	rules  [2]*flows.InstalledRule // forward, reverse; nil: missing
	since  time.Time               // when it was made; those of one switch are in order
	fresh  bool                    // the table did not have it
}

// Adopt makes the connections of a switch's rules, and ends those of the table that the switch has no rule of.
//
// It must be called before packet-ins of the same session. A forward rule without its reverse one, or with an outdated address
// of its backend, is given back for deletion: with its FlowRemoved comes the occasion to put the pair back whole. A reverse
// rule alone stays, and the client's next packet completes it.
func (a *App) Adopt(v *apps.View, d flows.DPID, rules []flows.InstalledRule) (remove []flows.Rule) {
	pairs, now := map[*service]map[key]*pair{}, a.cfg.Now()
	drop := func(r *flows.InstalledRule) { remove = append(remove, r.Rule) }
	// Forward rules first: where a reverse rule contradicts, it is the older one.
	for _, h := range [2]halves{forward, reverse} {
		for i := range rules {
			r := &rules[i]
			if (r.Table == apps.TableSelect) != (h == forward) {
				continue
			}
			s, k, t, ok := a.owner(v, r)
			if !ok {
				drop(r)
				continue
			}
			if pairs[s] == nil {
				pairs[s] = map[key]*pair{}
			}
			p := pairs[s][k]
			if p == nil {
				p = &pair{target: t}
				pairs[s][k] = p
			}
			if p.target.id != t.id || p.rules[h-1] != nil {
				drop(r)
				continue
			}
			p.rules[h-1] = r
		}
	}
	for s, list := range pairs {
		for k, p := range list {
			p.since = now.Add(-p.age())
			if !s.adopt(d, k, p, drop) {
				delete(list, k)
			}
		}
		s.rebind(list)
	}
	for _, s := range *a.services.Load() {
		s.lose(d, pairs[s])
	}
	return remove
}

// owner is the connection and the backend of a rule found in a switch; not ok if it has none any more.
func (a *App) owner(v *apps.View, r *flows.InstalledRule) (s *service, k key, t *target, ok bool) {
	kind, class, id, ours := apps.SplitCookie(r.Cookie)
	m, exact := tupleOf(r.Match)
	if !ours || kind != apps.KindConnection || class != apps.ClassNAT || !exact {
		return nil, k, nil, false
	}
	if s = a.service(v, id); s == nil {
		return nil, k, nil, false
	}
	p := s.plan.Load()
	var backend address
	var port uint16
	switch f := portFields(p.proto); r.Table {
	case apps.TableSelect:
		k = key{m.src, m.sport, m.dport}
		backend, port = m.dst, m.dport
		ip := m.dst.family()
		if set, ok := setTo(r.Actions, ip.dst); ok {
			backend = ip.address(set)
		}
		if set, ok := setTo(r.Actions, f.dst); ok {
			port = number(set)
		}
	case apps.TableEgress, apps.TableReply:
		k = key{m.dst, m.dport, m.sport}
		backend, port = m.src, m.sport
		if r.Table == apps.TableReply {
			k.client = m.src
		}
		if set, ok := setTo(r.Actions, f.src); ok {
			k.vport = number(set)
		}
	}
	t = p.listening(backend, port, k.vport)
	return s, k, t, t != nil && !t.cut && m.proto == uint16(p.proto)
}

// setTo is the value that actions write to a field.
func setTo(actions []flows.Action, f flows.Field) (v flows.Value, ok bool) {
	for _, act := range actions {
		if set, is := act.(flows.SetField); is && set.Field == f && !set.Masked {
			v, ok = set.Value, true
		}
	}
	return v, ok
}

// adopt enters one connection of switch d; false if it is not one of that switch.
//
// A client that has moved may have left a pair behind. Of two switches the one with the newer pair has the connection: the one that a
// packet-in has added it at, as whatever else is found is of before the start; else as their ages say.
func (s *service) adopt(d flows.DPID, k key, found *pair, drop func(*flows.InstalledRule)) bool {
	sh, hash := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := s.plan.Load()
	t := p.target(found.target.id)
	since := s.app.seconds(found.since)
	e, known := sh.conns.get(hash, k)
	if old := p.target(e.backend); known && e.dpid != d && old != nil && e.added == 0 && since > e.since {
		s.leave(p, old, k, e.dpid, new(scratch))
		s.end(sh, p, old, k)
		known = false
	}
	stale := sh.closed || t == nil || t.cut || known && (e.dpid != d || e.backend != t.id)
	if !stale && !known {
		stale = !s.app.tuples.claim(p.answer(t, k), tupleOwner{s.id, k.vport, t.addr == k.client})
	}
	if stale {
		for _, r := range found.rules {
			if r != nil {
				drop(r)
			}
		}
		return false
	}
	if fwd := found.rules[0]; fwd != nil && (found.rules[1] == nil || outdated(t, fwd)) {
		drop(fwd)
	}
	if !known {
		e = entry{dpid: d, backend: t.id, since: since}
		s.size.Add(1)
		s.enter(sh, hash, t, k, e)
		found.fresh = true
	}
	e.missing, e.rested, e.sampled, e.idle = found.missing(), 0, 0, p.idle
	sh.conns.set(hash, k, e)
	return true
}

// age is how long ago the pair was made when the switch told of it.
func (p *pair) age() (age time.Duration) {
	for _, r := range p.rules {
		if r != nil {
			age = max(age, time.Duration(r.DurationSec)*time.Second+time.Duration(r.DurationNsec))
		}
	}
	return age
}

func (p *pair) missing() (h halves) {
	for i, r := range p.rules {
		if r == nil {
			h |= forward << i
		}
	}
	return h
}

// outdated reports whether a forward rule leads to where the backend is no more.
func outdated(t *target, r *flows.InstalledRule) bool {
	mac, ok := setTo(r.Actions, flows.EthDst)
	return t.placed && (!ok || flows.MAC(mac[:6]) != t.mac)
}

// lose ends the connections at switch d that are not among those found there.
func (s *service) lose(d flows.DPID, found map[key]*pair) {
	shards := s.shards()
	for i := range shards {
		sh := &shards[i]
		sh.mu.Lock()
		p := s.plan.Load()
		for k, e := range sh.conns.all {
			if t := p.target(e.backend); e.dpid == d && found[k] == nil && t != nil {
				s.end(sh, p, t, k)
			}
		}
		sh.mu.Unlock()
	}
}

// Connections counts a backend's connections: those alive, and all since the controller started or adopted them.
func (a *App) Connections(id vip.ID, backend uint32) (live, total int64) {
	s := (*a.services.Load())[id]
	if s == nil {
		return 0, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, known := s.place(backend)
	if !known {
		return 0, 0
	}
	return s.counts[i].live.Load(), s.counts[i].total.Load()
}

// Total is how many connections a VIP has ever had, also to backends that have left.
func (a *App) Total(id vip.ID) (total int64) {
	s := (*a.services.Load())[id]
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.counts {
		total += c.total.Load()
	}
	return total
}
