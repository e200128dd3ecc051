package e2e

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// connect connects a client from a port as soon as its own kernel lets it, and hears the greeting.
func (w *network) connect(client *lab.Host, port int) *conn {
	w.t.Helper()
	var c *conn
	w.Eventually(patience, func() (err error) {
		c, err = dial(w.ctx, client, "tcp", fmt.Sprint(":", port), address+":80")
		if err != nil && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			w.t.Fatalf("port %d: %v", port, err)
		}
		return err
	})
	w.t.Cleanup(func() { _ = c.Close() })
	w.greeted(c)
	return c
}

// endings are the ways in which a connection ends, some of which its peer, or a switch between, does not hear of.
func endings(t *testing.T) map[string]func(client, server *conn) {
	return map[string]func(client, server *conn){
		"the client vanished":    func(c, _ *conn) { vanish(t, c) },
		"half closed":            func(c, _ *conn) { _ = c.Conn.(*net.TCPConn).CloseWrite(); vanish(t, c) },
		"the backend has forgot": func(c, server *conn) { vanish(t, c); vanish(t, server) },
		"reset by the client":    func(c, _ *conn) { _ = c.Conn.(*net.TCPConn).SetLinger(0); _ = c.Close() },
		"closed by the backend": func(c, server *conn) {
			_ = server.Close()
			_, _ = c.in.ReadString('\n')
			_ = c.Close()
		},
	}
}

// vanish ends a connection so that its peer is not told.
func vanish(t *testing.T, c *conn) {
	t.Helper()
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_REPAIR, 1) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// In mode nat too a port that a client uses again connects at once, however its last connection has ended.
func TestPortUsedAgain(t *testing.T) {
	w := line(t, 2, "")
	ports := tryPortUsedAgain(w, vip.ModeNAT, 1, func(how string, c, server *conn) { w.pass(how, "hello", c, server) })
	if n, err := w.live("web"); err != nil || n != int64(ports) {
		t.Errorf("%d live connections of %d ports, %v", n, ports, err)
	}
}

// tryPortUsedAgain uses ports, each some after the last, for a connection that ends in one of the [endings] and for another, which used
// is given with what the greeters have of that port by then. At most the SYN is sent again, when it meets an old socket.
func tryPortUsedAgain(w *network, mode vip.Mode, step int, used func(how string, c, server *conn)) (ports int) {
	w.t.Helper()
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1)
	servers := greet(8080, b1, b2)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Mode: mode}, 8080, b1, b2)
	port := 20000
	for how, end := range endings(w.t) {
		var all []*conn
		for range 10 {
			port += step
			ports++
			c := w.connect(client, port)
			server := servers.of(c)
			if server == nil {
				w.t.Fatalf("%s: the backend of port %d sees another", how, port)
			}
			end(c, server)
			c = w.connect(client, port)
			all = append(all, c)
			used(how, c, servers.of(c))
		}
		w.smooth(how, all, 1)
	}
	return ports
}

// The same 4,000 ports twice, many at a time, reset or closed: none is lost.
func TestPortsTwice(t *testing.T) {
	p := newPool(t, ipv4)
	p.portsTwice(p.client)
}

// portsTwice connects a client to port 80 of the VIP from each of 4,000 ports, and again as soon as that is done. It resets those
// connections; from a quarter as many ports, as its own kernel takes longer over them, they are closed.
func (w *network) portsTwice(client *lab.Host) {
	w.t.Helper()
	for base, n := range map[int]int{20000: 1000, 30000: 4000} {
		reset := n == 4000
		for round := range 2 {
			begun := time.Now()
			var wg sync.WaitGroup
			ports := make(chan int)
			for range 16 {
				wg.Go(func() {
					for port := range ports {
						if err := w.visit(client, port, reset); err != nil {
							w.t.Errorf("reset %v, round %d, port %d: %v", reset, round, port, err)
						}
					}
				})
			}
			for port := base; port < base+n; port++ {
				ports <- port
			}
			close(ports)
			wg.Wait()
			w.t.Logf("reset %v, round %d: %d connections in %.1f s", reset, round, n, time.Since(begun).Seconds())
		}
	}
}

