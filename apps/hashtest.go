package apps

import (
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/ovshash"
)

const (
	hashBuckets = 4
	// HashSamples is how many packets tell builds of Open vSwitch's hash apart: another one would agree with all by chance once in four
	// thousand million.
	HashSamples = 16
)

// hashMAC is the sender of the samples; the last byte is the sample's number. No host may have it, since it is never seen on a
// wire.
var hashMAC = flows.MAC{0x02, 0xef, 0x00, 0x00, 0xff}

// HashGroup is the group that shows by which hash a switch chooses: each bucket writes its id to RegHash and sends the packet to
// the controller. It needs a switch with bucket ids and selection methods.
func HashGroup() flows.Group {
	g := flows.Group{ID: GroupHash, Type: flows.GroupSelect, Method: "hash", Fields: []flows.Field{flows.IPv4Src, flows.IPv4Dst, flows.IPv6Src,
		flows.IPv6Dst, flows.IPProto, flows.TCPSrc, flows.TCPDst, flows.UDPSrc, flows.UDPDst}}
	for id := range hashBuckets {
		g.Buckets = append(g.Buckets, flows.NewBucket(hashBucket(id), 1, flows.SetNum(RegHash, uint64(hashBucket(id))), flows.Controller()))
	}
	return g
}

func hashBucket(i int) uint32 { return uint32(i+1) * 256 }

// HashSample is the frame of a sample and how it is hashed: IPv4 and IPv6, TCP and UDP, of addresses for documentation.
func HashSample(i int) (frame []byte, f ovshash.Flow) {
	f = ovshash.Flow{EthType: EtherTypeIPv4, Proto: ProtoTCP, SrcPort: 40000 + 37*uint16(i), DstPort: 80,
		Src: netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + i)}), Dst: netip.AddrFrom4([4]byte{198, 51, 100, 1})}
	if i%2 == 1 {
		f.Proto = ProtoUDP
	}
	if i%4 >= 2 {
		f.EthType = EtherTypeIPv6
		f.Src, f.Dst = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::100")
	}
	from, to, proto := hashMAC, VIPMAC, layers.IPProtocol(f.Proto)
	from[5] = byte(i)
	var ip ipLayer = &layers.IPv4{Version: 4, TTL: answerTTL, Protocol: proto, SrcIP: f.Src.AsSlice(), DstIP: f.Dst.AsSlice()}
	if f.Src.Is6() {
		ip = &layers.IPv6{Version: 6, HopLimit: answerTTL, NextHeader: proto, SrcIP: f.Src.AsSlice(), DstIP: f.Dst.AsSlice()}
	}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(f.SrcPort), DstPort: layers.TCPPort(f.DstPort), SYN: true}
	udp := &layers.UDP{SrcPort: layers.UDPPort(f.SrcPort), DstPort: layers.UDPPort(f.DstPort)}
	_, _ = tcp.SetNetworkLayerForChecksum(ip), udp.SetNetworkLayerForChecksum(ip) // an IP layer is one
	var l4 gopacket.SerializableLayer = tcp
	if f.Proto == ProtoUDP {
		l4 = udp
	}
	b := gopacket.NewSerializeBuffer()
	_ = gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: from[:], DstMAC: to[:], EthernetType: layers.EthernetType(f.EthType)}, ip, l4)
	return b.Bytes(), f
}

// HashSampleOf is the number of the sample that a frame is; not ok for any other frame.
func HashSampleOf(frame []byte) (i int, ok bool) {
	if len(frame) < ethernetHeader || [5]byte(frame[6:11]) != [5]byte(hashMAC[:5]) {
		return 0, false
	}
	i = int(frame[11])
	return i, i < HashSamples
}

// HashBuild is the build of the hash by which a switch chose these buckets for the samples, by number; 0: none that we know.
func HashBuild(picks [HashSamples]uint32) ovshash.Build {
	var ids [hashBuckets]uint32
	for i := range ids {
		ids[i] = hashBucket(i)
	}
	for _, b := range ovshash.Builds() {
		agrees := true
		for i, got := range picks {
			_, f := HashSample(i)
			want, _ := b.Pick(ids[:], b.Basis(&f, ovshash.FiveTuple))
			agrees = agrees && got == want
		}
		if agrees {
			return b
		}
	}
	return 0
}
