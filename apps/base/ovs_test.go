package base_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/arp"
	"github.com/evenflow/evenflow/apps/base"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
	"github.com/evenflow/evenflow/topo"
)

const vipAddr = "10.0.0.100"

// network is s1 with h1, h2 and, behind a port not found out yet, hx; s2 with h3; and a VIP.
type network struct {
	t              *testing.T
	vip            string
	lab            *lab.Lab
	switches       []*lab.Switch
	h1, h2, h3, hx *lab.Host
}

func newNetwork(t *testing.T) *network { return newNetworkIn(t, "10.0.0.%d/24", vipAddr) }

// newNetworkIn has hosts with addresses of a form.
func newNetworkIn(t *testing.T, address, vip string) *network {
	l := lab.New(t)
	host := func(name string, last int) *lab.Host { return l.Host(name, fmt.Sprintf(address, last)) }
	n := &network{t: t, lab: l, vip: vip, switches: []*lab.Switch{l.Switch("s1", lab.DPID(1)), l.Switch("s2", lab.DPID(2))},
		h1: host("h1", 1), h2: host("h2", 2), h3: host("h3", 3), hx: host("hx", 9)}
	s1, s2 := n.switches[0], n.switches[1]
	l.Link(n.h1, 0, s1, 1)
	l.Link(n.h2, 0, s1, 2)
	l.Link(n.hx, 0, s1, 3)
	l.Link(s1, 9, s2, 9)
	l.Link(n.h3, 0, s2, 1)
	return n
}

func (n *network) snapshot(known bool) *topo.Snapshot {
	id := func(d flows.DPID, no uint32) topo.PortID { return topo.PortID{DPID: d, No: no} }
	a, b := id(1, 9), id(2, 9)
	saved := topo.Saved{Ports: []topo.SavedPort{{PortID: id(1, 1), Kind: topo.Edge}, {PortID: id(1, 2), Kind: topo.Edge},
		{PortID: id(2, 1), Kind: topo.Edge}, {PortID: a, Kind: topo.Link, Peer: &b}, {PortID: b, Kind: topo.Link, Peer: &a}}}
	for i, h := range []*lab.Host{n.h1, n.h2, n.h3} {
		m, err := flows.ParseMAC(h.MAC())
		if err != nil {
			n.t.Fatal(err)
		}
		at := []topo.PortID{id(1, 1), id(1, 2), id(2, 1)}[i]
		if known {
			saved.Hosts = append(saved.Hosts, topo.SavedHost{MAC: m, At: at, Live: true, Addresses: []netip.Addr{netip.MustParseAddr(h.IP())}})
		}
	}
	return topo.New(time.Now(), topo.Config{}, saved).Snapshot()
}

// install gives the switches what base and arp want.
func (n *network) install(known, nicira bool) {
	n.t.Helper()
	infos := map[flows.DPID]apps.SwitchInfo{1: {DPID: 1, Nicira: nicira}, 2: {DPID: 2, Nicira: nicira}}
	a := netip.MustParseAddr(n.vip)
	v := apps.NewView(n.snapshot(known), infos, []*apps.VIP{{VIP: &vip.VIP{ID: 1, Address: a}}})
	owners := []apps.Owner{{Kind: apps.OwnerBase}, {Kind: apps.OwnerAddress, Addr: a}}
	for _, h := range v.Topo.Hosts() {
		owners = append(owners, apps.Owner{Kind: apps.OwnerHost, MAC: h.MAC})
	}
	desired := make(map[flows.DPID]flows.State)
	for _, app := range []apps.App{base.New(base.Config{Rates: map[uint32]uint32{apps.MeterNeighbour: 20}}), arp.New()} {
		for _, o := range owners {
			for d, s := range app.Desired(v, o) {
				all := desired[d]
				all.Append(s)
				desired[d] = all
			}
		}
	}
	for _, sw := range n.switches {
		s := desired[flows.DPID(sw.DPID())]
		sw.Ofctl("del-flows")
		sw.Ofctl("del-groups")
		sw.Ofctl("del-meters")
		for _, m := range s.Meters {
			sw.Ofctl("add-meter", m.String())
		}
		for _, g := range s.Groups {
			sw.Ofctl("add-group", g.String())
		}
		rules := filepath.Join(n.t.TempDir(), "rules")
		if err := os.WriteFile(rules, []byte(flows.State{Rules: s.Rules}.String()), 0o600); err != nil {
			n.t.Fatal(err)
		}
		sw.Ofctl("--bundle", "add-flows", rules)
	}
}

