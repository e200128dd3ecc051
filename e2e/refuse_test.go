package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket"

	"github.com/evenflow/evenflow/apps/vip"
)

// refused fails the test unless a client is refused, by RST over TCP and by ICMP over UDP.
func (w *network) refused(why string, err error) {
	w.t.Helper()
	if !errors.Is(err, syscall.ECONNREFUSED) {
		w.t.Errorf("%s: %v; want a connection refused", why, err)
	}
}

// What nobody serves at a VIP's address is refused at once, as a host does.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.version+" "+way.name, func(t *testing.T) {
			w := line(t, 2, way.version)
			w.family = way.family
			client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1)
			serve(8080, backend)
			w.start()
			absent := strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf(way.hosts, 250), "/24"), "/64")
			for _, name := range []string{"tcp", "udp"} {
				p := vip.Protocol(name)
				w.service(vip.Spec{Name: name, Address: way.vip, Protocol: p, Port: "80"}, 8080, backend)
				w.declare(vip.Spec{Name: name + "-empty", Address: way.vip, Protocol: p, Port: "81"})
				w.declare(vip.Spec{Name: name + "-unknown", Address: way.vip, Protocol: p, Port: "82",
					Backends: []vip.BackendSpec{{Name: "b", Address: absent}}})
				w.declare(vip.Spec{Name: name + "-disabled", Address: way.vip, Protocol: p, Port: "83",
					Backends: []vip.BackendSpec{{Name: "b", Address: backend.IP(), Port: 8080, Admin: vip.Disabled}}})
			}
			tcp := func(why, to string) {
				t.Helper()
				_, err := dial(w.ctx, client, "tcp", "", to)
				w.refused("TCP, "+why, err)
			}
			udp := func(why, to string) {
				t.Helper()
				c := w.dial(client, "udp", "", to)
				_, _, err := c.ask("hello")
				w.refused("UDP, "+why, err)
			}
			for why, to := range map[string]int{"closed port": 79, "no backends": 81, "backend not known": 82, "backend disabled": 83} {
				tcp(why, way.web(to))
				udp(why, way.web(to))
			}
			w.cables["b1"].Cut()
			for _, name := range []string{"tcp", "udp"} {
				w.awaitState(name, "b1", vip.StateDown)
			}
			tcp("backend down", way.web(80))
			udp("backend down", way.web(80))
			w.cables["b1"].Restore()
			for _, name := range []string{"tcp", "udp"} {
				w.awaitState(name, "b1", vip.StateUp)
				w.who(w.dial(client, name, "", way.web(80)))
			}
			w.change(http.MethodDelete, "tcp", nil)
			tcp("VIP deleted", way.web(80))
			w.who(w.dial(client, "udp", "", way.web(80)))
		})
	}
}

// A segment of a connection that nobody knows is answered by a RST that its sender accepts; it is never balanced.
func TestUnknownConnectionReset(t *testing.T) {
	w := line(t, 1, "")
	client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, backend)
	atBackend := w.tap(backend, func(g gopacket.Packet) bool { return tcpOf(g) != nil })
	atClient := w.tap(client, tcpFrom(80))
	out := client.Frames()
	for i, flags := range []string{"A", "PA", "FA", "SA"} {
		s := segment{hostMAC(t, client), vipMAC, client.IP(), address, uint16(6000 + i), 80, flags, 100, 7000, "late"}
		if err := out.Send(s.frame(t)); err != nil {
			t.Fatal(err)
		}
	}
	none := segment{hostMAC(t, client), vipMAC, client.IP(), address, 6100, 80, "R", 100, 7000, ""} // a RST has no answer
	if err := out.Send(none.frame(t)); err != nil {
		t.Fatal(err)
	}
	w.Eventually(patience, func() error {
		if n := len(atClient.packets()); n < 4 {
			return errors.New("some segments have no answer")
		}
		return nil
	})
	if _, err := dial(w.ctx, client, "tcp", "", address+":79"); !errors.Is(err, syscall.ECONNREFUSED) { // all before it has been answered
		t.Errorf("closed port: %v", err)
	}
	got := atClient.packets()
	if len(got) != 4 {
		t.Errorf("%d answers to four segments and a RST", len(got))
	}
	for _, g := range got {
		if r := tcpOf(g); !r.RST || r.Seq != 7000 || g.NetworkLayer().NetworkFlow().Src().String() != address {
			t.Errorf("answer: %v", g)
		}
	}
	if n := len(atBackend.packets()); n != 0 {
		t.Errorf("%d segments have reached the backend", n)
	}
	if n, err := w.live("web"); err != nil || n != 0 {
		t.Errorf("%d live connections, %v", n, err)
	}
}

