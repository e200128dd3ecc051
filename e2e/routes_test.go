package e2e

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// beyond is a family with what is behind a router that is a host of ours.
type beyond struct {
	family
	networks string // as a format of the router's ports
	behind   string
	gateway  string // the router's address in the hosts' network
	far      string // another network of hosts, as a format
	ours     [2]string
}

var (
	beyond4 = beyond{ipv4, "10.8.%d.%d/24", "10.8.0.0/16", "10.0.0.20", "10.1.0.%d/24", [2]string{"10.0.0.254", "10.1.0.254"}}
	beyond6 = beyond{ipv6, "fd08:0:0:%d::%d/64", "fd08::/48", "fd00::20", "fd01::%d/64", [2]string{"fd00::fe", "fd01::fe"}}
)

// config has a route to what is behind the router.
func (f beyond) config(t *testing.T, more string) []string {
	return configured(t, fmt.Sprintf("routes:\n- {network: '%s', via: '%s'}\n%s", f.behind, f.gateway, more))
}

// router makes a router at a switch's port, and backends b2, b3 … each in a network of its own behind it.
func (w *network) router(f beyond, sw, port, backends int) (router *lab.Host, behind []*lab.Host) {
	w.t.Helper()
	bits := f.hosts[strings.Index(f.hosts, "/"):]
	router = w.Host("r1", f.gateway+bits)
	w.cables["r1"] = w.Link(router, 0, w.sw(sw), port)
	for i := range backends {
		b := w.Host(fmt.Sprintf("b%d", i+2), fmt.Sprintf(f.networks, i+1, 5))
		w.Link(b, 0, router, i+1)
		near := fmt.Sprintf(f.networks, i+1, 1)
		w.run(router, "ip", "address", "add", near, "dev", fmt.Sprint("eth", i+1), "nodad")
		w.run(b, "ip", "route", "add", "default", "via", near[:strings.Index(near, "/")])
		behind = append(behind, b)
	}
	forwarding := "net.ipv4.ip_forward=1"
	if f.name == "IPv6" {
		forwarding = "net.ipv6.conf.all.forwarding=1"
	}
	w.run(router, "sysctl", "-qw", forwarding)
	return router, behind
}

// Backends behind a router at one edge and one at another are in the same sets. Through changes that move choices between them nothing
// breaks; who is behind the router is translated at its edge, both ways, and nowhere else.
//
//	c1 ── s1 ── s2 ── s3 ── r1 ── b2, b3, b4
//	             └ b1
func TestDeferredBehindRouter(t *testing.T) {
	t.Parallel()
	for _, f := range []beyond{beyond4, beyond6} {
		t.Run(f.name, func(t *testing.T) {
			w := line(t, 3, "OpenFlow15", f.config(t, "")...)
			w.family = f.family
			p := &handOver{network: w, client: w.host("c1", 11, 1, 1), backends: []*lab.Host{w.host("b1", 1, 2, 1)}}
			_, behind := w.router(f, 3, 1, 3)
			p.backends = append(p.backends, behind...)
			serve(8080, p.backends...)
			p.seen.listen(5353, p.backends...)
			w.start()
			for i, s := range handOverServices {
				w.service(vip.Spec{Name: s.name, Address: w.family.vip, Protocol: s.protocol, Port: vip.PortRange(fmt.Sprint(80 + i)),
					Mode: vip.ModeDeferred}, s.port, p.backends[:3]...)
			}
			p.begin(40, 20, 20)
			all := func(method, path string, body func(port uint16) map[string]any) {
				t.Helper()
				var done sync.WaitGroup
				for _, s := range handOverServices {
					done.Go(func() {
						if err := w.call(method, "/api/v1/vips/"+s.name+"/backends"+path+"?wait=30s", body(s.port), nil); err != nil {
							t.Error(err)
						}
					})
				}
				done.Wait()
			}
			set := func(key string, value any) func(uint16) map[string]any {
				return func(uint16) map[string]any { return map[string]any{key: value} }
			}
			all(http.MethodPost, "", func(port uint16) map[string]any {
				return map[string]any{"name": "b4", "address": behind[2].IP(), "port": port, "weight": 2}
			})
			all(http.MethodPatch, "/b1", set("weight", 3))
			all(http.MethodPatch, "/b2", set("admin", "draining"))
			all(http.MethodPatch, "/b1", set("admin", "draining"))
			all(http.MethodPatch, "/b2", set("admin", "enabled"))
			all(http.MethodPatch, "/b1", set("admin", "enabled"))
			all(http.MethodDelete, "/b4", func(uint16) map[string]any { return nil }) // which has no connection
			p.whole()
			tracked := func(i int) string { return w.sw(i).Appctl("dpctl/dump-conntrack") }
			if known := tracked(1); known != "" {
				t.Errorf("the gateway has tracked\n%s", known)
			}
			if known := tracked(2); strings.Contains(known, behind[0].IP()) || !strings.Contains(known, p.backends[0].IP()) {
				t.Errorf("the direct backend's edge has tracked\n%s", known)
			}
			if known := tracked(3); !strings.Contains(known, behind[0].IP()) || !strings.Contains(known, behind[1].IP()) {
				t.Errorf("the router's edge has tracked\n%s", known)
			}
		})
	}
}

