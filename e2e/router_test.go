package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// run executes a program in a host, which must succeed.
func (w *network) run(h *lab.Host, argv ...string) string {
	w.t.Helper()
	out, err := h.Run(w.ctx, argv...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// configured is the flag that names a configuration file with a text.
func configured(t *testing.T, text string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "evenflow.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", file}
}

// routed is a family with two networks behind one another's routers, and a VIP in none.
type routed struct {
	family
	other             string // network of hosts, as a format
	router, router2   string // ours, in both networks
	farVIP, farClient string
}

// VIPs outside of the hosts' network are reached by way of an address of ours, by hosts of each network and from behind a router,
// and backends answer by way of such an address, or of the router itself. Nothing else is routed.
func TestRouters(t *testing.T) {
	t.Parallel()
	for _, f := range []routed{
		{ipv4, "10.1.0.%d/24", "10.0.0.254", "10.1.0.254", "10.9.9.9", "172.16.0.5"},
		{ipv6, "fd01::%d/64", "fd00::fe", "fd01::fe", "fd09::9", "fd16::5"},
	} {
		for _, mode := range []vip.Mode{vip.ModeNAT, vip.ModeGroup} {
			t.Run(f.name+" "+string(mode), func(t *testing.T) { f.test(t, mode) })
		}
	}
}

func (f routed) test(t *testing.T, mode vip.Mode) {
	bits := strings.SplitAfter(f.hosts, "/")[1]
	gateway := strings.Split(fmt.Sprintf(f.hosts, 1), "/")[0]
	w := newNetwork(t, 2, "", configured(t, fmt.Sprintf("routers:\n- {address: '%s/%s', gateway: '%s'}\n- address: '%s/%s'\n",
		f.router, bits, gateway, f.router2, bits))...)
	w.join(1, 10, 2, 11)
	w.family = f.family
	router, b1, b2 := w.host("r1", 1, 2, 1), w.host("b1", 2, 2, 2), w.host("b2", 3, 1, 3)
	c1 := w.host("c1", 11, 1, 1)
	w.family.hosts = f.other
	c2 := w.host("c2", 12, 1, 2)
	serve(8080, b1, b2)
	w.start()

	route := func(h *lab.Host, to, via string) { w.run(h, "ip", "route", "add", to, "via", via) }
	w.run(router, "ip", "address", "add", f.farClient, "dev", "lo") // as if behind it
	if f.name == "IPv4" {
		w.run(router, "sysctl", "-qw", "net.ipv4.conf.eth0.arp_announce=2")
	}
	for _, h := range []*lab.Host{router, c1} {
		route(h, f.farVIP, f.router)
	}
	route(c2, "default", f.router2)
	route(b1, "default", f.router)
	route(b2, "default", gateway)
	w.service(vip.Spec{Name: "near", Address: f.vip, Protocol: vip.TCP, Mode: mode, Port: "80"}, 8080, b1)
	w.service(vip.Spec{Name: "far", Address: f.farVIP, Protocol: vip.TCP, Mode: mode, Port: "80"}, 8080, b1)
	w.service(vip.Spec{Name: "far2", Address: f.farVIP, Protocol: vip.TCP, Mode: mode, Port: "81"}, 8080, b2)
	w.service(vip.Spec{Name: "farudp", Address: f.farVIP, Protocol: vip.UDP, Mode: mode, Port: "80"}, 8080, b1)

	for _, c := range []struct {
		from         *lab.Host
		local        string
		to           string
		there, again int // hops on the way there and back
		seen         string
	}{
		{c1, "", f.web(80), 0, 0, c1.IP()},
		{c1, "", at(f.farVIP, 80), 1, 0, c1.IP()},
		{c2, "", f.web(80), 1, 1, c2.IP()},
		{c2, "", at(f.farVIP, 80), 1, 1, c2.IP()},
		{router, at(f.farClient, 0), at(f.farVIP, 80), 1, 1, f.farClient},
		{router, at(f.farClient, 0), at(f.farVIP, 81), 1, 0, f.farClient}, // by way of the router itself
	} {
		backend := b1
		if strings.HasSuffix(c.to, "81") {
			backend = b2
		}
		ip, _, _ := net.SplitHostPort(c.to)
		there, again := w.tap(backend, hops), w.tap(c.from, hops)
		who, seen, err := w.dial(c.from, "tcp", c.local, c.to).ask("hello")
		if err != nil || who != backend.Name() {
			t.Errorf("%s %s to %s: %s answers, %v", c.from.Name(), c.local, c.to, who, err)
			continue
		}
		if host, _, _ := net.SplitHostPort(seen); host != c.seen {
			t.Errorf("%s to %s: the backend sees %s, not %s", c.from.Name(), c.to, seen, c.seen)
		}
		for what, p := range map[string]struct {
			*tap
			hops int
		}{"there": {there, c.there}, "back": {again, c.again}} {
			w.Eventually(patience, func() error {
				if len(p.packets()) == 0 {
					return fmt.Errorf("%s to %s, %s: nothing seen", c.from.Name(), c.to, what)
				}
				return nil
			})
			if g := p.packets()[0]; 64-ttl(g) != p.hops {
				t.Errorf("%s to %s, %s: %d hops, want %d: %v", c.from.Name(), c.to, what, 64-ttl(g), p.hops, g)
			}
		}
		w.run(c.from, "ping", "-c1", "-W5", ip)
	}
	w.who(w.dial(c2, "udp", "", at(f.farVIP, 80)))
	_, err := dial(w.ctx, c2, "tcp", "", at(f.farVIP, 82))
	w.refused("a closed port of a VIP that is routed", err)
	w.run(c2, "ping", "-c1", "-W5", f.router2)

	for h, to := range map[*lab.Host]string{c2: b1.IP(), b1: c2.IP()} {
		if out, err := h.Run(w.ctx, "ping", "-c2", "-i0.2", "-W1", to); err == nil {
			t.Errorf("%s reaches %s, which is no VIP:\n%s", h.Name(), to, out)
		}
	}
	w.Eventually(patience, func() error {
		for _, s := range w.switches {
			n, err := w.drops("to a VIP's MAC, but to no VIP", s)
			if err != nil {
				return err
			}
			if n < 2 {
				return fmt.Errorf("switch %s has counted %d", s.Name(), n)
			}
		}
		return nil
	})
}

// hops wants TCP with data.
func hops(g gopacket.Packet) bool { return tcpOf(g) != nil && len(tcpOf(g).Payload) > 0 }

func ttl(g gopacket.Packet) int {
	switch ip := g.NetworkLayer().(type) {
	case *layers.IPv4:
		return int(ip.TTL)
	case *layers.IPv6:
		return int(ip.HopLimit)
	}
	return 0
}
