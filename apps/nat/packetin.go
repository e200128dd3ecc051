package nat

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

var (
	// backOut sends an answer out of the port that it is given as its input port.
	backOut   = []flows.Action{flows.Output{Port: flows.PortIn}}
	broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
)

// PacketIn answers a packet to a VIP that no connection's rule has matched, or that a closed port of a VIP got.
func (a *App) PacketIn(v *apps.View, in *apps.Punted, out apps.Reply) (handled bool) {
	id, ours := a.addressee(v, in)
	if !ours {
		return false
	}
	if in.Frame.Fragment {
		a.counters.fragments.Add(1)
		return true
	}
	s := a.service(v, id)
	if s == nil {
		a.counters.closed.Add(1)
		a.refuse(v, id, in, out)
		return true
	}
	if !a.balance(v, s, in, out) {
		a.refuse(v, id, in, out)
	}
	return true
}

// addressee is the VIP that a packet-in is for, 0 for a closed port. The cookie says it, unless a rule that is not ours, or
// none, has sent the packet.
func (a *App) addressee(v *apps.View, in *apps.Punted) (id vip.ID, ours bool) {
	_, class, id, tagged := apps.SplitCookie(in.Cookie)
	if tagged {
		return id, class == apps.ClassNAT
	}
	f := in.Frame
	at := v.VIPsAt(f.Dst)
	for _, x := range at {
		if x.Proto() == f.Proto && x.Ports.First <= f.DstPort && f.DstPort <= x.Ports.Last {
			return x.ID, handles(x)
		}
	}
	return 0, len(at) > 0
}

// balance sends a packet to its connection's backend, or a new connection's to one that it chooses; false: it is to be
// refused. The shard stays locked until all is written, so that whoever ends the connection later also deletes later.
func (a *App) balance(v *apps.View, s *service, in *apps.Punted, out apps.Reply) bool {
	f := in.Frame
	k := key{f.Src.As16(), f.SrcPort, f.DstPort}
	sh, hash := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := s.plan.Load()
	if sh.closed || !p.serves(f) || !unicast(f) {
		a.counters.closed.Add(1)
		return false
	}
	syn := f.TCPFlags&(apps.SYN|apps.ACK|apps.RST) == apps.SYN
	with := nicira(v, in.At.DPID)
	x := a.scratch.Get().(*scratch)
	defer a.scratch.Put(x)
	var t *target
	e, known := sh.conns.get(hash, k)
	if known {
		if t = p.target(e.backend); t == nil {
			return true
		}
		if syn && e.begun && f.Seq != e.isn && !t.takes {
			// Its client has begun anew, and the backend takes no more. For some milliseconds the switch's cache may still lead to
			// that; when the SYN comes again it will not.
			s.retire(p, t, k, e, in.At.DPID, x, out)
			s.end(sh, p, t, k)
			a.counters.anew.Add(1)
			return true
		}
	}
	switch {
	case known:
		if !s.resume(sh, hash, p, t, k, &e, in, syn, x, out) {
			return true
		}
		a.counters.known.Add(1)
	case p.proto == apps.ProtoTCP && !syn:
		a.counters.unknown.Add(1)
		return false
	default:
		var why refusal
		if t, e, why = s.make(sh, hash, p, k, in); why != accepted {
			return a.refused(why)
		}
		a.counters.connections.Add(1)
	}
	a.send(p, t, k, in, with, x, out)
	return true
}

// unicast reports whether a frame's sender can be a client: one that can be answered.
func unicast(f *apps.Frame) bool {
	return !f.EthSrc.Multicast() && !f.Src.IsMulticast() && !f.Src.Is4In6() && !f.Src.IsUnspecified() && f.Src != broadcast && f.Src != f.Dst
}

// resume takes a packet of a known connection: its pair is missing, has been added a moment ago, or is elsewhere because the
// client has moved. It is false when the packet cannot be sent on now; the client will send it again.
func (s *service) resume(sh *shard, hash uint32, p *plan, t *target, k key, e *entry, in *apps.Punted, syn bool, x *scratch,
	out apps.Reply) bool {
	if !t.placed {
		return false
	}
	if t.addr == k.client && t.at != in.At {
		s.app.counters.astray.Add(1)
		return false
	}
	if e.dpid != in.At.DPID {
		s.leave(p, t, k, e.dpid, x)
		e.dpid = in.At.DPID
	}
	e.added = s.app.came(in)
	if syn && e.begun && in.Frame.Seq != e.isn {
		e.since = e.added
		t.counts.total.Add(1)
	}
	if syn {
		e.isn, e.begun = in.Frame.Seq, true
	}
	e.missing, e.rested, e.sampled, e.idle = 0, 0, 0, p.idle
	sh.conns.set(hash, k, *e)
	return true
}

// send adds the pair, and sends the packet where the forward rule sends those that follow. The reverse rule comes first: the
// answer must not be there before it.
func (a *App) send(p *plan, t *target, k key, in *apps.Punted, with bool, x *scratch, out apps.Reply) {
	idle := p.idle
	if p.proto == apps.ProtoTCP && in.Frame.TCPFlags&(apps.FIN|apps.RST) != 0 {
		idle = min(idle, p.fin) // the rule will not see this FIN
	}
	out.Add(x.whole(p, t, k, reverse, with, idle))
	out.Add(x.whole(p, t, k, forward, with, idle))
	pair := p.pair(t, with)
	actions := pair.first
	if t.addr == k.client {
		actions = pair.firstHairpin
	}
	out.PacketOut(in.At.No, actions, in.Frame.Data)
}

// retire deletes the rules of a connection that ends here.
func (s *service) retire(p *plan, t *target, k key, e entry, at flows.DPID, x *scratch, out apps.Reply) {
	if e.dpid != at {
		s.leave(p, t, k, e.dpid, x)
		return
	}
	out.Delete(x.half(p, t, k, forward))
	out.Delete(x.half(p, t, k, reverse))
}

// refused counts a refusal; false: the client is to be told.
func (a *App) refused(why refusal) bool {
	switch why {
	case full:
		a.counters.full.Add(1)
	case clash:
		a.counters.clash.Add(1)
	case astray:
		a.counters.astray.Add(1)
		return true // dropped: the backend has moved, or somebody uses its address
	default:
		a.counters.noBackend.Add(1)
	}
	return false
}

// refuse answers as a closed port does, unless the VIP is not to.
func (a *App) refuse(v *apps.View, id vip.ID, in *apps.Punted, out apps.Reply) {
	if v.Silent(id, in.Frame) {
		return
	}
	buf := a.answers.Get().(*[]byte)
	defer a.answers.Put(buf)
	frame, ok := apps.Reject(in.Frame, (*buf)[:0])
	if !ok {
		return
	}
	*buf = frame
	out.PacketOut(in.At.No, backOut, frame)
}
