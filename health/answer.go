package health

import (
	"encoding/binary"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

var _ apps.PacketInHandler = (*Prober)(nil)

// answers is what a frame may be an answer of; not ok: of nothing.
func answers(f *apps.Frame) (w what, ok bool) {
	switch {
	case f.VLAN || f.Fragment:
	case f.EthType == apps.EtherTypeARP:
		return what{Type: vip.HealthARP, Address: f.ARPSrc}, f.ARPOp == apps.ARPReply && f.ARPSrcMAC == f.EthSrc
	case f.NDTarget.IsValid():
		return what{Type: vip.HealthARP, Address: f.NDTarget}, f.ICMPType == apps.NeighbourAdvertisement
	case f.Proto == apps.ProtoICMP:
		return what{Type: vip.HealthICMP, Address: f.Src}, f.ICMPType == apps.EchoReply
	case f.Proto == apps.ProtoICMPv6:
		return what{Type: vip.HealthICMP, Address: f.Src}, f.ICMPType == apps.EchoReplyIPv6
	case f.Proto == apps.ProtoTCP:
		return what{Type: vip.HealthTCP, Address: f.Src, Port: f.SrcPort}, true
	}
	return what{}, false
}

// knows reports whether a frame that answers a target answers the probe with the secret.
func (s secret) knows(w what, at place, f *apps.Frame) bool {
	switch w.Type {
	case vip.HealthARP:
		return f.EthDst == apps.ProbeMAC
	case vip.HealthICMP:
		return f.Dst == at.source && len(f.Payload) == 8 && binary.BigEndian.Uint64(f.Payload) == s.echo
	}
	return f.Dst == at.source && f.DstPort == s.port && f.TCPFlags&apps.ACK != 0 && f.Ack == s.seq+1 && f.TCPFlags&(apps.SYN|apps.RST) != 0
}

// PacketIn takes an answer. Whatever a backend says to our end of a connection, but that there is none, is answered by RST: a probe
// wants to know that it could be made, and no more.
func (p *Prober) PacketIn(v *apps.View, in *apps.Punted, out apps.Reply) bool {
	f := in.Frame
	w, ok := answers(f)
	if !ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.strays.unasked++
		return true
	}
	if at := p.answered(w, in); at && w.Type == vip.HealthTCP && f.TCPFlags&apps.RST == 0 {
		if reset, ok := apps.Reject(f, nil); ok {
			out.PacketOut(flows.PortController, []flows.Action{flows.Output{Port: in.At.No}}, reset)
		}
	}
	return true
}

// answered finds the probe that a frame answers. It reports whether the frame comes from where the target is.
func (p *Prober) answered(w what, in *apps.Punted) (at bool) {
	now := p.cfg.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	known := false
	for _, x := range p.byWhat[w] {
		if x.at != in.At || x.mac != in.Frame.EthSrc {
			continue
		}
		at = true
		if !x.waiting || !x.secret.knows(w, x.place, in.Frame) {
			continue
		}
		known = true
		if refused := in.Frame.TCPFlags&apps.RST != 0; refused && w.Type == vip.HealthTCP {
			p.failed(now, x, refusedConnection)
		} else {
			p.passed(now, x)
		}
		p.resume(now, x)
	}
	switch {
	case !at:
		p.strays.elsewhere++
	case !known:
		p.strays.unasked++
	}
	return at
}
