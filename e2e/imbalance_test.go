package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// quickDetector judges in seconds what the defaults judge in minutes.
const quickDetector = `detector: {interval: 200ms, window: 10, step: 2, cool_down: 5, streak: 2, release: 2, min_rate: 10000}`

// A backend that has all connections is found by the load of its port; weights are moved then, since the VIP wants that, and not one
// connection is: they go on at the backend that they are at, also over a restart, which finds the weights as they were.
func TestImbalanceIsFoundAndWeightsMoved(t *testing.T) {
	config := filepath.Join(t.TempDir(), "evenflow.yaml")
	if err := os.WriteFile(config, []byte(quickDetector), 0o600); err != nil {
		t.Fatal(err)
	}
	w := line(t, 1, "", "--config", config, "--stats-interval", "200ms")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 1, 3)
	serve(8080, b1, b2)
	w.start()
	w.declare(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Scheduler: vip.WeightedRoundRobin, OnImbalance: vip.Reweight,
		Backends: []vip.BackendSpec{{Name: "b1", Address: b1.IP(), Port: 8080, Weight: new(10)}, {Name: "b2", Address: b2.IP(), Port: 8080, Weight: new(10)}}})
	w.awaitState("web", "b1", vip.StateUp)
	w.awaitState("web", "b2", vip.StateUp)
	w.change(http.MethodPatch, "web/backends/b2", map[string]any{"admin": vip.Draining})
	var all []*conn
	for range 16 {
		all = append(all, w.dial(client, "tcp", "", address+":80"))
	}
	w.change(http.MethodPatch, "web/backends/b2", map[string]any{"admin": vip.Enabled})
	w.awaitState("web", "b2", vip.StateUp)
	stop := talk(w.ctx, t, all, "b1")
	defer stop()
	w.awaitImbalance("web", regexp.MustCompile(`(?s)imbalanced: b1 is.*weights moved by live connections: b1 10 → 8 \(16 live\), b2 10 → `))
	moved := func() error {
		s, err := w.status("web", "b1")
		if err == nil && !(s.Share < 0.5) {
			err = fmt.Errorf("b1's share is %v", s.Share)
		}
		return err
	}
	if err := moved(); err != nil {
		t.Error(err)
	}
	var r apps.Imbalance
	if err := w.call(http.MethodGet, "/api/v1/vips/web/imbalance", nil, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Ports) != 2 || uint64(r.Ports[0].DPID) != w.sw(1).DPID() || r.Ports[0].PortNo != 2 || len(r.History) == 0 {
		t.Errorf("the comparison: %+v", r)
	}
	w.ctl.kill()
	w.ctl.start()
	w.awaitReady()
	w.awaitState("web", "b1", vip.StateUp)
	w.Eventually(patience, moved)
}

// talk asks on all connections without end, and fails the test when another backend than the one they are at answers, or none.
func talk(ctx context.Context, t *testing.T, all []*conn, at string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			text := strings.Repeat("x", 1000)
			for ctx.Err() == nil {
				if name, _, err := c.ask(text); err != nil || name != at {
					t.Errorf("a connection of %s is answered by %q, %v", at, name, err)
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond): // some hundreds of kbit/s are enough
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// awaitImbalance waits until what events tell of a VIP's imbalance, a line each, is as wanted.
func (w *network) awaitImbalance(name string, want *regexp.Regexp) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		var events struct{ Items []apps.Event }
		if err := w.call(http.MethodGet, "/api/v1/events?last=200", nil, &events); err != nil {
			return err
		}
		told := ""
		for _, e := range events.Items {
			if e.Kind == "imbalance" && e.Subject == name {
				told += e.Message + "\n"
			}
		}
		if !want.MatchString(told) {
			return fmt.Errorf("told %q", told)
		}
		return nil
	})
}
