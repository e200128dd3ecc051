package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// A VIP answers to ARP, once, and to ping, with its own MAC, on every switch; also while the controller is away.
func TestVIPAnswers(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"OpenFlow15", "OpenFlow13"} {
		t.Run(version, func(t *testing.T) {
			w := line(t, 2, version)
			clients := []*lab.Host{w.host("c1", 11, 1, 1), w.host("c2", 12, 2, 1)}
			w.start()
			w.declare(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}) // without backends as well
			for _, when := range []string{"with a controller", "without"} {
				for _, c := range clients {
					out, err := c.Run(w.ctx, "arping", "-c", "3", "-w", "10", "-I", "eth0", address)
					if err != nil {
						t.Fatalf("%s, %s: %v", c.Name(), when, err)
					}
					if n := strings.Count(strings.ToLower(out), vipMAC.String()); n != 3 {
						t.Errorf("%s, %s: %d answers to 3 requests:\n%s", c.Name(), when, n, out)
					}
					if _, err := c.Run(w.ctx, "ping", "-c3", "-i0.1", "-W5", address); err != nil {
						t.Errorf("%s, %s: %v", c.Name(), when, err)
					}
				}
				if when != "without" {
					w.ctl.stop()
				}
			}
		})
	}
}

// arpTo wants ARP for an address.
func arpTo(target string) func(gopacket.Packet) bool {
	return func(g gopacket.Packet) bool {
		a, ok := g.Layer(layers.LayerTypeARP).(*layers.ARP)
		return ok && fmt.Sprintf("%d.%d.%d.%d", a.DstProtAddress[0], a.DstProtAddress[1], a.DstProtAddress[2], a.DstProtAddress[3]) == target
	}
}

// In a ring, a broadcast reaches each host once and ends, and no frame comes back to its sender; traffic takes the shortest
// way, and goes on when a cable of the ring is cut.
func TestRing(t *testing.T) {
	w := newNetwork(t, 3, "")
	w.join(1, 10, 2, 11)
	w.join(2, 10, 3, 11)
	w.join(3, 10, 1, 11)
	var hosts []*lab.Host
	for i := 1; i <= 3; i++ {
		hosts = append(hosts, w.host(fmt.Sprint("h", i), i, i, 1))
	}
	serve(8080, hosts...)
	w.start()
	w.awaitLinks(3)
	const nobody = "10.0.0.200"
	var taps []*tap
	for _, h := range hosts {
		taps = append(taps, w.tap(h, arpTo(nobody)))
	}
	const rounds = 10
	broadcast := func(when string) {
		t.Helper()
		before := [3]int{len(taps[0].packets()), len(taps[1].packets()), len(taps[2].packets())}
		for range rounds {
			if err := taps[0].Send(arpRequest(t, hosts[0], nobody)); err != nil {
				t.Fatal(err)
			}
		}
		w.fence(hosts[0], taps[0].Frames, taps[1:]...)
		for i, want := range []int{0, rounds, rounds} { // a busy machine may lose some
			if n := len(taps[i].packets()) - before[i]; n > want || n < want/2 {
				t.Errorf("%s: %s has got %d copies of %d broadcasts", when, hosts[i].Name(), n, rounds)
			}
		}
	}
	broadcast("at first")

	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Scheduler: vip.RoundRobin}, 8080, hosts[1:]...)
	var all []*conn
	for range 4 {
		all = append(all, w.dial(hosts[0], "tcp", "", address+":80"))
	}
	w.cables["s1-s2"].Cut()
	w.awaitLinks(2)
	for _, c := range append(all, w.dial(hosts[0], "tcp", "", address+":80")) {
		w.Eventually(patience, func() error { // TCP sends again what the cut has taken
			_, _, err := c.ask("who")
			return err
		})
	}
	w.cables["s1-s2"].Restore()
	w.awaitLinks(3)
	broadcast("whole again")
}

func (w *network) awaitLinks(n int) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		links, err := w.links()
		if err == nil && len(links) != n {
			err = fmt.Errorf("%d links: %v", len(links), links)
		}
		return err
	})
	w.awaitReady()
}

// A client sees the VIP's MAC, a backend the client's, and nobody else sees anything of a connection.
func TestNothingLeaks(t *testing.T) {
	w := line(t, 2, "")
	client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1)
	bystander := w.host("h1", 21, 2, 2)
	serve(8080, backend)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, backend)
	w.who(w.dial(client, "tcp", "", address+":80")) // everything is known now
	if _, err := client.Run(w.ctx, "ping", "-c1", "-W5", bystander.IP()); err != nil {
		t.Fatal(err)
	}
	overheard := w.tap(bystander, func(g gopacket.Packet) bool { return tcpOf(g) != nil })
	atClient := w.tap(client, func(g gopacket.Packet) bool { return tcpOf(g) != nil })
	atBackend := w.tap(backend, func(g gopacket.Packet) bool { return tcpOf(g) != nil })
	for range 5 {
		w.who(w.dial(client, "tcp", "", address+":80"))
	}
	if n := len(overheard.packets()); n != 0 {
		t.Errorf("a bystander has got %d segments: %v", n, overheard.packets()[0])
	}
	for name, c := range map[string]struct {
		seen     []gopacket.Packet
		src, dst []byte
	}{
		"client":  {atClient.packets(), vipMAC, hostMAC(t, client)},
		"backend": {atBackend.packets(), hostMAC(t, client), hostMAC(t, backend)},
	} {
		for _, g := range c.seen {
			e := g.LinkLayer().(*layers.Ethernet)
			if !bytes.Equal(e.SrcMAC, c.src) || !bytes.Equal(e.DstMAC, c.dst) {
				t.Errorf("the %s has got a segment from %s to %s", name, e.SrcMAC, e.DstMAC)
			}
		}
	}
}
