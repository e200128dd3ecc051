package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
)

// movedByLive is what is told: a probe of health may be among the connections that an agent has seen.
var movedByLive = regexp.MustCompile(`weights moved by live connections: b1 10 → 8 \(1[67] live\), b2 10 → 15 \([01] live\)`)

// Where switches keep the connections, weights are moved by those that agents tell of; the connections stay.
func TestReweightByAgents(t *testing.T) {
	t.Parallel()
	for _, mode := range []vip.Mode{vip.ModeGroup, vip.ModeOthello} {
		t.Run(string(mode), func(t *testing.T) { tryReweight(t, mode) })
	}
}

func tryReweight(t *testing.T, mode vip.Mode) {
	config := filepath.Join(t.TempDir(), "evenflow.yaml")
	if err := os.WriteFile(config, []byte(quickDetector), 0o600); err != nil {
		t.Fatal(err)
	}
	a, flags := withAgents(t)
	w := line(t, 2, "OpenFlow15", append(flags, "--config", config, "--stats-interval", "200ms")...)
	a.join(w)
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 3)
	serve(8080, b1, b2)
	w.start()
	w.declare(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Mode: mode, OnImbalance: vip.Reweight, Backends: []vip.BackendSpec{
		{Name: "b1", Address: b1.IP(), Port: 8080, Weight: new(10)}, {Name: "b2", Address: b2.IP(), Port: 8080, Weight: new(10), Admin: vip.Draining}}})
	w.awaitState("web", "b1", vip.StateUp)
	settled := func(share float64) { // b1's, at most
		w.Eventually(patience, func() error {
			r, err := w.vip("web")
			if err != nil {
				return err
			}
			if b := r.Status.Backends; !(b[0].Share <= share) || r.Status.Phase != vip.PhaseUp || r.Status.HandOver != nil && r.Status.HandOver.Step != vip.StepSteady {
				return fmt.Errorf("%s, %+v, %+v", r.Status.Phase, b, r.Status.HandOver)
			}
			return nil
		})
	}
	settled(1)
	var all []*conn
	for range 16 {
		all = append(all, w.dial(client, "tcp", "", address+":80"))
	}
	stop := talk(w.ctx, t, all, "b1")
	defer stop()
	a.run(b1, b2)
	w.Eventually(patience, func() error {
		r, err := w.vip("web")
		if err != nil {
			return err
		}
		for i, want := range []int64{16, 0} {
			if b := r.Status.Backends[i]; b.Connections == nil || *b.Connections != want {
				return fmt.Errorf("%s is not told to have %d connections: %+v", b.Name, want, b)
			}
		}
		return nil
	})
	w.change(http.MethodPatch, "web/backends/b2", map[string]any{"admin": vip.Enabled})
	w.awaitImbalance("web", movedByLive)
	settled(8. / 23)
	stop()
	for _, c := range all {
		if name := w.who(c); name != "b1" {
			t.Errorf("%s has moved to %s", c.LocalAddr(), name)
		}
	}
}
