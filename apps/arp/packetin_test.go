package arp

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// replies keeps what is answered, as text.
type replies struct {
	apps.Reply
	got []string
}

func (r *replies) Sighted(s topo.Sighting) bool {
	r.got = append(r.got, strings.TrimSpace("sighted "+s.MAC.String()+" "+strings.Replace(s.Addr.String(), "invalid IP", "", 1)))
	return true
}

func (r *replies) PacketOut(inPort uint32, actions []flows.Action, data []byte) {
	line := ""
	for _, a := range actions {
		line += string(a.AppendText(nil)) + " "
	}
	p := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
	for _, l := range p.Layers() {
		switch l := l.(type) {
		case *layers.Ethernet:
			line += l.SrcMAC.String() + ">" + l.DstMAC.String()
		case *layers.Dot1Q:
			line += " vlan"
		case *layers.ARP:
			line += strings.Join([]string{"", "op", string('0' + rune(l.Operation)), net.HardwareAddr(l.SourceHwAddress).String(),
				net.IP(l.SourceProtAddress).String(), net.HardwareAddr(l.DstHwAddress).String(), net.IP(l.DstProtAddress).String()}, " ")
		case *layers.IPv4:
			line += " " + l.SrcIP.String() + ">" + l.DstIP.String()
		case *layers.IPv6:
			line += " " + l.SrcIP.String() + ">" + l.DstIP.String() + " ttl " + strconv.Itoa(int(l.HopLimit))
		case *layers.ICMPv6:
			line += " " + l.TypeCode.String()
		case *layers.ICMPv6Echo:
			line += " " + strconv.Itoa(int(l.Identifier)) + " " + string(p.ApplicationLayer().Payload())
		case *layers.ICMPv6NeighborAdvertisement:
			line += " " + strconv.FormatUint(uint64(l.Flags), 16) + " " + l.TargetAddress.String()
			for _, o := range l.Options {
				line += " " + o.Type.String() + " " + net.HardwareAddr(o.Data).String()
			}
		case *layers.ICMPv4:
			line += " " + l.TypeCode.String() + " " + string(l.Payload)
		}
	}
	if err := checksums(p); err != "" {
		line += err
	}
	r.got = append(r.got, line)
}

// checksums finds those that are wrong, by having them computed anew.
func checksums(p gopacket.Packet) string {
	ip, ok := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	if v6, is := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6); is {
		icmp := p.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
		was := icmp.Checksum
		_ = icmp.SetNetworkLayerForChecksum(v6)
		b := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{ComputeChecksums: true}, icmp, gopacket.Payload(icmp.Payload)); err != nil {
			return err.Error()
		}
		if icmp.Checksum != was {
			return " wrong checksum"
		}
	}
	if !ok {
		return ""
	}
	icmp := p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
	was := [2]uint16{ip.Checksum, icmp.Checksum}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{ComputeChecksums: true}, ip, icmp, gopacket.Payload(icmp.Payload)); err != nil {
		return err.Error()
	}
	if now := [2]uint16{ip.Checksum, icmp.Checksum}; now != was {
		return " wrong checksum"
	}
	return ""
}

func serialize(l ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// arpFrame is a frame of ARP from a MAC, with the last numbers of its addresses; from 0 is 0.0.0.0.
func arpFrame(src flows.MAC, op uint16, from, target byte, vlan bool) []byte {
	eth := &layers.Ethernet{SrcMAC: src[:], DstMAC: layers.EthernetBroadcast, EthernetType: layers.EthernetTypeARP}
	a := &layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
		Operation: op, SourceHwAddress: src[:], SourceProtAddress: []byte{10, 0, 0, from}, DstHwAddress: make([]byte, 6),
		DstProtAddress: []byte{10, 0, 0, target}}
	if from == 0 {
		a.SourceProtAddress = make([]byte, 4)
	}
	if !vlan {
		return serialize(eth, a)
	}
	eth.EthernetType = layers.EthernetTypeDot1Q
	return serialize(eth, &layers.Dot1Q{VLANIdentifier: 7, Type: layers.EthernetTypeARP}, a)
}

