package e2e

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// A client that uses its port again as soon as its last connection from there is reset, or at once for another VIP that has the same backend, is
// given another port by conntrack, by which backends' hosts, and so agents, know the connection. It is pinned all the same, by the port that
// the client has: when a change has moved it and older generations have gone it stays.
func TestOthelloPortUsedAgain(t *testing.T) {
	a, flags := withAgents(t)
	w := line(t, 2, "OpenFlow15", flags...)
	a.join(w)
	client, b1, b2, b3, b4 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1), w.host("b3", 3, 1, 3), w.host("b4", 4, 2, 2)
	serve(8080, b1, b2, b3, b4)
	w.start()
	names := []string{"web", "too"}
	for i, name := range names {
		w.service(vip.Spec{Name: name, Address: address, Protocol: vip.TCP, Port: vip.PortRange(fmt.Sprint(80 + i)), Mode: vip.ModeOthello}, 8080, b1, b2)
	}
	a.run(b1, b2, b3, b4)

	all, changed := map[string][]*conn{}, 0
	open := func(port int, to string) {
		c := w.dial(client, "tcp", fmt.Sprint(":", port), address+to)
		backend, seen, err := c.ask("who")
		if err != nil {
			t.Fatal(err)
		}
		if seen != c.LocalAddr().String() {
			changed++
		}
		all[backend] = append(all[backend], c)
	}
	for i := range 16 {
		port := 20000 + 100*i
		first := w.dial(client, "tcp", fmt.Sprint(":", port), address+":80")
		w.who(first)
		_ = first.Conn.(*net.TCPConn).SetLinger(0)
		_ = first.Close()
		open(port, ":80")
		open(port+50, ":80")
		open(port+50, ":81")
	}
	var backends []vip.BackendSpec
	for _, b := range []*lab.Host{b1, b2, b3, b4} {
		backends = append(backends, vip.BackendSpec{Name: b.Name(), Address: b.IP(), Port: 8080})
	}
	for _, name := range names {
		w.change(http.MethodPatch, name, map[string]any{"backends": backends})
	}
	pins := 0
	for _, name := range names {
		w.awaitSteady(name, 4)
	}
	a.alone("backends were added", names...)
	for _, name := range names {
		r, err := w.vip(name)
		if err != nil {
			t.Fatal(err)
		}
		pins += r.Status.HandOver.Pins
	}
	t.Logf("conntrack has changed the ports of %d connections; %d pins", changed, pins)
	if changed == 0 || pins == 0 {
		t.Error("nothing is tried")
	}
	w.followed()
	broken := 0
	for name, list := range all {
		for _, c := range list {
			if got, _, err := c.ask("still there"); err != nil || got != name {
				broken++
				t.Logf("%s to %s, at %s before: at %q, %v", c.LocalAddr(), c.RemoteAddr(), name, got, err)
			}
		}
	}
	if broken > 0 {
		t.Errorf("%d of 48 connections are broken", broken)
	}
}
