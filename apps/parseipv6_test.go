package apps

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/flows"
)

var (
	clientIPv6 = netip.MustParseAddr("fd00::9")
	vipIPv6    = netip.MustParseAddr("fd00::100")
)

func ethernetIPv6() *layers.Ethernet {
	e := ethernet()
	e.EthernetType = layers.EthernetTypeIPv6
	return e
}

func ipv6(p layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 63, NextHeader: p, SrcIP: clientIPv6.AsSlice(), DstIP: vipIPv6.AsSlice()}
}

func synFrameIPv6(t testing.TB) []byte {
	return build(t, ethernetIPv6(), ipv6(layers.IPProtocolTCP), &layers.TCP{SrcPort: 40000, DstPort: 80, Seq: 1000, SYN: true})
}

// extended puts extension headers, whole but for their next headers, before what an IPv6 frame carries.
func extended(data []byte, headers ...extension) []byte {
	out := append([]byte(nil), data[:14+40]...)
	last, next := 14+6, data[14+6]
	for _, h := range headers {
		out[last], last = h.number, len(out)
		out = append(out, h.bytes...)
	}
	out[last] = next
	out = append(out, data[14+40:]...)
	binary.BigEndian.PutUint16(out[14+4:], uint16(len(out)-14-40))
	return out
}

type extension struct {
	number byte
	bytes  []byte
}

var (
	hopByHop    = extension{0, []byte{0, 0, 1, 4, 0, 0, 0, 0}}
	routing     = extension{43, append([]byte{0, 2, 4, 0}, make([]byte, 20)...)}
	destination = extension{60, []byte{0, 0, 1, 4, 0, 0, 0, 0}}
	atomic      = extension{44, []byte{0, 0, 0, 0, 1, 2, 3, 4}}
	first       = extension{44, []byte{0, 0, 0, 1, 1, 2, 3, 4}}
	later       = extension{44, []byte{0, 0, 0x05, 0xc8, 1, 2, 3, 4}}
	signature   = extension{51, append([]byte{0, 4}, make([]byte, 22)...)}
)

// nd is a solicitation of, or an advertisement for, the VIP by the client.
func nd(t testing.TB, kind uint8, dst string, change func(ip *layers.IPv6, flags *uint8, o *layers.ICMPv6Options)) []byte {
	ip := ipv6(layers.IPProtocolICMPv6)
	ip.HopLimit, ip.DstIP = 255, netip.MustParseAddr(dst).AsSlice()
	mac, flags := clientMAC, uint8(0)
	options := layers.ICMPv6Options{{Type: layers.ICMPv6Opt(kind - 134), Data: mac[:]}}
	if change != nil {
		change(ip, &flags, &options)
	}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(kind, 0)}
	if kind == NeighbourSolicitation {
		return build(t, ethernetIPv6(), ip, icmp, &layers.ICMPv6NeighborSolicitation{TargetAddress: vipIPv6.AsSlice(), Options: options})
	}
	return build(t, ethernetIPv6(), ip, icmp,
		&layers.ICMPv6NeighborAdvertisement{Flags: flags, TargetAddress: vipIPv6.AsSlice(), Options: options})
}

func seedsIPv6(t testing.TB) [][]byte {
	syn := synFrameIPv6(t)
	return [][]byte{
		extended(syn, hopByHop, routing, destination, atomic), extended(syn, first), extended(syn, later), extended(syn, signature),
		tagged(syn, 0x8100_0002),
		build(t, ethernetIPv6(), ipv6(layers.IPProtocolUDP), &layers.UDP{SrcPort: 5000, DstPort: 53}, gopacket.Payload("q")),
		nd(t, NeighbourSolicitation, "ff02::1:ff00:100", nil), nd(t, NeighbourAdvertisement, "ff02::1", nil),
	}
}