func echoFrame(target byte, kind uint8, payload string) []byte {
	src := mac(9)
	return serialize(&layers.Ethernet{SrcMAC: src[:], DstMAC: apps.VIPMAC[:], EthernetType: layers.EthernetTypeIPv4},
		&layers.IPv4{Version: 4, TTL: 3, Protocol: layers.IPProtocolICMPv4, SrcIP: net.IP{10, 0, 0, 9}, DstIP: net.IP{10, 0, 0, target}},
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(kind, 0), Id: 5, Seq: 6}, gopacket.Payload(payload))
}

func TestPacketIn(t *testing.T) {
	const (
		nine   = "00:00:00:00:00:09"
		vipMAC = "02:ef:00:00:00:01"
		heard  = "sighted " + nine + " 10.0.0.9"
	)
	for name, c := range map[string]struct {
		data []byte
		want []string
		not  bool // not handled
	}{
		"asks for a VIP": {arpFrame(mac(9), 1, 9, 100, false),
			[]string{heard, "IN_PORT " + vipMAC + ">" + nine + " op 2 " + vipMAC + " 10.0.0.100 " + nine + " 10.0.0.9"}, false},
		"in a VLAN": {arpFrame(mac(9), 1, 9, 100, true), []string{"sighted " + nine}, false},
		"asks for a router": {arpFrame(mac(9), 1, 9, 254, false),
			[]string{heard, "IN_PORT " + vipMAC + ">" + nine + " op 2 " + vipMAC + " 10.0.0.254 " + nine + " 10.0.0.9"}, false},
		"probes for a VIP": {arpFrame(mac(9), 1, 0, 100, false),
			[]string{"sighted " + nine, "IN_PORT " + vipMAC + ">" + nine + " op 2 " + vipMAC + " 10.0.0.100 " + nine + " 0.0.0.0"}, false},
		"asks for a live host": {arpFrame(mac(9), 1, 9, 1, false),
			[]string{heard, "IN_PORT 00:00:00:00:00:01>" + nine + " op 2 00:00:00:00:00:01 10.0.0.1 " + nine + " 10.0.0.9"}, false},
		"asks for a host that is gone": {arpFrame(mac(9), 1, 9, 2, false), []string{heard}, false},
		"asks for nobody":              {arpFrame(mac(9), 1, 9, 77, false), []string{heard}, false},
		"own probe":                    {arpFrame(mac(1), 1, 0, 1, false), nil, false},
		"announces a VIP's":            {arpFrame(mac(9), 1, 100, 100, false), []string{"sighted " + nine + " 10.0.0.100"}, false},
		"asks as a VIP":                {arpFrame(mac(9), 1, 100, 1, false), []string{"sighted " + nine + " 10.0.0.100"}, false},
		"reply":                        {arpFrame(mac(1), 2, 1, 100, false), []string{"sighted 00:00:00:00:00:01 10.0.0.1"}, false},
		"ping":                         {echoFrame(100, 8, "odd"), []string{"IN_PORT " + vipMAC + ">" + nine + " 10.0.0.100>10.0.0.9 EchoReply odd"}, false},
		"empty ping":                   {echoFrame(100, 8, ""), []string{"IN_PORT " + vipMAC + ">" + nine + " 10.0.0.100>10.0.0.9 EchoReply "}, false},
		"ping of none":                 {echoFrame(55, 8, ""), nil, true},
		"other ICMP":                   {echoFrame(100, 13, ""), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			var f apps.Frame
			if err := apps.ParseFrame(c.data, &f); err != nil {
				t.Fatal(err)
			}
			var r replies
			if handled := New().PacketIn(view(), &apps.Punted{At: at(1, 1), Frame: &f}, &r); handled == c.not {
				t.Errorf("handled: %t", handled)
			}
			if diff := cmp.Diff(c.want, r.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

type silent struct{ apps.Reply }

func (silent) Sighted(topo.Sighting) bool               { return true }
func (silent) PacketOut(uint32, []flows.Action, []byte) {}

func TestAnswerAllocatesNothing(t *testing.T) {
	a, v := New(), view()
	var f apps.Frame
	for name, frame := range map[string][]byte{"ARP": arpFrame(mac(1), 1, 1, 100, false), "ND": ndFrame(135, "fd00::1", "fd00::100", true)} {
		if err := apps.ParseFrame(frame, &f); err != nil {
			t.Fatal(err)
		}
		in := &apps.Punted{At: at(1, 1), Frame: &f}
		if n := testing.AllocsPerRun(1000, func() { a.PacketIn(v, in, silent{}) }); n > 0 {
			t.Errorf("%s: %g allocations for an answer", name, n)
		}
	}
}
