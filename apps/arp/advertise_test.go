package arp

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps"
)

// ndFrame is a solicitation by, or an advertisement of, host 9, with its MAC or without.
func ndFrame(kind uint8, src, target string, link bool, change ...func(*layers.Ethernet, *layers.IPv6)) []byte {
	m := mac(9)
	eth := &layers.Ethernet{SrcMAC: m[:], DstMAC: apps.VIPMAC[:], EthernetType: layers.EthernetTypeIPv6}
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: net.ParseIP(src), DstIP: net.ParseIP("ff02::1:ff00:100")}
	for _, c := range change {
		c(eth, ip)
	}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(kind, 0)}
	_ = icmp.SetNetworkLayerForChecksum(ip)
	var body gopacket.SerializableLayer
	var options layers.ICMPv6Options
	if link {
		options = layers.ICMPv6Options{{Type: layers.ICMPv6Opt(kind - 134), Data: m[:]}}
	}
	body = &layers.ICMPv6NeighborSolicitation{TargetAddress: net.ParseIP(target), Options: options}
	if kind == apps.NeighbourAdvertisement {
		body = &layers.ICMPv6NeighborAdvertisement{TargetAddress: net.ParseIP(target), Options: options}
	}
	if eth.EthernetType == layers.EthernetTypeDot1Q {
		return serialize(eth, &layers.Dot1Q{VLANIdentifier: 7, Type: layers.EthernetTypeIPv6}, ip, icmp, body)
	}
	return serialize(eth, ip, icmp, body)
}

func pingIPv6(target, payload string) []byte {
	m := mac(9)
	ip := &layers.IPv6{Version: 6, HopLimit: 3, NextHeader: layers.IPProtocolICMPv6, SrcIP: net.ParseIP("fd00::9"), DstIP: net.ParseIP(target)}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(128, 0)}
	_ = icmp.SetNetworkLayerForChecksum(ip)
	return serialize(&layers.Ethernet{SrcMAC: m[:], DstMAC: apps.VIPMAC[:], EthernetType: layers.EthernetTypeIPv6}, ip, icmp,
		&layers.ICMPv6Echo{Identifier: 5, SeqNumber: 6}, gopacket.Payload(payload))
}

func TestPacketInIPv6(t *testing.T) {
	const (
		nine   = "00:00:00:00:00:09"
		vipMAC = "02:ef:00:00:00:01"
		here   = "sighted " + nine
		heard  = here + " fd00::9"
		answer = " ttl 255 NeighborAdvertisement "
	)
	vlan := func(e *layers.Ethernet, _ *layers.IPv6) { e.EthernetType = layers.EthernetTypeDot1Q }
	hops := func(_ *layers.Ethernet, ip *layers.IPv6) { ip.HopLimit = 254 }
	thief := func(e *layers.Ethernet, _ *layers.IPv6) { e.SrcMAC = net.HardwareAddr{0, 0, 0, 0, 0, 8} }
	for name, c := range map[string]struct {
		data []byte
		want []string
		not  bool // not handled
	}{
		"asks for a VIP": {ndFrame(135, "fd00::9", "fd00::100", true), []string{heard,
			"IN_PORT " + vipMAC + ">" + nine + " fd00::100>fd00::9" + answer + "60 fd00::100 TargetAddress " + vipMAC}, false},
		"asks without its MAC": {ndFrame(135, "fd00::9", "fd00::100", false), []string{heard,
			"IN_PORT " + vipMAC + ">" + nine + " fd00::100>fd00::9" + answer + "60 fd00::100 TargetAddress " + vipMAC}, false},
		"asks for a router": {ndFrame(135, "fd00::9", "fd00::fe", true), []string{heard,
			"IN_PORT " + vipMAC + ">" + nine + " fd00::fe>fd00::9" + answer + "e0 fd00::fe TargetAddress " + vipMAC}, false},
		"asks for our own": {ndFrame(135, "fd00::9", "fe80::ef:ff:fe00:1", true), []string{heard,
			"IN_PORT " + vipMAC + ">" + nine + " fe80::ef:ff:fe00:1>fd00::9" + answer + "60 fe80::ef:ff:fe00:1 TargetAddress " + vipMAC}, false},
		"probes for a VIP": {ndFrame(135, "::", "fd00::100", false), []string{here,
			"IN_PORT " + vipMAC + ">33:33:00:00:00:01 fd00::100>ff02::1" + answer + "20 fd00::100 TargetAddress " + vipMAC}, false},
		"asks for a live host": {ndFrame(135, "fd00::9", "fd00::1", true), []string{heard,
			"IN_PORT 00:00:00:00:00:01>" + nine + " fd00::1>fd00::9" + answer + "60 fd00::1 TargetAddress 00:00:00:00:00:01"}, false},
		"asks for a link-local address": {ndFrame(135, "fd00::9", "fe80::1", true), []string{heard}, false},
		"probes for a host's":           {ndFrame(135, "::", "fd00::1", false), []string{here}, false},
		"asks for nobody":               {ndFrame(135, "fd00::9", "fd00::77", true), []string{heard}, false},
		"asks as a VIP":                 {ndFrame(135, "fd00::100", "fd00::1", true), []string{here + " fd00::100"}, false},
		"asks with another's MAC":       {ndFrame(135, "fd00::9", "fd00::77", true, thief), []string{"sighted 00:00:00:00:00:08 fd00::9"}, false},
		"claims a VIP's":                {ndFrame(136, "fd00::9", "fd00::100", true), []string{here + " fd00::100"}, false},
		"tells its address":             {ndFrame(136, "fe80::9", "fd00::9", true), []string{heard}, false},
		"answers a probe":               {ndFrame(136, "fd00::9", "fd00::9", false), []string{heard}, false},
		"tells another's address":       {ndFrame(136, "fe80::9", "fd00::9", true, thief), []string{"sighted 00:00:00:00:00:08"}, false},
		"in a VLAN":                     {ndFrame(135, "fd00::9", "fd00::100", true, vlan), []string{here}, false},
		"from afar":                     {ndFrame(135, "fd00::9", "fd00::100", true, hops), []string{here}, false},
		"ping": {pingIPv6("fd00::100", "odd"),
			[]string{"IN_PORT " + vipMAC + ">" + nine + " fd00::100>fd00::9 ttl 64 EchoReply 5 odd"}, false},
		"ping of none": {pingIPv6("fd00::55", ""), nil, true},
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
