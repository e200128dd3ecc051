package lab

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Switch is one emulated switch: an ovsdb-server and an ovs-vswitchd with one
// bridge, called as the switch is.
type Switch struct {
	lab       *Lab
	name      string
	ns        namespace
	dir       string
	dpid      uint64
	protocols []string
	db, vs    *Process
}

// SwitchOption changes how a switch is made.
type SwitchOption func(*Switch)

// DPID sets the datapath id. By default it is the number of the node in the
// order of creation, hosts included.
func DPID(id uint64) SwitchOption { return func(s *Switch) { s.dpid = id } }

// Protocols sets the OpenFlow versions the bridge speaks, in Open vSwitch's
// words; by default OpenFlow13 and OpenFlow15.
func Protocols(versions ...string) SwitchOption {
	return func(s *Switch) { s.protocols = versions }
}

// Switch starts a switch: userspace datapath, fail_mode=secure, no in-band
// rules, no controller yet, an empty flow table.
func (l *Lab) Switch(name string, opts ...SwitchOption) *Switch {
	l.t.Helper()
	s := &Switch{lab: l, name: name, ns: namespace(l.prefix + name), dir: filepath.Join(l.dir, name),
		dpid: uint64(len(l.nodes) + 1), protocols: []string{"OpenFlow13", "OpenFlow15"}}
	for _, o := range opts {
		o(s)
	}
	l.add(s)
	if err := s.create(); err != nil {
		l.t.Fatalf("lab: switch %s: %v", name, err)
	}
	return s
}

func (s *Switch) create() error {
	if err := s.ns.silenceIPv6(); err != nil {
		return err
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return err
	}
	if _, err := run(exec.Command("ovsdb-tool", "create", s.path("conf.db"), schema)); err != nil {
		return err
	}
	var err error
	s.db, err = s.daemon("ovsdb-server", s.path("conf.db"), "--remote=punix:"+s.path("db.sock"))
	if err != nil {
		return err
	}
	// ovs-vsctl would wait a whole second before it tries again.
	for end := time.Now().Add(toolLimit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(s.path("db.sock")); err == nil {
			break
		}
	}
	if _, err := s.vsctl("--retry", "--no-wait", "init"); err != nil {
		return err
	}
	if err := s.startDaemon(); err != nil {
		return err
	}
	_, err = s.vsctl("add-br", s.name, "--", "set", "bridge", s.name, "datapath_type=netdev", "fail_mode=secure",
		"protocols="+strings.Join(s.protocols, ","), fmt.Sprintf("other_config:datapath-id=%016x", s.dpid),
		"other_config:disable-in-band=true", fmt.Sprintf("other_config:hwaddr=02:5e:%02x:%02x:%02x:%02x",
			byte(s.dpid>>24), byte(s.dpid>>16), byte(s.dpid>>8), byte(s.dpid)))
	return err
}

func (s *Switch) startDaemon() (err error) {
	s.vs, err = s.daemon("ovs-vswitchd", "unix:"+s.path("db.sock"))
	return err
}

func (s *Switch) daemon(program string, args ...string) (*Process, error) {
	cmd := s.ns.command(append([]string{program, "--pidfile", "--unixctl=" + s.path(program+".ctl"),
		"--log-file=" + s.path(program+".log"), "-vconsole:off"}, args...)...)
	cmd.Env = s.environment()
	return startProcess(cmd)
}

func (s *Switch) environment() []string {
	env := os.Environ()
	for _, v := range []string{"OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"} {
		env = append(env, v+"="+s.dir)
	}
	return env
}

func (s *Switch) path(file string) string { return filepath.Join(s.dir, file) }

// Name is the switch's and its bridge's name.
func (s *Switch) Name() string { return s.name }

// DPID is the datapath id.
func (s *Switch) DPID() uint64 { return s.dpid }

// ControllerSocket is where a controller for this switch may listen: in the
// switch's run directory, the only place where Open vSwitch dials Unix sockets.
// Nothing is there until the test listens.
func (s *Switch) ControllerSocket() string { return s.path("ctl.sock") }

// ManagementSocket accepts OpenFlow connections: the one that Ofctl uses.
func (s *Switch) ManagementSocket() string { return s.path(s.name + ".mgmt") }

// SetController makes the switch connect to these targets ("unix:PATH",
// "tcp:ADDRESS:PORT" seen from its namespace) and to no others; none removes
// all. A target that does not listen yet is tried again every second.
func (s *Switch) SetController(targets ...string) {
	s.lab.t.Helper()
	var args, ids []string
	for i, t := range targets {
		id := fmt.Sprintf("@c%d", i)
		ids = append(ids, id)
		args = append(args, "--", "--id="+id, "create", "controller", fmt.Sprintf("target=%q", t), "max_backoff=1000",
			"connection_mode=out-of-band")
	}
	s.Vsctl(append(args, "--", "set", "bridge", s.name, "controller=["+strings.Join(ids, ",")+"]")...)
}

// Ofctl runs ovs-ofctl COMMAND BRIDGE ARGS in the highest version that the
// switch speaks and returns its output. Options go before the command.
func (s *Switch) Ofctl(args ...string) string {
	s.lab.t.Helper()
	return s.must(s.TryOfctl(args...))
}

// TryOfctl is Ofctl for what may fail.
func (s *Switch) TryOfctl(args ...string) (string, error) {
	at := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if at < 0 {
		return "", fmt.Errorf("ovs-ofctl: no command in %q", args)
	}
	args = slices.Insert(slices.Clone(args), at+1, "unix:"+s.ManagementSocket())
	return run(exec.Command("ovs-ofctl", append([]string{"-O", slices.Max(s.protocols)}, args...)...))
}

