package apps

import (
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

const (
	answerTTL   = 64
	icmpQuote   = 8   // bytes of the payload that an ICMP error quotes behind the IP header (RFC 792)
	answerRoom  = 128 // few answers are longer
	ipv4Options = 60  // longest IPv4 header

	// icmpv6Quote is what an ICMPv6 error may quote so as to fit into the least MTU (RFC 4443 section 2.4).
	icmpv6Quote = 1280 - ipv6Header - 8
)

// Reject appends to b the frame that refuses f, a packet to a VIP, as a host with a closed port does: a TCP RST (RFC 9293
// section 3.10.7.1) or ICMP port unreachable (RFC 792, RFC 4443). It comes from the VIP, in the sender's VLAN if there is one.
//
// ok is false, and b unchanged, for what must not be answered (RFC 1122 section 3.2.2, RFC 4443 section 2.4): a RST, anything
// sent to or from a group, fragments, ICMP, and protocols other than TCP and UDP.
func Reject(f *Frame, b []byte) (frame []byte, ok bool) {
	if f.Src == f.Dst {
		return b, false
	}
	return RejectTranslated(f, b)
}

// RejectTranslated is Reject of a packet whose destination conntrack has translated: it may be its sender, which has called itself
// through a VIP. The answer is to be translated back.
func RejectTranslated(f *Frame, b []byte) (frame []byte, ok bool) {
	if f.Fragment || !answerable(f) {
		return b, false
	}
	stack := appendEthernet(make([]gopacket.SerializableLayer, 0, 7), f)
	switch {
	case f.Proto == ProtoTCP && f.TCPFlags&RST == 0:
		ip, tcp := backTo(f, layers.IPProtocolTCP), resetOf(f)
		if tcp.SetNetworkLayerForChecksum(ip) != nil {
			return b, false
		}
		stack = append(stack, ip, tcp)
	case f.Proto == ProtoUDP && f.EthType == EtherTypeIPv4:
		quote := min(int(f.IP[0]&15)*4, ipv4Options) + icmpQuote
		code := layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodePort)
		stack = append(stack, backTo(f, layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: code}, gopacket.Payload(f.IP[:min(quote, len(f.IP))]))
	case f.Proto == ProtoUDP:
		ip := backTo(f, layers.IPProtocolICMPv6)
		icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeDestinationUnreachable, layers.ICMPv6CodePortUnreachable)}
		if icmp.SetNetworkLayerForChecksum(ip) != nil {
			return b, false
		}
		stack = append(stack, ip, icmp, gopacket.Payload(make([]byte, 4)), gopacket.Payload(f.IP[:min(icmpv6Quote, len(f.IP))]))
	default:
		return b, false
	}
	out := gopacket.NewSerializeBufferExpectedSize(answerRoom, 0)
	if gopacket.SerializeLayers(out, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, stack...) != nil {
		return b, false
	}
	return append(b, out.Bytes()...), true
}

// ipLayer is an IP header to be written.
type ipLayer interface {
	gopacket.NetworkLayer
	gopacket.SerializableLayer
}

// backTo is the IP header of an answer from the packet's destination to its source.
func backTo(f *Frame, p layers.IPProtocol) ipLayer {
	if f.EthType == EtherTypeIPv6 {
		return &layers.IPv6{Version: 6, HopLimit: answerTTL, NextHeader: p, SrcIP: f.Dst.AsSlice(), DstIP: f.Src.AsSlice()}
	}
	return &layers.IPv4{Version: 4, TTL: answerTTL, Flags: layers.IPv4DontFragment, Protocol: p,
		SrcIP: f.Dst.AsSlice(), DstIP: f.Src.AsSlice()}
}

// answerable is false for what is sent to or from more than one, or from nobody. An IPv4 address in an IPv6 packet is nobody's.
func answerable(f *Frame) bool {
	broadcast := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	return (f.EthType == EtherTypeIPv4 || f.EthType == EtherTypeIPv6) && !f.EthDst.Multicast() && !f.EthSrc.Multicast() && len(f.IP) > 0 &&
		!f.Dst.IsMulticast() && !f.Dst.IsUnspecified() && f.Dst != broadcast &&
		!f.Src.IsMulticast() && !f.Src.IsUnspecified() && f.Src != broadcast && !f.Src.Is4In6()
}

// resetOf is the RST that a closed port sends: it must lie in the sender's window.
func resetOf(f *Frame) *layers.TCP {
	t := &layers.TCP{SrcPort: layers.TCPPort(f.DstPort), DstPort: layers.TCPPort(f.SrcPort), RST: true}
	if f.TCPFlags&ACK != 0 {
		t.Seq = f.Ack
		return t
	}
	t.ACK, t.Ack = true, f.Seq+uint32(len(f.Payload))
	if f.TCPFlags&SYN != 0 {
		t.Ack++
	}
	if f.TCPFlags&FIN != 0 {
		t.Ack++
	}
	return t
}

// appendEthernet adds the headers back to the sender, with its VLAN tags.
func appendEthernet(stack []gopacket.SerializableLayer, f *Frame) []gopacket.SerializableLayer {
	vipMAC := VIPMAC
	eth := &layers.Ethernet{SrcMAC: vipMAC[:], DstMAC: net.HardwareAddr(f.EthSrc[:]), EthernetType: layers.EthernetType(f.EthType)}
	stack = append(stack, eth)
	for at, last := ethernetHeader, &eth.EthernetType; at+vlanTag <= len(f.Data); at += vlanTag {
		kind := binary.BigEndian.Uint16(f.Data[at-2:])
		if kind != etherTypeVLAN && kind != etherTypeQinQ {
			break
		}
		tag := binary.BigEndian.Uint16(f.Data[at:])
		q := &layers.Dot1Q{Priority: uint8(tag >> 13), DropEligible: tag&0x1000 != 0, VLANIdentifier: tag & 0xfff,
			Type: layers.EthernetType(f.EthType)}
		*last, last = layers.EthernetType(kind), &q.Type
		stack = append(stack, q)
	}
	return stack
}
