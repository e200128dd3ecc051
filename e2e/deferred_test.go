package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
)

// A connection through a VIP of mode deferred, over IPv4 and IPv6, also from a backend to itself: the client sees the VIP, the
// backend the client. The client's switch, the gateway, keeps nothing.
func TestDeferredPath(t *testing.T) { tryPath(t, vip.ModeDeferred) }

func tryPath(t *testing.T, mode vip.Mode) {
	t.Parallel()
	for _, way := range ways {
		if way.version != "OpenFlow15" {
			continue
		}
		for n, name := range map[int]string{1: "one switch", 3: "three switches"} {
			t.Run(way.name+" "+name, func(t *testing.T) {
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
				if n > 1 {
					for _, s := range w.switches[:n-1] {
						if known := s.Appctl("dpctl/dump-conntrack"); known != "" {
							t.Errorf("%s has tracked\n%s", s.Name(), known)
						}
					}
				}
			})
		}
	}
}

// allMatched fails the test if rules of mode deferred that are made to drop have dropped anything.
func (w *network) allMatched() {
	w.t.Helper()
	for _, s := range w.switches {
		for line := range strings.Lines(s.Ofctl("dump-flows", "cookie=0x50100000000/0xff0100000000")) {
			if strings.Contains(line, "table=60,") { // where a cable is out, or a gateway has just left, there is no way for a while
				continue
			}
			if strings.Contains(line, "actions=drop") && !strings.Contains(line, "n_packets=0,") {
				w.t.Errorf("%s has dropped: %s", s.Name(), line)
			}
		}
	}
}

// awaitSteady waits until a VIP has been through its changes, and has so many backends up.
func (w *network) awaitSteady(name string, up int) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		r, err := w.vip(name)
		if err != nil {
			return err
		}
		n := 0
		for _, b := range r.Status.Backends {
			if b.State == vip.StateUp {
				n++
			}
		}
		if n != up || r.Status.Phase != vip.PhaseUp || r.Status.HandOver == nil || r.Status.HandOver.Step != vip.StepSteady {
			return fmt.Errorf("%d of %d backends are up, %s (%s), %+v", n, up, r.Status.Phase, r.Status.Reason, r.Status.HandOver)
		}
		return nil
	})
}
