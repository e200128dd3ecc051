package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// A client comes to the same backend again, also when the controller was killed meanwhile, and to another one when that backend
// takes no connections.
func TestAffinity(t *testing.T) {
	w := line(t, 2, "")
	client, other := w.host("c1", 11, 1, 1), w.host("c2", 12, 2, 4)
	b1, b2, b3 := w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1), w.host("b3", 3, 2, 2)
	serve(8080, b1, b2, b3)
	w.start()
	for _, network := range []string{"tcp", "udp"} {
		w.service(vip.Spec{Name: network, Address: address, Protocol: vip.Protocol(network), Port: "80", Scheduler: vip.RoundRobin,
			Affinity: &vip.Affinity{Timeout: vip.Duration(time.Hour)}}, 8080, b1, b2, b3)
	}
	all := func(when, network, at string) string { // where all new connections of the client go
		t.Helper()
		for range 5 {
			now := w.who(w.dial(client, network, "", address+":80"))
			if at == "" {
				at = now
			}
			if now != at {
				t.Errorf("%s, %s: at %s, and then at %s", when, network, at, now)
			}
			w.who(w.dial(other, network, "", address+":80")) // takes a turn
		}
		return at
	}
	first := map[string]string{}
	for _, network := range []string{"tcp", "udp"} {
		first[network] = all("at first", network, "")
	}
	quiet(w)
	w.ctl.kill()
	w.ctl.start()
	w.awaitReady()
	for _, network := range []string{"tcp", "udp"} {
		at := first[network]
		all("with the next controller", network, at)
		w.change(http.MethodPatch, network+"/backends/"+at, map[string]any{"admin": "draining"})
		next := all("its backend drains", network, "")
		if next == at {
			t.Errorf("%s: still at %s, which drains", network, at)
		}
		w.change(http.MethodPatch, network+"/backends/"+at, map[string]any{"admin": "enabled"})
		w.awaitState(network, at, vip.StateUp)
		all("its first backend is back", network, next)
		w.change(http.MethodPatch, network, map[string]any{"affinity": nil})
		seen := map[string]bool{}
		for range 3 {
			seen[w.who(w.dial(client, network, "", address+":80"))] = true
		}
		if len(seen) != 3 {
			t.Errorf("%s, without affinity: at %v alone", network, seen)
		}
	}
}
