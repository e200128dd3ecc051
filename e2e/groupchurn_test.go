package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// While backends come, are drained and weighed anew, a hundred changes a second, no new connection fails and no old one breaks or
// moves. Backends that leave are drained first.
func TestGroupChurn(t *testing.T) {
	p := newGroupPool(t, "OpenFlow15")
	held := p.open("tcp", 3)
	for range 60 {
		c := p.dial(p.client, "tcp", "", address+":80")
		name := p.who(c)
		held[name] = append(held[name], c)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	var made, failed atomic.Int64
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				c, err := dial(p.ctx, p.client, "tcp", "", address+":80")
				if err == nil {
					_, _, err = c.ask("new")
					_ = c.Close()
				}
				if err != nil {
					failed.Add(1)
					t.Errorf("a new connection: %v", err)
				}
				made.Add(1)
			}
		})
	}
	for _, list := range held {
		for _, c := range list {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(50 * time.Millisecond):
					}
					if _, _, err := c.ask("old"); err != nil {
						t.Errorf("an old connection: %v", err)
						return
					}
				}
			})
		}
	}
	b4 := p.host("b4", 4, 1, 3)
	serve(8080, b4)
	send := func(method, path string, body any) {
		t.Helper()
		if err := p.call(method, "/api/v1/vips/tcp"+path, body, nil); err != nil {
			t.Error(err)
		}
	}
	send(http.MethodPost, "/backends", vip.BackendSpec{Name: "b4", Address: b4.IP(), Port: 8080})
	p.awaitState("tcp", "b4", vip.StateUp)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	const changes = 300
	begin := time.Now()
	for i := range changes {
		<-tick.C
		b := fmt.Sprintf("/backends/b%d", 2+i%3) // b1 stays as it is
		how := map[string]any{"weight": 1 + i%7}
		if i%5 == 0 {
			how = map[string]any{"admin": []string{"draining", "enabled"}[i/5%2]}
		}
		send(http.MethodPatch, b, how)
	}
	took := time.Since(begin)
	close(done)
	wg.Wait()
	t.Logf("%d changes in %v; %d new connections, %d failed", changes, took.Round(time.Millisecond), made.Load(), failed.Load())
	p.stay("after many changes", held, "")
	if made.Load() < 100 {
		t.Errorf("only %d connections were made meanwhile", made.Load())
	}
}

// A backend that was removed and is added again serves at once: what Open vSwitch has cached of its answers from before, and of what it
// sent meanwhile past the VIP, lets no answer to a new connection pass untranslated.
func TestGroupBackendAddedAgain(t *testing.T) {
	w := line(t, 2, "")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1), w.host("b2", 2, 2, 2)
	serve(8080, b1, b2)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Mode: vip.ModeGroup}, 8080, b1, b2)
	connect := func(when string) {
		t.Helper()
		at := map[string]int{}
		var all []*conn
		for tries := 0; at["b1"] < 3; tries++ {
			if tries == 60 {
				t.Fatalf("%s: %d connections, none is at b1", when, tries)
			}
			c := w.dial(client, "tcp", "", address+":80")
			name := w.who(c)
			if at[name]++; name == "b1" {
				all = append(all, c)
			}
		}
		w.smooth(when, all, 0)
		for _, c := range all {
			_ = c.Close()
		}
	}
	for _, past := range []bool{false, true} {
		connect("before")
		w.change(http.MethodDelete, "web/backends/b1", nil)
		w.sw(1).Appctl("revalidator/wait")
		if past {
			w.who(w.dial(client, "tcp", "", b1.IP()+":8080"))
		}
		w.sw(1).Appctl("revalidator/pause") // what is cached now stays
		w.change(http.MethodPost, "web/backends", vip.BackendSpec{Name: "b1", Address: b1.IP(), Port: 8080})
		connect(fmt.Sprintf("added again, past the VIP %v", past))
		w.sw(1).Appctl("revalidator/resume")
	}
}
