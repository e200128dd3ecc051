package controllertest

import (
	"slices"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// Verdict is what becomes of a message; the zero Verdict: what a switch does with it.
type Verdict struct {
	Send   []byte          // is sent first
	Refuse *openflow.Error // is sent instead of acting, with the message's xid
	Ignore bool            // nothing is done, nothing answered
}

// Intercept lets f judge every message before the switch acts on it: also those in bundles, when they are added and again
// when they are committed, where only Refuse counts. f must not call the switch; nil ends it.
func (s *Switch) Intercept(f func(Message) Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

// Mute makes the switch read on and answer nothing, or speak again. What is injected is sent all the same.
func (s *Switch) Mute(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = on
}

// Freeze makes the switch read nothing any more, but for what it is reading already.
func (s *Switch) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.frozen:
		s.frozen = make(chan struct{})
	default:
	}
}

// Thaw ends Freeze.
func (s *Switch) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.frozen:
	default:
		close(s.frozen)
	}
}

// Write sends any bytes over all connections. Like the methods below it returns when they have been written, which over a
// pipe is when the controller has read them, and does nothing when there is no connection.
func (s *Switch) Write(b []byte) {
	s.send(func(*connection) []byte { return b })
}

// send sends over all connections that have shaken hands.
func (s *Switch) send(encode func(c *connection) []byte) {
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	msgs := make([][]byte, len(conns))
	for i, c := range conns {
		if c.version != 0 {
			msgs[i] = encode(c)
		}
	}
	s.mu.Unlock()
	for i, c := range conns {
		if len(msgs[i]) > 0 {
			c.write(msgs[i])
		}
	}
}

// PacketIn sends a frame that came in by a port and met a rule of that cookie.
func (s *Switch) PacketIn(inPort uint32, cookie uint64, frame []byte) {
	s.PacketInOf(&openflow.PacketIn{BufferID: openflow.NoBufferID, TotalLen: uint16(len(frame)), Reason: openflow.PacketInAction,
		Cookie: cookie, InPort: inPort, Data: frame})
}

// PacketInOf is PacketIn with all its parts, and with fields beside in_port.
func (s *Switch) PacketInOf(in *openflow.PacketIn, extra ...flows.Cond) {
	s.send(func(c *connection) []byte {
		b, err := openflow.AppendPacketIn(nil, c.version, 0, in, extra...)
		if err != nil {
			panic(err)
		}
		return b
	})
}

// SetPort adds a port or changes it, and tells.
func (s *Switch) SetPort(p openflow.Port) {
	s.mu.Lock()
	reason := openflow.PortAdded
	if i := slices.IndexFunc(s.ports, func(q openflow.Port) bool { return q.No == p.No }); i >= 0 {
		reason = openflow.PortModified
		s.ports[i] = p
	} else {
		s.ports = append(s.ports, p)
	}
	s.mu.Unlock()
	s.send(func(c *connection) []byte { return openflow.AppendPortStatus(nil, c.version, 0, reason, p) })
}

// DeletePort takes a port away, and tells.
func (s *Switch) DeletePort(no uint32) {
	s.mu.Lock()
	i := slices.IndexFunc(s.ports, func(q openflow.Port) bool { return q.No == no })
	if i < 0 {
		s.mu.Unlock()
		return
	}
	p := s.ports[i]
	s.ports = slices.Delete(s.ports, i, i+1)
	s.mu.Unlock()
	s.send(func(c *connection) []byte {
		return openflow.AppendPortStatus(nil, c.version, 0, openflow.PortDeleted, p)
	})
}

// Expire ends the rule with r's identity, as a timeout or somebody's command does, and tells if the rule asks for that. It
// reports whether there was one.
func (s *Switch) Expire(r *flows.Rule, reason uint8) bool {
	s.mu.Lock()
	old := s.tables.rules[r.Key()]
	delete(s.tables.rules, r.Key())
	s.happened()
	s.mu.Unlock()
	if old == nil {
		return false
	}
	s.send(func(c *connection) []byte { return c.flowRemoved(nil, old, reason) })
	return true
}

// Hit sets the counters of the rule with r's identity; false when there is none.
func (s *Switch) Hit(r *flows.Rule, st flows.Stats) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.tables.rules[r.Key()]
	if old == nil {
		return false
	}
	s.tables.rules[r.Key()] = &flows.InstalledRule{Rule: old.Rule, Stats: st}
	return true
}
