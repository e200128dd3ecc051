package topo

import (
	"cmp"
	"slices"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// swtch is a switch, connected or remembered.
type swtch struct {
	dpid      flows.DPID
	connected bool
	since     time.Time // of connected
	away      bool      // not connected for longer than the grace
	ports     []*port   // by number
	shown     *switchView
}

// port is a port and what LLDP has told of it.
type port struct {
	Port
	id     PortID
	fixed  bool      // its kind is
	named  bool      // its peer is, too
	told   bool      // its switch has called it live in this session, or others when that began: that it is not means something
	peer   PortID    // of a link: the other end; zero: not known
	heard  time.Time // when the peer was last heard, or waiting for it began
	echoed time.Time // when another port last heard this one
	rounds int       // LLDP frames sent since it came up, while its kind was in question
	due    time.Time // when the next LLDP frame is
	full   time.Time // until when there is no room for hosts

	warned map[string]time.Time // when trouble of a kind was last told of
}

// works reports whether p can be the end of a link: it is up, and not found dead by what watches it.
func (p *port) works() bool { return p.Up && (p.Live || !p.told) }

// joined reports whether p and q are the two ends of a cable in use.
func (p *port) joined(q *port) bool {
	return q != nil && p.works() && q.works() && p.Kind == Link && q.Kind == Link && p.peer == q.id && q.peer == p.id
}

func (s *swtch) view() switchView {
	if s.shown == nil {
		s.shown = &switchView{dpid: s.dpid, ports: make([]Port, len(s.ports))}
		for i, p := range s.ports {
			s.shown.ports[i] = p.Port
			s.shown.ports[i].Live = p.works()
			if p.Kind == Edge {
				s.shown.edges = append(s.shown.edges, p.No)
			}
		}
	}
	return *s.shown
}

func (t *Topology) findSwitch(d flows.DPID) (int, bool) {
	return slices.BinarySearchFunc(t.switches, d, func(s *swtch, d flows.DPID) int { return cmp.Compare(s.dpid, d) })
}

func (t *Topology) sw(d flows.DPID) *swtch {
	if i, ok := t.findSwitch(d); ok {
		return t.switches[i]
	}
	return nil
}

// Knows reports whether ports of a switch are known, connected or not.
func (t *Topology) Knows(d flows.DPID) bool {
	s := t.sw(d)
	return s != nil && len(s.ports) > 0
}

// makeSwitch finds a switch or adds it.
func (t *Topology) makeSwitch(now time.Time, d flows.DPID) *swtch {
	i, ok := t.findSwitch(d)
	if !ok {
		t.switches = slices.Insert(t.switches, i, &swtch{dpid: d, since: now})
		t.changed, t.rewired = true, true
		t.wake(now.Add(t.cfg.Grace))
	}
	return t.switches[i]
}

func (s *swtch) findPort(no uint32) (int, bool) {
	return slices.BinarySearchFunc(s.ports, no, func(p *port, no uint32) int { return cmp.Compare(p.No, no) })
}

func (t *Topology) port(id PortID) *port {
	if s := t.sw(id.DPID); s != nil {
		if i, ok := s.findPort(id.No); ok {
			return s.ports[i]
		}
	}
	return nil
}

// Port is a port as it is now.
func (t *Topology) Port(id PortID) (Port, bool) {
	p := t.port(id)
	if p == nil {
		return Port{}, false
	}
	return p.Port, true
}

// makePort finds a port or adds it, down.
func (t *Topology) makePort(s *swtch, no uint32) *port {
	i, ok := s.findPort(no)
	if !ok {
		p := &port{Port: Port{No: no}, id: PortID{s.dpid, no}}
		if f, ok := t.cfg.Ports[p.id]; ok && f.Kind != Unknown {
			p.fixed, p.Kind, p.peer, p.named = true, f.Kind, f.Peer, f.Peer != PortID{}
		}
		s.ports = slices.Insert(s.ports, i, p)
		t.show(s)
	}
	return s.ports[i]
}

// show notes that a switch's ports have changed.
func (t *Topology) show(s *swtch) { s.shown, t.changed = nil, true }

// SwitchUp tells that a switch has connected, with all its ports (their Kind is ignored).
func (t *Topology) SwitchUp(now time.Time, d flows.DPID, ports []Port) {
	s := t.makeSwitch(now, d)
	s.connected, s.since = true, now
	if s.away {
		s.away, t.rewired = false, true
	}
	there := make(map[uint32]bool, len(ports))
	told := slices.ContainsFunc(ports, func(p Port) bool { return p.Live }) // a switch may know nothing of it
	for _, p := range ports {
		there[p.No] = true
		t.portStatus(now, s, p, told)
	}
	for _, p := range slices.Clone(s.ports) {
		if !there[p.No] {
			t.removePort(now, s, p)
		}
	}
	for _, p := range s.ports {
		p.due, p.heard = now, now
		if p.Kind == Unknown {
			p.rounds = 0
		}
		if q := t.port(p.peer); q != nil {
			q.heard = now // it could not be heard by us before
		}
		if p.Kind == Edge && p.Up {
			t.edgeReady(now, p)
		}
	}
	t.wake(now)
}

// SwitchDown tells that a switch's session has ended. Its ports, links and hosts stay as they were: it forwards on.
func (t *Topology) SwitchDown(now time.Time, d flows.DPID) {
	if s := t.sw(d); s != nil && s.connected {
		s.connected, s.since = false, now
		t.wake(now.Add(t.cfg.Grace))
	}
}

// PortStatus tells that a port of a connected switch is new, has changed or was removed (its Kind is ignored).
func (t *Topology) PortStatus(now time.Time, d flows.DPID, p Port, removed bool) {
	s := t.sw(d)
	if s == nil || !s.connected {
		return
	}
	i, known := s.findPort(p.No)
	switch {
	case !removed:
		t.portStatus(now, s, p, p.Live || known && s.ports[i].told)
	case known:
		t.removePort(now, s, s.ports[i])
	}
}

func (t *Topology) portStatus(now time.Time, s *swtch, n Port, told bool) {
	if n.No == 0 || n.No >= flows.PortMax {
		return // the switch's own (LOCAL) and other reserved ones
	}
	p := t.makePort(s, n.No)
	if p.Name != n.Name || p.MAC != n.MAC {
		p.Name, p.MAC = n.Name, n.MAC
		t.show(s)
	}
	worked := p.works()
	p.told = told
	if p.Live != n.Live {
		p.Live = n.Live
		t.show(s)
	}
	switch {
	case p.Up && !n.Up:
		t.portDown(now, s, p)
	case !p.Up && n.Up:
		p.Up = true
		t.show(s)
		t.rewired = true
		t.restart(now, p)
		if p.Kind == Edge {
			t.edgeReady(now, p)
		}
	case !n.Up && !p.fixed && p.Kind == Link:
		t.portDown(now, s, p)
	case worked != p.works():
		t.liveness(now, s, p)
	}
}

// liveness follows a port that has its carrier, but whose other end is not heard any more, or is again. A link ends at once and
// is to be found out anew. An edge stays what it is: what watches it has no business there.
func (t *Topology) liveness(now time.Time, s *swtch, p *port) {
	t.show(s)
	if p.Kind == Edge {
		return
	}
	t.rewired = true
	if p.works() {
		t.tell("port", p.id.String(), "%s is live again", p.Name)
		t.restart(now, p)
		return
	}
	t.tell("port", p.id.String(), "%s is not live: it has its carrier, but what watches it, such as BFD, does not hear the other end", p.Name)
	if !p.fixed {
		p.Kind = Unknown
	}
	if !p.named {
		p.peer = PortID{}
	}
}

// restart begins a port's rounds anew.
func (t *Topology) restart(now time.Time, p *port) {
	p.rounds, p.due, p.heard = 0, now, now
	t.wake(now)
}

// portDown ends what was through a port. An edge stays one, as it does through a restart, until LLDP heard there says
// otherwise: its hosts need not wait for two rounds when the cable comes back. A link's other end has to be found out anew.
func (t *Topology) portDown(now time.Time, s *swtch, p *port) {
	p.Up = false
	if !p.fixed && p.Kind == Link {
		p.Kind, p.peer = Unknown, PortID{}
	}
	t.show(s)
	t.rewired = true
	for _, h := range t.hostsAt(p.id) {
		t.gone(now, h, "port is down")
	}
}

func (t *Topology) removePort(now time.Time, s *swtch, p *port) {
	t.portDown(now, s, p)
	if i, ok := s.findPort(p.No); ok {
		s.ports = slices.Delete(s.ports, i, i+1)
	}
}

// edgeReady looks for the hosts behind an edge port that has come into use.
func (t *Topology) edgeReady(now time.Time, p *port) {
	for _, h := range t.hostsAt(p.id) {
		if !h.live {
			h.due = now
		}
	}
	t.seekAt(p.id)
	t.wake(now)
}

func (t *Topology) tickSwitches(now time.Time) {
	for _, s := range t.switches {
		if !s.connected {
			t.tickAway(now, s)
			continue
		}
		for _, p := range s.ports {
			if p.Up {
				t.tickPort(now, s, p)
			}
		}
	}
}

// tickAway counts out a switch that does not come back: nothing is known of its hosts any more.
func (t *Topology) tickAway(now time.Time, s *swtch) {
	if s.away {
		return
	}
	if end := s.since.Add(t.cfg.Grace); now.Before(end) {
		t.wake(end)
		return
	}
	s.away, t.rewired = true, true
	for _, p := range s.ports {
		for _, h := range t.hostsAt(p.id) {
			t.gone(now, h, "switch is away")
		}
	}
}

func (t *Topology) tickPort(now time.Time, s *swtch, p *port) {
	if p.Kind == Link && !p.named {
		t.expire(now, s, p)
	}
	if now.Before(p.due) {
		t.wake(p.due)
		return
	}
	if p.Kind == Unknown && p.rounds >= 2 && p.works() && now.Sub(p.echoed) >= t.linkTimeout() {
		p.Kind = Edge
		t.show(s)
		t.edgeReady(now, p)
	}
	p.due = now.Add(t.cfg.LLDPInterval)
	if p.Kind == Unknown || p.Kind == Edge && p.rounds < 2 { // an edge come back may be no edge now
		p.rounds++
		p.due = now.Add(t.cfg.RoundInterval)
	}
	if !p.fixed || p.Kind == Link && !p.named {
		t.sendLLDP(now, p)
	}
	t.wake(p.due)
}
