package apps

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// checksum is the Internet checksum (RFC 1071): 0 over data that carries a right one.
func checksum(parts ...[]byte) uint16 {
	var sum uint32
	for _, b := range parts {
		for ; len(b) > 1; b = b[2:] {
			sum += uint32(binary.BigEndian.Uint16(b))
		}
		if len(b) == 1 {
			sum += uint32(b[0]) << 8
		}
	}
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// rejected is the decoded answer, with its checksums verified.
func rejected(t *testing.T, data []byte) gopacket.Packet {
	t.Helper()
	out, ok := Reject(parse(t, data), []byte("before"))
	if !ok || string(out[:6]) != "before" {
		t.Fatalf("no answer: %v %q", ok, out)
	}
	p := gopacket.NewPacket(out[6:], layers.LayerTypeEthernet, gopacket.Default)
	if e := p.ErrorLayer(); e != nil {
		t.Fatal(e.Error())
	}
	eth := p.LinkLayer().(*layers.Ethernet)
	if !bytes.Equal(eth.SrcMAC, VIPMAC[:]) || !bytes.Equal(eth.DstMAC, clientMAC[:]) {
		t.Errorf("Ethernet %v to %v", eth.SrcMAC, eth.DstMAC)
	}
	if ip, ok := p.NetworkLayer().(*layers.IPv6); ok {
		verifyIPv6(t, ip)
		return p
	}
	ip := p.NetworkLayer().(*layers.IPv4)
	if src, _ := netip.AddrFromSlice(ip.SrcIP); src != vipIP || ip.TTL == 0 {
		t.Errorf("IP %+v", ip)
	}
	if c := checksum(ip.Contents); c != 0 {
		t.Errorf("IP checksum is off by %#x", c)
	}
	pseudo := append(append([]byte(nil), ip.Contents[12:20]...), 0, byte(ip.Protocol))
	pseudo = binary.BigEndian.AppendUint16(pseudo, uint16(len(ip.Payload)))
	if ip.Protocol == layers.IPProtocolICMPv4 {
		pseudo = nil
	}
	if c := checksum(pseudo, ip.Payload); c != 0 {
		t.Errorf("%v checksum is off by %#x", ip.Protocol, c)
	}
	return p
}

func TestRejectTCP(t *testing.T) {
	for _, c := range []struct {
		name     string
		in       layers.TCP
		payload  string
		seq, ack uint32
		hasACK   bool
	}{
		{"SYN", layers.TCP{SYN: true, Seq: 1000}, "", 0, 1001, true},
		{"SYN with data, wrapping", layers.TCP{SYN: true, Seq: 0xffffffff}, "abc", 0, 3, true},
		{"FIN without ACK", layers.TCP{FIN: true, Seq: 7}, "ab", 0, 10, true},
		{"data without ACK", layers.TCP{PSH: true, Seq: 7}, "ab", 0, 9, true},
		{"data", layers.TCP{ACK: true, PSH: true, Seq: 7, Ack: 55}, "ab", 55, 0, false},
		{"FIN", layers.TCP{ACK: true, FIN: true, Seq: 7, Ack: 55}, "", 55, 0, false},
		{"SYN ACK", layers.TCP{SYN: true, ACK: true, Seq: 7, Ack: 55}, "", 55, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.SrcPort, c.in.DstPort = 40000, 81
			tcp := rejected(t, build(t, ethernet(), ipv4(layers.IPProtocolTCP), &c.in, gopacket.Payload(c.payload))).TransportLayer().(*layers.TCP)
			if tcp.SrcPort != 81 || tcp.DstPort != 40000 || !tcp.RST || tcp.SYN || tcp.FIN || tcp.ACK != c.hasACK || tcp.Seq != c.seq || tcp.Ack != c.ack {
				t.Errorf("%+v", tcp)
			}
		})
	}
}

func TestRejectUDP(t *testing.T) {
	with := ipv4(layers.IPProtocolUDP)
	with.Options = []layers.IPv4Option{{OptionType: 1}, {OptionType: 1}, {OptionType: 1}, {OptionType: 1}}
	for _, ip := range []*layers.IPv4{ipv4(layers.IPProtocolUDP), with} {
		data := build(t, ethernet(), ip, &layers.UDP{SrcPort: 5000, DstPort: 54}, gopacket.Payload("question"))
		icmp := rejected(t, data).Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
		header := int(data[14]&15) * 4
		if icmp.TypeCode != layers.CreateICMPv4TypeCode(3, 3) || !bytes.Equal(icmp.Payload, data[14:14+header+8]) {
			t.Errorf("%v quotes %x", icmp.TypeCode, icmp.Payload)
		}
	}
}

func TestRejectKeepsTheVLAN(t *testing.T) {
	data := tagged(synFrame(t), 0x88a8_2007, 0x8100_6008)
	out, _ := Reject(parse(t, data), nil)
	if !bytes.Equal(out[12:20], data[12:20]) {
		t.Errorf("tags %x, want %x", out[12:20], data[12:20])
	}
	if f := parse(t, out); f.TCPFlags != RST|ACK || f.DstPort != 40000 {
		t.Errorf("%+v", f)
	}
}

