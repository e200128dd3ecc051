package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/evenflow/evenflow/lab"
)

// accept has each connection that comes to an address of a host handled, until the listener is closed or the test ends.
func accept(h *lab.Host, address string, handle func(net.Conn)) net.Listener {
	l := h.Listen("tcp", address)
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go handle(c)
		}
	}()
	return l
}

// receive has each datagram that comes to an address of a host handled, in their order, and sends back what is returned, if anything.
// The data are valid until then.
func receive(h *lab.Host, address string, handle func(from net.Addr, data []byte) (answer []byte)) {
	c := h.ListenPacket("udp", address)
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := handle(from, buf[:n]); answer != nil {
				_, _ = c.WriteTo(answer, from)
			}
		}
	}()
}

// serveTCP answers each line that comes to a host's port with "HOST CLIENT LINE", where CLIENT is the address that it sees.
func serveTCP(h *lab.Host, port int) net.Listener { return serveTCPAs(h, at(h.IP(), port), h.Name()) }

// serveTCPAs does so at any address of a host, by another name.
func serveTCPAs(h *lab.Host, address, name string) net.Listener {
	return accept(h, address, func(c net.Conn) {
		defer c.Close()
		lines := bufio.NewScanner(c)
		for lines.Scan() {
			if _, err := fmt.Fprintf(c, "%s %s %s\n", name, c.RemoteAddr(), lines.Text()); err != nil {
				return
			}
		}
	})
}

// serveUDP does the same as serveTCP for datagrams.
func serveUDP(h *lab.Host, port int) { serveUDPAs(h, at(h.IP(), port), h.Name()) }

func serveUDPAs(h *lab.Host, address, name string) {
	receive(h, address, func(from net.Addr, data []byte) []byte {
		return fmt.Appendf(nil, "%s %s %s\n", name, from, strings.TrimSpace(string(data)))
	})
}

// serve listens on TCP and UDP.
func serve(port int, hosts ...*lab.Host) {
	for _, h := range hosts {
		serveTCP(h, port)
		serveUDP(h, port)
	}
}

// echo sends back what comes to a host's port.
func echo(h *lab.Host, port int) {
	accept(h, at(h.IP(), port), func(c net.Conn) {
		defer c.Close()
		_, _ = io.Copy(c, c)
	})
}

// greeters accept connections on hosts' ports, greet with the host's name, and keep them by the client's address.
type greeters struct {
	mu       sync.Mutex
	accepted map[string]*conn
}

func greet(port int, hosts ...*lab.Host) *greeters {
	g := &greeters{accepted: map[string]*conn{}}
	for _, h := range hosts {
		accept(h, at(h.IP(), port), func(c net.Conn) {
			g.mu.Lock()
			g.accepted[c.RemoteAddr().String()] = newConn(c)
			g.mu.Unlock()
			_, _ = fmt.Fprintln(c, h.Name())
		})
	}
	return g
}

// of is a client's connection as its backend has it, nil if it sees another client.
func (g *greeters) of(c *conn) *conn { return g.from(c.LocalAddr().String()) }

// from is the connection of a client as the backend sees it, nil if there is none.
func (g *greeters) from(address string) *conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accepted[address]
}

// sink counts what comes to a port.
type sink struct {
	mu sync.Mutex
	n  int
}

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// drain receives datagrams and answers none.
func drain(h *lab.Host, port int) *sink {
	s := &sink{}
	receive(h, at(h.IP(), port), func(net.Addr, []byte) []byte {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.n++
		return nil
	})
	return s
}
