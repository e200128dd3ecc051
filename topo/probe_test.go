package topo

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

func TestLinkLocal(t *testing.T) {
	if a := LinkLocal(ownMAC); a != netip.MustParseAddr("fe80::ef:ff:fe00:1") {
		t.Errorf("%s", a)
	}
}

func TestNDProbe(t *testing.T) {
	target := netip.MustParseAddr("fd00::12:3456")
	for name, c := range map[string]struct {
		frame    []byte
		mac, dst string
	}{
		"of a host known": {Probe(ownMAC, mac(9), target), mac(9).String(), "fd00::12:3456"},
		"of any":          {Probe(ownMAC, broadcast, target), "33:33:ff:12:34:56", "ff02::1:ff12:3456"},
	} {
		p := gopacket.NewPacket(c.frame, layers.LayerTypeEthernet, gopacket.Default)
		if e := p.ErrorLayer(); e != nil {
			t.Fatalf("%s: %v", name, e.Error())
		}
		eth, ip := p.LinkLayer().(*layers.Ethernet), p.NetworkLayer().(*layers.IPv6)
		if eth.DstMAC.String() != c.mac || !bytes.Equal(eth.SrcMAC, ownMAC[:]) || ip.DstIP.String() != c.dst ||
			ip.SrcIP.String() != LinkLocal(ownMAC).String() || ip.HopLimit != 255 {
			t.Errorf("%s: %v", name, p)
		}
		ns, ok := p.Layer(layers.LayerTypeICMPv6NeighborSolicitation).(*layers.ICMPv6NeighborSolicitation)
		if !ok || ns.TargetAddress.String() != target.String() || len(ns.Options) != 1 || !bytes.Equal(ns.Options[0].Data, ownMAC[:]) {
			t.Errorf("%s: %v", name, p)
		}
		sum := uint32(0)
		for i := 22; i < len(c.frame); i += 2 { // addresses and message
			sum += uint32(binary.BigEndian.Uint16(c.frame[i:]))
		}
		if sum += 32 + 58; uint16(sum+sum>>16) != 0xffff {
			t.Errorf("%s: checksum is off: %#x", name, sum)
		}
	}
}

// A host with IPv6 alone is refreshed, lost, sought, and keeps its address against others, as one with IPv4 is.
func TestHostOfIPv6(t *testing.T) {
	n := pair(t, Config{})
	h := n.station(at(1, 1), 1)
	h.addrs = []netip.Addr{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fe80::1")}
	n.topo.Seek(n.now, h.addrs[0])
	n.pass(time.Second)
	n.speaks(at(1, 1), h, 1)
	n.wantEvents("host h1 heard at s1:1", "host h1 has address fd00::1", "host h1 has address fe80::1")
	if n.sent["nd "+at(2, 1).String()] != 1 {
		t.Errorf("frames sent: %v", n.sent)
	}
	clear(n.sent)
	n.pass(10 * time.Minute)
	n.wantEvents()
	if got := n.sent["nd "+at(1, 1).String()]; got != 40 || n.sent["arp "+at(1, 1).String()] != 0 {
		t.Errorf("%d probes for two addresses in 10 min, want 40", got)
	}

	thief := n.station(at(2, 1), 2)
	thief.addrs = h.addrs[:1]
	n.speaks(at(2, 1), thief, 0)
	n.pass(5 * time.Second)
	n.wantEvents("host h2 heard at s2:1", "host h2 address fd00::1 refused at s2:1: h1 answers for it at s1:1")
	thief.addrs = []netip.Addr{LinkLocal(ownMAC)}
	n.speaks(at(2, 1), thief, 0)
	n.wantEvents("host h2 address fe80::ef:ff:fe00:1 refused at s2:1: it is a VIP's or a router's")

	h.addrs = h.addrs[:1]
	n.pass(40 * time.Second)
	n.wantEvents("host h1 does not answer for fe80::1 any more")
	h.mute = true
	n.pass(40 * time.Second)
	n.wantEvents("host h1 gone from s1:1: does not answer")
	n.want(found, "h1 [fd00::1] at s1:1 live=false", "h2 [] at s2:1 live=true")
	h.mute = false
	n.pass(30 * time.Second)
	n.wantEvents("host h1 answers again at s1:1")
}
