package flows

import (
	"fmt"
	"strings"
)

const allowedFields = "a protocol (ip, icmp, tcp, udp, sctp, ipv6, icmp6, tcp6, udp6, sctp6, arp, rarp, mpls, mplsm) or a field " +
	"(in_port, metadata, pkt_mark, reg0 to reg15, xreg0 to xreg7, xxreg0 to xxreg3, tun_id, tun_src, tun_dst, tun_ipv6_src, tun_ipv6_dst, dp_hash, recirc_id, " +
	"conj_id, ct_state, ct_zone, ct_mark, ct_label, ct_nw_src, ct_nw_dst, ct_ipv6_src, ct_ipv6_dst, ct_nw_proto, ct_tp_src, ct_tp_dst, " +
	"dl_src, dl_dst, dl_type, dl_vlan, dl_vlan_pcp, vlan_vid, vlan_pcp, vlan_tci, mpls_label, mpls_tc, mpls_ttl, mpls_bos, nw_src, nw_dst, " +
	"nw_proto, nw_tos, ip_dscp, nw_ecn, nw_ttl, nw_frag, ipv6_src, ipv6_dst, ipv6_label, arp_op, arp_spa, arp_tpa, arp_sha, arp_tha, " +
	"tp_src, tp_dst, tcp_src, tcp_dst, tcp_flags, udp_src, udp_dst, sctp_src, sctp_dst, icmp_type, icmp_code, icmpv6_type, " +
	"icmpv6_code, nd_target, nd_sll, nd_tll, nd_reserved, nd_options_type)"

// ParseMatch reads a match in ovs-ofctl syntax: what [Match.String] writes, and the other names and forms that ovs-ofctl
// reads. The error, a [*SyntaxError], says where it is wrong and what is allowed.
func ParseMatch(text string) (Match, error) {
	s := &scanner{what: "match", text: text, end: len(text)}
	p := matchParser{scanner: s}
	for it, ok := s.next(); ok; it, ok = s.next() {
		if known, err := p.add(it); err != nil {
			return nil, err
		} else if !known {
			return nil, s.fail(it, "unknown; want %s", allowedFields)
		}
	}
	return p.finish()
}

// matchParser collects conditions. Those whose names depend on the protocol wait until all have been seen.
type matchParser struct {
	*scanner
	match   Match
	waiting []item
	from    [fieldEnd]item // where the condition on each field came from
}

// add takes it if it belongs to a match.
func (p *matchParser) add(it item) (known bool, err error) {
	for _, k := range keywords {
		if k.name == it.text {
			if err = p.put(it, Cond{Field: EthType, Value: U64(uint64(k.eth), 2)}); err == nil && k.proto >= 0 {
				err = p.put(it, Cond{Field: IPProto, Value: U64(uint64(k.proto), 1)})
			}
			return true, err
		}
	}
	f, ok := FieldByName(it.key)
	switch {
	case !ok:
		return false, nil
	case it.sep != '=':
		return true, p.fail(it, "want %s=VALUE", it.key)
	case f == EthType:
		return true, p.value(it, f, it.value)
	}
	p.waiting = append(p.waiting, it)
	return true, nil
}

func (p *matchParser) finish() (Match, error) {
	// nw_proto may be arp_op, and others depend on it.
	for _, early := range [2]bool{true, false} {
		for _, it := range p.waiting {
			if (it.key == "nw_proto" || it.key == "ip_proto") != early {
				continue
			}
			if err := p.field(it); err != nil {
				return nil, err
			}
		}
	}
	if _, ok := p.match.Get(VLANPCP); ok {
		if _, ok := p.match.Get(VLANVID); !ok {
			p.match = p.match.NumMasked(VLANVID, 0x1000, 0x1000)
		}
	}
	if f, why := p.match.fault(); why != "" {
		return nil, p.fail(p.from[f], "%v %s", f, why)
	}
	return p.match, nil
}

// put adds a condition, but not one that contradicts another.
func (p *matchParser) put(it item, c Cond) error {
	before := p.match.Clone()
	p.from[c.Field] = it
	p.match = p.match.With(c)
	for _, b := range before {
		if a, ok := p.match.Get(b.Field); !ok || a != b {
			return p.fail(it, "%v has been given before, otherwise", b.Field)
		}
	}
	return nil
}

