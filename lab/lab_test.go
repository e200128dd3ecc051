package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// Two sockets of one port and peer would share their answers, and be one flow to a switch.
func TestDialFromAnyPort(t *testing.T) {
	ctx, h, used := within(t, 20*time.Second), New(t).Host("h1", "10.0.0.1/24"), map[string]bool{}
	for range 1000 { // of 28,232 ports: chance would give one twice
		c, err := h.Dial(ctx, "udp", "127.0.0.1:80")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		local := c.LocalAddr().String()
		if used[local] {
			t.Fatalf("two sockets are %s, after %d", local, len(used))
		}
		used[local] = true
	}
}

func TestOneSwitch(t *testing.T) {
	l := New(t)
	s1 := l.Switch("s1", DPID(0x1f), Protocols("OpenFlow13"))
	h1, h2 := l.Host("h1", "10.0.0.1/24"), l.Host("h2", "10.0.0.2/24", MAC("02:00:00:00:00:99"))
	l.Link(h1, 0, s1, 3)
	cable := l.Link(s1, 7, h2, 0)
	ping := func() error {
		_, err := h1.Run(within(t, 20*time.Second), "ping", "-c1", "-W1", h2.IP())
		return err
	}

	if ping() == nil {
		t.Error("a switch without flows forwards")
	}
	s1.Ofctl("add-flow", "table=0,priority=5,in_port=3,actions=output:7")
	s1.Ofctl("add-flow", "table=0,priority=5,in_port=7,actions=output:3")
	want := []string{"priority=5,in_port=3 actions=output:7", "priority=5,in_port=7 actions=output:3"}
	if diff := cmp.Diff(want, s1.DumpFlows()); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}
	l.Eventually(20*time.Second, ping) // the cached drop may outlive the barrier
	neighbour, err := h1.Run(within(t, 20*time.Second), "ip", "neighbour", "show", h2.IP())
	if err != nil || !strings.Contains(neighbour, "02:00:00:00:00:99") {
		t.Errorf("h1 knows h2 as %q, %v", neighbour, err)
	}
	if show := s1.Ofctl("show"); !strings.Contains(show, "dpid:000000000000001f") {
		t.Errorf("wrong datapath id:\n%s", show)
	}

	cable.Lose()
	if ping() == nil {
		t.Error("a link that loses everything forwards")
	}
	if state := s1.Vsctl("get", "interface", "s1-p7", "link_state"); state != "up" {
		t.Errorf("port 7 is %s while its link loses everything", state)
	}
	cable.Restore()
	if err := ping(); err != nil {
		t.Error(err)
	}
	cable.Cut()
	if ping() == nil {
		t.Error("a cut link forwards")
	}
	l.Eventually(20*time.Second, func() error {
		if state := s1.Vsctl("get", "interface", "s1-p7", "link_state"); state != "down" {
			return fmt.Errorf("port 7 is %s after the cut", state)
		}
		return nil
	})
	cable.Restore()
	l.Eventually(20*time.Second, ping)

	if _, err := s1.TryOfctl("add-flow", "nonsense"); err == nil {
		t.Error("a wrong flow is accepted")
	}
	s1.Restart()
	if flows := s1.DumpFlows(); len(flows) != 0 {
		t.Errorf("flows after a restart: %q", flows)
	}
}

func TestSwitchDialsController(t *testing.T) {
	l := New(t)
	s1 := l.Switch("s1", Protocols("OpenFlow15"))
	controller, err := net.Listen("unix", s1.ControllerSocket())
	if err != nil {
		t.Fatal(err)
	}
	defer controller.Close()
	s1.SetController("unix:" + s1.ControllerSocket())
	for _, when := range []string{"at first", "after a restart"} {
		conn, err := controller.Accept()
		if err != nil {
			t.Fatal(err)
		}
		hello := make([]byte, 8)
		if _, err := io.ReadFull(conn, hello); err != nil || hello[0] != 6 || hello[1] != 0 {
			t.Errorf("%s: % x, %v; want an OpenFlow 1.5 HELLO", when, hello, err)
		}
		if when == "at first" {
			s1.Restart()
		}
		_ = conn.Close()
	}
}

