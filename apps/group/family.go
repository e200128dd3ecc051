package group

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// family is what rules of IPv4 and of IPv6 differ in.
type family struct {
	ethType  uint64
	src, dst flows.Field
	icmp     uint64      // IP protocol
	icmpType flows.Field // its types that quote a packet
	errors   []uint64
}

var (
	ipv4 = family{apps.EtherTypeIPv4, flows.IPv4Src, flows.IPv4Dst, apps.ProtoICMP, flows.ICMPv4Type, []uint64{3, 11, 12}}
	ipv6 = family{apps.EtherTypeIPv6, flows.IPv6Src, flows.IPv6Dst, apps.ProtoICMPv6, flows.ICMPv6Type, []uint64{1, 2, 3, 4}}
)

func familyOf(a netip.Addr) *family {
	if a.Is4() {
		return &ipv4
	}
	return &ipv6
}

// ip matches IP packets of the family; there is room for what a rule adds.
func (f *family) ip() flows.Match { return make(flows.Match, 0, 10).Num(flows.EthType, f.ethType) }

func from(a netip.Addr) flows.Match { return familyOf(a).ip().Addr(familyOf(a).src, a) }
func to(a netip.Addr) flows.Match   { return familyOf(a).ip().Addr(familyOf(a).dst, a) }

// set writes an address.
func set(f flows.Field, a netip.Addr) flows.SetField {
	return flows.SetField{Field: f, Value: flows.AddrValue(a)}
}

type portFields struct{ src, dst flows.Field }

func fieldsOf(proto uint8) portFields {
	if proto == apps.ProtoUDP {
		return portFields{flows.UDPSrc, flows.UDPDst}
	}
	return portFields{flows.TCPSrc, flows.TCPDst}
}

// at adds a protocol and some ports in one of its fields.
func at(m flows.Match, proto uint8, f flows.Field, p vip.PortMask) flows.Match {
	return m.Num(flows.IPProto, uint64(proto)).NumMasked(f, uint64(p.Port), uint64(p.Mask))
}

// toVIP matches packets to some of a VIP's ports.
func toVIP(x *apps.VIP, p vip.PortMask) flows.Match {
	return at(to(x.Address), protocol(x), fieldsOf(protocol(x)).dst, p)
}

// Bits of ct_state.
const (
	ctInvalid = 0x10
	ctTracked = 0x20
)

// fragment adds that a packet is a fragment.
func fragment(m flows.Match) flows.Match { return m.NumMasked(flows.IPFrag, 1, 1) }
