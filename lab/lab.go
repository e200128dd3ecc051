package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

const (
	schema    = "/usr/share/openvswitch/vswitch.ovsschema"
	toolLimit = 30 * time.Second // no tool of ours takes longer, however busy the machine
)

var programs = []string{"ip", "tc", "ethtool", "ovsdb-tool", "ovsdb-server", "ovs-vsctl", "ovs-vswitchd", "ovs-ofctl", "ovs-appctl"}

// Interface names hold 15 bytes: a name, "-p" and a port of up to four digits.
var nodeName = regexp.MustCompile(`^[a-z][a-z0-9]{0,8}$`)

// Lab is the network of one test. Its methods and those of its parts fail the
// test when they cannot do their work, so call them from the test's goroutine,
// unless they return an error.
type Lab struct {
	t      testing.TB
	dir    string // run directories, one per switch
	prefix string // of all namespaces
	nodes  map[string]Node

	tunnels int // so far, for their addresses
}

// Node is a switch or a host: an end of a link.
type Node interface {
	Name() string
	space() namespace
	ifname(port int) string
	plugged(port int) error // the interface of that port is in the namespace
}

// New returns an empty network that is removed when the test ends. It fails
// the test unless it runs as root with Open vSwitch installed.
func New(t testing.TB) *Lab {
	t.Helper()
	if err := possible(); err != nil {
		t.Fatalf("lab: %v", err)
	}
	sweep(t.Logf)
	dir, err := os.MkdirTemp(os.TempDir(), ownPrefix()+"*")
	if err != nil {
		t.Fatalf("lab: %v", err)
	}
	l := &Lab{t: t, dir: dir, prefix: filepath.Base(dir) + "-", nodes: map[string]Node{}}
	t.Cleanup(l.remove)
	return l
}

func possible() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("needs root, for network namespaces")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			return fmt.Errorf("%s is not installed: run scripts/install-deps", p)
		}
	}
	if _, err := os.Stat(schema); err != nil {
		return fmt.Errorf("%w: run scripts/install-deps", err)
	}
	return nil
}

func (l *Lab) add(n Node) {
	l.t.Helper()
	switch {
	case !nodeName.MatchString(n.Name()):
		l.t.Fatalf("lab: name %q: at most 9 lower-case letters and digits, a letter first", n.Name())
	case l.nodes[n.Name()] != nil:
		l.t.Fatalf("lab: two nodes are called %q", n.Name())
	}
	l.nodes[n.Name()] = n // first, so that what a failure leaves is removed too
	if err := n.space().create(); err != nil {
		l.t.Fatalf("lab: %s: %v", n.Name(), err)
	}
}

func (l *Lab) remove() {
	for _, n := range l.nodes {
		if s, ok := n.(*Switch); ok {
			s.finish()
		}
		if err := n.space().remove(); err != nil {
			l.t.Errorf("lab: %s: %v", n.Name(), err)
		}
	}
	if err := os.RemoveAll(l.dir); err != nil {
		l.t.Errorf("lab: %v", err)
	}
}

// Eventually calls check until it returns nil, and fails the test with its
// last error when it has not after limit. It is for what no event announces,
// such as a switch's flow table; the limit decides nothing but when a broken
// program is given up, so make it generous.
func (l *Lab) Eventually(limit time.Duration, check func() error) {
	l.t.Helper()
	end := time.Now().Add(limit)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			l.t.Fatalf("not within %v: %v", limit, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// run executes a tool and returns what it printed on standard output.
func run(cmd *exec.Cmd) (string, error) {
	var out, complaint limited
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Start()
	if err == nil {
		late := time.AfterFunc(toolLimit, func() { _ = cmd.Process.Kill() })
		err = cmd.Wait()
		late.Stop()
	}
	if err != nil {
		return out.String(), fmt.Errorf("%v: %w: %s", cmd.Args, err, complaint.String())
	}
	return out.String(), nil
}
