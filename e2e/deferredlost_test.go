package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps/vip"
)

// The backends' switch is restarted and forgets all connections; the backends stay the same, so they go on, whoever speaks first.
func TestDeferredSwitchKilled(t *testing.T) {
	w := line(t, 2, "OpenFlow15")
	trySwitchKilled(w, vip.ModeDeferred, w.sw(2), 3, w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1), w.host("b2", 2, 2, 2))
}

// When conntrack has no room TCP connections are made without it, and last. Nothing reaches a backend untranslated.
func TestDeferredConntrackFull(t *testing.T) {
	p := newDeferredPool(t, func(s *vip.Spec) {
		if s.Protocol == vip.UDP {
			s.Port = "53"
		}
	})
	held := p.open("tcp", 4)
	toVIP := func(g gopacket.Packet) bool {
		ip, _ := g.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		return ip != nil && ip.DstIP.String() == address
	}
	var leaks []*tap
	for _, b := range p.backends {
		leaks = append(leaks, p.tap(b, toVIP))
	}
	for _, s := range p.switches {
		s.Appctl("dpctl/ct-set-maxconns", "1")
	}
	full := p.open("tcp", 4)
	p.smooth("no room", slices.Concat(slices.Collect(maps.Values(full))...), 0)
	c := p.dial(p.client, "udp", "", address+":53")
	p.Eventually(patience, func() error { // and counted
		if _, err := c.Write([]byte("lost\n")); err != nil {
			return err
		}
		all, err := p.api.switches()
		if err != nil {
			return err
		}
		n := uint64(0)
		for _, s := range all {
			for _, d := range s.Drops {
				if strings.Contains(d.Reason, "no room") {
					n += d.Packets
				}
			}
		}
		if n < 3 {
			return fmt.Errorf("%d dropped", n)
		}
		return nil
	})
	p.stay("full", full, "")
	p.stay("full", held, "")
	for _, s := range p.switches {
		s.Appctl("dpctl/ct-set-maxconns", "3000000")
	}
	p.stay("room again", full, "")
	p.stay("room again", held, "")
	for i, l := range leaks {
		if n := len(l.packets()); n > 0 {
			t.Errorf("%d packets have left untranslated for %s", n, p.backends[i].Name())
		}
	}
}

// Through the VIP and past it at a time.
func TestDeferredBesideDirect(t *testing.T) {
	p := newDeferredPool(t, nil)
	for _, network := range []string{"tcp", "udp"} {
		direct := map[string]*conn{}
		for _, b := range p.backends {
			direct[b.Name()] = p.dial(p.client, network, ":5000", b.IP()+":8080")
		}
		past := func() {
			t.Helper()
			for name, c := range direct {
				if who, seen, err := c.ask("direct"); err != nil || who != name || seen != p.client.IP()+":5000" {
					t.Errorf("%s, past the VIP to %s: answer of %q for %q, %v", network, name, who, seen, err)
				}
			}
		}
		for range 4 {
			past()
			c := p.dial(p.client, network, "", address+":80")
			p.who(c)
			past()
			p.who(c)
		}
	}
}
