package controller

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// handshake agrees on a version, claims the datapath id and reads what the switch is and holds. conns are the rules of
// kind Connection.
func (sw *Switch) handshake() (conns []flows.InstalledRule, err error) {
	if err := sw.negotiate(); err != nil {
		return nil, fmt.Errorf("hello: %w", err)
	}
	if err := sw.identify(); err != nil {
		return nil, err
	}
	return sw.survey()
}

// negotiate exchanges hellos.
func (sw *Switch) negotiate() error {
	ours := sw.c.cfg.Versions
	b, xid := sw.w.take()
	sw.w.put(openflow.AppendHello(b, xid, ours...))
	_ = sw.conn.SetReadDeadline(time.Now().Add(sw.c.cfg.HelloTimeout))
	if err := sw.reason(); err != nil {
		return err
	}
	msg, err := sw.in.Next()
	if errors.Is(err, os.ErrDeadlineExceeded) && sw.reason() == nil {
		return timeoutError("hello", sw.c.cfg.HelloTimeout)
	}
	if err != nil {
		return readError(err)
	}
	h, err := openflow.ParseHeader(msg)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if h.Type == openflow.TypeError {
		e, err := openflow.ParseError(msg)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		return e
	}
	hello, err := openflow.ParseHello(msg)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	sw.info.Version, err = openflow.Negotiate(ours, hello)
	if err != nil {
		b, _ := sw.w.take()
		sw.w.put(openflow.AppendError(b, ours[0], &openflow.Error{XID: hello.XID, Type: openflow.ErrHelloFailed,
			Code: openflow.CodeIncompatible, Data: []byte(err.Error())}))
	}
	return err
}

// identify asks for the datapath id and claims it.
func (sw *Switch) identify() error {
	q, xid := sw.ask("features request", openflow.TypeFeaturesReply, plain(openflow.AppendFeaturesRequest))
	if err := sw.pump(q, xid); err != nil {
		return err
	}
	f, err := openflow.ParseFeatures(q.pieces[0])
	if err != nil {
		return err
	}
	sw.info.DPID = f.DPID
	if f.Aux != 0 {
		return fmt.Errorf("switch %s: connection %d: %w", f.DPID, f.Aux, ErrAuxiliary)
	}
	if err := sw.c.claim(sw); err != nil {
		return err
	}
	sw.claimed = true
	return nil
}

// survey reads what the switch is and holds. All is asked at once.
func (sw *Switch) survey() (conns []flows.InstalledRule, err error) {
	b, configXID := sw.w.take()
	sw.w.put(openflow.AppendSetConfig(b, sw.info.Version, configXID, 0, openflow.NoBuffer))
	sw.endTurn = sw.c.loads.take(sw.done)
	desc, ports, s := readDesc(sw), readPorts(sw), readState(sw, everything)
	nicira := sw.probe("Nicira extensions", openflow.TypeExperimenter, openflow.AppendNiciraProbe)
	bundles := sw.probeBundles()
	barrier, barrierXID := sw.ask("barrier request", openflow.TypeBarrierReply, plain(openflow.AppendBarrier))

	descs, err := desc.wait(sw.pump)
	if err != nil {
		return nil, err
	}
	if len(descs) > 0 {
		sw.info.Desc = descs[0]
	}
	list, err := ports.wait(sw.pump)
	if err != nil {
		return nil, err
	}
	if len(list) > portsMax {
		return nil, fmt.Errorf("%w: %d ports", ErrExcess, len(list))
	}
	slices.SortFunc(list, func(p, q openflow.Port) int { return cmp.Compare(p.No, q.No) })
	sw.mu.Lock()
	sw.ports = list
	sw.mu.Unlock()
	state, err := s.wait(sw.pump)
	if err != nil {
		return nil, err
	}
	if len(state.rules) < bigState {
		sw.endTurn()
	}
	// What a switch does not know it refuses or ignores; the barrier's reply ends the waiting.
	if err := sw.pump(barrier, barrierXID); err != nil {
		return nil, err
	}
	sw.info.Nicira = openflow.IsNiciraProbeReply(nicira())
	sw.bundles = bundles() != nil
	sw.desired.init(sw.c, &sw.info, &state)
	sw.found = count(state.rules, sw.c.cfg.Kind)
	for _, r := range state.rules {
		if sw.c.cfg.Kind(r.Cookie) == Connection {
			conns = append(conns, r)
		}
	}
	_ = sw.conn.SetReadDeadline(time.Time{})
	return conns, sw.reason()
}

// probe sends a request that a switch may not know. The function returned gives the reply if it has come, and ends the
// waiting.
func (sw *Switch) probe(what string, want openflow.Type, encode func([]byte, openflow.Version, uint32) []byte) func() []byte {
	q, xid := sw.ask("probe for "+what, want, plain(encode))
	return func() []byte {
		select {
		case <-q.done:
			if q.err == nil {
				return q.pieces[0]
			}
		default:
			sw.requests.remove(xid)
		}
		return nil
	}
}

// probeBundles opens an empty bundle and discards it.
func (sw *Switch) probeBundles() func() []byte {
	if sw.info.Version < openflow.V15 {
		return func() []byte { return nil }
	}
	const id, flags = 0xffffffff, openflow.BundleAtomic | openflow.BundleOrdered
	control := func(t openflow.BundleType) func([]byte, openflow.Version, uint32) []byte {
		return func(b []byte, v openflow.Version, xid uint32) []byte {
			return openflow.AppendBundleControl(b, v, xid, id, t, flags)
		}
	}
	opened := sw.probe("bundles", openflow.TypeBundleControl, control(openflow.BundleOpen))
	discarded := sw.probe("bundles", openflow.TypeBundleControl, control(openflow.BundleDiscard))
	return func() []byte {
		if opened() == nil {
			return nil
		}
		return discarded()
	}
}

// pump waits for a reply by reading messages itself, as only the reader can.
func (sw *Switch) pump(q *request, xid uint32) error {
	defer sw.requests.remove(xid)
	limit := sw.c.cfg.RequestTimeout
	deadline, seen := time.Now().Add(limit), 0
	for {
		if n := sw.requests.progress(q); n > seen {
			deadline, seen = time.Now().Add(limit), n
		}
		_ = sw.conn.SetReadDeadline(deadline)
		select {
		case <-q.done:
			return q.err
		case <-sw.done: // looked at after setting the deadline, which end sets too
			return sw.reason()
		default:
		}
		msg, err := sw.in.Next()
		switch {
		case sw.reason() != nil:
			return sw.reason()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return timeoutError(q.what, limit)
		case err != nil:
			return readError(err)
		}
		if err := sw.handle(msg); err != nil {
			return err
		}
	}
}
