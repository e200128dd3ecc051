package controller

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/sirupsen/logrus"
)

const (
	heldMax   = 16 << 20 // bytes of messages kept during the handshake
	perObject = 64       // bytes that anything kept costs beside its own, about
	portsMax  = 1 << 16  // ports of a switch
	errorsMax = 100      // errors a second that are matched to their messages; a search each
)

// serve is the session's life. The calling goroutine is its reader.
func (sw *Switch) serve(ctx context.Context) error {
	defer close(sw.gone)
	stop := context.AfterFunc(ctx, func() { sw.end(context.Cause(ctx)) })
	defer stop()
	sw.c.gate.enter(sw)
	defer sw.c.gate.leave(sw)
	var rest sync.WaitGroup
	var conns []flows.InstalledRule
	err := sw.secure(ctx)
	if err == nil {
		rest.Go(func() { sw.w.run(sw.done) })
		conns, err = sw.handshake()
	} else {
		_ = sw.conn.Close()
	}
	connected := err == nil
	if connected {
		if sw.mayLog() {
			sw.log().WithFields(logrus.Fields{"openflow": sw.info.Version, "nicira": sw.info.Nicira, "ports": len(sw.ports),
				"software": sw.info.Desc.Software}).Info("switch connected")
		}
		sw.ready.Store(true)
		sw.c.h.Connected(sw, conns)
		rest.Go(sw.keepAlive)
		rest.Go(sw.apply)
		err = sw.replay()
	}
	if err == nil {
		err = sw.read()
	}
	sw.end(err)
	rest.Wait()
	sw.endTurn()
	sw.desired.release()
	sw.received.publish()
	err = sw.reason()
	sw.ready.Store(false)
	if connected {
		sw.c.h.Disconnected(sw, err)
	}
	if sw.claimed {
		sw.c.release(sw)
	}
	switch {
	case ctx.Err() != nil:
		sw.log().Info("session ended")
		return err
	case sw.mayLog():
		sw.log().WithError(err).Warn("session ended")
	}
	sw.c.endings.add(err)
	return err
}

// secure shakes hands by TLS if the session is one of an ssl: socket.
func (sw *Switch) secure(ctx context.Context) error {
	conn, ok := sw.conn.(*tls.Conn)
	if !ok {
		return nil
	}
	limit := sw.c.cfg.HelloTimeout
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := conn.HandshakeContext(ctx)
	switch {
	case sw.reason() != nil:
		return sw.reason()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrTLS, timeoutError("its handshake", limit))
	case err != nil:
		return fmt.Errorf("%w: %w", ErrTLS, err)
	}
	if certs := conn.ConnectionState().PeerCertificates; len(certs) > 0 {
		sw.info.Certificate = certs[0].Subject.String()
	}
	return nil
}

// mayLog reports whether there is still room in the log for what the peer causes.
func (sw *Switch) mayLog() bool {
	if sw.claimed {
		return sw.c.chatter.pass("switch " + sw.info.DPID.String())
	}
	return sw.c.chatter.pass(sw.peer())
}

func (sw *Switch) log() logrus.FieldLogger {
	l := sw.c.cfg.Log.WithField("remote", sw.info.Remote)
	if sw.info.Certificate != "" {
		l = l.WithField("certificate", sw.info.Certificate)
	}
	if sw.claimed {
		l = l.WithField("dpid", sw.info.DPID)
	}
	return l
}

// read takes messages until the session ends. What the handlers append is written when the input is drained.
func (sw *Switch) read() error {
	for {
		msg, err := sw.in.Next()
		if err != nil {
			return readError(err)
		}
		sw.w.hold()
		for {
			if err = sw.handle(msg); err != nil || !sw.in.Buffered() {
				break
			}
			if msg, err = sw.in.Next(); err != nil {
				err = readError(err)
				break
			}
		}
		sw.handOn()
		if err != nil {
			return err
		}
		sw.received.publish()
		sw.w.release()
	}
}

