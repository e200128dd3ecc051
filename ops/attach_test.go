package ops

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/lab"
)

// bridge is a bridge of a switch as its operator sees it.
type bridge struct {
	*lab.Switch
	t    *testing.T
	name string
}

// newBridge makes a bridge, and a switch with it that has another one called s1.
func newBridge(t *testing.T, name string) *bridge {
	s := lab.New(t).Switch("s1")
	s.Vsctl("add-br", name, "--", "set", "bridge", name, "datapath_type=netdev", "fail_mode=secure")
	return &bridge{s, t, name}
}

// ofctl runs ovs-ofctl on the bridge.
func (b *bridge) ofctl(command string, args ...string) string {
	b.t.Helper()
	socket := "unix:" + filepath.Dir(b.ManagementSocket()) + "/" + b.name + ".mgmt"
	out, err := exec.Command("ovs-ofctl", append([]string{"-OOpenFlow10,OpenFlow13,OpenFlow15", "--no-stats", command, socket}, args...)...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("ovs-ofctl %s: %v: %s", command, err, out)
	}
	return string(out)
}

// attach runs scripts/attach-bridge on it and returns its output; the exit code stands in front if it is not 0.
func (b *bridge) attach(args ...string) string {
	b.t.Helper()
	cmd := exec.Command("../scripts/attach-bridge", append([]string{b.name}, args...)...)
	cmd.Env = append(os.Environ(), "OVS_RUNDIR="+filepath.Dir(b.ManagementSocket()))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v\n%s", err, out)
	}
	return string(out)
}

// must is attach that succeeds.
func (b *bridge) must(args ...string) string {
	b.t.Helper()
	out := b.attach(args...)
	if strings.HasPrefix(out, "exit status") {
		b.t.Fatalf("attach-bridge %v: %s", args, out)
	}
	return out
}

var (
	rowNames = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	quick    = regexp.MustCompile(`max_backoff +: 1000\n`)
	volatile = regexp.MustCompile(`(?m)^(_uuid|datapath_id|datapath_version|status|is_connected|role) .*\n`)
)

// settings are the rows of the bridge and its controllers, without what Open vSwitch writes there itself.
func (b *bridge) settings() string {
	b.t.Helper()
	rows := strings.Split(strings.TrimSpace(b.Vsctl("--columns=target,connection_mode,max_backoff,inactivity_probe,"+
		"controller_rate_limit,controller_burst_limit,controller_queue_size,enable_async_messages,type,local_ip,other_config,external_ids",
		"list", "controller")), "\n\n")
	slices.Sort(rows) // else by their random names
	text := b.Vsctl("list", "bridge", b.name) + "\n" + strings.Join(rows, "\n\n") + "\n"
	return rowNames.ReplaceAllString(volatile.ReplaceAllString(text, ""), "UUID")
}

func (b *bridge) check(column, want string) {
	b.t.Helper()
	if got := strings.TrimSpace(b.Vsctl("get", "bridge", b.name, column)); got != want {
		b.t.Errorf("%s is %s, want %s", column, got, want)
	}
}

// Whatever the settings were, they are so again after --detach.
func TestAttachAndDetach(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]string{
		"a": {"clear", "bridge", "a", "fail_mode", "--", "clear", "bridge", "a", "protocols", "--", "clear", "bridge", "a", "other_config"},
		"b": {"set", "bridge", "b", "fail_mode=standalone", "protocols=OpenFlow10,OpenFlow14", "other_config:disable-in-band=false",
			`external_ids:note="it's \"hi\" \\ there"`,
			"--", "--id=@one", "create", "controller", `target="tcp:192.0.2.7:6653"`, `other_config:dscp="0"`,
			`external_ids:what="two  words, \"quoted\""`, "max_backoff=3000",
			"--", "--id=@two", "create", "controller", `target="ptcp:6634:127.0.0.1"`, "--", "set", "bridge", "b", "controller=[@one,@two]"},
		"c": {"set-controller", "c", "ssl:[2001:db8::1]:6653", "--", "set", "controller", "c", "connection_mode=out-of-band",
			"inactivity_probe=0", "controller_rate_limit=500", "controller_burst_limit=50", "enable_async_messages=false"},
	} {
		b := newBridge(t, name)
		b.Vsctl(before...)
		was := b.settings()
		dry := b.must("--dry-run", "--datapath-id", "00000000000000AB")
		if now := b.settings(); now != was {
			t.Errorf("%s: a dry run changed\n%s", name, cmp.Diff(was, now))
		}
		target := "unix:" + b.ControllerSocket()
		if out := b.must("--datapath-id", "00000000000000AB"); out != dry || !strings.HasPrefix(out, "+ ovs-vsctl ") {
			t.Errorf("%s: the dry run said\n%s\nthen it said\n%s", name, dry, out)
		}
		b.check("fail_mode", "secure")
		b.check("protocols", "[OpenFlow13, OpenFlow15]")
		b.check("other_config:disable-in-band", `"true"`)
		b.check("datapath_id", `"00000000000000ab"`)
		for range 2 { // the second time there is nothing to do
			b.must("--controller", target, "--controller=tcp:127.0.0.1:6653")
		}
		whole := b.settings()
		if len(quick.FindAllString(whole, -1)) != 2 || !strings.Contains(whole, target) || !strings.Contains(whole, "tcp:127.0.0.1:6653") {
			t.Errorf("%s: the controllers are not as asked:\n%s", name, whole)
		}
		if out := b.must("--controller", "tcp:127.0.0.1:6653", "--controller", target); out != name+" is attached already\n" || b.settings() != whole {
			t.Errorf("%s: not idempotent: %s\n%s", name, out, cmp.Diff(whole, b.settings()))
		}
		b.must("--detach", "--dry-run")
		if now := b.settings(); now != whole {
			t.Errorf("%s: a dry run changed\n%s", name, cmp.Diff(whole, now))
		}
		b.must("--detach")
		if now := b.settings(); now != was {
			t.Errorf("%s: not restored:\n%s", name, cmp.Diff(was, now))
		}
		if out := b.must("--detach"); out != name+" is not attached\n" {
			t.Errorf("%s: detached twice: %s", name, out)
		}
	}
}

