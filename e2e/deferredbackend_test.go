package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// deferredPool is a client on s1 and four backends, one on s1, two on s2 and one on s3, with a TCP and a UDP service.
type deferredPool struct{ *groupPool }

func newDeferredPool(t *testing.T, set func(*vip.Spec)) *deferredPool {
	w := line(t, 3, "OpenFlow15")
	p := &deferredPool{&groupPool{network: w, client: w.host("c1", 11, 1, 1)}}
	p.backends = []*lab.Host{w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1), w.host("b3", 3, 2, 2), w.host("b4", 4, 3, 1)}
	serve(8080, p.backends...)
	w.start()
	for _, name := range []string{"tcp", "udp"} {
		spec := vip.Spec{Name: name, Address: address, Protocol: vip.Protocol(name), Port: "80", Mode: vip.ModeDeferred}
		if set != nil {
			set(&spec)
		}
		w.service(spec, 8080, p.backends...)
	}
	return p
}

// patch changes a backend of both services, and waits until that is in effect.
func (p *deferredPool) patch(name string, how map[string]any) {
	p.t.Helper()
	for _, service := range []string{"tcp", "udp"} {
		p.change(http.MethodPatch, service+"/backends/"+name, how)
	}
}

// Backends are drained, weighed anew, disabled, removed and lost: connections stay where they are unless their backend has gone, which
// their clients are told.
func TestDeferredBackends(t *testing.T) { tryBackends(t, newDeferredPool(t, nil)) }

func tryBackends(t *testing.T, p *deferredPool) {
	tcp, udp := p.open("tcp", 4), p.open("udp", 4)
	p.patch("b1", map[string]any{"weight": 5})
	p.stay("one weighed anew", tcp, "")
	p.stay("one weighed anew", udp, "")
	p.patch("b2", map[string]any{"admin": "draining"})
	p.followed()
	for name := range p.open("tcp", 3) {
		if name == "b2" {
			t.Errorf("a new connection is at %s", name)
		}
	}
	p.stay("one drained", tcp, "")
	p.stay("one drained", udp, "")
	p.patch("b2", map[string]any{"admin": "enabled"})
	more := p.open("tcp", 4)
	p.stay("one is back", tcp, "")
	p.stay("one is back", udp, "")

	generations := func() int {
		r, err := p.vip("tcp")
		if err != nil {
			t.Fatal(err)
		}
		return r.Status.HandOver.Generations
	}
	before := generations()
	p.patch("b3", map[string]any{"admin": "disabled"})
	p.reset("disabled", tcp["b3"])
	p.rebalanced("disabled", udp["b3"], "b3")
	for _, name := range []string{"tcp", "udp"} {
		p.change(http.MethodDelete, name+"/backends/b2", nil)
	}
	p.reset("removed", tcp["b2"])
	p.reset("removed", more["b2"])
	p.rebalanced("removed", udp["b2"], "b2")
	p.cables["b4"].Cut()
	p.awaitState("tcp", "b4", vip.StateDown)
	p.reset("lost", tcp["b4"])
	p.rebalanced("lost", udp["b4"], "b4")
	p.stay("others gone", map[string][]*conn{"b1": tcp["b1"]}, "")
	p.stay("others gone", map[string][]*conn{"b1": more["b1"]}, "")
	p.stay("others gone", map[string][]*conn{"b1": udp["b1"]}, "")
	if after := generations(); after != before {
		t.Errorf("%d generations before backends went for good, %d after", before, after)
	}
	p.cables["b4"].Restore()
	p.awaitState("tcp", "b4", vip.StateUp)
	p.Eventually(patience, func() error {
		if r, err := p.vip("tcp"); err != nil || r.Status.HandOver.Step != vip.StepSteady || r.Status.Phase != vip.PhaseUp {
			return fmt.Errorf("%+v, %v", r.Status, err)
		}
		return nil
	})
	p.open("tcp", 2)
	p.stay("one lost and found", map[string][]*conn{"b1": tcp["b1"]}, "")
}

// While no backend takes connections new ones are refused; those of a draining one live on.
func TestDeferredRefuses(t *testing.T) {
	p := newDeferredPool(t, nil)
	tcp := p.open("tcp", 4)
	for _, b := range p.backends {
		p.change(http.MethodPatch, "tcp/backends/"+b.Name(), map[string]any{"admin": "draining"})
		p.change(http.MethodPatch, "udp/backends/"+b.Name(), map[string]any{"admin": "disabled"})
	}
	p.followed()
	_, err := dial(p.ctx, p.client, "tcp", "", address+":80")
	p.refused("all draining", err)
	if _, _, err := p.dial(p.client, "udp", "", address+":80").ask("anybody"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("all disabled: %v", err)
	}
	p.stay("all draining", tcp, "")
	_, err = dial(p.ctx, p.client, "tcp", "", address+":81")
	p.refused("a closed port", err)
	p.change(http.MethodPatch, "tcp/backends/b2", map[string]any{"admin": "enabled"})
	p.awaitServed(p.client, "tcp")
	p.open("tcp", 1)
	p.stay("one enabled again", tcp, "")
	p.change(http.MethodDelete, "tcp", nil)
	p.followed()
	_, err = dial(p.ctx, p.client, "tcp", "", address+":80")
	p.refused("deleted", err)
}

