package e2e

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// Several backends with one MAC, two ports of a host and another address of its, as there are of containers, are told
// apart, and connections stay at theirs, whichever of them go.
func TestDeferredOneHost(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]vip.Mode{"deferred": vip.ModeDeferred, "othello": vip.ModeOthello} {
		t.Run(name, func(t *testing.T) {
			w := line(t, 2, "OpenFlow15")
			client, other := w.host("c1", 11, 1, 1), w.host("b4", 4, 1, 2)
			many := w.Host("m1", "10.0.0.1/24", lab.Address("10.0.0.2/24"))
			w.cables["m1"] = w.Link(many, 0, w.sw(2), 1)
			backends := []vip.BackendSpec{{Name: "b1", Address: "10.0.0.1", Port: 8080}, {Name: "b2", Address: "10.0.0.1", Port: 8081},
				{Name: "b3", Address: "10.0.0.2", Port: 8080}, {Name: "b4", Address: "10.0.0.4", Port: 8080}}
			where := map[string]string{}
			for _, b := range backends {
				where[b.Name] = net.JoinHostPort(b.Address, fmt.Sprint(b.Port))
				h := many
				if b.Name == "b4" {
					h = other
				}
				serveTCPAs(h, where[b.Name], where[b.Name])
				serveUDPAs(h, where[b.Name], where[b.Name])
			}
			w.start()
			networks := []string{"tcp", "udp"}
			for _, n := range networks {
				w.declare(vip.Spec{Name: n, Address: address, Protocol: vip.Protocol(n), Port: "80", Mode: mode, Backends: backends})
				w.awaitSteady(n, 4)
			}
			p := &groupPool{network: w, client: client}
			patch := func(backend string, how map[string]any) {
				t.Helper()
				for _, n := range networks {
					w.change(http.MethodPatch, n+"/backends/"+backend, how)
				}
			}
			tcp, udp := p.open("tcp", 4), p.open("udp", 4)
			for _, at := range where {
				if len(tcp[at]) == 0 || len(udp[at]) == 0 {
					t.Errorf("nothing is at %s: %v, %v", at, tcp, udp)
				}
			}
			stay := func(when, gone string) {
				t.Helper()
				p.stay(when, tcp, where[gone])
				p.stay(when, udp, where[gone])
			}
			stay("at first", "")
			patch("b2", map[string]any{"admin": "draining"})
			for at := range p.open("tcp", 3) {
				if at == where["b2"] {
					t.Errorf("a new connection is at b2, which drains")
				}
			}
			stay("b2 drains", "")
			patch("b4", map[string]any{"weight": 3})
			stay("b4 weighs more", "")
			patch("b2", map[string]any{"admin": "enabled"})
			stay("b2 is back", "")
			for _, n := range networks { // which has its host's MAC
				w.change(http.MethodDelete, n+"/backends/b1", nil)
			}
			p.reset("b1 removed", tcp[where["b1"]])
			stay("b1 removed", "b1")
			p.open("tcp", 3)
		})
	}
}
