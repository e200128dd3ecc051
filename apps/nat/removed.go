package nat

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// idleSlack is how many seconds the times of a switch, which are whole ones, may be off: a half that saw its last packet a
// moment after the removed one must not pass for busy.
const idleSlack = 1

// half is the connection that a rule is half of, going by the rule alone.
func (a *App) half(r *flows.Rule) (s *service, k key, h halves, ok bool) {
	kind, class, id, ours := apps.SplitCookie(r.Cookie)
	t, exact := tupleOf(r.Match)
	if !ours || kind != apps.KindConnection || class != apps.ClassNAT || !exact {
		return nil, k, 0, false
	}
	switch r.Table {
	case apps.TableSelect:
		k, h = key{t.src, t.sport, t.dport}, forward
	case apps.TableEgress, apps.TableReply:
		o, owned := a.tuples.owner(t)
		if !owned || o.vip != id {
			return nil, k, 0, false
		}
		k, h = o.key(t), reverse
	default:
		return nil, k, 0, false
	}
	s = (*a.services.Load())[id]
	return s, k, h, s != nil
}

// locked is a connection with its shard locked, and what is needed to mend it in its switch.
type locked struct {
	s      *service
	sh     *shard
	hash   uint32 // there
	p      *plan
	t      *target
	k      key
	e      entry
	x      *scratch
	nicira bool
	out    apps.Reply
}

// with calls f with the connection that has r as its half h in switch d, if there is one. What f leaves in c.e is kept, unless
// it has ended the connection.
func (a *App) with(v *apps.View, d flows.DPID, r *flows.Rule, out apps.Reply, f func(c *locked, h halves)) {
	s, k, h, ok := a.half(r)
	if !ok {
		return
	}
	sh, hash := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := s.plan.Load()
	e, known := sh.conns.get(hash, k)
	if !known || e.dpid != d {
		return // over, or at home elsewhere by now
	}
	t := p.target(e.backend)
	x := a.scratch.Get().(*scratch)
	defer a.scratch.Put(x)
	if t == nil || !x.half(p, t, k, h).Match.Equal(r.Match) {
		return
	}
	f(&locked{s: s, sh: sh, hash: hash, p: p, t: t, k: k, e: e, x: x, nicira: nicira(v, d), out: out}, h)
}

func (c *locked) keep() { c.sh.conns.set(c.hash, c.k, c.e) }

// end ends the connection, and deletes those of its rules that are still there.
func (c *locked) end() {
	for _, h := range [2]halves{forward, reverse} {
		if c.e.missing&h == 0 {
			c.out.Delete(c.x.half(c.p, c.t, c.k, h))
		}
	}
	c.s.end(c.sh, c.p, c.t, c.k)
}

// add puts a half back, if the backend's place is known.
func (c *locked) add(h halves, idle uint16) {
	if r := c.x.whole(c.p, c.t, c.k, h, c.nicira, idle); r != nil {
		c.out.Add(r)
		c.e.missing &^= h
		c.e.rested &^= h
	}
}

// FlowRemoved takes the end of a rule. One that was idle ends its connection only if the other half is idle too, which the
// switch is asked. One that somebody deleted is put back at once: without its reverse rule a connection's answers would
// reach the client under the backend's address. Its whole timeout is put back, as it may have been deleted for an earlier
// connection of the same client and port, which a FIN had lowered the timeout of.
func (a *App) FlowRemoved(v *apps.View, d flows.DPID, r *flows.Rule, reason apps.RemovedReason, _ flows.Stats, out apps.Reply) {
	a.with(v, d, r, out, func(c *locked, h halves) {
		idle := c.p.idle
		if r.IdleTimeout != 0 {
			idle = r.IdleTimeout // a FIN may have lowered it
		}
		if reason == apps.RemovedIdle && c.overtaken(idle) {
			return
		}
		c.e.missing |= h
		switch {
		case c.e.missing == both && reason != apps.RemovedDelete:
			c.end()
			return
		case reason == apps.RemovedIdle:
			c.e.idle = idle
			out.AskRule(c.x.half(c.p, c.t, c.k, both&^h))
		case reason == apps.RemovedDelete:
			if other := c.e.missing &^ h; other != 0 {
				c.add(other, c.e.idle)
			}
			if c.add(h, c.p.idle); c.e.missing == both { // there is no place to lead to
				c.end()
				return
			}
		default: // evicted: putting it back would evict another
			c.end()
			return
		}
		c.keep()
	})
}

// overtaken reports whether an idle rule had ended before a packet-in added it anew: it has not been there for long enough.
func (c *locked) overtaken(idle uint16) bool {
	age := c.s.app.now() - c.e.added
	return age+idleSlack < uint32(idle)
}

// RuleStats decides on a connection one half of which has gone idle, by the traffic of the other since.
func (a *App) RuleStats(v *apps.View, d flows.DPID, r *flows.Rule, st flows.Stats, found bool, out apps.Reply) {
	a.with(v, d, r, out, func(c *locked, h halves) {
		lost := both &^ h
		switch {
		case c.e.missing&lost == 0:
			return // a packet has put it back meanwhile
		case !found:
			c.e.missing |= h
			c.end()
			return
		case !c.busy(h, st):
			c.end()
			return
		}
		c.add(lost, c.e.idle)
		c.e.rested |= lost
		c.keep()
	})
}

// busy reports whether the half h has had a packet since the other's last one. A half that was put back after it had been
// idle has been so all the time, though the switch counts from then on; else the halves of a connection that is over would
// put back each other for ever.
//
// A switch that does not say how long a rule has been idle is asked twice, an idle timeout apart, and its packets are compared.
func (c *locked) busy(h halves, st flows.Stats) bool {
	if st.Packets == 0 && c.e.rested&h != 0 {
		return false
	}
	if st.HasIdle {
		return st.IdleSec+idleSlack < uint32(c.e.idle)
	}
	last, again := c.e.sample, c.e.sampled == h
	c.e.sample, c.e.sampled = uint32(st.Packets), h
	return !again || last != c.e.sample
}
