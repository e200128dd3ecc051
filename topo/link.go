package topo

import "time"

// linkTimeout is after how long without LLDP a link has ended: somewhat later than the last frame missed was due.
func (t *Topology) linkTimeout() time.Duration {
	return time.Duration(t.cfg.Missed)*t.cfg.LLDPInterval + t.cfg.RoundInterval
}

// lag is how much longer than usual an answer by way of the switches of some ports may take now: when they, or the controller, have more
// to do than they can. It is bounded, as it may be somebody's doing.
func (t *Topology) lag(ids ...PortID) (lag time.Duration) {
	if t.cfg.Lag == nil {
		return 0
	}
	for _, id := range ids {
		lag += t.cfg.Lag(id.DPID)
	}
	return min(lag, t.cfg.Grace)
}

// expire ends a link that is not heard any more. One whose other switch is not connected cannot be heard, and holds.
func (t *Topology) expire(now time.Time, s *swtch, p *port) {
	if p.peer == (PortID{}) {
		return
	}
	if q := t.sw(p.peer.DPID); q != nil && !q.connected {
		return
	}
	if end := p.heard.Add(t.linkTimeout() + t.lag(p.id, p.peer)); now.Before(end) {
		t.wake(end)
		return
	}
	p.peer = PortID{}
	if !p.fixed {
		p.Kind = Unknown
		t.restart(now, p)
	}
	t.show(s)
	t.rewired = true
}

// hear takes an LLDP frame that came in by a port.
func (t *Topology) hear(now time.Time, at PortID, frame []byte) {
	from, sent, err := t.lldp.parse(frame)
	s, p := t.sw(at.DPID), t.port(at)
	age := now.Sub(sent)
	switch {
	case err == errForeign:
		t.counters.ForeignLLDP++
		return
	case err != nil || age > t.linkTimeout()+t.lag(at, from) || age < -t.linkTimeout():
		t.counters.ForgedLLDP++
		t.warn(now, p, "forged or replayed LLDP refused")
		return
	case from == at:
		t.counters.LoopedLLDP++
		return
	}
	q := t.port(from)
	if p == nil || q == nil || !p.works() {
		return
	}
	switch {
	case p.fixed && p.Kind == Edge, p.named && p.peer != from:
		t.warn(now, p, "LLDP of port %s heard, against the configuration", from)
		return
	case p.Kind == Link && p.peer != from && p.peer != (PortID{}) && now.Sub(p.heard) < t.linkTimeout():
		t.warn(now, p, "LLDP of port %s heard beside that of %s", from, p.peer)
		return
	}
	q.echoed, p.heard = now, now
	if q.Kind != Link {
		p.due = now // it need not wait for our next frame
		t.wake(now)
	}
	if p.Kind == Link && p.peer == from {
		return
	}
	if p.Kind == Edge {
		hosts := t.hostsAt(at)
		t.tell("port", at.String(), "edge has become a link to %s, %d hosts forgotten", from, len(hosts))
		for _, h := range hosts {
			t.forget(h)
		}
	}
	p.Kind, p.peer = Link, from
	t.show(s)
	t.rewired = true
}

// warn tells of trouble at a port, of one kind once in a while.
func (t *Topology) warn(now time.Time, p *port, format string, args ...any) {
	if p == nil {
		return
	}
	if last, ok := p.warned[format]; ok && now.Sub(last) < time.Minute {
		return
	}
	if p.warned == nil {
		p.warned = map[string]time.Time{}
	}
	p.warned[format] = now
	t.tell("port", p.id.String(), format, args...)
}
