package flows

// kind is how Open vSwitch writes a field's values.
type kind uint8

const (
	decimal kind = iota
	hexadecimal
	ethernet
	ipv4
	ipv6
	port
	ctState
	tcpFlags
	frag
)

// fieldInfo describes a field: its name (that of set_field), its name in a match if that is another, the header's name
// in the text of a move (NXM where Open vSwitch has one, else OXM), bytes and bits on
// the wire, and what a match must say besides.
type fieldInfo struct {
	name, match, header string
	width               uint8
	bits                uint8
	kind                kind
	maskable            bool
	need                need
}

// fields is indexed by Field. Source: ovs-fields(7).
var fields = [fieldEnd]fieldInfo{
	PktMark:       {"pkt_mark", "pkt_mark", "NXM_NX_PKT_MARK", 4, 32, hexadecimal, true, needNothing},
	RecircID:      {"recirc_id", "recirc_id", "NXM_NX_RECIRC_ID", 4, 32, hexadecimal, false, needNothing},
	DPHash:        {"dp_hash", "dp_hash", "NXM_NX_DP_HASH", 4, 32, hexadecimal, true, needNothing},
	ConjID:        {"conj_id", "conj_id", "NXM_NX_CONJ_ID", 4, 32, decimal, false, needNothing},
	SKBPriority:   {"skb_priority", "skb_priority", "", 4, 32, hexadecimal, false, needNothing},
	CTState:       {"ct_state", "ct_state", "NXM_NX_CT_STATE", 4, 32, ctState, true, needNothing},
	CTZone:        {"ct_zone", "ct_zone", "NXM_NX_CT_ZONE", 2, 16, hexadecimal, false, needNothing},
	CTMark:        {"ct_mark", "ct_mark", "NXM_NX_CT_MARK", 4, 32, hexadecimal, true, needNothing},
	CTLabel:       {"ct_label", "ct_label", "NXM_NX_CT_LABEL", 16, 128, hexadecimal, true, needNothing},
	CTNWSrc:       {"ct_nw_src", "ct_nw_src", "NXM_NX_CT_NW_SRC", 4, 32, ipv4, true, needCT},
	CTIPv6Src:     {"ct_ipv6_src", "ct_ipv6_src", "NXM_NX_CT_IPV6_SRC", 16, 128, ipv6, true, needCT},
	CTNWDst:       {"ct_nw_dst", "ct_nw_dst", "NXM_NX_CT_NW_DST", 4, 32, ipv4, true, needCT},
	CTIPv6Dst:     {"ct_ipv6_dst", "ct_ipv6_dst", "NXM_NX_CT_IPV6_DST", 16, 128, ipv6, true, needCT},
	CTNWProto:     {"ct_nw_proto", "ct_nw_proto", "NXM_NX_CT_NW_PROTO", 1, 8, decimal, false, needCT},
	CTTPSrc:       {"ct_tp_src", "ct_tp_src", "NXM_NX_CT_TP_SRC", 2, 16, decimal, true, needCTProto},
	CTTPDst:       {"ct_tp_dst", "ct_tp_dst", "NXM_NX_CT_TP_DST", 2, 16, decimal, true, needCTProto},
	Reg0:          {"reg0", "reg0", "NXM_NX_REG0", 4, 32, hexadecimal, true, needNothing},
	Reg1:          {"reg1", "reg1", "NXM_NX_REG1", 4, 32, hexadecimal, true, needNothing},
	Reg2:          {"reg2", "reg2", "NXM_NX_REG2", 4, 32, hexadecimal, true, needNothing},
	Reg3:          {"reg3", "reg3", "NXM_NX_REG3", 4, 32, hexadecimal, true, needNothing},
	Reg4:          {"reg4", "reg4", "NXM_NX_REG4", 4, 32, hexadecimal, true, needNothing},
	Reg5:          {"reg5", "reg5", "NXM_NX_REG5", 4, 32, hexadecimal, true, needNothing},
	Reg6:          {"reg6", "reg6", "NXM_NX_REG6", 4, 32, hexadecimal, true, needNothing},
	Reg7:          {"reg7", "reg7", "NXM_NX_REG7", 4, 32, hexadecimal, true, needNothing},
	Reg8:          {"reg8", "reg8", "NXM_NX_REG8", 4, 32, hexadecimal, true, needNothing},
	Reg9:          {"reg9", "reg9", "NXM_NX_REG9", 4, 32, hexadecimal, true, needNothing},
	Reg10:         {"reg10", "reg10", "NXM_NX_REG10", 4, 32, hexadecimal, true, needNothing},
	Reg11:         {"reg11", "reg11", "NXM_NX_REG11", 4, 32, hexadecimal, true, needNothing},
	Reg12:         {"reg12", "reg12", "NXM_NX_REG12", 4, 32, hexadecimal, true, needNothing},
	Reg13:         {"reg13", "reg13", "NXM_NX_REG13", 4, 32, hexadecimal, true, needNothing},
	Reg14:         {"reg14", "reg14", "NXM_NX_REG14", 4, 32, hexadecimal, true, needNothing},
	Reg15:         {"reg15", "reg15", "NXM_NX_REG15", 4, 32, hexadecimal, true, needNothing},
	XReg0:         {"xreg0", "xreg0", "OXM_OF_PKT_REG0", 8, 64, hexadecimal, true, needNothing},
	XReg1:         {"xreg1", "xreg1", "OXM_OF_PKT_REG1", 8, 64, hexadecimal, true, needNothing},
	XReg2:         {"xreg2", "xreg2", "OXM_OF_PKT_REG2", 8, 64, hexadecimal, true, needNothing},
	XReg3:         {"xreg3", "xreg3", "OXM_OF_PKT_REG3", 8, 64, hexadecimal, true, needNothing},
	XReg4:         {"xreg4", "xreg4", "OXM_OF_PKT_REG4", 8, 64, hexadecimal, true, needNothing},
	XReg5:         {"xreg5", "xreg5", "OXM_OF_PKT_REG5", 8, 64, hexadecimal, true, needNothing},
	XReg6:         {"xreg6", "xreg6", "OXM_OF_PKT_REG6", 8, 64, hexadecimal, true, needNothing},
	XReg7:         {"xreg7", "xreg7", "OXM_OF_PKT_REG7", 8, 64, hexadecimal, true, needNothing},
	XXReg0:        {"xxreg0", "xxreg0", "NXM_NX_XXREG0", 16, 128, hexadecimal, true, needNothing},
	XXReg1:        {"xxreg1", "xxreg1", "NXM_NX_XXREG1", 16, 128, hexadecimal, true, needNothing},
	XXReg2:        {"xxreg2", "xxreg2", "NXM_NX_XXREG2", 16, 128, hexadecimal, true, needNothing},
	XXReg3:        {"xxreg3", "xxreg3", "NXM_NX_XXREG3", 16, 128, hexadecimal, true, needNothing},
	TunnelID:      {"tun_id", "tun_id", "NXM_NX_TUN_ID", 8, 64, hexadecimal, true, needNothing},
	TunSrc:        {"tun_src", "tun_src", "NXM_NX_TUN_IPV4_SRC", 4, 32, ipv4, true, needNothing},
	TunDst:        {"tun_dst", "tun_dst", "NXM_NX_TUN_IPV4_DST", 4, 32, ipv4, true, needNothing},
	TunIPv6Src:    {"tun_ipv6_src", "tun_ipv6_src", "NXM_NX_TUN_IPV6_SRC", 16, 128, ipv6, true, needNothing},
	TunIPv6Dst:    {"tun_ipv6_dst", "tun_ipv6_dst", "NXM_NX_TUN_IPV6_DST", 16, 128, ipv6, true, needNothing},
	Metadata:      {"metadata", "metadata", "OXM_OF_METADATA", 8, 64, hexadecimal, true, needNothing},
	InPort:        {"in_port", "in_port", "OXM_OF_IN_PORT", 4, 32, port, false, needNothing},
	VLANTCI:       {"vlan_tci", "vlan_tci", "NXM_OF_VLAN_TCI", 2, 16, hexadecimal, true, needOther},
	VLANVID:       {"vlan_vid", "vlan_vid", "OXM_OF_VLAN_VID", 2, 12, decimal, true, needNothing},
	VLANPCP:       {"vlan_pcp", "dl_vlan_pcp", "OXM_OF_VLAN_PCP", 1, 3, decimal, false, needVLAN},
	EthSrc:        {"eth_src", "dl_src", "NXM_OF_ETH_SRC", 6, 48, ethernet, true, needNothing},
	EthDst:        {"eth_dst", "dl_dst", "NXM_OF_ETH_DST", 6, 48, ethernet, true, needNothing},
	EthType:       {"eth_type", "dl_type", "NXM_OF_ETH_TYPE", 2, 16, hexadecimal, false, needNothing},
	IPv4Src:       {"ip_src", "nw_src", "NXM_OF_IP_SRC", 4, 32, ipv4, true, needIPv4},
	IPv4Dst:       {"ip_dst", "nw_dst", "NXM_OF_IP_DST", 4, 32, ipv4, true, needIPv4},
	IPv6Src:       {"ipv6_src", "ipv6_src", "NXM_NX_IPV6_SRC", 16, 128, ipv6, true, needIPv6},
	IPv6Dst:       {"ipv6_dst", "ipv6_dst", "NXM_NX_IPV6_DST", 16, 128, ipv6, true, needIPv6},
	IPv6Label:     {"ipv6_label", "ipv6_label", "NXM_NX_IPV6_LABEL", 4, 20, hexadecimal, true, needIPv6},
	ARPSPA:        {"arp_spa", "arp_spa", "NXM_OF_ARP_SPA", 4, 32, ipv4, true, needARP},
	ARPTPA:        {"arp_tpa", "arp_tpa", "NXM_OF_ARP_TPA", 4, 32, ipv4, true, needARP},
	IPProto:       {"nw_proto", "nw_proto", "NXM_OF_IP_PROTO", 1, 8, decimal, false, needIP},
	ARPOp:         {"arp_op", "arp_op", "NXM_OF_ARP_OP", 2, 16, decimal, false, needARP},
	ARPSHA:        {"arp_sha", "arp_sha", "NXM_NX_ARP_SHA", 6, 48, ethernet, true, needARP},
	ARPTHA:        {"arp_tha", "arp_tha", "NXM_NX_ARP_THA", 6, 48, ethernet, true, needARP},
	IPDSCP:        {"ip_dscp", "nw_tos", "OXM_OF_IP_DSCP", 1, 6, decimal, false, needIP},
	IPECN:         {"nw_ecn", "nw_ecn", "NXM_NX_IP_ECN", 1, 2, decimal, false, needIP},
	IPTTL:         {"nw_ttl", "nw_ttl", "NXM_NX_IP_TTL", 1, 8, decimal, false, needIP},
	MPLSLabel:     {"mpls_label", "mpls_label", "OXM_OF_MPLS_LABEL", 4, 20, decimal, false, needMPLS},
	MPLSTC:        {"mpls_tc", "mpls_tc", "OXM_OF_MPLS_TC", 1, 3, decimal, false, needMPLS},
	MPLSTTL:       {"mpls_ttl", "mpls_ttl", "NXM_NX_MPLS_TTL", 1, 8, decimal, false, needMPLS},
	MPLSBOS:       {"mpls_bos", "mpls_bos", "OXM_OF_MPLS_BOS", 1, 1, decimal, false, needMPLS},
	IPFrag:        {"ip_frag", "nw_frag", "NXM_NX_IP_FRAG", 1, 2, frag, true, needIP},
	TCPSrc:        {"tcp_src", "tp_src", "NXM_OF_TCP_SRC", 2, 16, decimal, true, needTCP},
	TCPDst:        {"tcp_dst", "tp_dst", "NXM_OF_TCP_DST", 2, 16, decimal, true, needTCP},
	UDPSrc:        {"udp_src", "tp_src", "NXM_OF_UDP_SRC", 2, 16, decimal, true, needUDP},
	UDPDst:        {"udp_dst", "tp_dst", "NXM_OF_UDP_DST", 2, 16, decimal, true, needUDP},
	SCTPSrc:       {"sctp_src", "tp_src", "OXM_OF_SCTP_SRC", 2, 16, decimal, true, needSCTP},
	SCTPDst:       {"sctp_dst", "tp_dst", "OXM_OF_SCTP_DST", 2, 16, decimal, true, needSCTP},
	ICMPv4Type:    {"icmp_type", "icmp_type", "NXM_OF_ICMP_TYPE", 1, 8, decimal, false, needICMP},
	ICMPv4Code:    {"icmp_code", "icmp_code", "NXM_OF_ICMP_CODE", 1, 8, decimal, false, needICMP},
	ICMPv6Type:    {"icmpv6_type", "icmp_type", "NXM_NX_ICMPV6_TYPE", 1, 8, decimal, false, needICMPv6},
	ICMPv6Code:    {"icmpv6_code", "icmp_code", "NXM_NX_ICMPV6_CODE", 1, 8, decimal, false, needICMPv6},
	NDTarget:      {"nd_target", "nd_target", "NXM_NX_ND_TARGET", 16, 128, ipv6, true, needND},
	NDSLL:         {"nd_sll", "nd_sll", "NXM_NX_ND_SLL", 6, 48, ethernet, true, needSolicit},
	NDTLL:         {"nd_tll", "nd_tll", "NXM_NX_ND_TLL", 6, 48, ethernet, true, needAdvert},
	NDReserved:    {"nd_reserved", "nd_reserved", "ERICOXM_OF_ICMPV6_ND_RESERVED", 4, 32, decimal, false, needND},
	NDOptionsType: {"nd_options_type", "nd_options_type", "ERICOXM_OF_ICMPV6_ND_OPTIONS_TYPE", 1, 8, decimal, false, needND},
	TCPFlags:      {"tcp_flags", "tcp_flags", "NXM_NX_TCP_FLAGS", 2, 12, tcpFlags, true, needTCP},
}

