package e2e

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// A backend that calls its own VIP is served, by itself or by another. By itself it is called as by the VIP.
func TestHairpin(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.version+" "+way.name, func(t *testing.T) {
			w := line(t, 2, way.version)
			w.family = way.family
			b1, b2, b3 := w.host("b1", 1, 1, 1), w.host("b2", 2, 1, 2), w.host("b3", 3, 2, 1)
			serve(8080, b1, b2, b3)
			w.start()
			for _, network := range []string{"tcp", "udp"} {
				w.service(vip.Spec{Name: network, Address: way.vip, Protocol: vip.Protocol(network), Port: "80",
					Scheduler: vip.RoundRobin}, 8080, b1, b2, b3)
				by := map[string]bool{}
				var all []*conn
				for range 6 {
					c := w.dial(b1, network, "", way.web(80))
					all = append(all, c)
					who, seen, err := c.ask("hello")
					if err != nil {
						t.Fatalf("%s from b1: %v", network, err)
					}
					by[who] = true
					want := c.LocalAddr().String()
					if who == "b1" {
						want = strings.Replace(want, b1.IP(), way.vip, 1)
					}
					if seen != want {
						t.Errorf("%s: %s sees %s, want %s", network, who, seen, want)
					}
				}
				if len(by) != 3 {
					t.Errorf("%s: served by %v only", network, by)
				}
				for _, c := range all { // by rules now
					w.who(c)
				}
				if n, err := w.live(network); err != nil || n != 6 {
					t.Errorf("%s: %d live connections, %v", network, n, err)
				}
			}
		})
	}
}

// Two VIPs lead to the same backends. A client that uses one port for both at a time gets connections that do not disturb each
// other: at different backends, since answers could not be told apart at one. When there is none left it is refused.
func TestTwoVIPsOnOneBackend(t *testing.T) {
	w := line(t, 1, "")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 1, 3)
	serve(8080, b1, b2)
	w.start()
	to := []string{address + ":80", address + ":81", "10.0.0.101:80"}
	for i, a := range to {
		ip, port, _ := strings.Cut(a, ":")
		w.service(vip.Spec{Name: fmt.Sprint("v", i), Address: ip, Protocol: vip.TCP, Port: vip.PortRange(port)}, 8080, b1, b2)
	}
	again := func(port int) (all []*conn) { // chance has a part in it
		from := fmt.Sprint(":", port)
		first, second := w.dial(client, "tcp", from, to[0]), w.dial(client, "tcp", from, to[1])
		for range 3 {
			if a, b := w.who(first), w.who(second); a == b {
				t.Errorf("both connections from one port are at %s", a)
			}
		}
		_, err := dial(w.ctx, client, "tcp", from, to[2])
		w.refused("a third connection from the port", err)
		third := w.dial(client, "tcp", "", to[2]) // from another port
		w.who(third)
		w.who(first)
		w.who(second)
		return []*conn{first, second, third}
	}
	var all []*conn
	for port := 4000; port < 4010; port++ {
		all = append(all, again(port)...)
	}
	for _, c := range all {
		_ = c.Conn.(*net.TCPConn).SetLinger(0) // a RST, and no TIME_WAIT
		_ = c.Close()
	}
	for i := range to {
		w.awaitLive(fmt.Sprint("v", i), 0)
	}
	again(4000)
}

// Through the VIP and past it at a time; the traffic past it comes first, so that the switch has cached the way of its answers.
func TestDirectBesideVIP(t *testing.T) {
	w := line(t, 2, "")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1)
	serve(8080, b1, b2)
	w.start()
	for _, network := range []string{"tcp", "udp"} {
		w.service(vip.Spec{Name: network, Address: address, Protocol: vip.Protocol(network), Port: "80", Scheduler: vip.RoundRobin}, 8080, b1, b2)
	}
	for _, network := range []string{"tcp", "udp"} {
		all, _ := w.besideDirect(network, client, b1, b2)
		if network == "tcp" {
			w.smooth("beside direct traffic", all, 0)
		}
	}
	if _, _, err := w.dial(client, "udp", "", b1.IP()+":9").ask("closed"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a closed port of a backend: %v", err)
	}
}

// besideDirect makes connections through a VIP's port 80 while others, all from the client's port 5000, go past it to each backend. It
// returns those through the VIP, and a check that those past it are what they were.
func (w *network) besideDirect(network string, client *lab.Host, backends ...*lab.Host) (through []*conn, past func()) {
	w.t.Helper()
	direct := map[string]*conn{}
	for _, b := range backends {
		direct[b.Name()] = w.dial(client, network, ":5000", b.IP()+":8080")
	}
	past = func() {
		w.t.Helper()
		for name, c := range direct {
			if who, seen, err := c.ask("direct"); err != nil || who != name || seen != client.IP()+":5000" {
				w.t.Errorf("%s, past the VIP to %s: answer of %q for %q, %v", network, name, who, seen, err)
			}
		}
	}
	for range 4 {
		past()
		c := w.dial(client, network, "", address+":80")
		w.who(c)
		past()
		w.who(c)
		through = append(through, c)
	}
	return through, past
}
