package apps

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Family is what rules of IPv4 and of IPv6 differ in.
type Family struct {
	EthType  uint64
	Src, Dst flows.Field
	ICMP     uint64      // IP protocol
	ICMPType flows.Field // whose types Errors quote a packet
	Errors   []uint64
}

// Families.
var (
	IPv4 = Family{EtherTypeIPv4, flows.IPv4Src, flows.IPv4Dst, ProtoICMP, flows.ICMPv4Type, []uint64{3, 11, 12}}
	IPv6 = Family{EtherTypeIPv6, flows.IPv6Src, flows.IPv6Dst, ProtoICMPv6, flows.ICMPv6Type, []uint64{1, 2, 3, 4}}
)

// FamilyOf is an address's family.
func FamilyOf(a netip.Addr) *Family {
	if a.Is4() {
		return &IPv4
	}
	return &IPv6
}

// IP matches IP packets of the family; there is room for what a rule adds.
func (f *Family) IP() flows.Match { return make(flows.Match, 0, 10).Num(flows.EthType, f.EthType) }

// From and To match the packets of an address.
func From(a netip.Addr) flows.Match { return FamilyOf(a).IP().Addr(FamilyOf(a).Src, a) }
func To(a netip.Addr) flows.Match   { return FamilyOf(a).IP().Addr(FamilyOf(a).Dst, a) }

// In adds that an address is of a network.
func In(m flows.Match, f flows.Field, p netip.Prefix) flows.Match {
	var mask flows.Value
	for i := range p.Bits() {
		mask[i/8] |= 0x80 >> (i % 8)
	}
	return m.Masked(f, flows.AddrValue(p.Addr()), mask)
}

// Fragment adds that a packet is a fragment, the first one or another.
func Fragment(m flows.Match) flows.Match { return m.NumMasked(flows.IPFrag, 1, 1) }

// SetAddr writes an address.
func SetAddr(f flows.Field, a netip.Addr) flows.SetField {
	return flows.SetField{Field: f, Value: flows.AddrValue(a)}
}

// PortFields are a protocol's fields of ports.
func PortFields(proto uint8) (src, dst flows.Field) {
	if proto == ProtoUDP {
		return flows.UDPSrc, flows.UDPDst
	}
	return flows.TCPSrc, flows.TCPDst
}

// AtPorts adds a protocol and some ports in one of its fields.
func AtPorts(m flows.Match, proto uint8, f flows.Field, p vip.PortMask) flows.Match {
	return m.Num(flows.IPProto, uint64(proto)).NumMasked(f, uint64(p.Port), uint64(p.Mask))
}

// ToVIP matches packets to some of a VIP's ports.
func ToVIP(x *VIP, p vip.PortMask) flows.Match {
	_, dst := PortFields(x.Proto())
	return AtPorts(To(x.Address), x.Proto(), dst, p)
}

// Proto is the VIP's protocol as IP has it, 0 if it is none of ours.
func (x *VIP) Proto() uint8 {
	switch x.Spec.Protocol {
	case vip.TCP:
		return ProtoTCP
	case vip.UDP:
		return ProtoUDP
	}
	return 0
}