// In the other modes such a segment comes to a backend, whose own kernel resets it, or, without a backend, to the controller.
func TestUnknownConnectionResetByItsBackend(t *testing.T) {
	t.Parallel()
	for _, mode := range modes[1:] {
		t.Run(string(mode), func(t *testing.T) {
			w := line(t, 2, "")
			client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1)
			serve(8080, backend)
			w.start()
			w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Mode: mode}, 8080, backend)
			w.Eventually(patience, func() error { // the switches' cache may refuse for a moment
				c, err := dial(w.ctx, client, "tcp", "", address+":80")
				if err == nil {
					err = c.Close()
				}
				return err
			})
			atClient, out := w.tap(client, tcpFrom(80)), client.Frames()
			answered := func(when string, port uint16) {
				t.Helper()
				want := map[uint16]string{}
				for i, flags := range []string{"A", "PA", "FA"} {
					want[port+uint16(i)] = flags
				}
				w.Eventually(patience, func() error {
					for port, flags := range want {
						s := segment{hostMAC(t, client), vipMAC, client.IP(), address, port, 80, flags, 100, 7000, "late"}
						if err := out.Send(s.frame(t)); err != nil {
							return err
						}
					}
					for _, g := range atClient.packets() {
						if r := tcpOf(g); r.RST && r.Seq == 7000 && g.NetworkLayer().NetworkFlow().Src().String() == address {
							delete(want, uint16(r.DstPort))
						}
					}
					if len(want) > 0 {
						return fmt.Errorf("%s: no RST to ports %v", when, want)
					}
					return nil
				})
			}
			answered("a backend", 6000)
			w.change(http.MethodDelete, "web/backends/b1", nil)
			answered("none", 6100)
		})
	}
}

// A flood of SYNs to a VIP that must refuse them is answered only so often as its meter allows, and takes nothing from others.
func TestRefusalsAreMetered(t *testing.T) {
	w := line(t, 1, "")
	client, flooder, backend := w.host("c1", 11, 1, 1), w.host("c2", 12, 1, 2), w.host("b1", 1, 1, 3)
	serve(8080, backend)
	w.start()
	w.declare(vip.Spec{Name: "empty", Address: address, Protocol: vip.TCP, Port: "81"})
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, backend)
	resets, out := w.tap(flooder, tcpFrom(81)), flooder.Frames()
	begin := time.Now()
	sent := 0
	stop := flood(t, out, func(i int) []byte {
		sent = i + 1
		return segment{hostMAC(t, flooder), vipMAC, flooder.IP(), address, uint16(10000 + i%50000), 81, "S", 1, 0, ""}.frame(t)
	})
	defer stop()
	var all []*conn
	arrived := uint64(0)
	w.Eventually(patience, func() error { // however many of them the switch's socket loses
		c := w.dial(client, "tcp", "", address+":80")
		w.who(c)
		all = append(all, c)
		flows, err := w.flows(dpid(w.sw(1)))
		if err != nil {
			return err
		}
		arrived = 0
		for _, f := range flows {
			if f.Table == 30 && strings.Contains(f.Match, "tp_dst=81") {
				arrived += f.Packets
			}
		}
		if arrived < 2000 || len(all) < 3 {
			return fmt.Errorf("only %d SYNs have come to the switch's rule", arrived)
		}
		return nil
	})
	stop()
	w.smooth("in the flood", all, 0)
	w.who(w.dial(client, "tcp", "", address+":80")) // behind what the flood has sent to the controller
	took := time.Since(begin).Seconds()
	n := len(resets.packets())
	if limit := 2 * (100*took + 100); n == 0 || float64(n) > limit {
		t.Errorf("%d of %d SYNs in %.1f s were answered, want some and at most %.0f", n, sent, took, limit)
	}
	t.Logf("%d of %d SYNs in %.1f s were answered, %d came to the rule", n, sent, took, arrived)
}

