package agent

import (
	"net"
	"net/netip"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel's sockets: connections are there, listeners and those that have ended are not. A server that listens on all addresses has its
// connections of IPv4 at sockets of IPv6, unless it says otherwise.
func TestTCPReadsTheKernelsSockets(t *testing.T) {
	for name, x := range map[string]struct{ listen, host string }{
		"IPv4":                 {"127.0.0.1:0", "127.0.0.1"},
		"IPv4, dual listener":  {"[::]:0", "127.0.0.1"},
		"IPv6":                 {"[::1]:0", "::1"},
		"IPv6, of all":         {"[::]:0", "::1"},
		"IPv4, all of its own": {"0.0.0.0:0", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			ownNetwork(t)
			l, err := net.Listen("tcp", x.listen)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close() //nolint:errcheck // a listener of a test
			local := netip.AddrPortFrom(netip.MustParseAddr(x.host), l.Addr().(*net.TCPAddr).AddrPort().Port())
			c, err := net.Dial("tcp", local.String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()           //nolint:errcheck // a connection of a test
			served, err := l.Accept() // both ends are there
			if err != nil {
				t.Fatal(err)
			}
			defer served.Close() //nolint:errcheck // a connection of a test
			client := c.LocalAddr().(*net.TCPAddr).AddrPort()
			all, err := TCP(local.Addr())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(all, State{Protocol: "tcp", Client: client, Local: local}) {
				t.Errorf("%s to %s is not among %v", client, local, all)
			}
			for _, s := range all {
				if s.Local == local && s.Client.Port() == 0 {
					t.Errorf("the listener is there: %v", s)
				}
			}
			if other, err := TCP(netip.MustParseAddr("127.0.0.77")); err != nil || slices.ContainsFunc(other, func(s State) bool { return s.Local == local }) {
				t.Errorf("another address has it as well: %v, %v", other, err)
			}
		})
	}
}

// ownNetwork has the test go on in a network namespace of its own, which has IPv6 also where the machine, as a container may, has none. The
// namespace ends with the test's thread.
func ownNetwork(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal("needs root: ", err)
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
