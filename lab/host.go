package lab

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Host is a network namespace with an interface, eth0, or several, as a router has: eth0, eth1 and so on are its ports. Those but
// eth0 have no addresses but what a test gives them.
type Host struct {
	lab   *Lab
	name  string
	ns    namespace
	mac   net.HardwareAddr
	addrs []netip.Prefix

	managed int // how many reach it by a management network
}

// HostOption changes how a host is made.
type HostOption func(*Host)

// MAC sets the host's Ethernet address; it fails the test when it is none. By
// default it is 02:00 and the four bytes of the IPv4 address (the last four
// of an IPv6 one).
func MAC(text string) HostOption {
	return func(h *Host) {
		mac, err := net.ParseMAC(text)
		if err != nil || len(mac) != 6 {
			h.lab.t.Fatalf("lab: host %s: %q is not an Ethernet address", h.name, text)
		}
		h.mac = mac
	}
}

// Address adds one more address, such as "fd00::1/64". A host without an IPv6
// address sends no IPv6 at all.
func Address(cidr string) HostOption {
	return func(h *Host) { h.addrs = append(h.addrs, h.prefix(cidr)) }
}

// Host makes a host with an address such as "10.0.0.1/24". It has a network
// once it is linked, at its port 0.
func (l *Lab) Host(name, cidr string, opts ...HostOption) *Host {
	l.t.Helper()
	h := &Host{lab: l, name: name, ns: namespace(l.prefix + name)}
	h.addrs = []netip.Prefix{h.prefix(cidr)}
	b := h.addrs[0].Addr().AsSlice()
	h.mac = append(net.HardwareAddr{2, 0}, b[len(b)-4:]...)
	for _, o := range opts {
		o(h)
	}
	l.add(h)
	v6 := false
	for _, a := range h.addrs {
		v6 = v6 || a.Addr().Is6()
	}
	if !v6 {
		if err := h.ns.silenceIPv6(); err != nil {
			l.t.Fatalf("lab: host %s: %v", name, err)
		}
	}
	return h
}

func (h *Host) prefix(cidr string) netip.Prefix {
	h.lab.t.Helper()
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		h.lab.t.Fatalf("lab: host %s: %v", h.name, err)
	}
	return p
}

// Name is the host's name.
func (h *Host) Name() string { return h.name }

// IP is the first address, without its length.
func (h *Host) IP() string { return h.addrs[0].Addr().String() }

// MAC is the Ethernet address of eth0.
func (h *Host) MAC() string { return h.mac.String() }

// Run executes a program in the host and returns what it printed on both of
// its outputs. The program is killed when ctx ends.
func (h *Host) Run(ctx context.Context, argv ...string) (string, error) {
	p, err := h.start(argv)
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
		return p.Output(), fmt.Errorf("%s: %v: %w", h.name, argv, ctx.Err())
	}
	if err := p.Wait(); err != nil {
		return p.Output(), fmt.Errorf("%s: %v: %w: %s", h.name, argv, err, p.Output())
	}
	return p.Output(), nil
}

// Start starts a program in the host; it is killed at the latest when the test ends.
func (h *Host) Start(argv ...string) *Process {
	h.lab.t.Helper()
	p, err := h.start(argv)
	if err != nil {
		h.lab.t.Fatalf("lab: host %s: %v", h.name, err)
	}
	return p
}

func (h *Host) start(argv []string) (*Process, error) {
	cmd := h.ns.command(argv...)
	cmd.WaitDelay = time.Second // a child that outlives the program may hold its outputs open
	return startProcess(cmd)
}

// Do calls fn with the calling thread in the host's namespace: sockets opened
// by fn itself (not by goroutines that it starts) belong to the host. fn runs
// on a goroutine of its own, so it may not end the test.
func (h *Host) Do(fn func() error) error { return h.ns.do(fn) }

// Dial connects from the host; the address is numeric.
func (h *Host) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	return h.DialFrom(ctx, network, "", address)
}

// DialFrom is Dial from a given local address, such as ":4000", also one that
// an earlier connection has just left; "" is any that no other socket has.
func (h *Host) DialFrom(ctx context.Context, network, local, address string) (conn net.Conn, err error) {
	var d net.Dialer
	if local != "" {
		d.Control = reuseAddress // never for any port: Linux then gives datagram sockets ports that others have
		if d.LocalAddr, err = localAddr(network, local); err != nil {
			return nil, err
		}
	}
	err = h.Do(func() (err error) {
		conn, err = d.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

func localAddr(network, address string) (net.Addr, error) {
	if len(network) >= 3 && network[:3] == "udp" {
		return net.ResolveUDPAddr(network, address)
	}
	return net.ResolveTCPAddr(network, address)
}

func reuseAddress(_, _ string, c syscall.RawConn) error {
	var err error
	if ctl := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) }); ctl != nil {
		return ctl
	}
	return err
}

// Listen listens in the host, until the test ends.
func (h *Host) Listen(network, address string) net.Listener {
	h.lab.t.Helper()
	var l net.Listener
	err := h.Do(func() (err error) {
		l, err = net.Listen(network, address)
		return err
	})
	if err != nil {
		h.lab.t.Fatalf("lab: host %s: %v", h.name, err)
	}
	h.lab.t.Cleanup(func() { _ = l.Close() })
	return l
}

// ListenPacket is Listen for datagrams.
func (h *Host) ListenPacket(network, address string) net.PacketConn {
	h.lab.t.Helper()
	var c net.PacketConn
	err := h.Do(func() (err error) {
		c, err = net.ListenPacket(network, address)
		return err
	})
	if err != nil {
		h.lab.t.Fatalf("lab: host %s: %v", h.name, err)
	}
	h.lab.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (h *Host) space() namespace { return h.ns }

func (h *Host) ifname(port int) string { return fmt.Sprintf("eth%d", port) }

func (h *Host) plugged(port int) error {
	if port > 0 {
		return nil
	}
	if _, err := run(h.ns.command("ip", "link", "set", "eth0", "address", h.mac.String())); err != nil {
		return err
	}
	for _, a := range h.addrs {
		argv := []string{"ip", "address", "add", a.String(), "dev", "eth0"}
		if a.Addr().Is6() {
			argv = append(argv, "nodad") // nobody else has it; detection only delays
			if err := h.ns.keepAddresses("eth0"); err != nil {
				return err
			}
		}
		if _, err := run(h.ns.command(argv...)); err != nil {
			return err
		}
	}
	return nil
}