// Two switches with a host each: sockets of the test's process in the hosts,
// and frames beside the kernel.
func TestSocketsInHosts(t *testing.T) {
	l := New(t)
	s1, s2 := l.Switch("s1"), l.Switch("s2")
	h1, h2 := l.Host("h1", "10.0.0.1/24", Address("fd00::1/64")), l.Host("h2", "10.0.0.2/24", Address("fd00::2/64"))
	l.Link(h1, 0, s1, 1)
	l.Link(h2, 0, s2, 1)
	l.Link(s1, 10, s2, 11)
	for _, s := range []*Switch{s1, s2} {
		s.Ofctl("add-flow", "actions=normal")
	}
	ctx := within(t, 30*time.Second)
	for _, address := range []string{"10.0.0.2:80", "[fd00::2]:80"} {
		server := h2.Listen("tcp", address)
		go func() {
			for {
				c, err := server.Accept()
				if err != nil {
					return
				}
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}
		}()
		c, err := h1.DialFrom(ctx, "tcp", ":4000", address)
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.Repeat([]byte("evenflow"), 10_000) // many segments: offloads would stall them
		go func() {
			_, _ = c.Write(text)
			_ = c.(*net.TCPConn).CloseWrite()
		}()
		echo, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(echo, text) {
			t.Errorf("%s: %d of %d bytes came back, %v", address, len(echo), len(text), err)
		}
		if port := c.LocalAddr().(*net.TCPAddr).Port; port != 4000 {
			t.Errorf("local port %d", port)
		}
		_ = c.Close()
	}

	at1, at2 := h1.Frames(), h2.Frames()
	frame := append([]byte{2, 0, 10, 0, 0, 2, 2, 0, 10, 0, 0, 1, 0x88, 0xb5}, make([]byte, 46)...)
	ours := func(f []byte) bool { return f[12] == 0x88 && f[13] == 0xb5 }
	l.Eventually(20*time.Second, func() error { // a busy switch loses some
		if err := at1.Send(frame); err != nil {
			return err
		}
		got, err := at2.Receive(within(t, time.Second), ours)
		if err == nil && !bytes.Equal(got, frame) {
			t.Errorf("received % x", got)
		}
		return err
	})
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := at2.Receive(over, ours); !errors.Is(err, context.Canceled) {
		t.Errorf("Receive after its context's end: %v", err)
	}
}

func TestNothingStays(t *testing.T) {
	var prefix, dir string
	t.Run("lab", func(t *testing.T) {
		l := New(t)
		prefix, dir = l.prefix, l.dir
		s1, h1 := l.Switch("s1"), l.Host("h1", "10.0.0.1/24")
		l.Link(h1, 0, s1, 1)
		h1.Start("sleep", "1000")
		if found, _ := filepath.Glob(filepath.Join(netnsDir, prefix+"*")); len(found) != 2 {
			t.Errorf("namespaces: %q", found)
		}
	})
	if found, _ := filepath.Glob(filepath.Join(netnsDir, prefix+"*")); len(found) != 0 {
		t.Errorf("namespaces stay: %q", found)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s stays: %v", dir, err)
	}
}

func TestStale(t *testing.T) {
	for name, want := range map[string]bool{
		ownPrefix() + "123-s1":           false,
		"efl-1-1-77-s1":                  true, // process 1 began at another time
		"efl-4194305-5-77-s1":            true, // above any process number
		"efl-demo-s1":                    false,
		"someone-4194305-5-77-s1":        false,
		"efl-1-" + startTime("1"):        false, // not ours: no third part
		"efl-1-" + startTime("1") + "-1": false,
	} {
		if got := stale(name); got != want {
			t.Errorf("stale(%q) = %v", name, got)
		}
	}
}

func TestSweep(t *testing.T) {
	if err := possible(); err != nil {
		t.Fatal(err)
	}
	left := namespace("efl-4194305-5-1-s1")
	if err := left.create(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(os.TempDir(), "efl-4194305-5-1")
	if err := os.MkdirAll(filepath.Join(dir, "s1"), 0o700); err != nil {
		t.Fatal(err)
	}
	sleeper, err := startProcess(left.command("sleep", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	// The process must have become "sleep" inside the namespace to be found there.
	for {
		out, err := run(exec.Command("ip", "netns", "pids", string(left)))
		if err != nil {
			t.Fatal(err)
		}
		if out != "" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	sweep(t.Logf)
	<-sleeper.Done()
	for _, path := range []string{dir, filepath.Join(netnsDir, string(left))} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s stays: %v", path, err)
		}
	}
}