// visit is a connection from a port that has an answer and ends, by a reset or not.
func (w *network) visit(client *lab.Host, port int, reset bool) error {
	c, err := dial(w.ctx, client, "tcp", fmt.Sprint(":", port), address+":80")
	for err != nil && errors.Is(err, syscall.EADDRNOTAVAIL) { // the client's own TIME_WAIT
		time.Sleep(5 * time.Millisecond)
		c, err = dial(w.ctx, client, "tcp", fmt.Sprint(":", port), address+":80")
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if reset {
		_ = c.Conn.(*net.TCPConn).SetLinger(0)
	}
	_, _, err = c.ask("hello")
	return err
}

// Whatever is flushed in the switches, live connections of mode nat do not stall: they are rules.
func TestFlush(t *testing.T) {
	p := newPool(t, ipv4)
	tcp := p.open("tcp", 3)
	p.askedWhile(tcp, func() {
		for _, s := range p.switches {
			s.Appctl("dpctl/flush-conntrack")
			s.Appctl("revalidator/purge")
		}
	})
	p.smooth("flushed", slices.Concat(slices.Collect(maps.Values(tcp))...), 0)
	p.stay("flushed", tcp, "")
}

// askedWhile does something some times over while connections are asked all the time, each of which has answers.
func (w *network) askedWhile(all map[string][]*conn, again func()) {
	w.t.Helper()
	done := make(chan struct{})
	var wg sync.WaitGroup
	rounds := make(chan struct{}, 1<<16)
	for _, list := range all {
		for _, c := range list {
			wg.Go(func() {
				for {
					if _, _, err := c.ask("ping"); err != nil {
						w.t.Errorf("%s: %v", c.LocalAddr(), err)
						return
					}
					select {
					case rounds <- struct{}{}:
					case <-done:
						return
					}
				}
			})
		}
	}
	for range 8 {
		for range 50 {
			<-rounds
		}
		again()
	}
	close(done)
	wg.Wait()
}

// awaitServed waits until a client is served at the VIP's port 80: a switch's cache may refuse for a moment.
func (w *network) awaitServed(client *lab.Host, network string) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		c, err := dial(w.ctx, client, network, "", address+":80")
		if err == nil {
			defer c.Close()
			_, _, err = c.ask("served")
		}
		return err
	})
}

// A switch whose tables have no room for more connections of mode nat refuses them aloud; old ones stay, and new ones are made
// when there is room again.
func TestFlowTableFull(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]int{"forward rules": 40, "reverse rules": 70} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, ipv4)
			tcp := p.open("tcp", 3)
			leak := p.tap(p.client, func(g gopacket.Packet) bool {
				ip, _ := g.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
				return ip != nil && ip.SrcIP.String() != address && tcpOf(g) != nil
			})
			rules := 0
			for _, r := range p.sw(1).DumpFlows() {
				if strings.Contains(r, fmt.Sprintf("table=%d,", table)) {
					rules++
				}
			}
			p.sw(1).Vsctl("--", "--id=@full", "create", "Flow_Table", fmt.Sprintf("flow_limit=%d", rules+2), "overflow_policy=refuse",
				"--", "set", "bridge", p.sw(1).Name(), fmt.Sprintf("flow_tables:%d=@full", table))
			refusals := 0
			for range 6 {
				c, err := dial(p.ctx, p.client, "tcp", "", address+":80")
				if err == nil {
					defer c.Close()
					for err == nil && refusals < 6 { // the first that has no room may have shaken hands
						if _, _, err = c.ask("served"); err == nil {
							break
						}
					}
				}
				switch {
				case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
					refusals++
				case err != nil:
					t.Errorf("neither served nor refused: %v", err)
				}
			}
			if refusals < 2 {
				t.Errorf("%d of 6 connections were refused, with room for 2", refusals)
			}
			p.stay("full", tcp, "")
			if n := len(leak.packets()); n > 2 {
				t.Errorf("%d answers have reached the client untranslated", n)
			}
			p.sw(1).Vsctl("clear", "bridge", p.sw(1).Name(), "flow_tables")
			p.awaitServed(p.client, "tcp")
			p.stay("room again", tcp, "")
			p.open("udp", 3)
		})
	}
}

// A port whose last connection was at a backend that drains connects to another one, however that connection has ended.
func TestPortUsedAgainWhileDraining(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			w := line(t, 2, "")
			client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1)
			servers := greet(8080, b1, b2)
			w.start()
			w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Mode: mode}, 8080, b1)
			type used struct {
				how    string
				port   int
				conn   *conn
				server *conn
				end    func(c, server *conn)
			}
			var all []used
			ends := endings(t)
			delete(ends, "half closed")
			for how, end := range ends {
				for i := range 2 {
					port := 20000 + 1000*len(all) + 50*i
					c := w.connect(client, port)
					all = append(all, used{how, port, c, servers.of(c), end})
				}
			}
			w.change(http.MethodPost, "web/backends", vip.BackendSpec{Name: "b2", Address: b2.IP(), Port: 8080})
			w.awaitState("web", "b2", vip.StateUp)
			w.change(http.MethodPatch, "web/backends/b1", map[string]any{"admin": "draining"})
			fresh := 40000
			w.Eventually(patience, func() error { // the switch's cache has followed
				fresh++
				if s := servers.of(w.connect(client, fresh)); s == nil || !strings.HasPrefix(s.LocalAddr().String(), b2.IP()) {
					return fmt.Errorf("a new connection is at %v", s)
				}
				return nil
			})
			w.followed() // what is cached of ports that were in use as well
			for _, u := range all {
				u.end(u.conn, u.server)
				c := w.connect(client, u.port)
				if name := servers.of(c); name == nil || !strings.HasPrefix(name.LocalAddr().String(), b2.IP()) {
					t.Errorf("%s: port %d is at %v, and b1 drains", u.how, u.port, name)
				}
			}
		})
	}
}
