package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// pool is a client on s1 and three backends, one on s1 and two on s2, with a TCP and a UDP service, round-robin.
type pool struct {
	*network
	client   *lab.Host
	backends []*lab.Host
}

func newPool(t *testing.T, f family) *pool {
	w := line(t, 2, "")
	w.family = f
	p := &pool{network: w, client: w.host("c1", 11, 1, 1)}
	p.backends = []*lab.Host{w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1), w.host("b3", 3, 2, 2)}
	serve(8080, p.backends...)
	w.start()
	for _, name := range []string{"tcp", "udp"} {
		w.service(vip.Spec{Name: name, Address: w.family.vip, Protocol: vip.Protocol(name), Port: "80", Scheduler: vip.RoundRobin}, 8080, p.backends...)
	}
	return p
}

// open makes two connections to each of n backends, by backend.
func (p *pool) open(network string, n int) map[string][]*conn {
	p.t.Helper()
	all := map[string][]*conn{}
	for range 2 * n {
		c := p.dial(p.client, network, "", p.family.web(80))
		name := p.who(c)
		all[name] = append(all[name], c)
	}
	for name, list := range all {
		if len(list) != 2 || len(all) != n {
			p.t.Fatalf("%d of %d new connections over %d backends are at %s", len(list), 2*n, n, name)
		}
	}
	return all
}

// A backend whose cable is pulled takes its own connections with it, which the client is told, and no others. It serves again
// when it is back.
func TestBackendLost(t *testing.T) {
	t.Parallel()
	for lost, f := range map[string]family{"b1": ipv4, "b2": ipv4, "b3": ipv6} { // on the client's switch, on another
		t.Run(lost, func(t *testing.T) {
			p := newPool(t, f)
			tcp, udp := p.open("tcp", 3), p.open("udp", 3)
			p.cables[lost].Cut()
			for _, name := range []string{"tcp", "udp"} {
				p.awaitState(name, lost, vip.StateDown)
				p.awaitLive(name, 4)
				if s, err := p.status(name, lost); err != nil || *s.Connections != 0 {
					t.Errorf("%s: the lost backend has %+v, %v", name, s, err)
				}
			}
			p.Eventually(patience, func() error {
				r, err := p.vip("tcp")
				if err == nil && r.Status.Phase != vip.PhaseDegraded {
					err = fmt.Errorf("phase %s", r.Status.Phase)
				}
				return err
			})
			p.stay("a backend lost", tcp, lost)
			p.stay("a backend lost", udp, lost)
			p.followed()
			p.reset("a backend lost", tcp[lost])
			for _, c := range udp[lost] { // datagrams have no connection to lose
				if now := p.who(c); now == lost {
					t.Errorf("a datagram went to %s", now)
				}
			}
			p.open("tcp", 2)
			p.cables[lost].Restore()
			p.awaitState("tcp", lost, vip.StateUp)
			again := p.open("tcp", 3)
			p.stay("a backend back", tcp, lost)
			p.stay("a backend back", again, "")
		})
	}
}

// A backend that is drained keeps its connections and gets no new ones; one that is removed ends them.
func TestBackendDrainedAndRemoved(t *testing.T) {
	p := newPool(t, ipv4)
	tcp, udp := p.open("tcp", 3), p.open("udp", 3)
	for _, how := range []map[string]any{{"admin": "draining"}, {"admin": "enabled", "weight": 0}} {
		p.change(http.MethodPatch, "tcp/backends/b2", how)
		p.awaitState("tcp", "b2", vip.StateDraining)
		for name := range p.open("tcp", 2) {
			if name == "b2" {
				t.Errorf("%v: a new connection is at %s", how, name)
			}
		}
		p.stay("drained", tcp, "")
	}
	for _, c := range tcp["b2"] {
		_ = c.Close()
	}
	p.awaitState("tcp", "b2", vip.StateDrained)
	p.change(http.MethodPatch, "tcp/backends/b2", map[string]any{"weight": 1})
	p.awaitState("tcp", "b2", vip.StateUp)
	again := p.open("tcp", 3)

	for _, name := range []string{"tcp", "udp"} {
		p.change(http.MethodDelete, name+"/backends/b3", nil)
	}
	p.followed()
	p.reset("removed", tcp["b3"])
	p.reset("removed", again["b3"])
	for _, c := range udp["b3"] {
		if now := p.who(c); now == "b3" {
			t.Error("a datagram went to the backend removed")
		}
	}
	p.stay("another backend removed", map[string][]*conn{"b1": tcp["b1"]}, "")
	p.stay("another backend removed", again, "b3")
	p.stay("another backend removed", udp, "b3")
	p.open("tcp", 2)
	p.change(http.MethodPost, "tcp/backends", vip.BackendSpec{Name: "b3", Address: p.backends[2].IP(), Port: 8080})
	p.awaitState("tcp", "b3", vip.StateUp)
	p.open("tcp", 3)

	p.change(http.MethodPatch, "tcp/backends/b1", map[string]any{"admin": "disabled"})
	p.awaitState("tcp", "b1", vip.StateDisabled)
	p.reset("disabled", tcp["b1"])
	p.open("tcp", 2)
}

// A whole VIP that is deleted ends its connections and leaves no rule behind, and another of its name is a new one.
func TestVIPDeleted(t *testing.T) {
	p := newPool(t, ipv4)
	tcp, udp := p.open("tcp", 3), p.open("udp", 3)
	p.known(append(p.backends, p.client)...)
	before := len(desired(p.sw(1)))
	p.change(http.MethodDelete, "tcp", nil)
	for _, c := range tcp {
		p.reset("deleted", c)
	}
	p.stay("another VIP deleted", udp, "")
	if after := len(desired(p.sw(1))); after >= before {
		t.Errorf("%d rules and meters before, %d after", before, after)
	}
	p.service(vip.Spec{Name: "tcp", Address: address, Protocol: vip.TCP, Port: "80", Scheduler: vip.RoundRobin}, 8080, p.backends...)
	p.open("tcp", 3)
	if after := len(desired(p.sw(1))); after != before {
		t.Errorf("%d rules and meters before, %d when it is back", before, after)
	}
}
