package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// Gateways choose for a VIP's packets. They come and go, one with all its state, and traffic moves between them in the midst of
// connections, also while backends change: nothing breaks.
//
//	c1 ── s1 ──┬── s2 ──┬── s4 ── b1 to b4
//	           └── s3 ──┘
func TestGateways(t *testing.T) { tryGateways(t, vip.ModeDeferred) }

func tryGateways(t *testing.T, mode vip.Mode) {
	w := newNetwork(t, 4, "OpenFlow15")
	w.join(1, 10, 2, 11)
	w.join(1, 12, 3, 11)
	w.join(2, 10, 4, 11)
	w.join(3, 10, 4, 12)
	p := &handOver{network: w, client: w.host("c1", 11, 1, 1)}
	for i := range 4 {
		p.backends = append(p.backends, w.host(fmt.Sprintf("b%d", i+1), i+1, 4, 1+i))
	}
	gateways := func(list ...int) (all []string) {
		for _, i := range list {
			all = append(all, dpid(w.sw(i)))
		}
		return all
	}
	p.provide(func(s *vip.Spec) { s.Mode, s.Gateways = mode, gateways(2, 3) }, p.backends...)
	p.begin(60, 20, 40)
	used := func(s *lab.Switch) (n int) { // rules of table 30 that have been used
		for line := range strings.Lines(s.Ofctl("dump-flows", "table=30")) {
			if strings.Contains(line, "priority=100") && !strings.Contains(line, "n_packets=0,") && strings.Contains(line, "nw_dst="+address) {
				n++
			}
		}
		return n
	}
	for _, i := range []int{2, 3} {
		w.Eventually(patience, func() error {
			if n := used(w.sw(i)); n != 3 {
				return fmt.Errorf("gateway %s chooses for %d of 3 VIPs", w.sw(i).Name(), n)
			}
			return nil
		})
	}
	set := func(name string, body map[string]any) {
		t.Helper()
		for _, s := range handOverServices {
			w.change(http.MethodPatch, s.name, body)
		}
		t.Logf("%s: %d broken, %d moved", name, p.broken.Load(), p.moved.Load())
	}
	set("one gateway", map[string]any{"gateways": gateways(3)})
	set("the other", map[string]any{"gateways": gateways(2)})
	set("both", map[string]any{"gateways": gateways(2, 3)})
	backend := func(name, admin string) {
		for _, s := range handOverServices {
			w.change(http.MethodPatch, s.name+"/backends/"+name, map[string]any{"admin": admin})
		}
	}
	backend("b1", "draining")
	// A gateway dies, with all that leads to it.
	w.cables["s1-s3"].Cut()
	w.cables["s3-s4"].Cut()
	w.sw(3).SetController()
	w.awaitConnected(3)
	backend("b2", "draining")
	for _, s := range handOverServices {
		w.Eventually(patience, func() error {
			r, err := w.vip(s.name)
			if err == nil && (r.Status.Phase != vip.PhaseDegraded || !strings.Contains(r.Status.Reason, "gateway "+dpid(w.sw(3))) ||
				r.Status.HandOver.Step != vip.StepSteady) {
				err = fmt.Errorf("%s (%s), %+v", r.Status.Phase, r.Status.Reason, r.Status.HandOver)
			}
			return err
		})
	}
	// It comes back without anything.
	w.cables["s1-s3"].Restore()
	w.cables["s3-s4"].Restore()
	w.sw(3).SetController("unix:" + w.sw(3).ControllerSocket())
	w.awaitReady()
	backend("b1", "enabled")
	set("no gateways", map[string]any{"gateways": nil})
	for _, s := range w.switches[:3] {
		if known := s.Appctl("dpctl/dump-conntrack"); known != "" {
			t.Errorf("%s has tracked\n%s", s.Name(), known)
		}
	}
	p.whole()
}

// A gateway at the end of a link sends what it has chosen for back by that link.
//
//	s2 (b1, b2) ── s1 (c1) ── s3 (b3, b4)
func TestGatewayAtTheEnd(t *testing.T) {
	w := newNetwork(t, 3, "OpenFlow15")
	w.join(1, 10, 2, 11)
	w.join(1, 12, 3, 11)
	p := &handOver{network: w, client: w.host("c1", 11, 1, 1)}
	for i := range 4 {
		p.backends = append(p.backends, w.host(fmt.Sprintf("b%d", i+1), i+1, 2+i/2, 1+i%2))
	}
	p.provide(nil, p.backends...)
	p.begin(20, 10, 10)
	for _, i := range []int{2, 3} {
		for _, s := range handOverServices {
			w.change(http.MethodPatch, s.name, map[string]any{"gateways": []string{dpid(w.sw(i))}})
		}
		by := map[string]int{}
		for range 20 {
			c := p.dial(p.client, "tcp", "", p.family.web(80))
			by[p.who(c)]++
			_ = c.Close()
		}
		asked := p.asked.Load()
		p.Eventually(patience, func() error { // more than once each
			if n := p.asked.Load() - asked; n < 2*(20+10) {
				return fmt.Errorf("%d answers", n)
			}
			return nil
		})
		t.Logf("gateway s%d: new connections are at %v; %d broken, %d moved", i, by, p.broken.Load(), p.moved.Load())
	}
	p.whole()
}
