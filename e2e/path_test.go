package e2e

import (
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

const address = "10.0.0.100"

// A connection through a VIP, with the client's and the backend's switch being one, neighbours, and with one between, over
// sessions of both versions, in both families. The port is translated; the client sees the VIP, the backend the client.
func TestPath(t *testing.T) { tryPaths(t, vip.ModeNAT) }

func tryPaths(t *testing.T, mode vip.Mode) {
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
					w.service(vip.Spec{Name: network, Address: way.vip, Protocol: vip.Protocol(network), Port: "80", Mode: mode}, 8080, backend)
					w.tryPath(way.family, network, client, backend)
					w.trySelf(way.family, network, backend)
				}
				if s, err := w.api.switches(); err != nil || s[0].OpenFlow != way.version[8:9]+"."+way.version[9:] {
					t.Errorf("sessions of OpenFlow %s, %v", s[0].OpenFlow, err)
				}
			})
		}
	}
}

// tryPath makes connections through a VIP's port 80 to its only backend: the client sees the VIP, the backend the client.
func (w *network) tryPath(f family, network string, client, backend *lab.Host) {
	w.t.Helper()
	var all []*conn
	for range 3 {
		c := w.dial(client, network, "", f.web(80))
		all = append(all, c)
		who, seen, err := c.ask("hello")
		if err != nil {
			w.t.Fatalf("%s: %v", network, err)
		}
		if who != backend.Name() || seen != c.LocalAddr().String() {
			w.t.Errorf("%s: %s answers and sees %s; the client is %s", network, who, seen, c.LocalAddr())
		}
		if peer := c.RemoteAddr().String(); peer != f.web(80) {
			w.t.Errorf("%s: the client's peer is %s", network, peer)
		}
		w.who(c)
	}
	if network == "tcp" {
		w.smooth("the first packets", all, 0)
	}
}

// trySelf has a backend call itself through a VIP's port 80: it is called as by the VIP.
func (w *network) trySelf(f family, network string, backend *lab.Host) {
	w.t.Helper()
	c := w.dial(backend, network, "", f.web(80))
	if _, seen, err := c.ask("myself"); err != nil || !strings.Contains(seen, f.vip) {
		w.t.Errorf("%s: a backend that calls itself is seen as %s, %v", network, seen, err)
	}
	w.who(c)
}
