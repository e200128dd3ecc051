package engine

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/topo"
)

// burst is packet-ins taken apart: a few at a time, so that apps can have fetched from memory what they need for each.
type burst struct {
	frames [burstMax]apps.Frame
	punted [burstMax]apps.Punted
	class  [burstMax]apps.Class
}

const burstMax = 32

// PacketIns finds the apps of packet-ins: by the cookie of the rule that sent each, or by the frame when the rule is not ours.
// It runs in the session's reader on the current view.
func (e *Engine) PacketIns(sw *controller.Switch, ins []openflow.PacketIn) {
	s := e.session(sw)
	if s == nil {
		return
	}
	b, _ := e.bursts.Get().(*burst)
	if b == nil {
		b = new(burst)
	}
	defer e.bursts.Put(b)
	v := e.view.Load()
	for len(ins) > 0 {
		now := ins[:min(len(ins), burstMax)]
		ins = ins[len(now):]
		n := e.takeApart(s, v, now, b)
		for i := range n {
			h := e.packetIn[b.class[i]]
			if h == nil || !h.PacketIn(v, &b.punted[i], s) {
				e.undelivered.unclaimed.Add(1)
			}
		}
		clear(b.frames[:len(now)]) // of what points to the session's buffer
	}
}

// takeApart fills the burst and has fetched what its apps need. n is how many packet-ins are for apps.
func (e *Engine) takeApart(s *session, v *apps.View, ins []openflow.PacketIn, b *burst) (n int) {
	came := e.cfg.Now()
	for i := range ins {
		in := &ins[i]
		if e.hashAnswer(s, in) || e.codeAnswer(s, in) || e.originAnswer(s, in) {
			continue
		}
		f, p := &b.frames[n], &b.punted[n]
		if err := apps.ParseFrame(in.Data, f); err != nil {
			e.undelivered.malformed.Add(1)
			continue
		}
		*p = apps.Punted{At: topo.PortID{DPID: s.dpid, No: in.InPort}, Table: in.Table, Cookie: in.Cookie, Came: came, Frame: f}
		_, class, _, ours := apps.SplitCookie(in.Cookie)
		if !ours {
			class = classOf(v, f)
		}
		b.class[n] = class
		if far := e.prefetch[class]; far != nil && len(ins) > 1 {
			far.Prefetch(v, p)
		}
		n++
	}
	return n
}
