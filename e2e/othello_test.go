package e2e

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/agent"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// othelloPool is the network of [newDeferredPool] with services of mode othello.
func othelloPool(t *testing.T) *deferredPool {
	return newDeferredPool(t, func(s *vip.Spec) { s.Mode = vip.ModeOthello })
}

func inOthello(s *vip.Spec) { s.Mode = vip.ModeOthello }

// What mode deferred promises is true of mode othello, which chooses in another way.
func TestOthelloPath(t *testing.T)             { tryPath(t, vip.ModeOthello) }
func TestOthelloBackends(t *testing.T)         { tryBackends(t, othelloPool(t)) }
func TestOthelloControllerKilled(t *testing.T) { tryControllerKilled(t, othelloPool(t)) }
func TestOthelloCounts(t *testing.T)           { tryCounts(t, othelloPool(t)) }
func TestOthelloGateways(t *testing.T)         { tryGateways(t, vip.ModeOthello) }
func TestOthelloKilledAtSteps(t *testing.T)    { tryKilledAtSteps(t, newHandOver(t, 12, inOthello)) }
func TestOthelloSkewed(t *testing.T)           { trySkewed(t, newHandOver(t, 14, inOthello)) }
func TestOthelloHandOver(t *testing.T) {
	tryHandOver(t, newHandOver(t, 8, func(s *vip.Spec) { s.Mode = vip.ModeOthello }), 10)
}

// Every new connection goes where explain says, whichever switch its packets come in by: before and after changes, over both
// families and protocols.
func TestOthelloForetold(t *testing.T) {
	t.Parallel()
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
			w.Eventually(patience, func() error {
				all, err := w.api.switches()
				for _, s := range all {
					if s.Codes != "foretold" {
						return fmt.Errorf("switch %s: codes %q, %q", s.DPID, s.Codes, s.Warnings)
					}
				}
				return err
			})
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

// reporters are agents on the hosts of some backends; each call of report sends what they have now.
type reporters struct {
	*network
	backends []*lab.Host
	after    map[string]int64
}

func newReporters(w *network, backends []*lab.Host) *reporters {
	return &reporters{w, backends, map[string]int64{}}
}

func (r *reporters) report() {
	r.t.Helper()
	for _, b := range r.backends {
		var states []agent.State
		err := b.Do(func() (err error) { states, err = agent.TCP(netip.MustParseAddr(b.IP())); return err })
		if err != nil {
			r.t.Fatal(err)
		}
		var answer struct{ After int64 }
		if err := r.call(http.MethodPost, "/api/v1/agents/"+b.IP()+"/states", map[string]any{"after": r.after[b.Name()], "states": append([]agent.State{}, states...)},
			&answer); err != nil {
			r.t.Fatal(err)
		}
		r.after[b.Name()] = answer.After
	}
}

// alone lets the agents report until one generation is left, and returns it.
func (r *reporters) alone(when string) {
	r.t.Helper()
	r.Eventually(patience, func() error {
		r.report()
		x, err := r.vip("tcp")
		if err == nil && (x.Status.HandOver.Generations != 1 || x.Status.HandOver.Step != vip.StepSteady) {
			err = fmt.Errorf("%s: %+v", when, x.Status.HandOver)
		}
		return err
	})
}

// pinned counts the rules of table 47 that name a connection.
func (r *reporters) pinned() (n int) {
	for _, rule := range r.sw(1).DumpFlows() {
		if strings.Contains(rule, "table=47") && strings.Contains(rule, "nw_src=") {
			n++
		}
	}
	return n
}

// rows counts the rows of cells of the first array.
func (r *reporters) rows() (n int) {
	for _, rule := range r.sw(1).DumpFlows() {
		if strings.Contains(rule, "table=49") {
			n++
		}
	}
	return n
}

// With agents older generations are not needed for long: connections that changes have moved are pinned and stay, without any
// hand-over, also when the controller is killed; pins go with their connections.
func TestOthelloPins(t *testing.T) {
	p := othelloPool(t)
	agents := newReporters(p.network, p.backends)
	tcp := map[string][]*conn{}
	for range 80 {
		c := p.dial(p.client, "tcp", "", address+":80")
		name := p.who(c)
		tcp[name] = append(tcp[name], c)
	}
	p.change(http.MethodPatch, "tcp/backends/b1", map[string]any{"weight": 9})
	p.change(http.MethodPatch, "tcp/backends/b2", map[string]any{"admin": "draining"})
	p.change(http.MethodPatch, "tcp/backends/b3", map[string]any{"weight": 3})
	agents.alone("after three changes")
	before := agents.pinned()
	if r, err := p.vip("tcp"); err != nil || r.Status.HandOver.Pins != before {
		t.Errorf("%d pins, and the status says %+v, %v", before, r.Status.HandOver, err)
	}
	if before < len(tcp["b2"]) {
		t.Errorf("%d pins, and %d connections at the backend that drains", before, len(tcp["b2"]))
	}
	p.stay("pinned", tcp, "")
	for name := range p.open("tcp", 3) {
		if name == "b2" {
			t.Error("a new connection is at the backend that drains")
		}
	}
	p.ctl.kill()
	p.ctl.start()
	p.awaitReady()
	p.stay("with the next controller", tcp, "")
	all, err := p.api.switches()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Modifications != 0 {
			t.Errorf("%d modifications of switch %s", s.Modifications, s.DPID)
		}
	}
	for _, name := range []string{"b2", "b3", "b4"} {
		for _, c := range tcp[name][1:] {
			_ = c.Close()
		}
		tcp[name] = tcp[name][:1]
	}
	p.Eventually(patience, func() error {
		agents.report()
		if n := agents.pinned(); n*2 > before {
			return fmt.Errorf("%d pins, and there were %d", n, before)
		}
		return nil
	})
	agents.alone("most connections have ended")
	p.stay("few left", tcp, "")
}

// A controller that is killed at each of the steps by which pins come into effect is followed by one that finishes them, while packets go
// all the time.
func TestOthelloKilledWhilePinning(t *testing.T) {
	p := newHandOver(t, 9, inOthello)
	agents := newReporters(p.network, p.backends)
	p.begin(150, 20, 40)
	killed, pins := map[vip.Step]bool{}, 0
	for round := 0; len(killed) < 3 && round < 30; round++ {
		want := []vip.Step{vip.StepPrepare, vip.StepFlip, vip.StepSettle}[round%3]
		if killed[want] {
			continue
		}
		p.change("")
		if killed[want] = agents.until(want); !killed[want] {
			delete(killed, want)
			continue
		}
		p.ctl.kill()
		time.Sleep(500 * time.Millisecond) // packets flow while nobody controls
		p.ctl.start()
		p.awaitReady()
		agents.alone(fmt.Sprintf("killed at step %s", want))
		r, err := p.vip("tcp")
		if err != nil {
			t.Fatal(err)
		}
		pins = max(pins, r.Status.HandOver.Pins)
	}
	if len(killed) < 3 || pins == 0 {
		t.Errorf("killed at %v only, %d pins", killed, pins)
	}
	p.whole()
}

// until reports until pins for what a change has moved are at a step; false: they have been through it unseen.
func (r *reporters) until(step vip.Step) bool {
	r.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		r.report()
		for {
			x, err := r.vip("tcp")
			if err != nil {
				r.t.Fatal(err)
			}
			if x.Status.HandOver.Step == step {
				return true
			}
			if x.Status.HandOver.Generations == 1 {
				return false
			}
			if x.Status.HandOver.Step == vip.StepSteady {
				break
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}
