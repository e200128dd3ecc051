package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// othelloPool is the network of [newDeferredPool] with services of mode othello.
func othelloPool(t *testing.T) *deferredPool {
	return newDeferredPool(t, func(s *vip.Spec) { s.Mode = vip.ModeOthello })
}

// What mode deferred promises is true of mode othello, which chooses in another way.
func TestOthelloPath(t *testing.T)             { tryPath(t, vip.ModeOthello) }
func TestOthelloBackends(t *testing.T)         { tryBackends(t, othelloPool(t)) }
func TestOthelloControllerKilled(t *testing.T) { tryControllerKilled(t, othelloPool(t)) }
func TestOthelloCounts(t *testing.T)           { tryCounts(t, othelloPool(t)) }
func TestOthelloHandOver(t *testing.T) {
	tryHandOver(t, newHandOver(t, 8, func(s *vip.Spec) { s.Mode = vip.ModeOthello }), 10)
}

// Every new connection goes where explain says, whichever switch its packets come in by: before and after changes, over both
// families and protocols.
func TestOthelloForetold(t *testing.T) {
	for _, way := range ways {
		if way.version != "OpenFlow15" {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			w := line(t, 2, way.version)
			w.family = way.family
			c1, c2 := w.host("c1", 11, 1, 1), w.host("c2", 12, 2, 1)
			b1, b2, b3 := w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 2), w.host("b3", 3, 2, 3)
			serve(8080, b1, b2, b3)
			w.start()
			for _, network := range []string{"tcp", "udp"} {
				w.service(vip.Spec{Name: network, Address: way.vip, Protocol: vip.Protocol(network), Port: "80", Mode: vip.ModeOthello}, 8080, b1, b2, b3)
			}
			port := 20000
			some := func(when string) {
				t.Helper()
				by := map[string]int{}
				for i := range 60 {
					network, client := []string{"tcp", "udp"}[i%2], []*lab.Host{c1, c2}[i/2%2]
					port++
					x, err := w.explain(network, at(client.IP(), port), way.web(80))
					if err != nil {
						t.Fatalf("%s: %v", when, err)
					}
					if x.Mode != vip.ModeOthello || x.Reason != "" || len(x.Switches) != 2 || x.Switches[0].Backend != x.Switches[1].Backend {
						t.Errorf("%s: %+v", when, x)
					}
					got := w.who(w.dial(client, network, fmt.Sprint(":", port), way.web(80)))
					if by[got]++; got != x.Backend {
						t.Errorf("%s: %s from port %d is said to go to %s, and is at %s", when, network, port, x.Backend, got)
					}
				}
				if len(by) < 2 {
					t.Errorf("%s: all connections are at %v", when, by)
				}
			}
			some("at first")
			for _, network := range []string{"tcp", "udp"} {
				w.change(http.MethodPatch, network+"/backends/b2", map[string]any{"weight": 3})
				w.change(http.MethodPatch, network+"/backends/b3", map[string]any{"admin": "draining"})
			}
			some("after a change")
			for _, network := range []string{"tcp", "udp"} {
				w.change(http.MethodPatch, network+"/backends/b3", map[string]any{"admin": "enabled"})
				w.change(http.MethodPatch, network+"/backends/b1", map[string]any{"admin": "disabled"})
			}
			some("after another")
		})
	}
}
