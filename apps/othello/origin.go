package othello

import (
	"encoding/binary"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// originMAC is the sender of questions about origins; no host may have it, since it is never seen on a wire.
var originMAC = flows.MAC{0x02, 0xef, 0x00, 0x00, 0xfd}

// AskOrigin is a packet, and what a switch is to do with it, that asks its conntrack how the client of a TCP connection has it that a
// backend has with peer: conntrack gives a client's port that it takes for used another number there. It is an error such as the
// backend's host sends about a packet of the connection. Conntrack translates that back and notes nothing by it, and it comes to
// the controller alone. n comes back with the answer, see [OriginOf]. No rule is needed.
//
// The packet within is whole up to the end of TCP's header: Open vSwitch writes to its checksum, be there one or not.
func AskOrigin(n uint32, zone uint16, peer, backend netip.AddrPort) (frame []byte, actions []flows.Action) {
	eth := &layers.Ethernet{SrcMAC: originMAC[:], DstMAC: apps.VIPMAC[:], EthernetType: layers.EthernetTypeIPv4}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(peer.Port()), DstPort: layers.TCPPort(backend.Port()), Seq: n, ACK: true}
	var about, within []gopacket.SerializableLayer
	src, dst := backend.Addr().AsSlice(), peer.Addr().AsSlice()
	if peer.Addr().Is4() {
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: dst, DstIP: src}
		_ = tcp.SetNetworkLayerForChecksum(ip) // an IP layer is one
		within = []gopacket.SerializableLayer{ip, tcp}
		about = []gopacket.SerializableLayer{eth, &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: src, DstIP: dst},
			&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeHost)}}
	} else {
		eth.EthernetType = layers.EthernetTypeIPv6
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: dst, DstIP: src}
		_ = tcp.SetNetworkLayerForChecksum(ip)
		within = []gopacket.SerializableLayer{ip, tcp}
		outer := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolICMPv6, SrcIP: src, DstIP: dst}
		icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeDestinationUnreachable, layers.ICMPv6CodeAddressUnreachable)}
		_ = icmp.SetNetworkLayerForChecksum(outer)
		about = []gopacket.SerializableLayer{eth, outer, icmp, gopacket.Payload(make([]byte, unusedOfICMPv6))}
	}
	whole := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	b := gopacket.NewSerializeBuffer()
	_ = gopacket.SerializeLayers(b, whole, within...) // addresses are of one family
	payload := gopacket.Payload(append([]byte(nil), b.Bytes()...))
	_ = gopacket.SerializeLayers(b, whole, append(about, payload)...)
	return b.Bytes(), []flows.Action{flows.CT{Table: flows.NoTable, Zone: zone, Actions: []flows.Action{flows.NAT{}}}, flows.Controller()}
}

const (
	ethernetHeader = 14
	headerIPv4     = 20
	headerIPv6     = 40
	headerICMP     = 8 // of IPv4, with the four bytes that are not used
	unusedOfICMPv6 = 4
)

// OriginOf is what such a packet says when it comes back: the number of the question, the client with its own port, and where it has
// connected to, which is the backend if conntrack does not know the connection. Not ok: it is none. The addresses are the error's own:
// those of the packet within Open vSwitch 3.1 spoils, over IPv6, where it looks for TCP's checksum in ICMP.
func OriginOf(frame []byte) (n uint32, client, to netip.AddrPort, ok bool) {
	if len(frame) < ethernetHeader || [6]byte(frame[6:12]) != [6]byte(originMAC) {
		return 0, client, to, false
	}
	v6 := binary.BigEndian.Uint16(frame[12:]) == uint16(layers.EthernetTypeIPv6)
	header, src, size := headerIPv4, 12, 4
	if v6 {
		header, src, size = headerIPv6, 8, 16
	}
	frame = frame[ethernetHeader:]
	if len(frame) < 2*header+headerICMP+8 {
		return 0, client, to, false
	}
	outer, tcp := frame[src:], frame[2*header+headerICMP:]
	server, _ := netip.AddrFromSlice(outer[:size])
	host, _ := netip.AddrFromSlice(outer[size : 2*size])
	return binary.BigEndian.Uint32(tcp[4:]), netip.AddrPortFrom(host, binary.BigEndian.Uint16(tcp)), netip.AddrPortFrom(server, binary.BigEndian.Uint16(tcp[2:])), true
}