func TestParseFrameIPv6(t *testing.T) {
	data := build(t, ethernetIPv6(), ipv6(layers.IPProtocolTCP),
		&layers.TCP{SrcPort: 40000, DstPort: 80, Seq: 0xdeadbeef, ACK: true}, gopacket.Payload("hi"))
	f := parse(t, append(data, "padding"...))
	if f.EthType != EtherTypeIPv6 || f.Src != clientIPv6 || f.Dst != vipIPv6 || f.Proto != ProtoTCP || f.TTL != 63 || f.Fragment ||
		len(f.IP) != 62 {
		t.Errorf("IP: %+v", f)
	}
	if f.SrcPort != 40000 || f.DstPort != 80 || f.Seq != 0xdeadbeef || f.TCPFlags != ACK || string(f.Payload) != "hi" {
		t.Errorf("TCP: %+v", f)
	}
	udp := build(t, ethernetIPv6(), ipv6(layers.IPProtocolUDP), &layers.UDP{SrcPort: 5000, DstPort: 53}, gopacket.Payload("q"))
	if f := parse(t, udp); f.SrcPort != 5000 || f.DstPort != 53 || string(f.Payload) != "q" || f.Proto != ProtoUDP {
		t.Errorf("UDP: %+v", f)
	}
	echo := build(t, ethernetIPv6(), ipv6(layers.IPProtocolICMPv6), &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(128, 0)},
		&layers.ICMPv6Echo{Identifier: 1, SeqNumber: 2}, gopacket.Payload("ping"))
	if f := parse(t, echo); f.ICMPType != 128 || string(f.Payload) != "ping" || f.Proto != ProtoICMPv6 || f.NDTarget.IsValid() {
		t.Errorf("ICMP: %+v", f)
	}
	none := ipv6(layers.IPProtocolNoNextHeader)
	if f := parse(t, build(t, ethernetIPv6(), none, gopacket.Payload("x"))); f.Proto != 59 || f.Payload != nil {
		t.Errorf("no next header: %+v", f)
	}
}

