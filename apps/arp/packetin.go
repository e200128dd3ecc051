package arp

import (
	"encoding/binary"
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// PacketIn hands what ARP and ND tell to the topology, and answers what no switch has: requests for an address of ours or of a
// live host, and pings of ours. VLANs have addresses of their own.
func (a *App) PacketIn(v *apps.View, in *apps.Punted, out apps.Reply) bool {
	f := in.Frame
	isND := f.Proto == apps.ProtoICMPv6 && (f.ICMPType == apps.NeighbourSolicitation || f.ICMPType == apps.NeighbourAdvertisement)
	if f.EthType != apps.EtherTypeARP && !isND {
		return a.answerEcho(v, in, out)
	}
	if s, ok := apps.HostSighting(v, in); ok {
		out.Sighted(s)
	}
	if isND {
		a.advertise(v, in, out)
		return true
	}
	if v.Ours(f.ARPSrc) || f.ARPOp != apps.ARPRequest || f.ARPSrc == f.ARPDst || f.VLAN || v.Topo.Kind(in.At) == topo.Link {
		return true
	}
	m, ok := holder(v, f.ARPDst)
	if !ok || m == f.EthSrc {
		return true
	}
	buf := a.buffers.Get().(*[]byte)
	b := append((*buf)[:0], f.Data...)
	copy(b, f.EthSrc[:])
	copy(b[6:], m[:])
	body := b[ethernetHeader:]
	binary.BigEndian.PutUint16(body[6:], apps.ARPReply)
	copy(body[18:28], body[8:18]) // the asker becomes the target
	copy(body[8:], m[:])
	dst := f.ARPDst.As4()
	copy(body[14:], dst[:])
	out.PacketOut(in.At.No, back, b)
	*buf = b
	a.buffers.Put(buf)
	return true
}

// holder is the MAC that an address is answered with.
func holder(v *apps.View, a netip.Addr) (flows.MAC, bool) {
	if v.Ours(a) {
		return apps.VIPMAC, true
	}
	if h, ok := v.Topo.HostAt(a); ok && h.Live {
		return h.MAC, true
	}
	return flows.MAC{}, false
}

// answerEcho answers a ping of an address of ours for a switch that cannot.
func (a *App) answerEcho(v *apps.View, in *apps.Punted, out apps.Reply) bool {
	f := in.Frame
	v4 := f.EthType == apps.EtherTypeIPv4 && f.Proto == apps.ProtoICMP && f.ICMPType == echoRequest
	v6 := f.EthType == apps.EtherTypeIPv6 && f.IP[6] == apps.ProtoICMPv6 && f.ICMPType == echoRequestIPv6
	if !v4 && !v6 || f.Fragment || f.VLAN || !v.Ours(f.Dst) {
		return false
	}
	buf := a.buffers.Get().(*[]byte)
	b := append((*buf)[:0], f.Data...)
	copy(b, f.EthSrc[:])
	copy(b[6:], apps.VIPMAC[:])
	packet := b[ethernetHeader : ethernetHeader+len(f.IP)]
	if v4 {
		turnEcho(packet, int(packet[0]&15)*4)
	} else {
		turnEchoIPv6(packet)
	}
	out.PacketOut(in.At.No, back, b)
	*buf = b
	a.buffers.Put(buf)
	return true
}

func turnEcho(packet []byte, header int) {
	swap(packet[12:16], packet[16:20])
	packet[8] = ownTTL
	put(packet[:header], 10, 0)
	packet[header] = echoReply
	put(packet[header:], 2, 0)
}

// turnEchoIPv6 changes nothing that the checksum covers but the type, and the addresses' order, which does not matter.
func turnEchoIPv6(packet []byte) {
	swap(packet[8:24], packet[24:40])
	packet[7] = ownTTL
	icmp := packet[ipv6Header:]
	icmp[0] = echoReplyIPv6
	sum := uint32(^binary.BigEndian.Uint16(icmp[2:])) + (echoReplyIPv6-echoRequestIPv6)<<8 // RFC 1624
	binary.BigEndian.PutUint16(icmp[2:], ^uint16(sum+sum>>16))
}

func swap(a, b []byte) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

// put writes the Internet checksum (RFC 1071) of b, and of what is summed up already, at an offset in b.
func put(b []byte, at int, sum uint32) {
	b[at], b[at+1] = 0, 0
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 != 0 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(b[at:], ^uint16(sum))
}