// aliases are the names beside those of fields that ovs-ofctl reads.
var aliases = []struct {
	name  string
	field Field
}{
	{"tunnel_id", TunnelID}, {"in_port_oxm", InPort}, {"dl_vlan", VLANVID}, {"ip_proto", IPProto}, {"nw_tos_shifted", IPDSCP},
	{"ip_ecn", IPECN}, {"ip_ttl", IPTTL}, {"icmpv4_type", ICMPv4Type}, {"icmpv4_code", ICMPv4Code},
	{"icmp6_type", ICMPv6Type}, {"icmp6_code", ICMPv6Code},
	{"NXM_OF_IN_PORT", InPort}, {"OXM_OF_TUNNEL_ID", TunnelID}, {"OXM_OF_ETH_SRC", EthSrc}, {"OXM_OF_ETH_DST", EthDst},
	{"OXM_OF_ETH_TYPE", EthType}, {"OXM_OF_IPV6_SRC", IPv6Src}, {"OXM_OF_IPV6_DST", IPv6Dst},
	{"OXM_OF_IPV6_FLABEL", IPv6Label}, {"OXM_OF_IPV4_SRC", IPv4Src}, {"OXM_OF_IPV4_DST", IPv4Dst},
	{"OXM_OF_ARP_SPA", ARPSPA}, {"OXM_OF_ARP_TPA", ARPTPA}, {"OXM_OF_ARP_OP", ARPOp}, {"OXM_OF_ARP_SHA", ARPSHA},
	{"OXM_OF_ARP_THA", ARPTHA}, {"OXM_OF_IP_PROTO", IPProto}, {"OXM_OF_IP_ECN", IPECN}, {"OXM_OF_TCP_SRC", TCPSrc},
	{"OXM_OF_TCP_DST", TCPDst}, {"OXM_OF_TCP_FLAGS", TCPFlags}, {"OXM_OF_UDP_SRC", UDPSrc}, {"OXM_OF_UDP_DST", UDPDst},
	{"OXM_OF_ICMPV4_TYPE", ICMPv4Type}, {"OXM_OF_ICMPV4_CODE", ICMPv4Code}, {"OXM_OF_ICMPV6_TYPE", ICMPv6Type},
	{"OXM_OF_ICMPV6_CODE", ICMPv6Code}, {"OXM_OF_IPV6_ND_TARGET", NDTarget}, {"OXM_OF_IPV6_ND_SLL", NDSLL},
	{"OXM_OF_IPV6_ND_TLL", NDTLL},
}

// fieldNames is for parsers only.
var fieldNames = indexFields()

func indexFields() map[string]Field {
	names := make(map[string]Field, 4*len(fields))
	add := func(name string, f Field) {
		if _, taken := names[name]; !taken && name != "" {
			names[name] = f
		}
	}
	for f, i := range fields {
		add(i.name, Field(f))
	}
	for f, i := range fields {
		add(i.match, Field(f))
		add(i.header, Field(f))
	}
	for _, a := range aliases {
		add(a.name, a.field)
	}
	return names
}