// An attached bridge connects, and keeps its rules; a detached one has none of ours and all of the others'.
func TestAttachedBridgeConnects(t *testing.T) {
	t.Parallel()
	b := newBridge(t, "br0")
	b.Vsctl("set-controller", "br0", "tcp:127.0.0.1:1") // with none it would lose all rules when detached
	socket, err := net.Listen("unix", b.ControllerSocket())
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	b.must("--controller", "unix:"+b.ControllerSocket())
	conn, err := socket.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	b.ofctl("add-flow", "cookie=0xef01010000000000,priority=7,actions=drop")
	b.ofctl("add-flow", "cookie=0xee,table=3,priority=8,actions=drop")
	b.must("--detach")
	if got := b.ofctl("dump-flows"); !strings.Contains(got, " cookie=0xee, table=3, priority=8 actions=drop\n") || strings.Count(got, "actions=") != 1 {
		t.Errorf("left are\n%s", got)
	}
}

func TestAttachRefuses(t *testing.T) {
	t.Parallel()
	b := newBridge(t, "br-int")
	was := b.settings()
	for _, tt := range []struct {
		name   string
		before []string // ovs-vsctl
		flows  []string // added
		args   string
		want   string // "": it attaches
	}{
		{name: "foreign rules", flows: []string{"cookie=0x1,priority=7,actions=drop", "priority=0,actions=NORMAL"}, want: "has 1 rules of somebody else's; see --force"},
		{name: "foreign rules, asked", flows: []string{"cookie=0x1,priority=7,actions=drop"}, args: "--force"},
		{name: "our rules", flows: []string{"cookie=0xef01010000000000,priority=7,actions=drop"}},
		{name: "a rule for all packets that is not Open vSwitch's", flows: []string{"priority=1,actions=NORMAL"}, want: "1 rules of somebody else's"},
		{name: "OVN's bridge", before: []string{"set", "open_vswitch", ".", "external_ids:ovn-remote=unix:/x"}, args: "--force", want: "belongs to OVN"},
		{name: "a bridge that OVN maps", before: []string{"set", "open_vswitch", ".", "external_ids:ovn-bridge=br-ovn",
			`external_ids:ovn-bridge-mappings="a:br0,physnet:br-int"`}, args: "--force", want: "belongs to OVN"},
		{name: "a bridge beside OVN's", before: []string{"set", "open_vswitch", ".", `external_ids:ovn-bridge-mappings="a:br-int2"`}},
		{name: "a bridge that was OVN's", before: []string{"clear", "open_vswitch", ".", "external_ids", "--", "set", "bridge", "br-int",
			"external_ids:ct-zone-lsp=3"}, args: "--force", want: "belongs to OVN"},
	} {
		b.ofctl("del-flows")
		for _, f := range tt.flows {
			b.ofctl("add-flow", f)
		}
		if tt.before != nil {
			b.Vsctl(tt.before...)
			was = b.settings()
		}
		out := b.attach(strings.Fields(tt.args)...)
		switch {
		case tt.want == "":
			if strings.HasPrefix(out, "exit status") {
				t.Errorf("%s: %s", tt.name, out)
			}
			b.must("--detach")
		case !strings.HasPrefix(out, "exit status 1") || !strings.Contains(out, tt.want):
			t.Errorf("%s: got %s, want %s", tt.name, out, tt.want)
		}
		if now := b.settings(); now != was {
			t.Errorf("%s: changed\n%s", tt.name, cmp.Diff(was, now))
		}
	}
}

func TestAttachUsage(t *testing.T) {
	t.Parallel()
	b := newBridge(t, "br0")
	dir := "--db=unix:" + filepath.Dir(b.ManagementSocket()) + "/db.sock"
	for _, tt := range []struct{ args, want string }{
		{"", "which bridge?"},
		{"br0 br1 " + dir, "two bridges: br0 and br1"},
		{"br7 " + dir, "there is no bridge br7"},
		{"br0 --fast", "--fast: no such option"},
		{"br0 --controller", "--controller: want a value"},
		{"br0 --controller 127.0.0.1:6653", "want tcp:HOST:PORT"},
		{"br0 --controller tcp:127.0.0.1", "want tcp:HOST:PORT"},
		{"br0 --datapath-id 7", "want 16 hex digits"},
		{"br0 --detach --datapath-id 0000000000000007", "--detach restores what was"},
		{"br0 --dry-run --db unix:/nonexistent", "there is no bridge br0"},
	} {
		out, err := exec.Command("../scripts/attach-bridge", strings.Fields(tt.args)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: %v, %s", tt.args, err, out)
		}
	}
	out, err := exec.Command("../scripts/attach-bridge", "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "usage: attach-bridge BRIDGE") || strings.Contains(string(out), "pipefail") {
		t.Errorf("--help: %v, %s", err, out)
	}
	// The database alone says where the bridge's own socket is.
	b.ofctl("add-flow", "cookie=0x1,actions=drop")
	if out, err := exec.Command("../scripts/attach-bridge", "br0", dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "1 rules of somebody else's") {
		t.Errorf("--db alone: %v, %s", err, out)
	}
}
