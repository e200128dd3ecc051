package engine

import (
	"sync/atomic"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/ovshash"
	"github.com/evenflow/evenflow/topo"
)

const (
	etherTypeIPv4 = 0x0800
	etherTypeARP  = 0x0806
	etherTypeIPv6 = 0x86dd
)

// session is a connected switch as apps answer it: their Reply. Its scratch space is used by the session's reader alone.
type session struct {
	engine *Engine
	sw     *controller.Switch
	dpid   flows.DPID

	waiting atomic.Int32 // sightings in the queue
	news    portNews
	tallied bool // its counters have been read; the poll's own
	hash    hashTest
	build   ovshash.Build // of its hash; the loop's own
	codes   codeTest

	foretold bool   // it hashes as mode othello needs; the loop's own
	noCodes  string // why it does not; the loop's own
}

// Packet-ins that no app took, by reason.
type undelivered struct {
	malformed atomic.Uint64
	unclaimed atomic.Uint64
}

// classOf is the app that knows a frame which no rule of ours has sent.
func classOf(v *apps.View, f *apps.Frame) apps.Class {
	if apps.AnswersProbe(v, f) {
		return apps.ClassHealth
	}
	switch f.EthType {
	case etherTypeARP:
		return apps.ClassARP
	case etherTypeIPv4, etherTypeIPv6:
		if len(v.VIPsAt(f.Dst)) > 0 {
			return apps.ClassNAT
		}
	}
	return apps.ClassBase
}

// FlowRemoved hands the end of a connection's rule to its app.
func (e *Engine) FlowRemoved(sw *controller.Switch, fr *openflow.FlowRemoved) {
	s, h := e.connectionApp(sw, fr.Cookie)
	if h == nil {
		e.countEnd(sw.DPID(), fr)
		return
	}
	reason := apps.RemovedOther
	if fr.Reason <= openflow.RemovedDelete {
		reason = apps.RemovedReason(fr.Reason)
	}
	h.FlowRemoved(e.view.Load(), s.dpid, &fr.Rule, reason, fr.Stats, s)
}

// countEnd adds the last of what a rule of mode group has counted, if its VIP is still there.
func (e *Engine) countEnd(d flows.DPID, fr *openflow.FlowRemoved) {
	kind, class, id, ours := apps.SplitCookie(fr.Cookie)
	if ours && kind == apps.KindDesired && class == apps.ClassGroup && fr.Table == apps.TableCommit && e.view.Load().VIP(id) != nil {
		e.tally.end(d, &fr.Rule, e.cfg.Now(), fr.Packets)
	}
}

// RuleStats hands a rule's counters to the app that asked.
func (e *Engine) RuleStats(sw *controller.Switch, r *flows.Rule, st flows.Stats, found bool) {
	if s, h := e.connectionApp(sw, r.Cookie); h != nil {
		h.RuleStats(e.view.Load(), s.dpid, r, st, found, s)
	}
}

// RuleRefused hands a connection's rule that a switch has refused to its app.
func (e *Engine) RuleRefused(sw *controller.Switch, r *flows.Rule) {
	if s, h := e.connectionApp(sw, r.Cookie); h != nil {
		h.Refused(e.view.Load(), s.dpid, r, s)
	}
}

// connectionApp is the app that keeps the connection rules with this cookie, nil if it is no such rule.
func (e *Engine) connectionApp(sw *controller.Switch, cookie uint64) (*session, apps.ConnectionHandler) {
	kind, class, _, ours := apps.SplitCookie(cookie)
	s := e.session(sw)
	if !ours || kind != apps.KindConnection || s == nil {
		return nil, nil
	}
	return s, e.connections[class]
}

// session is the session of a connected switch, nil if it is not attached.
func (e *Engine) session(sw *controller.Switch) *session {
	s, _ := sw.Attached().(*session)
	return s
}

func (s *session) Add(r *flows.Rule)     { s.sw.Add(r) }
func (s *session) Delete(r *flows.Rule)  { s.sw.DeleteStrict(r) }
func (s *session) AskRule(r *flows.Rule) { s.sw.AskRule(r) }
func (s *session) PacketOut(inPort uint32, actions []flows.Action, data []byte) {
	s.sw.PacketOut(inPort, actions, data)
}
func (s *session) Sighted(x topo.Sighting) bool { return s.engine.queue.sighted(s, x) }
