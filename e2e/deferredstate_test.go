package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// ports are connections from ten ports of the client, by port.
type ports map[int]*conn

// connect opens a connection from each of ten ports, and fails the test unless all are at a backend.
func (p *handOver) connect(base int, at string) ports {
	p.t.Helper()
	all := ports{}
	for i := range 10 {
		c := p.dial(p.client, "tcp", fmt.Sprint(":", base+i), address+":80")
		if who := p.who(c); who != at {
			p.t.Fatalf("port %d is at %s, not %s", base+i, who, at)
		}
		all[base+i] = c
	}
	return all
}

// vanish ends connections so that neither the backends nor switches are told.
func (all ports) vanish(t *testing.T) {
	for _, c := range all {
		vanish(t, c)
	}
}

// only gives the TCP VIP a single backend that takes connections.
func (p *handOver) only(name string) {
	p.t.Helper()
	var all []vip.BackendSpec
	for _, h := range p.backends {
		b := vip.BackendSpec{Name: h.Name(), Address: h.IP(), Port: 8080, Admin: vip.Draining}
		if h.Name() == name {
			b.Admin = vip.Enabled
		}
		all = append(all, b)
	}
	p.network.change(http.MethodPatch, "tcp", map[string]any{"backends": all})
	p.followed()
}

// A client's port is used again while a switch has a connection of it that has ended unnoticed. The new connection, at a backend
// elsewhere, is not given to the old one's when a change leads it past that switch: whether that is the present choice's or is
// asked before the right one.
func TestDeferredStaleEntries(t *testing.T) {
	p := newHandOver(t, 19, nil) // b1, b2 on s1; b3, b4 on s2; b5, b6 on s3
	p.only("b1")
	p.connect(43000, "b1").vanish(t)
	p.only("b3")
	alive := p.connect(43000, "b3")
	check := func(when string) {
		t.Helper()
		for port, c := range alive {
			if who, _, err := c.ask("still"); err != nil || who != "b3" {
				t.Errorf("%s: port %d is answered by %q, %v", when, port, who, err)
			}
		}
	}
	p.only("b2")
	check("the old backend's switch is that of the present choice")
	p.only("b5")
	check("the old backend's switch is asked before the right one")
}

// A port that a client uses again connects at once, also when its last connection's backend drains or has been removed: what the
// switch knows of that is forgotten, at once or when it is back.
func TestDeferredPortsUsedAgain(t *testing.T) {
	p := newHandOver(t, 23, nil)
	p.only("b3")
	p.connect(41000, "b3").vanish(t)
	p.only("b4") // on the same switch
	again := slices.Collect(maps.Values(p.connect(41000, "b4")))
	p.smooth("ports used again", again, 3) // the old backend tells the client that it knows another connection
	remove := func(name string) {
		t.Helper()
		p.network.change(http.MethodDelete, "tcp/backends/"+name, nil)
	}
	s2 := p.sw(2)
	remembers := func(h *lab.Host) bool {
		return strings.Contains(s2.Appctl("dpctl/dump-conntrack"), fmt.Sprintf("reply=(src=%s,dst=%s,sport=8080", h.IP(), p.client.IP()))
	}
	b4 := p.backends[3]
	if !remembers(b4) {
		t.Fatal(s2.Appctl("dpctl/dump-conntrack"))
	}
	remove("b4")
	p.Eventually(patience, func() error {
		if remembers(b4) {
			return fmt.Errorf("not forgotten:\n%s", s2.Appctl("dpctl/dump-conntrack"))
		}
		return nil
	})

	// The same while the switch is away.
	p.only("b4")
	p.connect(42000, "b4").vanish(t)
	s2.SetController()
	p.awaitConnected(2)
	p.ctl.kill() // what is owed outlives the controller
	p.ctl.start()
	p.awaitConnected(2)
	if err := p.call(http.MethodDelete, "/api/v1/vips/tcp/backends/b4", nil, nil); err != nil {
		t.Fatal(err)
	}
	p.ctl.kill()
	p.ctl.start()
	p.awaitConnected(2)
	if !remembers(b4) {
		t.Fatal("forgotten before the switch is back")
	}
	s2.SetController("unix:" + s2.ControllerSocket())
	p.awaitReady()
	p.Eventually(patience, func() error {
		if remembers(b4) {
			return fmt.Errorf("not forgotten:\n%s", s2.Appctl("dpctl/dump-conntrack"))
		}
		return nil
	})
}

// awaitConnected waits until so many switches are connected and ready.
func (w *network) awaitConnected(n int) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		all, err := w.api.switches()
		connected := 0
		for _, s := range all {
			if s.Connected && s.Ready {
				connected++
			}
		}
		if err == nil && connected != n {
			err = fmt.Errorf("%d switches are connected, not %d", connected, n)
		}
		return err
	})
}
