package othello

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Priorities of rules.
const (
	prioCode  = 100 // plus the bits of a Dcode that a rule tells apart
	prioPin   = 100
	prioMiss  = 10 // below the VIP's others
	prioFixed = 100
	prioAsked = 10 // table 58
)

// builder gathers one switch's rules.
type builder struct{ state flows.State }

func (b *builder) rule(table uint8, priority uint16, id vip.ID, m flows.Match, actions ...flows.Action) {
	cookie := apps.Cookie(apps.KindDesired, apps.ClassOthello, id)
	if len(actions) == 0 {
		cookie = apps.Drop(cookie)
	}
	b.state.Rules = append(b.state.Rules, flows.Rule{Table: table, Priority: priority, Cookie: cookie, Match: m, Actions: actions})
}

// base is what all VIPs share. A packet comes to table 44 as [apps.ChooseByCode] sends it. A Dcode that nobody has is answered,
// if it was a walk that asked, by no MAC.
func (b *builder) base() {
	for _, f := range []*apps.Family{&apps.IPv4, &apps.IPv6} {
		for _, proto := range []uint8{apps.ProtoTCP, apps.ProtoUDP} {
			v6 := f == &apps.IPv6
			actions := []flows.Action{flows.Move{Src: flows.Whole(flows.EthSrc), Dst: apps.SpanSender}}
			actions = append(actions, prepare(v6, proto)...)
			actions = append(actions, hashing(v6, codeBasis, MaxCodes, dcode), flows.SetNum(apps.RegOwner, 0), flows.Go(apps.TableOwner))
			b.rule(apps.TableDcode, prioFixed, 0, f.IP().Num(flows.IPProto, uint64(proto)), actions...)
		}
	}
	b.rule(apps.TableOwner, 0, 0, nil, flows.Go(apps.TableChosen))
	b.rule(apps.TableConsult, 0, 0, nil, flows.Go(apps.TableChosen))
	b.rule(apps.TableChosen, prioAsked, 0, flows.Match{}.NumMasked(apps.RegPurpose, apps.PurposeAsk, apps.PurposeAsk),
		flows.SetMAC(flows.EthDst, flows.MAC{}), flows.StackPush{Src: flows.Whole(flows.EthDst)})
	b.rule(apps.TableChosen, 0, 0, nil)
}

// generation is what a generation's rules are made of.
type generation struct {
	vip    vip.ID
	number uint32 // told mod 256
	v6     bool
	owners *Codes
	pins   *Pins
}

// generation is a VIP's table of codes, and its pins.
func (b *builder) generation(x *generation) {
	for _, r := range x.owners.Rules() {
		b.rule(apps.TableOwner, prioCode+uint16(r.Bits), x.vip, x.codes(r), flows.SetNum(apps.RegOwner, uint64(r.Owner)), flows.Go(apps.TableConsult))
	}
	b.pins(x)
}

// chosen gives packets the MAC of a backend whose they are, and their sender's back.
func (b *builder) chosen(id vip.ID, backend uint32, mac flows.MAC) {
	b.rule(apps.TableChosen, prioFixed, id, apps.Part(nil, apps.SpanVIP, uint64(id)).Num(apps.RegOwner, uint64(backend)),
		flows.SetMAC(flows.EthDst, mac), flows.Move{Src: apps.SpanSender, Dst: flows.Whole(flows.EthSrc)}, flows.Go(apps.TablePick))
}

// match are packets of the VIP and generation, in any table of this mode.
func (x *generation) match() flows.Match {
	return apps.Part(apps.Part(nil, apps.SpanVIP, uint64(x.vip)), apps.SpanGeneration, uint64(x.number&0xff))
}

// codes are those of a rule's Dcodes.
func (x *generation) codes(r CodeRule) flows.Match {
	at := apps.SpanGeneration.Offset
	return apps.Part(nil, apps.SpanVIP, uint64(x.vip)).
		NumMasked(apps.RegDcode, uint64(x.number&0xff)<<at|uint64(r.Code), 0xff<<at|uint64(r.Mask))
}

// tuple are those of a connection.
func (x *generation) tuple(t Tuple) flows.Match {
	f := apps.FamilyOf(t.Src.Addr())
	src, dst := apps.PortFields(t.Proto)
	return x.match().Num(flows.EthType, f.EthType).Num(flows.IPProto, uint64(t.Proto)).Addr(f.Src, t.Src.Addr()).
		Num(src, uint64(t.Src.Port())).Num(dst, uint64(t.Dst.Port()))
}
