package controllertest

import (
	"net"
	"slices"
	"sync"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// connection is one connection to a controller.
type connection struct {
	s       *Switch
	conn    net.Conn
	gone    chan struct{}
	version openflow.Version // 0 before the controller's hello
	bundles map[uint32]*bundle

	writing sync.Mutex
}

// bundle is an open or closed bundle.
type bundle struct {
	closed bool
	msgs   [][]byte
}

func (s *Switch) serve(conn net.Conn) {
	c := &connection{s: s, conn: conn, gone: make(chan struct{}), bundles: map[uint32]*bundle{}}
	s.mu.Lock()
	s.conns = append(s.conns, c)
	s.happened()
	s.mu.Unlock()
	go c.run()
}

// run answers until the connection ends.
func (c *connection) run() {
	defer close(c.gone)
	defer c.leave()
	hello := make(chan struct{})
	go func() { // net.Pipe has no buffer and the controller greets as well
		defer close(hello)
		c.write(openflow.AppendHello(nil, 1, c.s.versions...))
	}()
	in := openflow.NewReader(c.conn)
	var out []byte
	for {
		c.s.mu.Lock()
		frozen := c.s.frozen
		c.s.mu.Unlock()
		<-frozen
		msg, err := in.Next()
		if err != nil {
			return
		}
		out = append(out, c.receive(msg)...)
		if !in.Buffered() {
			<-hello
			c.write(out)
			out = out[:0]
		}
	}
}

func (c *connection) leave() {
	_ = c.conn.Close()
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.conns = slices.DeleteFunc(c.s.conns, func(o *connection) bool { return o == c })
	c.s.happened()
}

func (c *connection) write(b []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if len(b) > 0 { // a pipe would wait for a reader even so
		_, _ = c.conn.Write(b) // the reading side finds out about errors
	}
}

// receive records a message, acts on it and returns what is to be sent.
func (c *connection) receive(msg []byte) []byte {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.happened()
	h, err := openflow.ParseHeader(msg)
	if err != nil {
		return nil
	}
	m := s.record(msg, h, Plainly)
	v := s.judge(m)
	out := v.Send
	switch {
	case v.Refuse != nil:
		out = append(out, c.refuse(msg, v.Refuse)...)
	case !v.Ignore:
		out = append(out, c.act(h, slices.Clone(msg))...)
	}
	if s.mute {
		return nil
	}
	return out
}

func (s *Switch) record(msg []byte, h openflow.Header, stage Stage) Message {
	m := Message{Type: h.Type, XID: h.XID, Stage: stage, Raw: slices.Clone(msg)}
	if stage != Committed && h.Type != openflow.TypeBundleAdd {
		s.received = append(s.received, m)
	}
	return m
}

func (s *Switch) judge(m Message) Verdict {
	if s.intercept == nil {
		return Verdict{}
	}
	return s.intercept(m)
}

// refuse is the error that answers msg; like Open vSwitch it quotes 64 bytes.
func (c *connection) refuse(msg []byte, e *openflow.Error) []byte {
	h, err := openflow.ParseHeader(msg)
	if err != nil {
		return nil
	}
	full := *e
	full.XID = h.XID
	if full.Data == nil {
		full.Data = msg[:min(len(msg), 64)]
	}
	v := c.version
	if v == 0 {
		v = h.Version
	}
	return openflow.AppendError(nil, v, &full)
}

// act does what a message asks for; s.mu is held.
func (c *connection) act(h openflow.Header, msg []byte) []byte {
	s, v := c.s, c.version
	if h.Type == openflow.TypeHello {
		hello, err := openflow.ParseHello(msg)
		if err == nil {
			c.version, err = openflow.Negotiate(s.versions, hello)
		}
		if err != nil {
			return c.refuse(msg, &openflow.Error{Type: openflow.ErrHelloFailed, Code: openflow.CodeIncompatible, Data: []byte(err.Error())})
		}
		return nil
	}
	if v == 0 || h.Version != v {
		return c.refuse(msg, failure(openflow.ErrBadRequest, openflow.CodeBadVersion))
	}
	switch h.Type {
	case openflow.TypeEchoRequest:
		return openflow.AppendEchoReply(nil, v, h.XID, msg[8:])
	case openflow.TypeFeaturesRequest:
		return openflow.AppendFeaturesReply(nil, v, h.XID, openflow.Features{DPID: s.dpid, Tables: 254, Aux: s.aux})
	case openflow.TypeBarrierRequest:
		return openflow.AppendBarrierReply(nil, v, h.XID)
	case openflow.TypeMultipartRequest:
		return c.multipart(h, msg)
	case openflow.TypeFlowMod, openflow.TypeGroupMod, openflow.TypeMeterMod:
		return c.modify(s.tables, msg)
	case openflow.TypeBundleControl, openflow.TypeBundleAdd:
		if !s.bundles || v < openflow.V15 {
			return c.refuse(msg, failure(openflow.ErrBadRequest, openflow.CodeBadType))
		}
		if h.Type == openflow.TypeBundleAdd {
			return c.bundleAdd(msg)
		}
		return c.bundleControl(h, msg)
	case openflow.TypeExperimenter:
		if s.plain || !openflow.IsNiciraProbe(msg) {
			return c.refuse(msg, failure(openflow.ErrBadRequest, 3)) // BAD_EXPERIMENTER
		}
		return openflow.AppendNiciraProbeReply(nil, v, h.XID)
	case openflow.TypePacketOut:
		if _, err := openflow.ParsePacketOut(msg); err != nil {
			return c.refuse(msg, failure(openflow.ErrBadRequest, 6)) // BAD_LEN
		}
		return nil
	case openflow.TypeRoleRequest:
		return openflow.AppendRoleReply(nil, v, h.XID, openflow.RoleEqual, 0)
	case openflow.TypeSetConfig, openflow.TypeEchoReply, openflow.TypeError:
		return nil
	}
	return c.refuse(msg, failure(openflow.ErrBadRequest, openflow.CodeBadType))
}

// modify carries out a modification and returns the error or flow-removeds to be sent.
func (c *connection) modify(t tables, msg []byte) (out []byte) {
	removed, e := c.s.change(t, msg)
	if e != nil {
		return c.refuse(msg, e)
	}
	for _, r := range removed {
		out = c.flowRemoved(out, r, openflow.RemovedDelete)
	}
	return out
}

func (c *connection) flowRemoved(b []byte, r *flows.InstalledRule, reason uint8) []byte {
	if r.Flags&flows.SendFlowRemoved == 0 {
		return b
	}
	b, err := openflow.AppendFlowRemoved(b, c.version, 0, &openflow.FlowRemoved{Rule: r.Rule, Stats: r.Stats, Reason: reason})
	if err != nil {
		panic(err)
	}
	return b
}

// bundleAdd keeps a message, or refuses what Open vSwitch refuses already then. A refused message leaves the bundle as it is.
func (c *connection) bundleAdd(msg []byte) []byte {
	s := c.s
	id, _, inner, err := openflow.ParseBundleAdd(msg)
	if err != nil {
		return c.refuse(msg, failure(openflow.ErrBadRequest, 6))
	}
	h, _ := openflow.ParseHeader(inner)
	m := s.record(inner, h, Adding)
	b := c.bundles[id]
	switch {
	case b == nil:
		return c.refuse(msg, failure(openflow.ErrBundleFailed, 2)) // BAD_ID
	case b.closed:
		return c.refuse(msg, failure(openflow.ErrBundleFailed, 4)) // BUNDLE_CLOSED
	case !m.modifies() || h.Type == openflow.TypeMeterMod:
		return c.refuse(msg, failure(openflow.ErrBundleFailed, 10)) // MSG_UNSUP
	}
	v := s.judge(m)
	if v.Refuse != nil {
		return c.refuse(msg, v.Refuse)
	}
	if !v.Ignore {
		b.msgs = append(b.msgs, inner)
	}
	return v.Send
}

func (c *connection) bundleControl(h openflow.Header, msg []byte) []byte {
	ctl, err := openflow.ParseBundleControl(msg)
	if err != nil {
		return c.refuse(msg, failure(openflow.ErrBadRequest, 6))
	}
	b := c.bundles[ctl.ID]
	if b == nil && ctl.Type != openflow.BundleOpen {
		return c.refuse(msg, failure(openflow.ErrBundleFailed, 2)) // BAD_ID
	}
	var out []byte
	switch ctl.Type {
	case openflow.BundleOpen:
		c.bundles[ctl.ID] = &bundle{}
	case openflow.BundleClose:
		b.closed = true
	case openflow.BundleDiscard:
		delete(c.bundles, ctl.ID)
	case openflow.BundleCommit:
		delete(c.bundles, ctl.ID)
		var ok bool
		if out, ok = c.commit(b); !ok {
			return append(out, c.refuse(msg, failure(openflow.ErrBundleFailed, 13))...) // MSG_FAILED
		}
	default:
		return c.refuse(msg, failure(openflow.ErrBundleFailed, 6)) // BAD_TYPE
	}
	return openflow.AppendBundleControl(out, c.version, h.XID, ctl.ID, ctl.Type+1, ctl.Flags)
}

// commit changes the tables by all messages or by none.
func (c *connection) commit(b *bundle) (out []byte, ok bool) {
	s := c.s
	t := s.tables.clone()
	for _, msg := range b.msgs {
		h, _ := openflow.ParseHeader(msg)
		e := s.judge(s.record(msg, h, Committed)).Refuse
		var removed []*flows.InstalledRule
		if e == nil {
			removed, e = s.change(t, msg)
		}
		if e != nil && s.vague {
			return nil, false
		}
		if e != nil {
			return c.refuse(msg, e), false
		}
		for _, r := range removed {
			out = c.flowRemoved(out, r, openflow.RemovedDelete)
		}
	}
	s.tables = t
	return out, true
}