func (n *network) run(h *lab.Host, argv ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := h.Run(ctx, argv...)
	return err
}

func (n *network) ping(h *lab.Host, to string) error { return n.run(h, "ping", "-c1", "-W2", to) }

// pings reports which hosts do not reach which addresses. Neighbour tables are emptied first.
func (n *network) pings() {
	n.t.Helper()
	for _, h := range []*lab.Host{n.h1, n.h2, n.h3} {
		for _, to := range []string{n.h1.IP(), n.h2.IP(), n.h3.IP(), n.vip} {
			if h.IP() == to {
				continue
			}
			if err := n.run(h, "ip", "neighbour", "flush", "all"); err != nil {
				n.t.Fatal(err)
			}
			n.lab.Eventually(20*time.Second, func() error { return n.ping(h, to) })
		}
	}
}

// monitor shows s1's packet-ins.
func (n *network) monitor() *monitor {
	s := n.switches[0]
	p := n.h1.Start("ovs-ofctl", "-O", "OpenFlow15", "--unixctl="+filepath.Join(n.t.TempDir(), "ctl"), "monitor",
		"unix:"+s.ManagementSocket(), "65535")
	return &monitor{n, p}
}

type monitor struct {
	n *network
	p *lab.Process
}

// wants waits for a packet-in whose text matches.
func (m *monitor) wants(pattern string) {
	m.n.t.Helper()
	re := regexp.MustCompile(pattern)
	m.n.lab.Eventually(20*time.Second, func() error {
		if out := m.p.Output(); !re.MatchString(out) {
			return fmt.Errorf("no packet-in like %s in\n%s", pattern, out)
		}
		return nil
	})
}

// counts waits until the rule of s1's table 0 with this text has counted packets, exactly so many if want is not 0.
func (n *network) counts(rule string, want int) {
	n.t.Helper()
	n.lab.Eventually(20*time.Second, func() error {
		dump := n.switches[0].Ofctl("dump-flows", "table=0")
		got := number(n.t, `(?m)n_packets=(\d+), .* `+regexp.QuoteMeta(rule)+`$`, dump)
		if got == 0 || want != 0 && got != want {
			return fmt.Errorf("%s has counted %d packets, want %d:\n%s", rule, got, want, dump)
		}
		return nil
	})
}

func number(t *testing.T, pattern, text string) int {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", pattern, text)
	}
	v, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNothingKnown(t *testing.T) {
	n := newNetwork(t)
	n.install(false, true)
	m := n.monitor()
	n.pings()
	m.wants(`table_id=3 .*in_port=1 .*\n.*arp.*dl_src=` + n.h1.MAC())
	m.wants(`table_id=3 .*in_port=2 .*\n.*icmp.*dl_src=` + n.h2.MAC() + `.*nw_dst=10.0.0.100.*icmp_type=8`) // the ping, not its answer
	if n.ping(n.hx, n.h1.IP()) == nil {
		t.Error("a port that is not known yet forwards")
	}
	n.counts("priority=0 actions=drop", 0)
	if n.run(n.h1, "arping", "-c1", "-w2", "-I", "eth0", n.hx.IP()) == nil {
		t.Error("flooded to a port that is not known yet")
	}
}

