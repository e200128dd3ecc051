package e2e

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// advertisement tells all that a host has its address.
func advertisement(t testing.TB, h *lab.Host) []byte {
	t.Helper()
	mac := hostMAC(t, h)
	eth := &layers.Ethernet{SrcMAC: mac, DstMAC: net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}, EthernetType: layers.EthernetTypeIPv6}
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: net.ParseIP(h.IP()), DstIP: net.ParseIP("ff02::1")}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborAdvertisement, 0)}
	if err := icmp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	const override = 0x20
	na := &layers.ICMPv6NeighborAdvertisement{Flags: override, TargetAddress: net.ParseIP(h.IP()),
		Options: layers.ICMPv6Options{{Type: layers.ICMPv6OptTargetAddress, Data: mac}}}
	b := gopacket.NewSerializeBuffer()
	opt := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, opt, eth, ip, icmp, na); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// learnLinkLocal has hosts use their link-local addresses, which they do else when it pleases them, and waits until those are known.
func (w *network) learnLinkLocal(hosts ...*lab.Host) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		for _, h := range hosts {
			_, _ = h.Run(w.ctx, "ping", "-c1", "-W1", "ff02::1%eth0") // whoever answers asks for the way back
		}
		known, err := w.hosts()
		if err != nil {
			return err
		}
		n := 0
		for _, h := range known {
			for _, a := range h.Addresses {
				if a.IsLinkLocalUnicast() {
					n++
				}
			}
		}
		if n != len(hosts) {
			return fmt.Errorf("%d link-local addresses are known: %v", n, known)
		}
		return nil
	})
}

// A VIP of IPv6 answers to neighbour discovery and ping with its own MAC, such that nobody needs to ask twice, on every switch;
// also while the controller is away. No host can take its address.
func TestVIPAnswersIPv6(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"OpenFlow15", "OpenFlow13"} {
		t.Run(version, func(t *testing.T) {
			w := line(t, 2, version)
			w.family = ipv6
			clients := []*lab.Host{w.host("c1", 11, 1, 1), w.host("c2", 12, 2, 1)}
			w.start()
			w.declare(vip.Spec{Name: "web", Address: w.family.vip, Protocol: vip.TCP, Port: "80"}) // without backends as well
			for _, when := range []string{"with a controller", "without"} {
				for _, c := range clients {
					w.run(c, "ip", "neighbour", "flush", "all")
					if _, err := c.Run(w.ctx, "ping", "-c3", "-i0.1", "-W5", w.family.vip); err != nil {
						t.Errorf("%s, %s: %v", c.Name(), when, err)
					}
					if n := w.run(c, "ip", "neighbour", "show", w.family.vip); !strings.Contains(n, vipMAC.String()+" REACHABLE") {
						t.Errorf("%s, %s: the VIP is a neighbour as %q", c.Name(), when, n)
					}
					w.run(c, "sysctl", "-qw", "net.ipv6.conf.eth0.accept_dad=1")
					w.Eventually(patience, func() error { // a host asks once, and waits for a second; the answer may be late
						w.run(c, "ip", "address", "add", w.family.vip+"/64", "dev", "eth0")
						var state string
						for state = "tentative"; strings.Contains(state, "tentative") && !strings.Contains(state, "dadfailed"); {
							state = w.run(c, "ip", "-6", "address", "show", "dev", "eth0", "to", w.family.vip)
						}
						w.run(c, "ip", "address", "del", w.family.vip+"/64", "dev", "eth0")
						if !strings.Contains(state, "dadfailed") {
							return errors.New("the VIP's address is free: " + state)
						}
						return nil
					})
				}
				if when != "without" {
					w.ctl.stop()
				}
			}
		})
	}
}
