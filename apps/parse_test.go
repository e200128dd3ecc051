package apps

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/flows"
)

var (
	clientMAC = flows.MAC{2, 0, 0, 0, 0, 9}
	clientIP  = netip.MustParseAddr("10.0.0.9")
	vipIP     = netip.MustParseAddr("10.0.0.100")
)

// build serialises layers, with lengths and checksums made right.
func build(t testing.TB, stack ...gopacket.SerializableLayer) []byte {
	t.Helper()
	var ip gopacket.NetworkLayer
	for _, l := range stack {
		switch l := l.(type) {
		case *layers.IPv4:
			ip = l
		case *layers.IPv6:
			ip = l
		case interface {
			SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
		}:
			_ = l.SetNetworkLayerForChecksum(ip)
		}
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, stack...); err != nil {
		t.Fatal(err)
	}
	return append([]byte(nil), b.Bytes()...)
}

func ethernet() *layers.Ethernet {
	src, dst := clientMAC, VIPMAC
	return &layers.Ethernet{SrcMAC: src[:], DstMAC: dst[:], EthernetType: layers.EthernetTypeIPv4}
}

func ipv4(p layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 63, Protocol: p, SrcIP: clientIP.AsSlice(), DstIP: vipIP.AsSlice()}
}

func synFrame(t testing.TB) []byte {
	tcp := &layers.TCP{SrcPort: 40000, DstPort: 80, Seq: 1000, SYN: true, Window: 64240,
		Options: []layers.TCPOption{{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: []byte{5, 180}}}}
	return build(t, ethernet(), ipv4(layers.IPProtocolTCP), tcp)
}

func parse(t *testing.T, data []byte) *Frame {
	t.Helper()
	f := new(Frame)
	if err := ParseFrame(data, f); err != nil {
		t.Fatalf("%v: %x", err, data)
	}
	return f
}

func TestParseFrameTCP(t *testing.T) {
	tcp := &layers.TCP{SrcPort: 40000, DstPort: 65535, Seq: 0xdeadbeef, Ack: 0x01020304, ACK: true, PSH: true, FIN: true}
	f := parse(t, build(t, ethernet(), ipv4(layers.IPProtocolTCP), tcp, gopacket.Payload("hi")))
	if f.EthDst != VIPMAC || f.EthSrc != clientMAC || f.EthType != EtherTypeIPv4 || f.VLAN {
		t.Errorf("Ethernet: %+v", f)
	}
	if f.Src != clientIP || f.Dst != vipIP || f.Proto != ProtoTCP || f.TTL != 63 || f.Fragment || len(f.IP) != 42 {
		t.Errorf("IP: %+v", f)
	}
	if f.SrcPort != 40000 || f.DstPort != 65535 || f.Seq != 0xdeadbeef || f.Ack != 0x01020304 || f.TCPFlags != ACK|FIN|1<<3 {
		t.Errorf("TCP: %+v", f)
	}
	if string(f.Payload) != "hi" { // and not the padding to 60 bytes
		t.Errorf("payload %q", f.Payload)
	}
}

func TestParseFrameOthers(t *testing.T) {
	udp := build(t, ethernet(), ipv4(layers.IPProtocolUDP), &layers.UDP{SrcPort: 5000, DstPort: 53}, gopacket.Payload("q"))
	if f := parse(t, udp); f.SrcPort != 5000 || f.DstPort != 53 || string(f.Payload) != "q" || f.Proto != ProtoUDP {
		t.Errorf("UDP: %+v", f)
	}
	echo := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 1, Seq: 2}
	if f := parse(t, build(t, ethernet(), ipv4(layers.IPProtocolICMPv4), echo, gopacket.Payload("ping"))); f.ICMPType != 8 || string(f.Payload) != "ping" {
		t.Errorf("ICMP: %+v", f)
	}
	mac := clientMAC
	arp := &layers.ARP{AddrType: 1, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: 1,
		SourceHwAddress: mac[:], SourceProtAddress: clientIP.AsSlice(), DstHwAddress: make([]byte, 6), DstProtAddress: vipIP.AsSlice()}
	e := ethernet()
	e.EthernetType = layers.EthernetTypeARP
	if f := parse(t, build(t, e, arp)); f.ARPOp != 1 || f.ARPSrc != clientIP || f.ARPDst != vipIP || f.ARPSrcMAC != clientMAC || f.Src.IsValid() {
		t.Errorf("ARP: %+v", f)
	}
	options := ipv4(layers.IPProtocolUDP)
	options.Options = []layers.IPv4Option{{OptionType: 1}, {OptionType: 1}, {OptionType: 1}, {OptionType: 1}}
	if f := parse(t, build(t, ethernet(), options, &layers.UDP{SrcPort: 1, DstPort: 2}, gopacket.Payload("x"))); f.DstPort != 2 || string(f.Payload) != "x" {
		t.Errorf("IP options: %+v", f)
	}
}

