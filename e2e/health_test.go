package e2e

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// fast are probes that find out soon.
func fast(kind string) *vip.Health {
	return &vip.Health{Type: kind, Interval: vip.Duration(250 * time.Millisecond), Timeout: vip.Duration(200 * time.Millisecond), Rise: 2, Fall: 3}
}

func blackhole(verb, address string) []string {
	return []string{"ip", "route", verb, "blackhole", address}
}

func hostAddress(verb string, address ...string) []string {
	return append([]string{"ip", "address", verb, "dev", "eth0"}, address...)
}

func sysctl(name string, value int) []string {
	return []string{"sysctl", "-q", fmt.Sprintf("%s=%d", name, value)}
}

// server answers TCP at a host's port until it is closed, when the port refuses connections.
type server struct {
	net.Listener
	h *lab.Host
}

func listen(h *lab.Host, port int) *server {
	s := &server{h.Listen("tcp", at(h.IP(), port)), h}
	go s.serve()
	return s
}

func (s *server) serve() {
	for {
		c, err := s.Accept()
		if err != nil {
			return
		}
		go answerLines(s.h, c)
	}
}

// A backend is taken for down after failed probes of each type, over both families and in both modes, gets no connections while it
// is, and is up again after answers.
func TestHealth(t *testing.T) {
	for _, c := range []struct {
		kind       string
		mode       vip.Mode
		family     family
		fail, cure []string // commands in the backend
		reason     string
	}{
		{vip.HealthICMP, vip.ModeNAT, ipv4, sysctl("net.ipv4.icmp_echo_ignore_all", 1), sysctl("net.ipv4.icmp_echo_ignore_all", 0), "icmp probe: no answer within 200ms"},
		{vip.HealthICMP, vip.ModeGroup, ipv6, sysctl("net.ipv6.icmp.echo_ignore_all", 1), sysctl("net.ipv6.icmp.echo_ignore_all", 0), "icmp probe: no answer within 200ms"},
		{vip.HealthTCP, vip.ModeGroup, ipv4, blackhole("add", "10.0.0.100"), blackhole("del", "10.0.0.100"), "tcp probe: no answer from port 8080 within 200ms"},
		{vip.HealthTCP, vip.ModeNAT, ipv6, blackhole("add", "fd00::100"), blackhole("del", "fd00::100"), "tcp probe: no answer from port 8080 within 200ms"},
		{vip.HealthARP, vip.ModeGroup, ipv4, hostAddress("del", "10.0.0.2/24"), hostAddress("add", "10.0.0.2/24"), "arp probe: no answer within 200ms"},
		{vip.HealthARP, vip.ModeNAT, ipv6, hostAddress("del", "fd00::2/64"), hostAddress("add", "fd00::2/64", "nodad"), "ND probe: no answer within 200ms"},
	} {
		t.Run(fmt.Sprintf("%s-%s-%s", c.kind, c.mode, c.family.name), func(t *testing.T) {
			w := line(t, 2, "")
			w.family = c.family
			client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1)
			serve(8080, b1, b2)
			w.start()
			w.service(vip.Spec{Name: "web", Address: w.family.vip, Protocol: vip.TCP, Port: "80", Mode: c.mode, Health: fast(c.kind)}, 8080, b1, b2)
			stays := w.dial(client, "tcp", "", w.family.web(80))
			for w.who(stays) != "b1" {
				stays = w.dial(client, "tcp", "", w.family.web(80))
			}
			if _, err := b2.Run(w.ctx, c.fail...); err != nil {
				t.Fatal(err)
			}
			w.awaitState("web", "b2", vip.StateDown)
			if s, err := w.status("web", "b2"); err != nil || s.Reason != c.reason {
				t.Errorf("b2 is %+v, %v; want the reason %q", s, err, c.reason)
			}
			for range 10 {
				if name := w.who(w.dial(client, "tcp", "", w.family.web(80))); name != "b1" {
					t.Errorf("a new connection is at %s", name)
				}
			}
			if _, err := b2.Run(w.ctx, c.cure...); err != nil {
				t.Fatal(err)
			}
			w.awaitState("web", "b2", vip.StateUp)
			w.Eventually(patience, func() error {
				c, err := dial(w.ctx, client, "tcp", "", w.family.web(80))
				if err != nil {
					return err
				}
				defer c.Close()
				if name, _, err := c.ask("who"); err != nil || name != "b2" {
					return fmt.Errorf("a new connection is at %s, %v", name, err)
				}
				return nil
			})
			if name := w.who(stays); name != "b1" {
				t.Errorf("a connection of a backend that is well has gone to %s", name)
			}
		})
	}
}
