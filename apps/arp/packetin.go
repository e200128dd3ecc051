package arp

import (
	"encoding/binary"
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// PacketIn hands what ARP tells to the topology, and answers what no switch has: requests for a VIP or a live host, and
// pings of a VIP.
func (a *App) PacketIn(v *apps.View, in *apps.Punted, out apps.Reply) bool {
	f := in.Frame
	if f.EthType != apps.EtherTypeARP {
		return a.answerEcho(v, in, out)
	}
	if s, ok := apps.HostSighting(v, in); ok {
		out.Sighted(s)
	}
	claimed := len(v.VIPsAt(f.ARPSrc)) > 0
	if claimed || f.ARPOp != apps.ARPRequest || f.ARPSrc == f.ARPDst || v.Topo.Kind(in.At) == topo.Link {
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
	body := b[arpOffset(b):]
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
	if len(v.VIPsAt(a)) > 0 {
		return apps.VIPMAC, true
	}
	if h, ok := v.Topo.HostAt(a); ok && h.Live {
		return h.MAC, true
	}
	return flows.MAC{}, false
}

// arpOffset is where ARP begins in a frame that has been parsed: behind the VLAN tags.
func arpOffset(b []byte) int {
	at := 14
	for binary.BigEndian.Uint16(b[at-2:]) != apps.EtherTypeARP {
		at += 4
	}
	return at
}

// answerEcho answers a ping of a VIP for a switch that cannot.
func (a *App) answerEcho(v *apps.View, in *apps.Punted, out apps.Reply) bool {
	f := in.Frame
	if f.EthType != apps.EtherTypeIPv4 || f.Proto != apps.ProtoICMP || f.ICMPType != echoRequest || f.Fragment || f.VLAN ||
		len(v.VIPsAt(f.Dst)) == 0 {
		return false
	}
	buf := a.buffers.Get().(*[]byte)
	b := append((*buf)[:0], f.Data...)
	copy(b, f.EthSrc[:])
	copy(b[6:], apps.VIPMAC[:])
	packet := b[14 : 14+len(f.IP)]
	header := int(packet[0]&15) * 4
	src, dst := f.Src.As4(), f.Dst.As4()
	copy(packet[12:], dst[:])
	copy(packet[16:], src[:])
	packet[8] = ownTTL
	put(packet[:header], 10)
	packet[header] = echoReply
	put(packet[header:], 2)
	out.PacketOut(in.At.No, back, b)
	*buf = b
	a.buffers.Put(buf)
	return true
}

// put writes the Internet checksum (RFC 1071) of b at an offset in it.
func put(b []byte, at int) {
	b[at], b[at+1] = 0, 0
	var sum uint32
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