// tagged puts VLAN tags into a frame.
func tagged(data []byte, tags ...uint32) []byte {
	out := append([]byte(nil), data[:12]...)
	for _, tag := range tags {
		out = binary.BigEndian.AppendUint32(out, tag)
	}
	return append(out, data[12:]...)
}

func TestParseFrameVLAN(t *testing.T) {
	for _, tags := range [][]uint32{{0x8100_0007}, {0x88a8_2007, 0x8100_0008}} {
		if f := parse(t, tagged(synFrame(t), tags...)); !f.VLAN || f.EthType != EtherTypeIPv4 || f.DstPort != 80 {
			t.Errorf("%x: %+v", tags, f)
		}
	}
}

func TestParseFrameFragments(t *testing.T) {
	udp := build(t, ethernet(), ipv4(layers.IPProtocolUDP), &layers.UDP{SrcPort: 5000, DstPort: 53}, gopacket.Payload("first part"))
	first := append([]byte(nil), udp...)
	binary.BigEndian.PutUint16(first[20:], 0x2000)
	binary.BigEndian.PutUint16(first[38:], 4000) // of the whole datagram
	if f := parse(t, first); !f.Fragment || f.DstPort != 53 || string(f.Payload) != "first part" {
		t.Errorf("first: %+v", f)
	}
	later := append([]byte(nil), udp...)
	binary.BigEndian.PutUint16(later[20:], 185)
	if f := parse(t, later); !f.Fragment || f.SrcPort != 0 || f.DstPort != 0 || f.Payload != nil {
		t.Errorf("later: %+v", f)
	}
}

func TestParseFrameRefusesLies(t *testing.T) {
	syn := synFrame(t)
	udp := build(t, ethernet(), ipv4(layers.IPProtocolUDP), &layers.UDP{SrcPort: 5000, DstPort: 53}, gopacket.Payload("query"))
	set := func(of []byte, at int, bytes ...byte) []byte {
		b := append([]byte(nil), of...)
		copy(b[at:], bytes)
		return b
	}
	icmp := build(t, ethernet(), ipv4(layers.IPProtocolICMPv4), &layers.ICMPv4{})
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"nothing", nil, ErrFrameEthernet},
		{"13 bytes", syn[:13], ErrFrameEthernet},
		{"VLAN tag cut off", tagged(syn, 0x8100_0001)[:16], ErrFrameVLAN},
		{"three VLAN tags", tagged(syn, 0x8100_0001, 0x8100_0002, 0x8100_0003), ErrFrameVLAN},
		{"IP header cut off", syn[:33], ErrFrameIP},
		{"IHL 0", set(syn, 14, 0x40), ErrFrameIP},
		{"IHL 4", set(syn, 14, 0x44), ErrFrameIP},
		{"IHL beyond the total length", set(syn, 16, 0, 24, 0, 0)[:38+20], ErrFrameTCP},
		{"IHL 15 in a short packet", set(syn, 14, 0x4f), ErrFrameIP},
		{"version 6", set(syn, 14, 0x65), ErrFrameIP},
		{"total length 0", set(syn, 16, 0, 0), ErrFrameIP},
		{"total length 19", set(syn, 16, 0, 19), ErrFrameIP},
		{"total length beyond the frame", set(syn, 16, 0xff, 0xff), ErrFrameIP},
		{"TCP data offset 0", set(syn, 46, 0), ErrFrameTCP},
		{"TCP data offset 15", set(syn, 46, 0xf0), ErrFrameTCP},
		{"TCP header cut off", set(syn, 16, 0, 39), ErrFrameTCP},
		{"UDP length 7", set(udp, 38, 0, 7), ErrFrameUDP},
		{"UDP length beyond the packet", set(udp, 38, 0, 14), ErrFrameUDP},
		{"UDP header cut off", set(udp, 16, 0, 27), ErrFrameUDP},
		{"ICMP header cut off", set(icmp, 16, 0, 27), ErrFrameICMP},
		{"ARP cut off", set(syn, 12, 8, 6)[:41], ErrFrameARP},
		{"ARP of another hardware", set(syn, 12, 8, 6), ErrFrameARP},
	} {
		var f Frame
		if err := ParseFrame(c.data, &f); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
}

