package flows

import (
	"encoding/hex"
	"slices"
	"strconv"
)

// keyword is ovs-ofctl's shorthand for an Ethernet type with or without an IP protocol.
type keyword struct {
	name  string
	eth   uint16
	proto int16 // -1: none
}

var keywords = [...]keyword{
	{"ip", ethIPv4, -1}, {"icmp", ethIPv4, ipICMP}, {"tcp", ethIPv4, ipTCP}, {"udp", ethIPv4, ipUDP}, {"sctp", ethIPv4, ipSCTP},
	{"ipv6", ethIPv6, -1}, {"icmp6", ethIPv6, ipICMPv6}, {"tcp6", ethIPv6, ipTCP}, {"udp6", ethIPv6, ipUDP},
	{"sctp6", ethIPv6, ipSCTP}, {"arp", ethARP, -1}, {"rarp", ethRARP, -1}, {"mpls", ethMPLS, -1}, {"mplsm", ethMPLSMcast, -1},
}

// keyword is the one that says most of what the match asks for.
func (m Match) keyword() (best keyword, ok bool) {
	eth, proto := m.num(EthType), m.num(IPProto)
	for _, k := range keywords {
		if int64(k.eth) == eth && (k.proto < 0 || int64(k.proto) == proto) {
			best, ok = k, true
		}
	}
	return best, ok
}

// String is the match in ovs-ofctl syntax, as Open vSwitch 3.1 prints it; "" for the match of every packet.
func (m Match) String() string { return string(m.AppendText(nil)) }

// AppendText appends String.
func (m Match) AppendText(b []byte) []byte {
	start := len(b)
	k, ok := m.keyword()
	put := func() {
		if ok {
			b = append(append(b, k.name...), ',')
		}
		ok = false
	}
	hasKeyword := ok
	for _, c := range m {
		if c.Field >= Reg0 {
			put() // the keyword stands before the registers
		}
		switch {
		case c.Field == EthType && hasKeyword, c.Field == IPProto && hasKeyword && k.proto >= 0 && !c.Masked:
			continue
		case c.Field == VLANVID:
			b = m.appendVLAN(b, c)
		case c.Field == VLANPCP && m.has(needVLAN):
			continue // said with the VLAN id
		default:
			b = m.appendCond(b, c)
		}
		b = append(b, ',')
	}
	put()
	if len(b) > start {
		b = b[:len(b)-1]
	}
	return b
}

func (m Match) appendCond(b []byte, c Cond) []byte {
	i, w := c.Field.info(), c.Field.Width()
	if w == 0 {
		entry := slices.Concat(c.Value[:], c.Mask[:])
		return hex.AppendEncode(append(b, "raw_oxm="...), entry[:min(len(entry), 4+int(entry[3]))])
	}
	name := i.match
	if name == "" || !m.has(i.need) {
		name = c.Field.String() // tp_src could not be told from others
	}
	b = append(append(b, name...), '=')
	switch {
	case c.Field == CTZone && !c.Masked:
		return strconv.AppendUint(b, c.Value.Uint64(w), 10)
	case c.Field == EthType && !c.Masked:
		return appendHexPadded(b, c.Value.Uint64(w), 4)
	case c.Field == IPv6Label:
		b = appendHexPadded(b, c.Value.Uint64(w), 5)
		if c.Masked {
			b = appendHexPadded(append(b, '/'), c.Mask.Uint64(w), 5)
		}
		return b
	case c.Field == IPDSCP && name == "nw_tos" && !c.Masked:
		return strconv.AppendUint(b, c.Value.Uint64(w)<<2, 10)
	case i.kind == decimal && c.Masked:
		return appendHexPadded(append(appendHexPadded(b, c.Value.Uint64(w), 1), '/'), c.Mask.Uint64(w), 1)
	}
	return appendValue(b, c.Field, c.Masked, c.Value, c.Mask)
}

// appendVLAN writes vlan_vid and vlan_pcp, which Open vSwitch keeps and prints as one 16-bit field, vlan_tci, unless
// dl_vlan and dl_vlan_pcp say the same.
func (m Match) appendVLAN(b []byte, c Cond) []byte {
	const present, vid, pcp = 0x1000, 0x0fff, 0xe000
	tci, mask := uint16(c.Value.Uint64(2)), uint16(0x1fff)
	if c.Masked {
		mask = uint16(c.Mask.Uint64(2))
	}
	p, hasPCP := m.Get(VLANPCP)
	if hasPCP = hasPCP && m.has(needVLAN); hasPCP {
		tci, mask = tci|uint16(p.Value[0])<<13, mask|pcp
	}
	if tci&present != 0 && (mask&vid == 0 || mask&vid == vid) && mask != present {
		if mask&vid != 0 {
			b = appendNum(b, "dl_vlan=", tci&vid)
		}
		if mask&vid != 0 && hasPCP {
			b = append(b, ',')
		}
		if hasPCP {
			b = appendNum(b, "dl_vlan_pcp=", p.Value[0])
		}
		return b
	}
	b = appendHexPadded(append(b, "vlan_tci="...), uint64(tci), 4)
	if mask == 0xffff {
		return b
	}
	return appendHexPadded(append(b, '/'), uint64(mask), 4)
}
