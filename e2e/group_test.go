package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// A connection through a VIP of mode group, over IPv4 and IPv6 and both versions of OpenFlow, also from a backend to itself. The
// client sees the VIP, the backend the client.
func TestGroupPath(t *testing.T) { tryPaths(t, vip.ModeGroup) }

// groupPool is a client on s1 and three backends, one on s1 and two on s2, with a TCP and a UDP service of mode group.
type groupPool struct {
	*network
	client   *lab.Host
	backends []*lab.Host
}

func newGroupPool(t *testing.T, version string) *groupPool {
	return newPoolOf(t, vip.ModeGroup, version)
}

// newPoolOf is the same of any mode in which the switches choose.
func newPoolOf(t *testing.T, mode vip.Mode, version string) *groupPool {
	w := line(t, 2, version)
	p := &groupPool{network: w, client: w.host("c1", 11, 1, 1)}
	p.backends = []*lab.Host{w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1), w.host("b3", 3, 2, 2)}
	serve(8080, p.backends...)
	w.start()
	for _, name := range []string{"tcp", "udp"} {
		w.service(vip.Spec{Name: name, Address: address, Protocol: vip.Protocol(name), Port: "80", Mode: mode}, 8080, p.backends...)
	}
	return p
}

// open makes connections until each of n backends has two at least, by backend.
func (p *groupPool) open(network string, n int) map[string][]*conn {
	p.t.Helper()
	all := map[string][]*conn{}
	enough := func() bool {
		for _, list := range all {
			if len(list) < 2 {
				return false
			}
		}
		return len(all) == n
	}
	for tries := 0; !enough(); tries++ {
		if tries == 60*n {
			p.t.Fatalf("%d connections went to %d of %d backends", tries, len(all), n)
		}
		c := p.dial(p.client, network, "", address+":80")
		name := p.who(c)
		all[name] = append(all[name], c)
	}
	if len(all) > n {
		p.t.Fatalf("new connections went to %d backends, want %d", len(all), n)
	}
	return all
}

// A backend that calls its own VIP is served, by itself or by another. By itself it is called as by the VIP.
func TestGroupHairpin(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"OpenFlow15", "OpenFlow13"} {
		t.Run(version, func(t *testing.T) {
			w := line(t, 2, version)
			b1, b2, b3 := w.host("b1", 1, 1, 1), w.host("b2", 2, 1, 2), w.host("b3", 3, 2, 1)
			serve(8080, b1, b2, b3)
			w.start()
			to := map[string]string{"80": "tcp", "81": "tcp", "53": "udp"} // two ports of one address to the same ports of backends
			for port, network := range to {
				w.service(vip.Spec{Name: network + port, Address: address, Protocol: vip.Protocol(network), Port: vip.PortRange(port),
					Mode: vip.ModeGroup}, 8080, b1, b2, b3)
			}
			self := 0
			for _, from := range []*lab.Host{b1, b3} {
				for i := range 24 {
					for port, network := range to {
						c := w.dial(from, network, fmt.Sprint(":", 20000+i), address+":"+port)
						who, seen, err := c.ask("hello")
						if err != nil {
							t.Fatalf("%s port %s from %s: %v", network, port, from.Name(), err)
						}
						host, _, _ := strings.Cut(seen, ":")
						want := from.IP()
						if who == from.Name() {
							want = address
							self++
						}
						if host != want {
							t.Errorf("%s port %s: %s sees %s, want %s", network, port, who, host, want)
						}
						w.who(c)
					}
				}
			}
			if self < 10 {
				t.Errorf("%d of 144 connections were a backend's to itself", self)
			}
		})
	}
}

// A backend that is removed or disabled while connected to itself through the VIP is told, at both ends; its connections to
// others, and others' to themselves, live on.
func TestGroupHairpinEnds(t *testing.T) {
	w := line(t, 2, "")
	b1, b2 := w.host("b1", 1, 1, 1), w.host("b2", 2, 2, 1)
	servers := greet(8080, b1, b2)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Mode: vip.ModeGroup}, 8080, b1, b2)
	port := 20000
	calls := func(from *lab.Host) map[string]*conn { // from a backend, to itself and to the other
		t.Helper()
		to := map[string]*conn{}
		for ; len(to) < 2; port++ {
			if port == 20200 {
				t.Fatalf("%s reaches only %v", from.Name(), to)
			}
			c := w.dial(from, "tcp", fmt.Sprint(":", port), address+":80")
			to[w.greeted(c)] = c
		}
		return to
	}
	ended := func(when string, c *conn) {
		t.Helper()
		w.Eventually(patience, func() error {
			_ = c.SetDeadline(time.Now().Add(answerLimit))
			if _, err := c.Write([]byte("hello\n")); errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
				return nil
			} else if err != nil {
				return err
			}
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				return fmt.Errorf("%s: %w", when, err)
			}
			return nil
		})
	}
	lives := func(when string, from *lab.Host, c *conn) {
		t.Helper()
		server := servers.of(c)
		if server == nil { // it has called itself, and is seen as the VIP
			server = servers.from(at(address, c.LocalAddr().(*net.TCPAddr).Port))
		}
		w.pass(when+": "+from.Name(), "hello", c, server)
	}
	of1, of2 := calls(b1), calls(b2)
	self := servers.from(at(address, of1["b1"].LocalAddr().(*net.TCPAddr).Port))
	if self == nil {
		t.Fatal("b1 is not called by the VIP")
	}
	w.change(http.MethodDelete, "web/backends/b1", nil)
	ended("removed, its own end", of1["b1"])
	ended("removed, the other end", self)
	lives("b1 removed, to b2", b1, of1["b2"])
	lives("b1 removed, to itself", b2, of2["b2"])
	w.change(http.MethodPatch, "web/backends/b2", map[string]any{"admin": "disabled"})
	ended("disabled", of2["b2"])
}

