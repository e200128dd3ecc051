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
)

// modes are those that there are: what is promised of backends holds in each.
var modes = []vip.Mode{vip.ModeNAT, vip.ModeGroup, vip.ModeDeferred, vip.ModeOthello}

// drainPool is a client and three backends with a TCP and a UDP service of a mode, and connections to each.
type drainPool struct {
	*groupPool
	mode     vip.Mode
	tcp, udp map[string][]*conn
}

func newDrainPool(t *testing.T, mode vip.Mode) *drainPool {
	if mode != vip.ModeNAT {
		p := newPoolOf(t, mode, "")
		return &drainPool{p, mode, p.open("tcp", 3), p.open("udp", 3)}
	}
	p := newPool(t, ipv4)
	g := &groupPool{p.network, p.client, p.backends}
	return &drainPool{g, mode, p.open("tcp", 3), p.open("udp", 3)}
}

// drain has a backend of both services drain for a time.
func (p *drainPool) drain(backend, limit string) {
	p.t.Helper()
	for _, name := range []string{"tcp", "udp"} {
		p.change(http.MethodPatch, name, map[string]any{"drain_timeout": limit})
		p.change(http.MethodPatch, name+"/backends/"+backend, map[string]any{"admin": "draining"})
	}
}

// endSoon has drains that began at a time be over in two seconds, and returns the time that they may take then.
func (p *drainPool) endSoon(since time.Time) time.Duration {
	p.t.Helper()
	limit := time.Since(since).Round(time.Millisecond) + 2*time.Second
	for _, name := range []string{"tcp", "udp"} {
		p.change(http.MethodPatch, name, map[string]any{"drain_timeout": limit.String()})
	}
	return limit
}

// gone fails the test unless datagrams of the backend's clients get no answer from it.
func (p *drainPool) gone(when string, list []*conn, backend string) {
	p.t.Helper()
	if p.mode != vip.ModeNAT {
		p.rebalanced(when, list, backend)
		return
	}
	for _, c := range list {
		if now := p.who(c); now == backend {
			p.t.Errorf("%s: a datagram went to %s", when, now)
		}
	}
}

// Connections of a draining backend live until drain_timeout; then what is left is ended, which clients are told, and the
// backend can be removed without anybody noticing.
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			p := newDrainPool(t, mode)
			p.drain("b2", "5m")
			s, err := p.status("tcp", "b2")
			if err != nil || s.State != vip.StateDraining || s.Drain == nil || s.Drain.Ends.Sub(s.Drain.Since) != 5*time.Minute {
				t.Fatalf("draining: %+v, %v", s, err)
			}
			if mode == vip.ModeNAT && (s.Connections == nil || *s.Connections != 2 || s.Reason != "connections left: 2") {
				t.Errorf("progress: %+v", s)
			}
			p.stay("draining", p.tcp, "")
			p.stay("draining", p.udp, "")
			for name := range p.open("tcp", 2) {
				if name == "b2" {
					t.Error("a new connection is at b2")
				}
			}
			limit := p.endSoon(s.Drain.Since)
			p.awaitState("tcp", "b2", vip.StateDrained)
			p.awaitState("udp", "b2", vip.StateDrained)
			if s, err := p.status("tcp", "b2"); err != nil || !strings.Contains(s.Reason, fmt.Sprintf("drain_timeout of %s has passed; connections", limit)) {
				t.Errorf("drained: %+v, %v", s, err)
			} else if now := time.Now(); now.Before(s.Drain.Ends) {
				t.Errorf("drained at %s, before %s", now, s.Drain.Ends)
			}
			p.reset("drained", p.tcp["b2"])
			p.gone("drained", p.udp["b2"], "b2")
			p.stay("another drained", p.tcp, "b2")
			p.stay("another drained", p.udp, "b2")
			for _, name := range []string{"tcp", "udp"} {
				p.change(http.MethodDelete, name+"/backends/b2", nil)
			}
			p.stay("another removed", p.tcp, "b2")
			p.stay("another removed", p.udp, "b2")
			p.open("tcp", 2)
		})
	}
}

// A controller that is killed in the midst of a drain goes on with it: the drain ends when it would have, not sooner and not later.
func TestDrainOverRestart(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			p := newDrainPool(t, mode)
			p.drain("b2", "5m")
			before, err := p.status("tcp", "b2")
			if err != nil || before.Drain == nil {
				t.Fatalf("draining: %+v, %v", before, err)
			}
			quiet(p.network)
			p.ctl.kill()
			p.stay("without a controller", p.tcp, "")
			p.ctl.start()
			p.awaitReady()
			after, err := p.status("tcp", "b2")
			if err != nil || after.Drain == nil || *after.Drain != *before.Drain {
				t.Fatalf("with the next one: %+v, %+v, %v; it began as %+v", after, after.Drain, err, before.Drain)
			}
			p.stay("with the next one", p.tcp, "")
			for name := range p.open("tcp", 2) {
				if name == "b2" {
					t.Error("a new connection is at b2")
				}
			}
			ends := before.Drain.Since.Add(p.endSoon(before.Drain.Since))
			p.awaitState("tcp", "b2", vip.StateDrained)
			if now := time.Now(); now.Before(ends) {
				t.Errorf("drained at %s, before %s", now, ends)
			}
			p.reset("drained", p.tcp["b2"])
			p.stay("another drained", p.tcp, "b2")
		})
	}
}

// Over UDP, and over TCP, a service that loses its only backend and gets it back serves the sockets that have sent all the while.
// What is refused meanwhile is refused aloud.
func TestZeroBackendsAndBack(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			w := line(t, 2, "")
			client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1), w.host("b2", 2, 2, 2)
			serve(8080, b1, b2)
			w.start()
			w.service(vip.Spec{Name: "dns", Address: address, Protocol: vip.UDP, Port: "53", Mode: mode}, 8080, b1)
			var all []*conn
			for range 4 {
				c := w.dial(client, "udp", "", address+":53")
				w.who(c)
				all = append(all, c)
			}
			ask := func(c *conn) (string, error) { // a short time: a black hole would be silent
				_ = c.SetDeadline(time.Now().Add(500 * time.Millisecond))
				if _, err := c.Write([]byte("anybody\n")); err != nil {
					return "", err
				}
				name, _, err := c.answer("anybody")
				return name, err
			}
			backend := func(h string) map[string]any {
				return map[string]any{"backends": []vip.BackendSpec{{Name: h, Address: map[string]string{
					"b1": b1.IP(), "b2": b2.IP()}[h], Port: 8080}}}
			}
			for _, next := range []string{"b1", "b2", "b1"} { // the same one, another, and again one that was
				w.change(http.MethodPatch, "dns", map[string]any{"backends": []any{}})
				for _, c := range all {
					w.Eventually(patience, func() error {
						if name, err := ask(c); !errors.Is(err, syscall.ECONNREFUSED) {
							return fmt.Errorf("no backend: %q answers, %v", name, err)
						}
						return nil
					})
				}
				w.change(http.MethodPatch, "dns", backend(next))
				w.awaitState("dns", next, vip.StateUp)
				for _, c := range all {
					w.Eventually(patience, func() error {
						name, err := ask(c)
						if err == nil && name != next {
							err = fmt.Errorf("%s answers, not %s", name, next)
						}
						return err
					})
				}
			}
		})
	}
}
