package flows

import "fmt"

// Ethernet types and IP protocols that ovs-ofctl has a keyword for.
const (
	ethIPv4      = 0x0800
	ethARP       = 0x0806
	ethRARP      = 0x8035
	ethIPv6      = 0x86dd
	ethMPLS      = 0x8847
	ethMPLSMcast = 0x8848

	ipICMP   = 1
	ipTCP    = 6
	ipUDP    = 17
	ipICMPv6 = 58
	ipSCTP   = 132
)

// need is what a match must say so that a condition on a field has a meaning (OpenFlow 1.5.1 section 7.2.3.8,
// ovs-fields(7)). A switch refuses or ignores a condition without.
type need uint8

const (
	needNothing need = iota
	needOther        // another field
	needCT
	needCTProto
	needVLAN
	needMPLS
	needIPv4
	needIPv6
	needIP
	needARP
	needTCP
	needUDP
	needSCTP
	needICMP
	needICMPv6
	needND
	needSolicit
	needAdvert
)

var needNames = [...]string{
	needOther: "to be told as vlan_vid and vlan_pcp",
	needCT:    "ct_state with +new, +est, +rel, +rpl or +trk-inv", needCTProto: "ct_nw_proto", needVLAN: "dl_vlan, or vlan_vid with 0x1000",
	needMPLS: "mpls or mplsm", needIPv4: "ip", needIPv6: "ipv6", needIP: "ip or ipv6", needARP: "arp or rarp",
	needTCP: "tcp or tcp6", needUDP: "udp or udp6", needSCTP: "sctp or sctp6", needICMP: "icmp", needICMPv6: "icmp6",
	needND: "icmp6 and icmp_type=135 or 136", needSolicit: "icmp6 and icmp_type=135", needAdvert: "icmp6 and icmp_type=136",
}

// num is the number an exact condition on f asks for, -1 if there is none.
func (m Match) num(f Field) int64 {
	if c, ok := m.Get(f); ok && !c.Masked {
		return int64(c.Value.Uint64(f.Width()))
	}
	return -1
}

func (m Match) has(n need) bool {
	eth, proto := m.num(EthType), m.num(IPProto)
	ip := eth == ethIPv4 || eth == ethIPv6
	switch n {
	case needOther:
		return false
	case needCT:
		c, _ := m.Get(CTState)
		set, mask := c.Value[3], c.Mask[3]
		if !c.Masked {
			mask = 0xff
		}
		const entry, invalid, tracked = 0x01 | 0x02 | 0x04 | 0x08 | 0x40 | 0x80, 0x10, 0x20
		return set&entry != 0 || set&tracked != 0 && mask&invalid != 0 && set&invalid == 0
	case needCTProto:
		return m.num(CTNWProto) >= 0
	case needVLAN:
		c, _ := m.Get(VLANVID)
		return c.Value[0]&0x10 != 0
	case needMPLS:
		return eth == ethMPLS || eth == ethMPLSMcast
	case needIPv4:
		return eth == ethIPv4
	case needIPv6:
		return eth == ethIPv6
	case needIP:
		return ip
	case needARP:
		return eth == ethARP || eth == ethRARP
	case needTCP:
		return ip && proto == ipTCP
	case needUDP:
		return ip && proto == ipUDP
	case needSCTP:
		return ip && proto == ipSCTP
	case needICMP:
		return eth == ethIPv4 && proto == ipICMP
	case needICMPv6:
		return eth == ethIPv6 && proto == ipICMPv6
	case needND, needSolicit, needAdvert:
		t := m.num(ICMPv6Type)
		return m.has(needICMPv6) && (t == 135 && n != needAdvert || t == 136 && n != needSolicit)
	}
	return true
}

// Check reports a condition that has no meaning without another one that is missing, such as tcp_dst without tcp,
// and a mask where none may be.
func (m Match) Check() error {
	if f, why := m.fault(); why != "" {
		return fmt.Errorf("match %v: %v %s", m, f, why)
	}
	return nil
}

func (m Match) fault() (f Field, why string) {
	for _, c := range m {
		i := c.Field.info()
		switch {
		case i.width == 0:
			return c.Field, "is no field"
		case !m.has(i.need):
			return c.Field, "needs " + needNames[i.need]
		case c.Masked && !i.maskable:
			return c.Field, "cannot be masked"
		}
	}
	return FieldNone, ""
}