// Backends come, are drained, weighed anew, disabled and removed: connections stay where they are unless their backend has gone.
func TestGroupBackends(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"OpenFlow15", "OpenFlow13"} {
		t.Run(version, func(t *testing.T) {
			p := newGroupPool(t, version)
			spread := 3
			if version == "OpenFlow13" {
				spread = 1 // without a selection method Open vSwitch leaves ports of UDP out of its hash
			}
			tcp, udp := p.open("tcp", 3), p.open("udp", spread)
			b4 := p.host("b4", 4, 1, 3)
			serve(8080, b4)
			for _, name := range []string{"tcp", "udp"} {
				p.change(http.MethodPost, name+"/backends", vip.BackendSpec{Name: "b4", Address: b4.IP(), Port: 8080})
				p.awaitState(name, "b4", vip.StateUp)
			}
			p.stay("one added", tcp, "")
			p.stay("one added", udp, "")
			more := p.open("tcp", 4)
			p.change(http.MethodPatch, "tcp/backends/b1", map[string]any{"weight": 5})
			p.stay("one weighed anew", tcp, "")
			for _, how := range []map[string]any{{"admin": "draining"}, {"admin": "enabled", "weight": 0}} {
				p.change(http.MethodPatch, "tcp/backends/b2", how)
				p.awaitState("tcp", "b2", vip.StateDraining)
				p.followed()
				for name := range p.open("tcp", 3) {
					if name == "b2" {
						t.Errorf("%v: a new connection is at %s", how, name)
					}
				}
				p.stay("one drained", tcp, "")
				p.stay("one drained", more, "")
			}
			for _, name := range []string{"tcp", "udp"} {
				p.change(http.MethodDelete, name+"/backends/b3", nil)
			}
			p.reset("removed", tcp["b3"])
			p.reset("removed", more["b3"])
			p.rebalanced("removed", udp["b3"], "b3")
			p.stay("another removed", tcp, "b3")
			p.stay("another removed", udp, "b3")
			p.change(http.MethodPatch, "tcp/backends/b1", map[string]any{"admin": "disabled"})
			p.reset("disabled", tcp["b1"])
			p.stay("another disabled", map[string][]*conn{"b2": tcp["b2"], "b4": more["b4"]}, "")
			p.cables["b2"].Cut()
			p.awaitState("tcp", "b2", vip.StateDown)
			p.reset("lost", tcp["b2"])
			p.rebalanced("lost", udp["b2"], "b2")
			p.stay("another lost", map[string][]*conn{"b4": more["b4"]}, "")
			p.open("tcp", 1)
		})
	}
}

// rebalanced fails the test unless datagrams of sockets reach another backend than the one that has gone.
func (p *groupPool) rebalanced(when string, list []*conn, gone string) {
	p.t.Helper()
	for _, c := range list {
		p.Eventually(patience, func() error {
			_ = c.SetDeadline(time.Now().Add(200 * time.Millisecond))
			if _, err := c.Write([]byte("again\n")); err != nil {
				return err
			}
			if name, _, err := c.answer("again"); err != nil || name == gone {
				return fmt.Errorf("%s: %q answers, %v", when, name, err)
			}
			return nil
		})
	}
}

// While no backend takes connections new ones are refused; those of a draining one live on.
func TestGroupRefuses(t *testing.T) {
	p := newGroupPool(t, "")
	tcp := p.open("tcp", 3)
	for _, b := range []string{"b1", "b2", "b3"} {
		p.change(http.MethodPatch, "tcp/backends/"+b, map[string]any{"admin": "draining"})
		p.change(http.MethodPatch, "udp/backends/"+b, map[string]any{"admin": "disabled"})
	}
	p.followed()
	_, err := dial(p.ctx, p.client, "tcp", "", address+":80")
	p.refused("all draining", err)
	if _, _, err := p.dial(p.client, "udp", "", address+":80").ask("anybody"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("all disabled: %v", err)
	}
	p.stay("all draining", tcp, "")
	for _, b := range []string{"b1", "b2", "b3"} {
		p.change(http.MethodPatch, "tcp/backends/"+b, map[string]any{"admin": "disabled"})
	}
	for _, list := range tcp {
		p.reset("all disabled", list)
	}
	_, err = dial(p.ctx, p.client, "tcp", "", address+":80")
	p.refused("all disabled", err)
	_, err = dial(p.ctx, p.client, "tcp", "", address+":81")
	p.refused("a closed port", err)
	for _, name := range []string{"tcp", "udp"} {
		p.change(http.MethodPatch, name+"/backends/b2", map[string]any{"admin": "enabled"})
		p.awaitServed(p.client, name)
		p.open(name, 1)
	}
	p.change(http.MethodDelete, "tcp", nil)
	p.followed()
	_, err = dial(p.ctx, p.client, "tcp", "", address+":80")
	p.refused("deleted", err)
	p.open("udp", 1)
}