func (p *matchParser) value(it item, f Field, s string) error {
	v, mask, masked, err := parseValue(f, s)
	if err == nil && masked && !f.Maskable() {
		err = fmt.Errorf("%v cannot be masked", f)
	}
	if err != nil {
		return p.fail(it, "%w", err)
	}
	return p.put(it, Cond{Field: f, Masked: masked, Value: v, Mask: mask})
}

// field is the condition of an item whose name may depend on the protocol, or whose value is not the field's own.
func (p *matchParser) field(it item) error {
	arp, v6 := p.match.has(needARP), p.match.has(needICMPv6)
	choose := func(is bool, yes, no Field) error {
		if is {
			return p.value(it, yes, it.value)
		}
		return p.value(it, no, it.value)
	}
	switch it.key {
	case "nw_src":
		return choose(arp, ARPSPA, IPv4Src)
	case "nw_dst":
		return choose(arp, ARPTPA, IPv4Dst)
	case "nw_proto":
		return choose(arp, ARPOp, IPProto)
	case "icmp_type":
		return choose(v6, ICMPv6Type, ICMPv4Type)
	case "icmp_code":
		return choose(v6, ICMPv6Code, ICMPv4Code)
	case "tp_src", "tp_dst":
		return p.transportPort(it)
	case "nw_tos":
		n, err := parseUint(it.value, 8)
		if err == nil && n&3 != 0 {
			err = fmt.Errorf("nw_tos=%s: want a multiple of 4 (the lowest two bits are nw_ecn)", it.value)
		}
		if err != nil {
			return p.fail(it, "%w", err)
		}
		return p.put(it, Cond{Field: IPDSCP, Value: U64(n>>2, 1)})
	case "dl_vlan":
		n, err := parseUint(it.value, 16)
		if err == nil && n > 0xfff && n != 0xffff {
			err = fmt.Errorf("dl_vlan=%s: want at most 4095, or 0xffff for no VLAN tag", it.value)
		}
		if err != nil {
			return p.fail(it, "%w", err)
		}
		if n != 0xffff {
			return p.put(it, Cond{Field: VLANVID, Value: U64(0x1000|n, 2)})
		}
		return p.put(it, Cond{Field: VLANVID})
	case "vlan_tci", "NXM_OF_VLAN_TCI":
		return p.vlanTCI(it)
	}
	f, _ := FieldByName(it.key)
	return p.value(it, f, it.value)
}

func (p *matchParser) transportPort(it item) error {
	src := it.key == "tp_src"
	for _, c := range []struct {
		need     need
		src, dst Field
	}{{needTCP, TCPSrc, TCPDst}, {needUDP, UDPSrc, UDPDst}, {needSCTP, SCTPSrc, SCTPDst}} {
		if p.match.has(c.need) {
			if src {
				return p.value(it, c.src, it.value)
			}
			return p.value(it, c.dst, it.value)
		}
	}
	return p.fail(it, "%s needs tcp, udp, sctp, tcp6, udp6 or sctp6", it.key)
}

func (p *matchParser) vlanTCI(it item) error {
	one, other, masked := strings.Cut(it.value, "/")
	tci, err := parseUint(one, 16)
	mask := uint64(0xffff)
	if err == nil && masked {
		mask, err = parseUint(other, 16)
	}
	pcp := mask & 0xe000
	if err == nil && (pcp != 0 && pcp != 0xe000 || pcp != 0 && tci&mask&0x1000 == 0 && tci&0xe000 != 0) {
		err = fmt.Errorf("vlan_tci=%s: want all or none of the priority's bits (0xe000) in the mask, and priority only with 0x1000", it.value)
	}
	if err != nil {
		return p.fail(it, "%w", err)
	}
	if pcp != 0 && tci&mask&0x1000 != 0 {
		if err = p.put(it, Cond{Field: VLANPCP, Value: U64(tci>>13, 1)}); err != nil {
			return err
		}
	}
	return p.put(it, Cond{Field: VLANVID, Masked: true, Value: U64(tci&0x1fff, 2), Mask: U64(mask&0x1fff, 2)})
}
