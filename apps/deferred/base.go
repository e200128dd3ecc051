package deferred

import (
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// Priorities of what all VIPs share. Those of table 72 are in their order.
const (
	prioRouted = 110 // table 23
	prioStep   = 100 // tables 23, 24, 26
	prioInvert = 90

	prioRelated     = 130 // table 72
	prioKnown       = 125
	prioOneWay      = 124
	prioUntouched   = 123
	prioCertain     = 122
	prioDoubt       = 121
	prioInvalid     = 120
	prioStray       = 113
	prioOwned       = 112
	prioBegins      = 110
	prioAskedBefore = 108
	prioUnknown     = 106

	prioNoRoom = 10 // table 74

	prioTrusted = 60 // table 76: in doubt, and nobody else knows it
	prioNobody  = 40
	prioFound   = 10

	prioChoose = 100 // table 77
	prioBack   = 50
)

// base is what all VIPs share.
//
// Conntrack's verdicts, table 72: known connections come first, among them flows of datagrams that have not been answered,
// which stay +new for ever but have been translated. A packet that is +inv and translated is of a known connection too, unless
// it is about an entry that its client's port has outlived: TCP that begins nothing is in doubt, but for what nobody else knows. What nobody knows here is looked for, but for SYNs, and what has been looked for everywhere.
func (b *builder) base() {
	b.rule(apps.TableAnswer, prioStep, 0, state(nil, apps.CTReply, apps.CTInvalid), flows.Go(apps.TableForward))
	if len(b.view.Routers) > 0 {
		for _, f := range families { // only of IP there is a TTL
			b.rule(apps.TableAnswer, prioRouted, 0, state(f.IP(), apps.CTReply, apps.CTInvalid).MAC(flows.EthDst, apps.VIPMAC),
				flows.DecTTL{}, flows.Go(apps.TableRoute))
		}
	}
	b.rule(apps.TableAnswer, 0, 0, nil, flows.Go(apps.TableVIP))
	b.gateways()
	b.rule(apps.TableMirror, 0, 0, nil, flows.Go(apps.TableVIP))
	b.rule(apps.TableMirrored, 0, 0, nil)

	t := uint8(apps.TableArrival)
	deliver, accept := flows.Go(apps.TableDeliver), flows.Go(apps.TableAccept)
	b.rule(t, prioRelated, 0, state(nil, apps.CTRelated, apps.CTInvalid), deliver)
	b.rule(t, prioKnown, 0, state(nil, apps.CTEst, apps.CTInvalid), flows.Go(apps.TableAge))
	b.rule(t, prioOneWay, 0, state(nil, apps.CTNew|apps.CTDstNAT, apps.CTInvalid), flows.Go(apps.TableAge))
	b.rule(t, prioCertain, 0, state(nil, apps.CTInvalid, 0).MAC(flows.EthSrc, apps.MarkerBounce), deliver)
	b.rule(t, prioInvalid, 0, state(nil, apps.CTInvalid, 0), deliver)
	b.rule(t, prioOwned, 0, state(nil, apps.CTNew, apps.CTInvalid).MAC(flows.EthSrc, apps.MarkerBounce), accept)
	for _, f := range families {
		b.rule(t, prioCertain, 0, syn(f, state(f.IP(), apps.CTInvalid, 0)), deliver)
		b.rule(t, prioDoubt, 0, state(f.IP(), apps.CTInvalid, 0).Num(flows.IPProto, apps.ProtoTCP), flows.Go(apps.TableDoubt))
		b.rule(t, prioStray, 0, state(f.IP(), apps.CTNew, apps.CTInvalid).Num(flows.IPProto, f.ICMP))
		b.rule(t, prioBegins, 0, syn(f, state(f.IP(), apps.CTNew, apps.CTInvalid)), accept)
	}
	b.rule(t, 0, 0, nil)
	ask := []flows.Action{flows.SetNum(apps.RegPurpose, apps.PurposeAsk), noMAC, flows.Go(apps.TableAsk)}
	if n, ok := b.bit(); ok {
		ask = append([]flows.Action{bit(n)}, ask...)
	}
	b.rule(t, prioAskedBefore, 0, asking(state(nil, apps.CTNew, apps.CTInvalid)), append(slices.Clone(asked), ask...)...)
	b.rule(t, prioUnknown, 0, state(nil, apps.CTNew, apps.CTInvalid), append([]flows.Action{flows.SetNum(apps.RegAsked, apps.AskedNone)}, ask...)...)

	b.rule(apps.TableDoubt, 0, 0, nil, deliver)
	b.rule(apps.TableDeliver, prioNoRoom, 0, flows.Match{}.Num(flows.CTMark, 0))
	b.rule(apps.TableDeliver, 0, 0, nil, flows.ToMeter{ID: apps.MeterReject}, flows.Controller())
	b.rule(apps.TableAccept, 0, 0, nil)
	b.rule(apps.TableAge, 0, 0, nil, deliver)
	b.rule(apps.TableSelf, 0, 0, nil, flows.SetMAC(flows.EthSrc, apps.VIPMAC), flows.BackToInPort(), flows.Go(apps.TableOutput))
	b.ask()
}

// ask is where walks end, and what a bucket does: a gateway's sends the packet on, a walk's hands its choice back.
func (b *builder) ask() {
	t := uint8(apps.TableAsk)
	for _, f := range families {
		m := f.IP().Num(flows.IPProto, apps.ProtoTCP).Num(apps.RegPurpose, apps.PurposeDoubt).MAC(flows.EthDst, flows.MAC{})
		b.rule(t, prioTrusted, 0, m, trusted(f)...)
	}
	b.rule(t, prioNobody, 0, flows.Match{}.MAC(flows.EthDst, flows.MAC{}))

	t = apps.TablePick
	forward := flows.Go(apps.TableForward)
	b.rule(t, prioChoose, 0, flows.Match{}.Num(apps.RegPurpose, apps.PurposeChoose), forward)
	b.rule(t, prioBack, 0, walking(), chosen)
	b.rule(t, prioBack, 0, flows.Match{}.Num(apps.RegPurpose, apps.PurposeOwn),
		flows.SetMAC(flows.EthSrc, apps.MarkerBounce), flows.BackToInPort(), forward)
}

// trusted ends a walk in doubt: the packet is the backend's that it was translated for, and is translated again.
func trusted(f *apps.Family) []flows.Action {
	back := flows.Move{Src: flows.Whole(apps.RegSaved), Dst: flows.Whole(f.Dst)}
	if f == &apps.IPv6 {
		back.Src = flows.Whole(apps.RegSaved6)
	}
	return []flows.Action{back, flows.Move{Src: span(apps.RegSavedPort, 0, 16), Dst: flows.Whole(flows.TCPDst)}, flows.Go(apps.TableDeliver)}
}

// found sends a packet to the edge that a walk has come to, marked with who was asked.
var found = []flows.Action{flows.SetMAC(flows.EthSrc, apps.MarkerAsked), flows.Move{Src: span(apps.RegAsked, 0, 8), Dst: span(flows.EthSrc, 0, 8)},
	flows.Move{Src: span(apps.RegEdges, 0, 16), Dst: span(flows.EthSrc, 8, 16)}, flows.SetNum(apps.RegPurpose, apps.PurposeChoose), flows.BackToInPort(),
	flows.Go(apps.TableForward)}

// chosen hands a bucket's choice back to who called the group.
var chosen = flows.StackPush{Src: flows.Whole(flows.EthDst)}

// asked takes from a marker what it says: the generation asked last, and the edges.
var asked = []flows.Action{flows.Move{Src: span(flows.EthSrc, 0, 8), Dst: span(apps.RegAsked, 0, 8)},
	flows.Move{Src: span(flows.EthSrc, 8, 16), Dst: span(apps.RegEdges, 0, 16)}}

// walking matches a walk, also one in doubt.
func walking() flows.Match {
	return make(flows.Match, 0, 4).NumMasked(apps.RegPurpose, apps.PurposeAsk, 1)
}

// families are both.
var families = []*apps.Family{&apps.IPv4, &apps.IPv6}

// syn adds that a packet is TCP's first.
func syn(f *apps.Family, m flows.Match) flows.Match {
	return m.Num(flows.IPProto, apps.ProtoTCP).NumMasked(flows.TCPFlags, apps.SYN, apps.SYN|apps.ACK)
}

// bit is the switch's bit among the edges asked; not ok: it has none.
func (b *builder) bit() (uint16, bool) {
	n, ok := b.view.Edges[b.at.DPID]
	return n, ok && n < apps.MaxEdgeBits
}