func TestParseFrameForgetsTheLast(t *testing.T) {
	f := parse(t, synFrame(t))
	if err := ParseFrame(make([]byte, 14), f); err != nil || f.DstPort != 0 || f.Dst.IsValid() || f.IP != nil || f.Payload != nil {
		t.Errorf("%v %+v", err, f)
	}
}

func TestParseFrameAllocatesNothing(t *testing.T) {
	for _, data := range append(seedsIPv6(t), synFrame(t), synFrameIPv6(t)) {
		f := new(Frame)
		if n := testing.AllocsPerRun(100, func() { _ = ParseFrame(data, f) }); n != 0 {
			t.Errorf("%v allocations for %x", n, data)
		}
	}
}

// FuzzParseFrame holds ParseFrame to what gopacket reads of the frames that both take, and Reject to frames that can be read.
func FuzzParseFrame(f *testing.F) {
	f.Add(synFrame(f))
	f.Add(tagged(synFrame(f), 0x88a8_0001, 0x8100_0002))
	f.Add(build(f, ethernet(), ipv4(layers.IPProtocolUDP), &layers.UDP{SrcPort: 5000, DstPort: 53}, gopacket.Payload("q")))
	f.Add(build(f, ethernet(), ipv4(layers.IPProtocolICMPv4), &layers.ICMPv4{}))
	arp, _ := hex.DecodeString("ffffffffffff020000000009" + "0806" + "0001080006040001020000000009" + "0a000009" + "000000000000" + "0a000064")
	f.Add(arp)
	f.Add(synFrameIPv6(f))
	for _, seed := range seedsIPv6(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got Frame
		if err := ParseFrame(data, &got); err != nil {
			return
		}
		if len(got.IP)+len(got.Payload) > 2*len(data) {
			t.Fatalf("more than there is: %+v", got)
		}
		switch got.EthType {
		case EtherTypeIPv4:
			agree(t, data, &got)
		case EtherTypeIPv6:
			agreeIPv6(t, data, &got)
		}
		answer, ok := Reject(&got, nil)
		if !ok {
			return
		}
		var back Frame
		if err := ParseFrame(answer, &back); err != nil {
			t.Fatalf("answer %x: %v", answer, err)
		}
		if back.Src != got.Dst || back.Dst != got.Src || back.EthSrc != VIPMAC || back.EthDst != got.EthSrc {
			t.Fatalf("answer to %+v: %+v", got, back)
		}
	})
}

func agree(t *testing.T, data []byte, f *Frame) {
	p := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
	ip, ok := p.NetworkLayer().(*layers.IPv4)
	if !ok || p.ErrorLayer() != nil {
		return
	}
	if src, _ := netip.AddrFromSlice(ip.SrcIP); src != f.Src || uint8(ip.Protocol) != f.Proto || int(ip.Length) != len(f.IP) {
		t.Fatalf("gopacket reads %+v, we %+v", ip, f)
	}
	if tcp, ok := p.TransportLayer().(*layers.TCP); ok && f.Proto == ProtoTCP {
		if uint16(tcp.SrcPort) != f.SrcPort || tcp.Seq != f.Seq || tcp.SYN != (f.TCPFlags&SYN != 0) || string(tcp.Payload) != string(f.Payload) {
			t.Fatalf("gopacket reads %+v, we %+v", tcp, f)
		}
	}
}

func BenchmarkParseFrame(b *testing.B) {
	data := synFrame(b)
	b.Run("own", func(b *testing.B) {
		var f Frame
		b.ReportAllocs()
		for b.Loop() {
			_ = ParseFrame(data, &f)
		}
	})
	v6 := synFrameIPv6(b)
	b.Run("own IPv6", func(b *testing.B) {
		var f Frame
		b.ReportAllocs()
		for b.Loop() {
			_ = ParseFrame(v6, &f)
		}
	})
	b.Run("gopacket", func(b *testing.B) {
		var eth layers.Ethernet
		var tag layers.Dot1Q
		var arp layers.ARP
		var ip layers.IPv4
		var tcp layers.TCP
		var udp layers.UDP
		p := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &eth, &tag, &arp, &ip, &tcp, &udp)
		p.IgnoreUnsupported = true
		decoded := make([]gopacket.LayerType, 0, 8)
		b.ReportAllocs()
		for b.Loop() {
			_ = p.DecodeLayers(data, &decoded)
		}
	})
}
