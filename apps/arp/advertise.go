package arp

import (
	"encoding/binary"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/topo"
)

const (
	ethernetHeader = 14
	ipv6Header     = 40
	advertisement  = 32 // bytes, with the target's link-layer address
)

// advertise answers a solicitation that no switch has answered. For a host's link-local address only the host can.
func (a *App) advertise(v *apps.View, in *apps.Punted, out apps.Reply) {
	f := in.Frame
	probe := f.Src == nobody
	if f.ICMPType != apps.NeighbourSolicitation || !f.NDTarget.IsValid() || f.Src == f.NDTarget || f.VLAN || v.Ours(f.Src) ||
		v.Topo.Kind(in.At) == topo.Link {
		return
	}
	m, ok := holder(v, f.NDTarget)
	switch {
	case f.NDTarget == ownLinkLocal:
		m = apps.VIPMAC
	case f.NDTarget == apps.ProbeLinkLocal:
		m = apps.ProbeMAC
	case !ok || m == f.EthSrc || m != apps.VIPMAC && (probe || f.NDTarget.IsLinkLocalUnicast()):
		return
	}
	flags, dst, dstMAC := uint32(solicited|override), f.Src, f.EthSrc
	if probe {
		flags, dst, dstMAC = override, allNodes, allNodesMAC
	}
	if _, router := v.Router(f.NDTarget); router {
		flags |= isRouter
	}
	from, to := f.NDTarget.As16(), dst.As16()
	buf := a.buffers.Get().(*[]byte)
	b := append(append(append((*buf)[:0], dstMAC[:]...), m[:]...), apps.EtherTypeIPv6>>8, apps.EtherTypeIPv6&0xff)
	b = append(b, 0x60, 0, 0, 0, 0, advertisement, apps.ProtoICMPv6, apps.NDHopLimit)
	b = append(append(b, from[:]...), to[:]...)
	b = append(b, apps.NeighbourAdvertisement, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, flags)
	b = append(append(append(b, from[:]...), targetLink, 1), m[:]...)
	putICMPv6(b[ethernetHeader:])
	out.PacketOut(in.At.No, back, b)
	*buf = b
	a.buffers.Put(buf)
}

// putICMPv6 writes the checksum of a message that stands right behind an IPv6 header (RFC 4443 section 2.3).
func putICMPv6(packet []byte) {
	message := packet[ipv6Header:]
	put(packet[8:], ipv6Header-8+2, uint32(len(message)+apps.ProtoICMPv6))
}