func TestParseFrameIPv6Extensions(t *testing.T) {
	syn := synFrameIPv6(t)
	for name, c := range map[string]struct {
		headers  []extension
		proto    uint8
		fragment bool
		port     uint16
	}{
		"all":             {[]extension{hopByHop, destination, routing, atomic, signature, destination}, ProtoTCP, false, 80},
		"eight":           {[]extension{hopByHop, hopByHop, hopByHop, hopByHop, hopByHop, hopByHop, hopByHop, hopByHop}, ProtoTCP, false, 80},
		"atomic fragment": {[]extension{atomic}, ProtoTCP, false, 80},
		"first fragment":  {[]extension{hopByHop, first}, ProtoTCP, true, 80},
		"later fragment":  {[]extension{hopByHop, later}, ProtoTCP, true, 0},
		"later of more":   {[]extension{later, destination}, headerDestination, true, 0},
		"unknown header":  {[]extension{{135, []byte{0, 0, 0, 0, 0, 0, 0, 0}}}, 135, false, 0},
	} {
		if f := parse(t, extended(syn, c.headers...)); f.Proto != c.proto || f.Fragment != c.fragment || f.DstPort != c.port || f.Dst != vipIPv6 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestParseFrameIPv6RefusesLies(t *testing.T) {
	syn := synFrameIPv6(t)
	set := func(of []byte, at int, bytes ...byte) []byte {
		b := append([]byte(nil), of...)
		copy(b[at:], bytes)
		return b
	}
	nine := make([]extension, 9)
	for i := range nine {
		nine[i] = destination
	}
	with := extended(syn, destination)
	ns := nd(t, NeighbourSolicitation, "ff02::1:ff00:100", nil)
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"header cut off", syn[:53], ErrFrameIP},
		{"version 4", set(syn, 14, 0x45), ErrFrameIP},
		{"length beyond the frame", set(syn, 18, 0, 21), ErrFrameIP},
		{"length 0", set(syn, 18, 0, 0), ErrFrameTCP},
		{"TCP header cut off", set(syn, 18, 0, 19), ErrFrameTCP},
		{"nine extension headers", extended(syn, nine...), ErrFrameIPv6},
		{"extension header cut off", set(with, 18, 0, 7), ErrFrameIPv6},
		{"extension header beyond the packet", set(with, 55, 3), ErrFrameIPv6},
		{"longest extension header", set(with, 55, 255), ErrFrameIPv6},
		{"longest authentication header", set(extended(syn, signature), 55, 255), ErrFrameIPv6},
		{"fragment header cut off", set(extended(syn, first), 18, 0, 7), ErrFrameIPv6},
		{"ICMP cut off", set(ns, 18, 0, 7), ErrFrameICMP},
		{"solicitation cut off", set(ns, 18, 0, 23), ErrFrameND},
		{"option cut off", set(ns, 18, 0, 31), ErrFrameND},
		{"option of length 0", set(ns, 14+40+25, 0), ErrFrameND},
		{"option beyond the packet", set(ns, 14+40+25, 2), ErrFrameND},
		{"half an option", set(ns, 18, 0, 25), ErrFrameND},
	} {
		var f Frame
		if err := ParseFrame(c.data, &f); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
}

func TestParseFrameND(t *testing.T) {
	type change = func(ip *layers.IPv6, flags *uint8, o *layers.ICMPv6Options)
	const ns, na = NeighbourSolicitation, NeighbourAdvertisement
	bare := func(_ *layers.IPv6, _ *uint8, o *layers.ICMPv6Options) { *o = nil }
	probe := func(ip *layers.IPv6, _ *uint8, o *layers.ICMPv6Options) { ip.SrcIP, *o = make([]byte, 16), nil }
	for _, c := range []struct {
		name  string
		kind  uint8
		dst   string
		do    change
		valid bool
		link  flows.MAC
	}{
		{"solicitation", ns, "ff02::1:ff00:100", nil, true, clientMAC},
		{"to the address itself", ns, "fd00::100", nil, true, clientMAC},
		{"without a link-layer address", ns, "fd00::100", bare, true, flows.MAC{}},
		{"probe", ns, "ff02::1:ff00:100", probe, true, flows.MAC{}},
		{"probe to the address itself", ns, "fd00::100", probe, false, flows.MAC{}},
		{"probe to all", ns, "ff02::1", probe, false, flows.MAC{}},
		{"probe with a link-layer address", ns, "ff02::1:ff00:100",
			func(ip *layers.IPv6, _ *uint8, _ *layers.ICMPv6Options) { ip.SrcIP = make([]byte, 16) }, false, flows.MAC{}},
		{"routed", ns, "fd00::100", func(ip *layers.IPv6, _ *uint8, _ *layers.ICMPv6Options) { ip.HopLimit = 254 }, false, flows.MAC{}},
		{"behind another option", ns, "fd00::100", func(_ *layers.IPv6, _ *uint8, o *layers.ICMPv6Options) {
			*o = append(layers.ICMPv6Options{{Type: 14, Data: make([]byte, 14)}}, *o...)
		}, true, clientMAC},
		{"advertisement", na, "ff02::1", nil, true, clientMAC},
		{"answer", na, "fd00::9", func(_ *layers.IPv6, flags *uint8, _ *layers.ICMPv6Options) { *flags = 0x60 }, true, clientMAC},
		{"answer without a link-layer address", na, "fd00::9", bare, true, flows.MAC{}},
		{"answer to all", na, "ff02::1", func(_ *layers.IPv6, flags *uint8, _ *layers.ICMPv6Options) { *flags = 0x60 }, false, flows.MAC{}},
		{"option of the other kind", na, "ff02::1",
			func(_ *layers.IPv6, _ *uint8, o *layers.ICMPv6Options) { (*o)[0].Type = 1 }, true, flows.MAC{}},
	} {
		f := parse(t, nd(t, c.kind, c.dst, c.do))
		if f.NDTarget.IsValid() != c.valid || c.valid && f.NDTarget != vipIPv6 || f.NDLink != c.link || f.ICMPType != c.kind {
			t.Errorf("%s: target %v, link %v", c.name, f.NDTarget, f.NDLink)
		}
	}
	whole := nd(t, ns, "fd00::100", nil)
	if f := parse(t, extended(whole, first)); f.NDTarget.IsValid() {
		t.Error("a fragment tells of a neighbour")
	}
	if f := parse(t, extended(whole, hopByHop)); !f.NDTarget.IsValid() {
		t.Error("a whole one behind an extension header tells nothing")
	}
	whole[14+40+8] = 0xff
	if f := parse(t, whole); f.NDTarget.IsValid() {
		t.Error("a group is a neighbour")
	}
}

// agreeIPv6 holds f to what gopacket reads.
func agreeIPv6(t *testing.T, data []byte, f *Frame) {
	p := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
	ip, ok := p.NetworkLayer().(*layers.IPv6)
	if !ok || p.ErrorLayer() != nil {
		return
	}
	if src, _ := netip.AddrFromSlice(ip.SrcIP); src != f.Src || int(ip.Length)+40 != len(f.IP) && ip.HopByHop == nil {
		t.Fatalf("gopacket reads %+v, we %+v", ip, f)
	}
	if tcp, ok := p.TransportLayer().(*layers.TCP); ok && f.Proto == ProtoTCP && !f.Fragment {
		if uint16(tcp.SrcPort) != f.SrcPort || tcp.Seq != f.Seq || !bytes.Equal(tcp.Payload, f.Payload) {
			t.Fatalf("gopacket reads %+v, we %+v", tcp, f)
		}
	}
	ns, ok := p.Layer(layers.LayerTypeICMPv6NeighborSolicitation).(*layers.ICMPv6NeighborSolicitation)
	if target, _ := netip.AddrFromSlice(addressOf(ns)); ok && f.NDTarget.IsValid() && target != f.NDTarget {
		t.Fatalf("gopacket reads %+v, we %+v", ns, f)
	}
}

func addressOf(ns *layers.ICMPv6NeighborSolicitation) []byte {
	if ns == nil {
		return nil
	}
	return ns.TargetAddress
}