// A controller that is killed takes nothing with it, and the next one changes nothing.
func TestDeferredControllerKilled(t *testing.T) { tryControllerKilled(t, newDeferredPool(t, nil)) }

func tryControllerKilled(t *testing.T, p *deferredPool) {
	tcp := p.open("tcp", 4)
	p.patch("b1", map[string]any{"admin": "draining"})
	quiet(p.network)
	before := p.dumps()
	p.ctl.kill()
	p.stay("without a controller", tcp, "")
	p.open("tcp", 3)
	p.ctl.start()
	p.awaitReady()
	p.stay("with the next one", tcp, "")
	p.unchanged("with the next one", before)
	p.open("tcp", 3)
}

// New connections are counted, by backend.
func TestDeferredCounts(t *testing.T) { tryCounts(t, newDeferredPool(t, nil)) }

func tryCounts(t *testing.T, p *deferredPool) {
	made := &made{by: map[string]int64{}}
	made.some(p.groupPool, 40)
	p.Eventually(patience, func() error {
		r, err := p.vip("tcp")
		if err != nil {
			return err
		}
		for _, b := range r.Status.Backends {
			if n := b.NewConnections; n < made.by[b.Name] || n > made.by[b.Name]+made.again {
				return fmt.Errorf("%s has had %d connections, want %d", b.Name, n, made.by[b.Name])
			}
		}
		return nil
	})
}

// When as many generations are kept as may be, a change waits until the oldest has no connections; the status says so.
func TestDeferredChangeWaits(t *testing.T) {
	p := newDeferredPool(t, func(s *vip.Spec) { s.HandOver, s.HandOverIdle = 2, vip.Duration(4*time.Second) })
	tcp := p.open("tcp", 4)
	held := tcp["b1"][0]
	p.patch("b2", map[string]any{"admin": "draining"})
	if err := p.call(http.MethodPatch, "/api/v1/vips/tcp/backends/b3", map[string]any{"admin": "draining"}, nil); err != nil {
		t.Fatal(err)
	}
	p.Eventually(patience, func() error {
		p.who(held)
		r, err := p.vip("tcp")
		if err == nil && (!strings.Contains(r.Status.HandOver.Waiting, "2 generations are kept") || !strings.Contains(r.Status.Reason, "waits")) {
			err = fmt.Errorf("%+v", r.Status)
		}
		return err
	})
	for range 8 { // longer than a silent generation would be kept
		time.Sleep(time.Second)
		p.who(held)
	}
	if r, err := p.vip("tcp"); err != nil || r.Status.HandOver.Waiting == "" {
		t.Errorf("a generation with a live connection is gone: %+v, %v", r.Status.HandOver, err)
	}
	// Now nothing is sent, and the change goes on by itself.
	p.Eventually(patience, func() error {
		r, err := p.vip("tcp")
		if err == nil && (r.Status.HandOver.Waiting != "" || r.Status.HandOver.Step != vip.StepSteady) {
			err = fmt.Errorf("%+v", r.Status.HandOver)
		}
		return err
	})
	for name := range p.open("tcp", 2) {
		if name == "b2" || name == "b3" {
			t.Errorf("a new connection is at %s", name)
		}
	}
}

// ICMP errors about connections find their way, translated within: from the client's side to the backend, whichever switch it is
// at, and from a backend.
func TestDeferredICMP(t *testing.T) {
	p := newDeferredPool(t, nil)
	for name, list := range p.open("tcp", 4) {
		p.tellTooBig(list[0], p.backends[name[1]-'1'])
	}
	p.service(vip.Spec{Name: "deaf", Address: address, Protocol: vip.UDP, Port: "99", Mode: vip.ModeDeferred}, 9999, p.backends...)
	if _, _, err := p.dial(p.client, "udp", "", address+":99").ask("anybody"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a backend without a listener: %v", err)
	}
}

// VIPs of all modes share backends and their ports. The same port of a client through two VIPs of this mode at a time are two
// connections, also of a backend that calls them; through VIPs of different modes it would be one at the backend.
func TestDeferredBesideOthers(t *testing.T) {
	p := newDeferredPool(t, nil)
	to := map[string]int{"10.0.0.100": 20000, "10.0.0.101": 20000, "10.0.0.102": 21000, "10.0.0.103": 22000} // and their clients' ports
	for a, mode := range map[string]vip.Mode{"10.0.0.101": vip.ModeDeferred, "10.0.0.102": vip.ModeGroup, "10.0.0.103": vip.ModeNAT} {
		p.service(vip.Spec{Name: string(mode) + "2", Address: a, Protocol: vip.TCP, Port: "80", Mode: mode}, 8080, p.backends...)
	}
	for _, from := range []*lab.Host{p.client, p.backends[0], p.backends[2]} {
		for i := range 8 {
			var all []*conn
			for a, port := range to {
				all = append(all, p.dial(from, "tcp", fmt.Sprint(":", port+i), a+":80"))
			}
			past := p.dial(from, "tcp", "", p.backends[1].IP()+":8080")
			for range 2 {
				for _, c := range all {
					p.who(c)
				}
				if who := p.who(past); who != "b2" {
					t.Errorf("past the VIPs to b2: %s answers", who)
				}
			}
		}
	}
}