func TestHostsKnown(t *testing.T) {
	n := newNetwork(t)
	// h3 answers no ARP: the switch does.
	if err := n.run(n.h3, "sysctl", "-qw", "net.ipv4.conf.eth0.arp_ignore=8"); err != nil {
		t.Fatal(err)
	}
	n.install(true, true)
	m := n.monitor()
	n.pings()

	probe := func(a string) error { return n.run(n.h1, "arping", "-D", "-c2", "-w3", "-I", "eth0", a) }
	if err := probe(n.h1.IP()); err != nil {
		t.Errorf("a host's own probe is answered: %v", err)
	}
	m.wants(`in_port=1 .*\n.*arp.*arp_spa=0.0.0.0,arp_tpa=10.0.0.1,`)
	if probe(vipAddr) == nil {
		t.Error("a probe for a VIP's address is not answered")
	}
	if err := n.run(n.h1, "arping", "-U", "-c1", "-I", "eth0", "-s", n.h1.IP(), n.h1.IP()); err != nil {
		t.Log(err) // an announcement is never answered
	}
	m.wants(`in_port=1 .*\n.*arp.*arp_spa=10.0.0.1,arp_tpa=10.0.0.1,`)

	// Forged senders are dropped, and counted.
	f := n.h1.Frames()
	for _, s := range [][]byte{{2, 0xef, 0, 0, 0, 1}, {0x0e, 0xef, 1, 5, 6, 7}, {0x0e, 0xef, 3, 0, 0, 0}} {
		if err := f.Send(append(append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, s...), make([]byte, 50)...)); err != nil {
			t.Fatal(err)
		}
	}
	for _, src := range []string{"02:ef:00:00:00:01", "0e:ef:01:00:00:00/ff:ff:ff:00:00:00", "0e:ef:03:00:00:00"} {
		n.counts("priority=250,dl_src="+src+" actions=meter:6,CONTROLLER:65535", 1)
	}

	// A closed port of the VIP.
	if err := n.run(n.h1, "bash", "-c", "echo x >/dev/udp/10.0.0.100/9"); err != nil {
		t.Fatal(err)
	}
	m.wants(`cookie=0xef01030000000000 .*in_port=1 .*\n.*udp.*nw_dst=10.0.0.100.*tp_dst=9`)
}

// A meter that copies to the controller are dropped by must not drop the packets.
func TestUnknownSenderIsNotMetered(t *testing.T) {
	n := newNetwork(t)
	n.install(true, true)
	n.pings()
	sent := func() int { return number(t, `tx pkts=(\d+)`, n.switches[0].Ofctl("dump-ports", "2")) }
	before := sent()
	f := n.h1.Frames()
	const rounds, burst = 10, 40 // the switch's own queue must hold a burst
	frame := append(append(append([]byte{}, mac(t, n.h2)...), 2, 0, 9, 9, 9, 9, 0x12, 0x34), make([]byte, 46)...)
	for i := range rounds {
		for range burst {
			if err := f.Send(frame); err != nil {
				t.Fatal(err)
			}
		}
		n.lab.Eventually(20*time.Second, func() error {
			if got := sent() - before; got < (i+1)*burst {
				return fmt.Errorf("%d of %d forwarded", got, (i+1)*burst)
			}
			return nil
		})
	}
	if dropped := number(t, `bands:\s+0: packet_count:(\d+)`, n.switches[0].Ofctl("meter-stats", "meter=11")); dropped < burst {
		t.Errorf("the meter has dropped %d copies only: the test shows nothing", dropped)
	}
}

func mac(t *testing.T, h *lab.Host) []byte {
	m, err := flows.ParseMAC(h.MAC())
	if err != nil {
		t.Fatal(err)
	}
	return m[:]
}

func TestPlainOpenFlow(t *testing.T) {
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprintf("hosts known %t", known), func(t *testing.T) {
			n := newNetwork(t)
			n.install(known, false)
			for _, s := range n.switches {
				if dump := strings.Join(s.DumpFlows(), "\n"); strings.Contains(dump, "resubmit") || strings.Contains(dump, "reg") {
					t.Errorf("not plain:\n%s", dump)
				}
			}
			n.lab.Eventually(20*time.Second, func() error { return n.ping(n.h1, n.h2.IP()) })
			n.lab.Eventually(20*time.Second, func() error { return n.ping(n.h1, n.h3.IP()) })
			m := n.monitor()
			n.h1.Start("arping", "-I", "eth0", vipAddr) // until the monitor listens
			m.wants(`in_port=1 .*\n.*arp.*arp_tpa=10.0.0.100`)
		})
	}
}
