package base_test

import (
	"net"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/lab"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func address(a string) []byte { return netip.MustParseAddr(a).AsSlice() }

func hardware(t *testing.T, h *lab.Host) net.HardwareAddr {
	m := mac(t, h)
	return net.HardwareAddr(m)
}

// icmpv6 is a frame with an ICMPv6 message.
func icmpv6(t *testing.T, eth *layers.Ethernet, ip *layers.IPv6, kind uint8, body gopacket.SerializableLayer) []byte {
	t.Helper()
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(kind, 0)}
	if err := icmp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	b := gopacket.NewSerializeBuffer()
	opt := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, opt, eth, ip, icmp, body); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// advertisement tells all that a host has an address.
func advertisement(t *testing.T, h *lab.Host, a string) []byte {
	m := hardware(t, h)
	return icmpv6(t, &layers.Ethernet{SrcMAC: m, DstMAC: []byte{0x33, 0x33, 0, 0, 0, 1}, EthernetType: layers.EthernetTypeIPv6},
		&layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: address(a), DstIP: address("ff02::1")}, 136,
		&layers.ICMPv6NeighborAdvertisement{Flags: 0x20, TargetAddress: address(a), Options: layers.ICMPv6Options{{Type: 2, Data: m}}})
}

// has reports whether there was a packet-in whose text matches.
func (m *monitor) has(pattern string) bool {
	return regexp.MustCompile(pattern).MatchString(m.p.Output())
}
