package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

func (a *api) explain(proto, src, dst string) (x apps.Explanation, err error) {
	err = a.call(http.MethodGet, "/api/v1/explain?"+url.Values{"proto": {proto}, "src": {src}, "dst": {dst}}.Encode(), nil, &x)
	return x, err
}

// awaitHash waits until each switch has shown by which hash it chooses.
func (w *network) awaitHash() {
	w.t.Helper()
	w.Eventually(patience, func() error {
		all, err := w.api.switches()
		for _, s := range all {
			if s.Hash == "" || s.Hash == "unknown" {
				return fmt.Errorf("hash %q of switch %s", s.Hash, s.DPID)
			}
		}
		return err
	})
}

// What is said to become of a connection becomes of it: of a VIP of mode group, over both families and protocols, before and
// after a change, after the controller was killed, and after the switch was.
func TestExplain(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		if way.version == "OpenFlow13" {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			w := line(t, 2, way.version)
			w.family = way.family
			client, b1, b2, b3 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1), w.host("b3", 3, 2, 2)
			serve(8080, b1, b2, b3)
			w.start()
			for _, network := range []string{"tcp", "udp"} {
				w.service(vip.Spec{Name: network, Address: way.vip, Protocol: vip.Protocol(network), Port: "80", Mode: vip.ModeGroup}, 8080, b1, b2, b3)
			}
			port := 20000
			some := func(when string) {
				t.Helper()
				w.awaitHash()
				by := map[string]int{}
				for range 20 {
					for _, network := range []string{"tcp", "udp"} {
						port++
						src := at(client.IP(), port)
						x, err := w.explain(network, src, way.web(80))
						if err != nil {
							t.Fatalf("%s: %v", when, err)
						}
						if x.VIP != network || x.Mode != vip.ModeGroup || x.DPID != "" && x.DPID != dpid(w.sw(1)) || len(x.Switches) != 2 || x.Reason != "" {
							t.Errorf("%s: %+v", when, x)
						}
						got := w.who(w.dial(client, network, fmt.Sprint(":", port), way.web(80)))
						if by[got]++; got != x.Backend {
							t.Errorf("%s: %s from %s is said to go to %s, and is at %s", when, network, src, x.Backend, got)
						}
					}
				}
				if len(by) < 2 {
					t.Errorf("%s: all connections are at %v", when, by)
				}
			}
			up := func() {
				t.Helper()
				for _, network := range []string{"tcp", "udp"} {
					w.awaitState(network, "b1", vip.StateUp)
					w.awaitState(network, "b2", vip.StateUp)
				}
			}
			some("at first")
			for _, network := range []string{"tcp", "udp"} {
				w.change(http.MethodPatch, network+"/backends/b2", map[string]any{"weight": 3})
				w.change(http.MethodPatch, network+"/backends/b3", map[string]any{"admin": "draining"})
			}
			some("after a change")
			w.ctl.kill()
			w.ctl.start()
			w.awaitReady()
			up()
			some("after the controller")
			w.sw(1).Restart()
			w.Eventually(patience, func() error { // until its rules are back, and its hash is known again
				x, err := w.explain("tcp", at(client.IP(), 1), way.web(80))
				if err == nil && x.Backend == "" {
					err = fmt.Errorf("%s", x.Reason)
				}
				return err
			})
			w.awaitReady()
			up()
			some("after the switch")
			if _, err := w.explain("tcp", at(client.IP(), 1), way.web(81)); err == nil {
				t.Error("a port without a VIP is explained")
			}
		})
	}
}

// In OpenFlow 1.3 a switch chooses by a hash of its own, and that is said; so it is of mode nat that the controller chooses.
func TestNotExplained(t *testing.T) {
	w := line(t, 1, "OpenFlow13")
	client, b1 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2)
	serve(8080, b1)
	w.start()
	w.service(vip.Spec{Name: "group", Address: address, Protocol: vip.TCP, Port: "80", Mode: vip.ModeGroup}, 8080, b1)
	w.service(vip.Spec{Name: "nat", Address: address, Protocol: vip.TCP, Port: "81", Mode: vip.ModeNAT}, 8080, b1)
	for _, port := range []int{80, 81} {
		if x, err := w.explain("tcp", client.IP()+":4000", at(address, port)); err != nil || x.Backend != "" || x.Reason == "" || len(x.Switches) != 1 || x.Switches[0].Hash != "" {
			t.Errorf("port %d: %+v, %v", port, x, err)
		}
	}
	w.who(w.dial(client, "tcp", ":4000", address+":81"))
	if x, err := w.explain("tcp", client.IP()+":4000", address+":81"); err != nil || x.Backend != "b1" {
		t.Errorf("a connection that lives: %+v, %v", x, err)
	}
}

// Of mode deferred a gateway's choice is foretold as well, before and after a change.
func TestExplainDeferred(t *testing.T) {
	w := line(t, 2, "OpenFlow15")
	client, b1, b2, b3 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1), w.host("b3", 3, 2, 2)
	serve(8080, b1, b2, b3)
	w.start()
	for _, network := range []string{"tcp", "udp"} {
		w.service(vip.Spec{Name: network, Address: address, Protocol: vip.Protocol(network), Port: "80", Mode: vip.ModeDeferred}, 8080, b1, b2)
	}
	w.awaitHash()
	port := 20000
	some := func(when string) {
		t.Helper()
		for range 20 {
			for _, network := range []string{"tcp", "udp"} {
				port++
				x, err := w.explain(network, at(client.IP(), port), at(address, 80))
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				if got := w.who(w.dial(client, network, fmt.Sprint(":", port), at(address, 80))); got != x.Backend {
					t.Errorf("%s: %s from port %d is said to go to %q (%s), and is at %s", when, network, port, x.Backend, x.Reason, got)
				}
			}
		}
	}
	some("at first")
	for _, network := range []string{"tcp", "udp"} {
		w.change(http.MethodPost, network+"/backends", vip.BackendSpec{Name: "b3", Address: b3.IP(), Port: 8080})
		w.awaitState(network, "b3", vip.StateUp)
		w.Eventually(patience, func() error { // the change has been made in all its steps
			r, err := w.vip(network)
			if err == nil && (r.Status.HandOver == nil || r.Status.HandOver.Step != vip.StepSteady) {
				err = fmt.Errorf("hand-over %+v", r.Status.HandOver)
			}
			return err
		})
	}
	some("after a change")
}