// Backends behind a router are served in all modes, to clients of its network and, by way of an address of ours, of another. Who is
// behind the router is a client too. Probes pass the router.
func TestModesBehindRouter(t *testing.T) {
	t.Parallel()
	for _, f := range []beyond{beyond4, beyond6} {
		t.Run(f.name, func(t *testing.T) { f.modes(t) })
	}
}

func (f beyond) modes(t *testing.T) {
	bits := f.hosts[strings.Index(f.hosts, "/"):]
	w := line(t, 2, "OpenFlow15", f.config(t, fmt.Sprintf("routers: [{address: '%s%s'}, {address: '%s%s'}]\n", f.ours[0], bits, f.ours[1], bits))...)
	w.family = f.family
	c1, b1 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2)
	w.family.hosts = f.far
	c2 := w.host("c2", 12, 1, 3)
	w.family.hosts = f.hosts
	router, behind := w.router(f, 2, 1, 2)
	far := fmt.Sprintf(f.far, 0)
	w.run(router, "ip", "route", "add", far, "via", f.ours[0])
	w.run(b1, "ip", "route", "add", far, "via", f.ours[0])
	w.run(b1, "ip", "route", "add", f.behind, "via", f.gateway)
	w.run(c2, "ip", "route", "add", "default", "via", f.ours[1])
	backends := append([]*lab.Host{b1}, behind...)
	modes := []vip.Mode{vip.ModeNAT, vip.ModeGroup, vip.ModeDeferred, vip.ModeOthello}
	for i := range modes {
		serve(8080+i, backends...)
	}
	w.start()
	for i, mode := range modes {
		probe := vip.HealthTCP
		if i%2 == 1 {
			probe = vip.HealthICMP
		}
		w.service(vip.Spec{Name: string(mode), Address: w.family.vip, Protocol: vip.TCP, Port: vip.PortRange(fmt.Sprint(80 + i)), Mode: mode,
			Health: &vip.Health{Type: probe, Interval: vip.Duration(time.Second), Timeout: vip.Duration(time.Second)}},
			uint16(8080+i), backends...)
	}
	for i, mode := range modes {
		for _, c := range []*lab.Host{c1, c2} {
			w.served(mode, c, 80+i, backends, func(string) string { return c.IP() })
		}
		if mode == vip.ModeNAT {
			continue // there, whom a backend answers past its switch is served by others alone
		}
		w.served(mode, behind[0], 80+i, backends, func(backend string) string {
			if backend == b1.Name() {
				return behind[0].IP()
			}
			return w.family.vip
		})
	}
	if b, err := w.status("nat", "b2"); err != nil || b.Via != f.gateway {
		t.Errorf("b2 is behind %q, %v", b.Via, err)
	}
	x, err := w.explain("tcp", at(behind[0].IP(), 4000), w.family.web(82))
	if err != nil || x.DPID != dpid(w.sw(2)) || (x.Via != "") != (x.Backend != "b1") {
		t.Errorf("explained: %+v, %v", x, err)
	}
	spec := vip.Spec{Name: "arp", Address: w.family.vip, Protocol: vip.TCP, Port: "90", Mode: vip.ModeNAT, Health: &vip.Health{Type: vip.HealthARP},
		Backends: []vip.BackendSpec{{Name: "b2", Address: behind[0].IP()}}}
	if err := w.call(http.MethodPost, "/api/v1/vips", spec, nil); err == nil || !strings.Contains(err.Error(), "is behind "+f.gateway) {
		t.Errorf("probes by ARP: %v", err)
	}

	if f.name == "IPv4" { // over IPv6 Open vSwitch damages what an error quotes
		f.smallMTU(w, c1, router, backends, modes)
	}

	w.run(router, "ip", "link", "set", "eth2", "down")
	for _, mode := range modes {
		w.awaitState(string(mode), "b3", vip.StateDown)
		w.awaitState(string(mode), "b2", vip.StateUp)
	}
	w.cables["r1"].Cut()
	w.Eventually(patience, func() error {
		b, err := w.status("group", "b2")
		if err == nil && (b.State != vip.StateDown || !strings.Contains(b.Reason, "port 1 of switch "+dpid(w.sw(2)))) {
			err = fmt.Errorf("without the router b2 is %s (%s)", b.State, b.Reason)
		}
		return err
	})
}

