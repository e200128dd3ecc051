package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/evenflow/evenflow/lab"
)

// A router spreads packets to a VIP over gateways, each in a network of its own, by hashes of its own (equal-cost paths), and answers come
// another way. Gateways leave its routes and come back, one after its death, and traffic moves between them in the midst of connections, also while
// backends change: nothing breaks.
//
//	           ┌── s1 ──┐
//	c1 ── r1 ──┼── s2 ──┼── s3 ── b1 to b4
//	           └────────┘
func TestGatewaysBehindRouter(t *testing.T) {
	w := newNetwork(t, 3, "OpenFlow15", configured(t, "routers:\n- address: 192.168.1.254/24\n- address: 192.168.2.254/24\n")...)
	w.family.vip = "10.9.9.9" // in none of the networks
	w.join(1, 10, 3, 11)
	w.join(2, 10, 3, 12)
	router := w.Host("r1", "10.7.0.1/24")
	p := &handOver{network: w, client: w.Host("c1", "10.7.0.2/24")}
	w.Link(p.client, 0, router, 0)
	w.Link(router, 1, w.sw(1), 1)
	w.Link(router, 2, w.sw(2), 1)
	w.Link(router, 3, w.sw(3), 9)
	for i := range 4 {
		p.backends = append(p.backends, w.host(fmt.Sprintf("b%d", i+1), i+1, 3, 1+i))
		w.run(p.backends[i], "ip", "route", "add", "default", "via", "10.0.0.20")
	}
	w.run(p.client, "ip", "route", "add", "default", "via", "10.7.0.1")
	w.run(router, "sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1", "net.ipv4.conf.all.arp_announce=2") // its ports are in one network of ours
	for i, address := range []string{"192.168.1.1/24", "192.168.2.1/24", "10.0.0.20/24"} {
		w.run(router, "ip", "address", "add", address, "dev", fmt.Sprint("eth", i+1))
	}
	w.run(router, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=1", "net.ipv4.conf.all.rp_filter=0",
		"net.ipv4.conf.default.rp_filter=0", "net.ipv4.conf.eth1.rp_filter=0", "net.ipv4.conf.eth2.rp_filter=0", "net.ipv4.conf.eth3.rp_filter=0")
	route := func(gateways ...int) { // as a routing protocol would set it
		argv := []string{"ip", "route", "replace", w.family.vip}
		for _, i := range gateways {
			argv = append(argv, "nexthop", "via", fmt.Sprintf("192.168.%d.254", i), "dev", fmt.Sprint("eth", i))
		}
		w.run(router, argv...)
	}
	p.provide(nil, p.backends...)
	chosen := func(s *lab.Switch) int { return counted(t, s, 30, "priority=100,", "nw_dst="+w.family.vip) }
	// asked waits until each connection has been asked again, and says which gateways must have chosen meanwhile.
	asked := func(what string, gateways ...int) {
		t.Helper()
		before, answers := map[int]int{}, p.asked.Load()
		for _, i := range gateways {
			before[i] = chosen(w.sw(i))
		}
		w.Eventually(patience, func() error {
			if n := p.asked.Load() - answers; n < 2*80 {
				return fmt.Errorf("%s: %d answers", what, n)
			}
			for _, i := range gateways {
				if chosen(w.sw(i)) <= before[i] {
					return fmt.Errorf("%s: gateway s%d has chosen nothing", what, i)
				}
			}
			return nil
		})
		t.Logf("%s: %d broken, %d moved", what, p.broken.Load(), p.moved.Load())
	}
	backend := func(name, admin string) {
		t.Helper()
		for _, s := range handOverServices {
			w.change(http.MethodPatch, s.name+"/backends/"+name, map[string]any{"admin": admin})
		}
	}
	route(1, 2)
	p.begin(60, 20, 40)
	asked("both", 1, 2)
	route(2)
	asked("s2 alone", 2)
	backend("b1", "draining")
	route(1)
	asked("s1 alone, a backend drains", 1)
	route(1, 2)
	backend("b2", "draining")
	asked("both, another drains", 1, 2)
	w.sw(2).Kill()
	route(1) // which takes a router some time
	w.awaitConnected(2)
	backend("b1", "enabled")
	asked("s2 is dead, a backend comes back", 1)
	w.sw(2).Start()
	w.awaitReady()
	route(1, 2)
	asked("s2 is back", 1, 2)
	backend("b2", "enabled")
	route(2)
	asked("s2 alone, the other backend comes back", 2)
	for _, s := range w.switches[:2] {
		if known := s.Appctl("dpctl/dump-conntrack"); known != "" {
			t.Errorf("%s has tracked\n%s", s.Name(), known)
		}
	}
	p.whole()
}