// DumpFlows returns all flows, sorted, one text each, without counters and ages.
func (s *Switch) DumpFlows() []string {
	s.lab.t.Helper()
	return lines(s.Ofctl("--no-stats", "--no-names", "dump-flows"))
}

// DumpGroups returns all groups, sorted, one text each.
func (s *Switch) DumpGroups() []string {
	s.lab.t.Helper()
	return lines(s.Ofctl("--no-names", "dump-groups"))
}

// lines are the trimmed lines of a dump without its headings.
func lines(dump string) []string {
	var out []string
	for line := range strings.Lines(dump) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.Contains(line, "reply (OF") && !strings.HasPrefix(line, "NXST_") && !strings.HasPrefix(line, "OFPST_") {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// Vsctl runs ovs-vsctl on the switch's own database and returns its output.
func (s *Switch) Vsctl(args ...string) string {
	s.lab.t.Helper()
	return s.must(s.vsctl(args...))
}

func (s *Switch) vsctl(args ...string) (string, error) {
	return run(exec.Command("ovs-vsctl", append([]string{"--timeout=20", "--db=unix:" + s.path("db.sock")}, args...)...))
}

// Appctl runs ovs-appctl on the switch's ovs-vswitchd and returns its output.
func (s *Switch) Appctl(args ...string) string {
	s.lab.t.Helper()
	return s.must(s.TryAppctl(args...))
}

// TryAppctl is Appctl for what may fail.
func (s *Switch) TryAppctl(args ...string) (string, error) {
	return run(exec.Command("ovs-appctl", append([]string{"-t", s.path("ovs-vswitchd.ctl")}, args...)...))
}

func (s *Switch) must(out string, err error) string {
	s.lab.t.Helper()
	if err != nil {
		s.lab.t.Fatalf("lab: switch %s: %v", s.name, err)
	}
	return out
}

// Kill ends ovs-vswitchd by SIGKILL: flows, groups and conntrack are gone,
// links lose nothing but the switch.
func (s *Switch) Kill() {
	s.lab.t.Helper()
	if s.vs == nil {
		s.lab.t.Fatalf("lab: switch %s is down already", s.name)
	}
	s.vs.Kill()
	s.vs = nil
}

// Running reports whether there is an ovs-vswitchd: always, but between Kill and Start.
func (s *Switch) Running() bool { return s.vs != nil }

// Hang stops ovs-vswitchd, which neither forwards nor answers until Continue.
func (s *Switch) Hang() { s.signal(syscall.SIGSTOP) }

// Continue ends Hang.
func (s *Switch) Continue() { s.signal(syscall.SIGCONT) }

func (s *Switch) signal(sig syscall.Signal) {
	s.lab.t.Helper()
	if s.vs == nil {
		s.lab.t.Fatalf("lab: switch %s is down", s.name)
	}
	if err := syscall.Kill(s.vs.PID(), sig); err != nil {
		s.lab.t.Fatalf("lab: switch %s: %v", s.name, err)
	}
}

// Start starts ovs-vswitchd after Kill and waits until the bridge is back.
func (s *Switch) Start() {
	s.lab.t.Helper()
	if err := s.startDaemon(); err != nil {
		s.lab.t.Fatalf("lab: switch %s: %v", s.name, err)
	}
	// Any change that is waited for is done when the bridge is set up.
	s.Vsctl("set", "bridge", s.name, "external_ids:lab-started="+fmt.Sprint(s.vs.PID()))
}

// Restart is Kill and Start.
func (s *Switch) Restart() {
	s.lab.t.Helper()
	s.Kill()
	s.Start()
}

func (s *Switch) space() namespace { return s.ns }

func (s *Switch) ifname(port int) string { return fmt.Sprintf("%s-p%d", s.name, port) }

func (s *Switch) plugged(port int) error { return s.plug(port) }

// plug adds a port to the bridge; settings are of its interface.
func (s *Switch) plug(port int, settings ...string) error {
	n := s.ifname(port)
	_, err := s.vsctl(append([]string{"add-port", s.name, n, "--", "set", "interface", n, fmt.Sprintf("ofport_request=%d", port)},
		settings...)...)
	if err != nil {
		return err
	}
	got, err := s.vsctl("get", "interface", n, "ofport")
	if err == nil && strings.TrimSpace(got) != fmt.Sprint(port) {
		err = fmt.Errorf("port %s got number %s", n, got)
	}
	return err
}

// finish ends the daemons and reports one that had died by itself, and what
// ovs-vswitchd complained about if the test failed.
func (s *Switch) finish() {
	for _, p := range []*Process{s.vs, s.db} {
		if p == nil {
			continue
		}
		select {
		case <-p.Done():
			s.lab.t.Errorf("lab: switch %s: a daemon ended by itself: %v: %v\n%s", s.name, p.cmd.Args, p.Wait(), s.complaints())
		default:
			p.Kill()
		}
	}
	if text := s.complaints(); s.lab.t.Failed() && text != "" {
		s.lab.t.Logf("ovs-vswitchd of %s:\n%s", s.name, text)
	}
}

func (s *Switch) complaints() string {
	log, err := os.ReadFile(s.path("ovs-vswitchd.log"))
	if err != nil {
		return err.Error()
	}
	var bad [][]byte
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte("|WARN|")) || bytes.Contains(line, []byte("|ERR|")) || bytes.Contains(line, []byte("|EMER|")) {
			bad = append(bad, line)
		}
	}
	return string(bytes.Join(bad[max(0, len(bad)-20):], nil))
}