// served connects until each backend has answered, which must have seen the right client. An answer of each connection comes later too.
func (w *network) served(mode vip.Mode, c *lab.Host, port int, backends []*lab.Host, client func(backend string) string) map[string]*conn {
	w.t.Helper()
	held := map[string]*conn{}
	for tries := 0; len(held) < len(backends); tries++ {
		if tries == 100 {
			w.t.Fatalf("%s, %s: %d of %d backends have answered", mode, c.Name(), len(held), len(backends))
		}
		x := w.dial(c, "tcp", "", w.family.web(port))
		name, seen, err := x.ask("who")
		if err != nil {
			w.t.Fatalf("%s, %s: %v", mode, c.Name(), err)
		}
		if host, _, _ := net.SplitHostPort(seen); host != client(name) {
			w.t.Errorf("%s, %s: %s has seen %s, not %s", mode, c.Name(), name, host, client(name))
		}
		held[name] = x
	}
	for name, x := range held {
		if again := w.who(x); again != name {
			w.t.Errorf("%s, %s: from %s to %s", mode, c.Name(), name, again)
		}
	}
	return held
}

// smallMTU has the router tell the client that it must send less.
func (f beyond) smallMTU(w *network, client, router *lab.Host, backends []*lab.Host, modes []vip.Mode) {
	w.t.Helper()
	near := fmt.Sprintf(f.networks, 1, 1)
	w.run(router, "ip", "link", "set", "eth1", "mtu", "1400")
	w.run(backends[1], "ip", "route", "replace", "default", "via", near[:strings.Index(near, "/")], "mtu", "1400", "advmss", "1440")
	for i, mode := range modes {
		if mode == vip.ModeNAT { // which translates no errors
			continue
		}
		w.run(client, "ip", "route", "flush", "cache")
		held := w.served(mode, client, 80+i, backends, func(string) string { return client.IP() })
		if name, _, err := held["b2"].ask(strings.Repeat("x", 4000)); err != nil || name != "b2" {
			w.t.Errorf("%s, by a path with a small MTU: %q, %v", mode, name, err)
		}
	}
}