func TestRejectNeverAnswers(t *testing.T) {
	syn := synFrame(t)
	change := func(mutate func(f *Frame)) *Frame {
		f := parse(t, syn)
		mutate(f)
		return f
	}
	addr := netip.MustParseAddr
	for name, f := range map[string]*Frame{
		"a RST":                change(func(f *Frame) { f.TCPFlags = RST | ACK }),
		"a broadcast frame":    change(func(f *Frame) { f.EthDst = [6]byte{255, 255, 255, 255, 255, 255} }),
		"a multicast frame":    change(func(f *Frame) { f.EthDst = [6]byte{1, 0, 0x5e} }),
		"a multicast sender":   change(func(f *Frame) { f.EthSrc[0] = 1 }),
		"a multicast address":  change(func(f *Frame) { f.Dst = addr("224.0.0.1") }),
		"the broadcast":        change(func(f *Frame) { f.Dst = addr("255.255.255.255") }),
		"from a group":         change(func(f *Frame) { f.Src = addr("239.1.2.3") }),
		"from the broadcast":   change(func(f *Frame) { f.Src = addr("255.255.255.255") }),
		"from nobody":          change(func(f *Frame) { f.Src = addr("0.0.0.0") }),
		"from itself":          change(func(f *Frame) { f.Src = f.Dst }),
		"a fragment":           change(func(f *Frame) { f.Fragment = true }),
		"an IPv4 address":      change(func(f *Frame) { f.Src = addr("::ffff:10.0.0.9") }),
		"an ICMPv6 error":      {Data: syn, IP: syn, EthType: EtherTypeIPv6, Proto: ProtoICMPv6, Src: addr("fd00::9"), Dst: addr("fd00::100")},
		"an IPv6 group":        {Data: syn, IP: syn, EthType: EtherTypeIPv6, Proto: ProtoUDP, Src: addr("fd00::9"), Dst: addr("ff02::1")},
		"from no IPv6 address": {Data: syn, IP: syn, EthType: EtherTypeIPv6, Proto: ProtoUDP, Src: addr("::"), Dst: addr("fd00::100")},
		"another protocol":     change(func(f *Frame) { f.Proto = 132 }),
		"an ICMP error":        parse(t, build(t, ethernet(), ipv4(layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: 3<<8 | 3})),
		"a ping":               parse(t, build(t, ethernet(), ipv4(layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: 8 << 8})),
		"what is no IP at all": {Data: syn[:14], EthType: EtherTypeARP},
	} {
		if out, ok := Reject(f, nil); ok || out != nil {
			t.Errorf("%s was answered: %x", name, out)
		}
	}
}

// verifyIPv6 checks the header of an answer and the checksum of what it carries.
func verifyIPv6(t *testing.T, ip *layers.IPv6) {
	t.Helper()
	if src, _ := netip.AddrFromSlice(ip.SrcIP); src != vipIPv6 || ip.HopLimit == 0 || int(ip.Length) != len(ip.Payload) {
		t.Errorf("IP %+v", ip)
	}
	pseudo := append([]byte(nil), ip.Contents[8:40]...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(ip.Payload)))
	pseudo = append(pseudo, 0, 0, 0, byte(ip.NextHeader))
	if c := checksum(pseudo, ip.Payload); c != 0 {
		t.Errorf("%v checksum is off by %#x", ip.NextHeader, c)
	}
}

func TestRejectIPv6(t *testing.T) {
	tcp := rejected(t, synFrameIPv6(t)).TransportLayer().(*layers.TCP)
	if tcp.SrcPort != 80 || tcp.DstPort != 40000 || !tcp.RST || !tcp.ACK || tcp.Seq != 0 || tcp.Ack != 1001 {
		t.Errorf("%+v", tcp)
	}
	for _, size := range []int{0, 8, 1232 - 48, 1232 - 47, 1400} {
		data := build(t, ethernetIPv6(), ipv6(layers.IPProtocolUDP), &layers.UDP{SrcPort: 5000, DstPort: 54}, gopacket.Payload(make([]byte, size)))
		p := rejected(t, data)
		icmp := p.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
		want := append(make([]byte, 4), parse(t, data).IP[:min(1232, 48+size)]...)
		if icmp.TypeCode != layers.CreateICMPv6TypeCode(1, 4) || !bytes.Equal(icmp.Payload, want) {
			t.Errorf("%v quotes %d bytes of %d", icmp.TypeCode, len(icmp.Payload)-4, 48+size)
		}
		if n := len(p.NetworkLayer().LayerContents()) + len(p.NetworkLayer().LayerPayload()); n > 1280 {
			t.Errorf("answer of %d bytes, more than the least MTU", n)
		}
	}
}
