package othello

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Priorities of rules.
const (
	prioVIP   = 100 // table 30
	prioCode  = 100 // plus the bits of a Dcode that a rule tells apart
	prioPin   = 100
	prioMiss  = 10 // below the VIP's others
	prioFixed = 100
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

// base is what all VIPs share. A packet comes to table 44 with its VIP in metadata and the generation in RegDcode.
func (b *builder) base() {
	for _, v6 := range []bool{false, true} {
		for _, proto := range []uint8{apps.ProtoTCP, apps.ProtoUDP} {
			actions := []flows.Action{flows.Move{Src: flows.Whole(flows.EthSrc), Dst: senderMAC}}
			actions = append(actions, prepare(v6, proto)...)
			actions = append(actions, hashing(v6, codeBasis, MaxCodes, dcode), flows.Go(apps.TableOwner))
			b.rule(apps.TableDcode, prioFixed, 0, protocol(v6, proto), actions...)
		}
	}
	b.rule(apps.TableConsult, 0, 0, nil, flows.Go(apps.TableChosen))
	b.rule(apps.TableChosen, 0, 0, nil) // an endpoint whose host is not known
	b.cellRules()
}

// vipRules are what a VIP's rules are made of.
type vipRules struct {
	id         vip.ID
	generation uint32
	address    netip.Addr
	ports      vip.Ports
	proto      uint8
	v6         bool
	owners     *Codes
	pins       *Pins
}

// enter is what table 30 does with the VIP's packets: of this generation.
func (x *vipRules) enter() []flows.Action {
	return []flows.Action{load(flows.Span{Field: flows.Metadata, Bits: 16}, uint64(x.id)),
		load(flows.Span{Field: apps.RegDcode, Offset: generationShift, Bits: 8}, uint64(x.generation&0xff)), flows.Go(apps.TableDcode)}
}

// vip is a VIP's table of codes, and its pins.
func (b *builder) vip(x *vipRules) {
	for _, p := range x.ports.Masks() {
		m := protocol(x.v6, x.proto).Addr(destination(x.v6), x.address).NumMasked(ports(x.proto).dst, uint64(p.Port), uint64(p.Mask))
		b.rule(apps.TableVIP, prioVIP, x.id, m, x.enter()...)
	}
	for _, r := range x.owners.Rules() {
		b.rule(apps.TableOwner, prioCode+uint16(r.Bits), x.id, x.codes(r), flows.SetNum(apps.RegOwner, uint64(r.Owner)), flows.Go(apps.TableConsult))
	}
	b.pins(x)
}

// deliver sends what is an endpoint's to its host, with the true sender's MAC, and leaves the registers as it would have found them.
func (b *builder) deliver(id vip.ID, endpoint uint32, mac flows.MAC) {
	b.rule(apps.TableChosen, prioFixed, id, flows.Match{}.Num(apps.RegOwner, uint64(endpoint)),
		flows.SetMAC(flows.EthDst, mac), flows.Move{Src: senderMAC, Dst: flows.Whole(flows.EthSrc)},
		flows.SetField{Field: flows.XXReg0}, flows.SetField{Field: flows.XXReg1}, flows.Go(apps.TableForward))
}

// match are packets of the VIP and generation, in any table of this mode.
func (x *vipRules) match() flows.Match {
	return flows.Match{}.NumMasked(flows.Metadata, uint64(x.id), 0xffff).
		NumMasked(apps.RegDcode, uint64(x.generation&0xff)<<generationShift, 0xff<<generationShift)
}

// codes are those of a rule's Dcodes.
func (x *vipRules) codes(r CodeRule) flows.Match {
	return flows.Match{}.NumMasked(flows.Metadata, uint64(x.id), 0xffff).
		NumMasked(apps.RegDcode, uint64(x.generation&0xff)<<generationShift|uint64(r.Code), 0xff<<generationShift|uint64(r.Mask))
}

// tuple are those of a connection.
func (x *vipRules) tuple(t Tuple) flows.Match {
	m := x.match().Num(flows.EthType, etherType(x.v6)).Num(flows.IPProto, uint64(t.Proto)).Addr(source(x.v6), t.Client.Addr())
	return m.Num(ports(t.Proto).src, uint64(t.Client.Port())).Num(ports(t.Proto).dst, uint64(t.VIP.Port()))
}

func protocol(v6 bool, proto uint8) flows.Match {
	return flows.Match{}.Num(flows.EthType, etherType(v6)).Num(flows.IPProto, uint64(proto))
}

func etherType(v6 bool) uint64 {
	if v6 {
		return apps.EtherTypeIPv6
	}
	return apps.EtherTypeIPv4
}

func source(v6 bool) flows.Field {
	if v6 {
		return flows.IPv6Src
	}
	return flows.IPv4Src
}

func destination(v6 bool) flows.Field {
	if v6 {
		return flows.IPv6Dst
	}
	return flows.IPv4Dst
}

type portFields struct{ src, dst flows.Field }

func ports(proto uint8) portFields {
	if proto == apps.ProtoUDP {
		return portFields{flows.UDPSrc, flows.UDPDst}
	}
	return portFields{flows.TCPSrc, flows.TCPDst}
}