func readError(err error) error {
	var format *openflow.FormatError
	switch {
	case errors.Is(err, io.EOF):
		return ErrClosed
	case errors.As(err, &format):
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return fmt.Errorf("read: %w", err)
}

// handle takes one message. An error ends the session.
func (sw *Switch) handle(msg []byte) error {
	h, err := openflow.ParseHeader(msg)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	n := &sw.received.tally
	n[messagesIn]++
	n[bytesIn] += uint64(len(msg))
	if h.Version != sw.info.Version && h.Type != openflow.TypeHello {
		return fmt.Errorf("%w: message of version %d in a session of version %d", ErrProtocol, uint8(h.Version), uint8(sw.info.Version))
	}
	if h.Type == openflow.TypePacketIn {
		sw.packetIn(h, msg)
		return nil
	}
	sw.handOn()
	switch h.Type {
	case openflow.TypeFlowRemoved, openflow.TypePortStatus:
		if !sw.ready.Load() {
			return sw.hold(msg)
		}
		sw.notice(h, msg)
	case openflow.TypeEchoRequest:
		b, _ := sw.w.take()
		sw.w.put(openflow.AppendEchoReply(b, h.Version, h.XID, msg[8:]))
	case openflow.TypeError:
		n[errorsIn]++
		sw.gotError(h, msg)
	case openflow.TypeEchoReply, openflow.TypeFeaturesReply, openflow.TypeGetConfigReply, openflow.TypeMultipartReply,
		openflow.TypeBarrierReply, openflow.TypeRoleReply, openflow.TypeBundleControl, openflow.TypeExperimenter:
		q, known := sw.requests.reply(h, msg, sw.c.cfg.ReadMax)
		if !known {
			n[unknownIn]++
		} else if q != nil && q.rule != nil {
			sw.answer(q)
		}
	case openflow.TypeHello:
	default:
		n[unknownIn]++
	}
	return nil
}

// hold keeps a message for replay.
func (sw *Switch) hold(msg []byte) error {
	if sw.heldBytes += len(msg) + perObject; sw.heldBytes > heldMax {
		return fmt.Errorf("%w: more than %d bytes of news during the handshake", ErrExcess, heldMax)
	}
	sw.held = append(sw.held, slices.Clone(msg))
	return nil
}

// replay handles what was held.
func (sw *Switch) replay() error {
	held := sw.held
	sw.held, sw.heldBytes = nil, 0
	for _, msg := range held {
		h, err := openflow.ParseHeader(msg)
		if err != nil {
			return err
		}
		sw.notice(h, msg)
	}
	return nil
}

// notice hands on a flow-removed or port-status.
func (sw *Switch) notice(h openflow.Header, msg []byte) {
	if h.Type == openflow.TypeFlowRemoved {
		if err := openflow.ParseFlowRemoved(h.Version, msg, &sw.removed); err != nil {
			sw.bad(h, err)
			return
		}
		sw.c.h.FlowRemoved(sw, &sw.removed)
		return
	}
	reason, p, err := openflow.ParsePortStatus(h.Version, msg)
	if err != nil {
		sw.bad(h, err)
		return
	}
	if !sw.setPort(reason, p) {
		sw.bad(h, fmt.Errorf("port %d: more than %d ports", p.No, portsMax))
		return
	}
	sw.c.h.PortStatus(sw, reason, p)
}

// setPort is false if there is no room for one more port.
func (sw *Switch) setPort(reason openflow.PortReason, p openflow.Port) bool {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.portsShown {
		sw.ports, sw.portsShown = slices.Clone(sw.ports), false
	}
	i, known := slices.BinarySearchFunc(sw.ports, p.No, func(q openflow.Port, no uint32) int { return cmp.Compare(q.No, no) })
	switch {
	case reason == openflow.PortDeleted && known:
		sw.ports = slices.Delete(sw.ports, i, i+1)
	case reason == openflow.PortDeleted:
	case known:
		sw.ports[i] = p
	case len(sw.ports) >= portsMax:
		return false
	default:
		sw.ports = slices.Insert(sw.ports, i, p)
	}
	return true
}

// bad notes a message that cannot be read. The stream is still in step, so the session goes on.
func (sw *Switch) bad(h openflow.Header, err error) {
	sw.received.tally[malformed]++
	sw.log().WithError(err).WithFields(logrus.Fields{"type": h.Type, "xid": h.XID}).Debug("message ignored")
}

// gotError matches an error to the message that caused it.
func (sw *Switch) gotError(h openflow.Header, msg []byte) {
	e, err := openflow.ParseError(msg)
	if err != nil {
		sw.bad(h, err)
		return
	}
	q, known := sw.requests.fail(h.XID, e)
	switch {
	case q != nil && q.rule != nil:
		sw.c.h.Refused(sw, askText(q.rule), e)
	case known:
	case !sw.matching():
		sw.received.tally[unmatchedErrors]++
	case !sw.ready.Load():
		if sw.mayLog() {
			sw.log().WithError(e).Warn("error during the handshake")
		}
	default:
		sent := sw.w.sent.find(h.XID)
		sw.c.h.Refused(sw, messageText(sent, e), e)
		if m, err := openflow.ParseFlowMod(sent); err == nil && m.Command == openflow.FlowAdd && sw.c.cfg.Kind(m.Rule.Cookie) == Connection {
			sw.c.h.RuleRefused(sw, &m.Rule)
		}
	}
}

// matching reports whether one more error may be matched to its message in the present second.
func (sw *Switch) matching() bool {
	if now := time.Now(); now.Sub(sw.errorsSince) >= time.Second {
		sw.errorsSince, sw.errors = now, 0
	}
	sw.errors++
	return sw.errors <= errorsMax
}

// messageText says what a message was that an error answers; e has a part of it if it is not known any more.
func messageText(msg []byte, e *openflow.Error) string {
	if msg == nil {
		msg = e.Data
	}
	h, err := openflow.ParseHeader(msg)
	if err != nil {
		return fmt.Sprintf("message %#x", e.XID)
	}
	switch h.Type {
	case openflow.TypeFlowMod:
		if m, err := openflow.ParseFlowMod(msg); err == nil && m.Command == openflow.FlowAdd {
			return m.Rule.String()
		} else if err == nil {
			return fmt.Sprintf("%s %s", m.Command, m.Rule.String())
		}
	case openflow.TypePacketOut:
		if p, err := openflow.ParsePacketOut(msg); err == nil {
			return packetOutText(p.Actions)
		}
	}
	return fmt.Sprintf("%s message %#x", h.Type, h.XID)
}

// answer hands on the counters asked for by AskRule.
func (sw *Switch) answer(q *request) {
	err := q.err
	for _, msg := range q.pieces {
		if err != nil {
			break
		}
		var m openflow.Multipart
		if m, err = openflow.ParseMultipart(msg); err != nil {
			break
		}
		var rules []flows.InstalledRule
		if rules, err = openflow.ParseFlowStats(sw.info.Version, m.Body); err != nil {
			break
		}
		for i := range rules {
			r := &rules[i]
			if r.Table == q.rule.Table && r.Priority == q.rule.Priority && r.Match.Equal(q.rule.Match) {
				sw.c.h.RuleStats(sw, &r.Rule, r.Stats, true)
				return
			}
		}
	}
	if err != nil {
		sw.c.h.Refused(sw, askText(q.rule), err)
		return
	}
	sw.c.h.RuleStats(sw, q.rule, flows.Stats{}, false)
}

// settled asks a question, and forgets what was sent before it when it has been answered.
func (sw *Switch) settled(ask func() error) error {
	begun := sw.w.sent.begin()
	err := ask()
	if begun {
		sw.w.sent.end(err == nil || refused(err))
	}
	return err
}

// keepAlive asks for signs of life and gives up questions that nobody answers.
func (sw *Switch) keepAlive() {
	cfg := sw.c.cfg
	for {
		select {
		case <-sw.done:
			return
		case <-time.After(cfg.EchoInterval):
		}
		if err := sw.settled(func() error { return sw.echo(cfg.EchoTimeout) }); errors.Is(err, ErrNoAnswer) {
			sw.end(fmt.Errorf("%w: %w", ErrSilent, err))
			return
		}
		for _, r := range sw.requests.overdue(time.Now().Add(-cfg.RequestTimeout)) {
			sw.c.h.Refused(sw, askText(r), timeoutError("rule statistics", cfg.RequestTimeout))
		}
	}
}
