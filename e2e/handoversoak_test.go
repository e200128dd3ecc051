//go:build soak

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// The whole proof over tunnels: 300 TCP connections and 100 flows of datagrams through twenty changes, and what breaks without hand-over.
func TestHandOverTunnelsWhole(t *testing.T) {
	for _, kind := range []string{"geneve", "vxlan"} {
		t.Run(kind, func(t *testing.T) {
			t.Run("kept", func(t *testing.T) { tryHandOver(t, handOverTunnelled(t, kind, nil), 20) })
			t.Run("lacking", func(t *testing.T) {
				tryLacking(t, func(t *testing.T, set func(*vip.Spec)) *handOver { return handOverTunnelled(t, kind, set) })
			})
		})
	}
}

// A gateway that has lost its controller goes on choosing by the generation that it had, which is kept for as long as connections that began so
// live, whenever it comes back.
//
//	c1 ── s1 ── s2 (b1, b2) ── s3 (b3, b4)
func TestHandOverBehind(t *testing.T) {
	w := line(t, 3, "OpenFlow15")
	p := &handOver{network: w, client: w.host("c1", 11, 1, 1)}
	for i := range 4 {
		p.backends = append(p.backends, w.host(fmt.Sprintf("b%d", i+1), i+1, 2+i/2, 1+i%2))
	}
	const idle = 3 * time.Second
	p.provide(func(s *vip.Spec) { s.HandOverIdle = vip.Duration(idle) }, p.backends...)
	path, away := relay(t, w.sw(1), 0)
	w.sw(1).SetController("unix:" + path)
	w.awaitReady()
	away()
	w.awaitConnected(2)
	all := func(backend string, how map[string]any) {
		t.Helper()
		for _, s := range handOverServices {
			w.change(http.MethodPatch, s.name+"/backends/"+backend, how)
		}
	}
	all("b1", map[string]any{"admin": "draining"})
	p.begin(40, 10, 20)
	time.Sleep(2 * idle)
	if r, err := w.vip("tcp"); err != nil || r.Status.HandOver.Generations < 2 {
		t.Errorf("%+v, %v", r.Status.HandOver, err)
	}
	w.sw(1).SetController("unix:" + w.sw(1).ControllerSocket())
	w.awaitReady()
	p.settled()
	all("b2", map[string]any{"weight": 3})
	time.Sleep(2 * idle)
	p.whole()
	at := map[string]int{}
	for _, c := range p.held[:40] {
		name, _, err := c.ask("where")
		if err != nil {
			t.Error(errors.Join(err, errors.New(c.LocalAddr().String())))
		}
		at[name]++
	}
	t.Logf("%v", at)
	if at["b1"] == 0 {
		t.Error("nothing is at b1: the gateway has not chosen by what it had")
	}
}