// A VIP that rejects by dropping is silent to all that cannot have a connection, at its closed ports too, and tells those who had
// one. VIPs of other addresses answer as ever.
func TestRejectByDropping(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			w := line(t, 1, "")
			client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2)
			serve(8080, backend)
			w.start()
			w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Mode: mode, Reject: vip.RejectDrop}, 8080, backend)
			w.declare(vip.Spec{Name: "aloud", Address: "10.0.0.101", Protocol: vip.TCP, Port: "80", Mode: mode})
			c := w.dial(client, "tcp", "", address+":80")
			w.who(c)
			answers, out := w.tap(client, func(g gopacket.Packet) bool {
				r := tcpOf(g)
				return r != nil && r.RST && r.DstPort >= 7000 && r.DstPort <= 7100
			}), client.Frames()
			begin := func(to string, port, from uint16) {
				t.Helper()
				s := segment{hostMAC(t, client), vipMAC, client.IP(), to, from, port, "S", 1, 0, ""}
				if err := out.Send(s.frame(t)); err != nil {
					t.Fatal(err)
				}
			}
			w.change(http.MethodPatch, "web/backends/b1", map[string]any{"admin": "disabled"})
			w.reset("disabled", []*conn{c}) // and the switch's cache has followed
			for i := range uint16(10) {
				begin(address, 80, 7000+i)
				begin(address, 81, 7000+i)
			}
			w.Eventually(patience, func() error {
				begin("10.0.0.101", 80, 7100) // refused after all that was before it
				if len(answers.packets()) == 0 {
					return errors.New("the other VIP does not answer")
				}
				return nil
			})
			for _, g := range answers.packets() {
				if from := g.NetworkLayer().NetworkFlow().Src().String(); from != "10.0.0.101" {
					t.Errorf("an answer from %s", from)
				}
			}
		})
	}
}

// Refusals of many VIPs are metered together, too.
func TestRefusalsAreMeteredInAll(t *testing.T) {
	t.Parallel()
	const rate, flooded, enough = 20, 6, 240
	for _, version := range []string{"OpenFlow15", "OpenFlow13"} {
		t.Run(version, func(t *testing.T) {
			w := line(t, 1, version, "--config", writeFile(t, fmt.Sprintf("packet_in: {reject: %d}\n", rate)))
			client := w.host("c1", 11, 1, 1)
			w.start()
			for i := range flooded {
				w.declare(vip.Spec{Name: fmt.Sprint("v", i), Address: address, Protocol: vip.TCP, Port: vip.PortRange(fmt.Sprint(80 + i)), Mode: modes[i%2]})
			}
			resets, out := w.tap(client, func(g gopacket.Packet) bool { r := tcpOf(g); return r != nil && r.RST }), client.Frames()
			begin := time.Now()
			stop := flood(t, out, func(i int) []byte {
				return segment{hostMAC(t, client), vipMAC, client.IP(), address, uint16(10000 + i%50000), uint16(80 + i%flooded), "S", 1, 0, ""}.frame(t)
			})
			defer stop()
			w.Eventually(patience, func() error { // however many of them the switch's socket loses
				flows, err := w.flows(dpid(w.sw(1)))
				if err != nil {
					return err
				}
				n := uint64(0)
				for _, f := range flows {
					if f.Table == 59 {
						n += f.Packets
					}
				}
				if n < enough {
					return fmt.Errorf("%d SYNs have passed the meters of their VIPs", n)
				}
				return nil
			})
			stop()
			took := time.Since(begin).Seconds()
			if n, limit := len(resets.packets()), 2*(rate*took+rate); n == 0 || float64(n) > limit {
				t.Errorf("%d SYNs in %.1f s were answered, want some and at most %.0f", n, took, limit)
			}
		})
	}
}
