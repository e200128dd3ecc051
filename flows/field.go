package flows

import (
	"encoding/binary"
	"strconv"
)

// Field names a header, metadata or register field that a [Match] tests or an action writes.
//
// The order of the constants is the canonical order of a [Match]: the order in which Open vSwitch prints fields,
// so that our text for a rule and `ovs-ofctl dump-flows` agree.
type Field uint8

// Fields, in the order in which Open vSwitch prints them.
const (
	FieldNone Field = iota
	PktMark
	RecircID
	DPHash
	ConjID
	SKBPriority
	CTState
	CTZone
	CTMark
	CTLabel
	CTNWSrc
	CTIPv6Src
	CTNWDst
	CTIPv6Dst
	CTNWProto
	CTTPSrc
	CTTPDst
	Reg0
	Reg1
	Reg2
	Reg3
	Reg4
	Reg5
	Reg6
	Reg7
	Reg8
	Reg9
	Reg10
	Reg11
	Reg12
	Reg13
	Reg14
	Reg15
	XReg0
	XReg1
	XReg2
	XReg3
	XReg4
	XReg5
	XReg6
	XReg7
	XXReg0
	XXReg1
	XXReg2
	XXReg3
	TunnelID
	TunSrc
	TunDst
	TunIPv6Src
	TunIPv6Dst
	Metadata
	InPort
	VLANTCI // the whole tag, in actions only: a match has VLANVID and VLANPCP
	VLANVID
	VLANPCP
	EthSrc
	EthDst
	EthType
	IPv4Src
	IPv4Dst
	IPv6Src
	IPv6Dst
	IPv6Label
	ARPSPA
	ARPTPA
	IPProto
	ARPOp
	ARPSHA
	ARPTHA
	IPDSCP
	IPECN
	IPTTL
	MPLSLabel
	MPLSTC
	MPLSTTL
	MPLSBOS
	IPFrag
	TCPSrc
	TCPDst
	UDPSrc
	UDPDst
	SCTPSrc
	SCTPDst
	ICMPv4Type
	ICMPv4Code
	ICMPv6Type
	ICMPv6Code
	NDTarget
	NDSLL
	NDTLL
	NDReserved    // with the flags of an advertisement: router, solicited, override are its highest bits
	NDOptionsType // 1 says whose address asks (nd_sll), 2 whose is told (nd_tll)
	TCPFlags
	fieldEnd
)

// Value is a field's value in network byte order: the first Width bytes of the field count, the rest is zero.
type Value [16]byte

// U64 is v as the value of a field of the given width in bytes (at most 16); of a narrower field than 8 bytes the low
// bits of v.
func U64(v uint64, width int) (out Value) {
	var b Value
	binary.BigEndian.PutUint64(b[8:], v)
	copy(out[:], b[16-width:])
	return out
}

// Uint64 is the number held by the first width bytes; of more than 8 bytes its low 64 bits.
func (v Value) Uint64(width int) (n uint64) {
	for _, b := range v[:width] {
		n = n<<8 | uint64(b)
	}
	return n
}

// FieldCount is one more than the largest Field, for tables indexed by Field.
const FieldCount = int(fieldEnd)

func (f Field) info() *fieldInfo {
	if f >= fieldEnd {
		f = FieldNone
	}
	return &fields[f]
}

// Width is how many bytes the field has on the wire; 0 for FieldNone and what is no field.
func (f Field) Width() int { return int(f.info().width) }

// Bits is how many of its bits are data, from the lowest: 12 of vlan_vid, 12 of tcp_flags, 6 of ip_dscp, else mostly all.
func (f Field) Bits() int { return int(f.info().bits) }

// String is the field's name in the actions of ovs-ofctl, like eth_dst or tcp_src.
func (f Field) String() string {
	if f == FieldNone || f >= fieldEnd {
		return "field" + strconv.Itoa(int(f))
	}
	return fields[f].name
}

// Maskable reports whether a match on the field may have a mask.
func (f Field) Maskable() bool { return f.info().maskable }

// FullMask has all bits set that a condition on the field can have: a condition with this mask is the exact one.
// vlan_vid has one more than Bits, the one that says that there is a tag; ct_state has the eight that Open vSwitch keeps.
func (f Field) FullMask() Value {
	switch f {
	case VLANVID:
		return lowBits(13, 2)
	case CTState:
		return lowBits(8, 4)
	}
	return lowBits(f.Bits(), f.Width())
}

// lowBits has the lowest n bits of a field of width bytes set.
func lowBits(n, width int) (m Value) {
	for i := width - 1; i >= 0 && n > 0; i, n = i-1, n-8 {
		m[i] = byte(1<<min(n, 8) - 1)
	}
	return m
}

// FieldByName finds a field by a name that ovs-ofctl knows: tcp_dst, nw_src or ip_src, eth_dst or dl_dst, NXM_OF_ETH_SRC,
// OXM_OF_ETH_SRC. Names that mean several fields get the first of them: tp_src is TCPSrc, icmp_type is ICMPv4Type.
func FieldByName(name string) (Field, bool) {
	f, ok := fieldNames[name]
	return f, ok
}
