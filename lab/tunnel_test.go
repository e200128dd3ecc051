package lab

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Hosts at two switches with a tunnel between them. The largest packet of theirs is the underlay's less 50 bytes, which is what both
// types put around it; a larger one is lost, and no ICMP error says so. With a switch started anew the tunnel is back.
func TestTunnel(t *testing.T) {
	for _, c := range []struct {
		kind          string
		underlay, fit int
	}{{"geneve", 1500, 1450}, {"vxlan", 1500, 1450}, {"geneve", 1550, 1500}, {"vxlan", 1550, 1500}} {
		t.Run(fmt.Sprint(c.kind, " over ", c.underlay), func(t *testing.T) {
			t.Parallel()
			l := New(t)
			s1, s2 := l.Switch("s1"), l.Switch("s2")
			h1, h2 := l.Host("h1", "10.0.0.1/24"), l.Host("h2", "10.0.0.2/24")
			for _, e := range []struct {
				h *Host
				s *Switch
			}{{h1, s1}, {h2, s2}} {
				l.Link(e.h, 0, e.s, 1)
				for ns, name := range map[namespace]string{e.h.ns: "eth0", e.s.ns: e.s.ifname(1)} {
					if _, err := run(ns.command("ip", "link", "set", name, "mtu", "1600")); err != nil {
						t.Fatal(err)
					}
				}
			}
			l.Tunnel(c.kind, s1, 10, s2, 11, c.underlay)
			ping := func(size int, more ...string) (string, error) { // of an IP packet
				argv := append([]string{"ping", "-c1", "-W1", "-s", fmt.Sprint(size - 28), h2.IP()}, more...)
				return h1.Run(within(t, 20*time.Second), argv...)
			}
			reach := func() {
				for _, s := range []*Switch{s1, s2} {
					s.Ofctl("add-flow", "actions=normal")
				}
				l.Eventually(20*time.Second, func() error {
					_, err := ping(c.fit, "-Mdo")
					return err
				})
			}
			reach()
			out, err := ping(c.fit+1, "-Mdo")
			if err == nil || strings.Contains(out, "Frag needed") {
				t.Errorf("%d bytes: %s, %v", c.fit+1, out, err)
			}
			l.Eventually(20*time.Second, func() error {
				if !strings.Contains(s1.complaints(), "error sending Ethernet packet on phy10c: Message too long") {
					return errors.New("the switch does not say what it has lost")
				}
				return nil
			})
			s2.Restart()
			reach()
		})
	}
}
