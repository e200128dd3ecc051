package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
)

// Two VIPs of one address, of modes group and nat, lead to the same ports of the same backends. Connections of both live side by
// side, from neighbouring ports of one client and from the backends themselves, and a change of one VIP does not touch the other's.
func TestGroupBesideNAT(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.version+" "+way.name, func(t *testing.T) {
			w := line(t, 2, way.version)
			w.family = way.family
			client, b1, b2, b3 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1), w.host("b3", 3, 2, 2)
			serve(8080, b1, b2, b3)
			w.start()
			ports := map[vip.Mode]int{vip.ModeGroup: 80, vip.ModeNAT: 81}
			for mode, port := range ports {
				for _, network := range []string{"tcp", "udp"} {
					w.service(vip.Spec{Name: fmt.Sprintf("%s-%s", mode, network), Address: way.vip, Protocol: vip.Protocol(network),
						Port: vip.PortRange(fmt.Sprint(port)), Mode: mode}, 8080, b1, b2, b3)
				}
			}
			type held struct {
				*conn
				mode vip.Mode
				at   string
			}
			var all []held
			local := 20000
			open := func() {
				t.Helper()
				for range 6 {
					for _, from := range []string{"c1", "b1"} {
						host := client
						if from == "b1" {
							host = b1
						}
						for mode, port := range ports {
							for _, network := range []string{"tcp", "udp"} {
								local++
								c := w.dial(host, network, fmt.Sprint(":", local), way.web(port))
								all = append(all, held{c, mode, w.who(c)})
							}
						}
					}
				}
			}
			stay := func(when, but string, of vip.Mode) {
				t.Helper()
				for _, c := range all {
					if c.mode == of && c.at == but {
						continue
					}
					if got, _, err := c.ask("still"); err != nil || got != c.at {
						t.Errorf("%s: mode %s, %s from %s, was at %s: %q, %v", when, c.mode, c.RemoteAddr(), c.LocalAddr(), c.at, got, err)
					}
				}
			}
			open()
			stay("at first", "", "")
			for _, network := range []string{"tcp", "udp"} {
				w.change(http.MethodPatch, "group-"+network+"/backends/b2", map[string]any{"weight": 3})
				w.change(http.MethodPatch, "nat-"+network+"/backends/b3", map[string]any{"admin": "draining"})
			}
			stay("changed", "", "")
			open()
			for _, network := range []string{"tcp", "udp"} {
				w.change(http.MethodDelete, "group-"+network+"/backends/b1", nil)
			}
			stay("a backend of group has left", "b1", vip.ModeGroup)
			for _, network := range []string{"tcp", "udp"} {
				w.change(http.MethodDelete, "nat-"+network, nil)
			}
			for _, c := range all {
				if c.mode == vip.ModeGroup && c.at != "b1" {
					if got, _, err := c.ask("still"); err != nil || got != c.at {
						t.Errorf("the other VIP has gone: %s from %s, was at %s: %q, %v", c.RemoteAddr(), c.LocalAddr(), c.at, got, err)
					}
				}
			}
		})
	}
}
