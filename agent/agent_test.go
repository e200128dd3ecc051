package agent

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
)

// The kernel's sockets: connections are there, listeners and those that have ended are not.
func TestTCPReadsTheKernelsSockets(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // a listener of a test
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()           //nolint:errcheck // a connection of a test
	served, err := l.Accept() // both ends are there
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close() //nolint:errcheck // a connection of a test
	local, client := l.Addr().(*net.TCPAddr).AddrPort(), c.LocalAddr().(*net.TCPAddr).AddrPort()
	all, err := TCP(local.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(all, State{"tcp", client, local}) {
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
}

// Each report is whole, and says what the last answer said; after a failure nothing.
func TestRunGoesOn(t *testing.T) {
	one := State{"tcp", netip.MustParseAddrPort("10.0.0.9:40000"), netip.MustParseAddrPort("10.0.0.1:8080")}
	down := errors.New("down")
	log := logrus.New()
	var told strings.Builder
	log.SetOutput(&told)
	var sent []Report
	rounds := 0
	err := Run(t.Context(), Config{Host: one.Local.Addr(), Interval: time.Second, Log: log,
		Read: func(a netip.Addr) ([]State, error) {
			if a != one.Local.Addr() {
				t.Errorf("read for %s", a)
			}
			if rounds == 3 {
				return nil, nil
			}
			return []State{one}, nil
		},
		Send: func(_ context.Context, r Report) (int64, error) {
			sent = append(sent, r)
			if len(sent) == 2 {
				return 0, down
			}
			return int64(len(sent)), nil
		},
		Wait: func(context.Context, time.Duration) bool { rounds++; return rounds < 5 },
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(told.String(), "reports arrive"); n != 2 { // the first, and the one after the failure
		t.Errorf("told %d times:\n%s", n, told.String())
	}
	all := []State{one}
	want := []Report{{0, all}, {1, all}, {0, all}, {3, []State{}}, {4, all}}
	if diff := cmp.Diff(want, sent, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if err := Run(t.Context(), Config{Interval: time.Second}); err == nil {
		t.Error("no address passes")
	}
}
