package e2e

import (
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
)

const address = "10.0.0.100"

// A connection through a VIP, with the client's and the backend's switch being one, neighbours, and with one between, over
// sessions of both versions, in both families. The port is translated; the client sees the VIP, the backend the client.
func TestPath(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for n, name := range map[int]string{1: "one switch", 2: "two switches", 3: "three switches"} {
			t.Run(way.version+" "+way.name+" "+name, func(t *testing.T) {
				w := line(t, n, way.version)
				w.family = way.family
				client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, n, 2)
				serve(8080, backend)
				w.start()
				for _, network := range []string{"tcp", "udp"} {
					w.service(vip.Spec{Name: network, Address: way.vip, Protocol: vip.Protocol(network), Port: "80"}, 8080, backend)
					var all []*conn
					for range 3 {
						c := w.dial(client, network, "", way.web(80))
						all = append(all, c)
						who, seen, err := c.ask("hello")
						if err != nil {
							t.Fatalf("%s: %v", network, err)
						}
						if who != "b1" || seen != c.LocalAddr().String() {
							t.Errorf("%s: %s answers and sees %s; the client is %s", network, who, seen, c.LocalAddr())
						}
						if peer := c.RemoteAddr().String(); peer != way.web(80) {
							t.Errorf("%s: the client's peer is %s", network, peer)
						}
					}
					if network == "tcp" {
						w.smooth("the first packets", all, 0)
					}
				}
				if s, err := w.api.switches(); err != nil || s[0].OpenFlow != way.version[8:9]+"."+way.version[9:] {
					t.Errorf("sessions of OpenFlow %s, %v", s[0].OpenFlow, err)
				}
			})
		}
	}
}
