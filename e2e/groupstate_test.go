package e2e

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// A controller that is killed takes no connection with it, and new ones are made without it. The next one changes nothing.
func TestGroupControllerKilled(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"OpenFlow15", "OpenFlow13"} {
		t.Run(version, func(t *testing.T) {
			p := newGroupPool(t, version)
			tcp := p.open("tcp", 3)
			quiet(p.network)
			before := p.dumps()
			for _, how := range []func(){p.ctl.kill, p.ctl.stop} {
				how()
				p.stay("without a controller", tcp, "")
				if _, err := p.client.Run(p.ctx, "ip", "neigh", "flush", "all"); err != nil {
					t.Fatal(err)
				}
				for name, list := range p.open("tcp", 3) {
					tcp[name] = append(tcp[name], list...)
				}
				p.ctl.start()
				p.awaitReady()
				p.stay("with the next one", tcp, "")
				p.unchanged("with the next one", before)
			}
			p.open("tcp", 3)
		})
	}
}

// A client's switch that is killed forgets all connections; the backends stay the same, so they go on, whoever speaks first.
func TestGroupSwitchKilled(t *testing.T) {
	w := line(t, 2, "OpenFlow15")
	trySwitchKilled(w, vip.ModeGroup, w.sw(1), 2, w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1))
}

// trySwitchKilled kills a switch, twice, and asks its connections on as soon as it has so many groups again.
func trySwitchKilled(w *network, mode vip.Mode, killed *lab.Switch, groups int, client *lab.Host, backends ...*lab.Host) {
	w.t.Helper()
	servers := greet(8080, backends...)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Mode: mode}, 8080, backends...)
	var all []*conn
	for range 12 {
		c := w.dial(client, "tcp", "", address+":80")
		w.greeted(c)
		all = append(all, c)
	}
	for round := range 2 {
		killed.Restart()
		w.awaitReady()
		w.Eventually(patience, func() error {
			if have := killed.DumpGroups(); len(have) < groups {
				return fmt.Errorf("groups: %v", have)
			}
			return nil
		})
		for i, c := range all {
			server := servers.of(c)
			if i%2 == round {
				w.pass("the backend first", "push", server, c)
				w.pass("then the client", "question", c, server)
			} else {
				w.pass("the client first", "question", c, server)
				w.pass("then the backend", "push", server, c)
			}
		}
	}
}

// edgeZone is the conntrack zone in which a switch translates for its clients.
func edgeZone(t *testing.T, s *lab.Switch) string {
	t.Helper()
	for _, rule := range s.DumpFlows() {
		if m := regexp.MustCompile(`table=42,.*ct\(commit,table=41,zone=(\d+),`).FindStringSubmatch(rule); m != nil {
			return m[1]
		}
	}
	t.Fatal("no rule commits to a zone")
	return ""
}

// A port that a client uses again connects at once, however its last connection has ended: conntrack may take it for alive.
func TestGroupPortUsedAgain(t *testing.T) {
	const step = 50 // Open vSwitch may give the backend the next ones
	tryPortUsedAgain(line(t, 2, ""), vip.ModeGroup, step, func(how string, c, _ *conn) {
		if _, err := fmt.Fprintln(c, "hello"); err != nil {
			t.Errorf("%s: %v", how, err)
		}
	})
}

// The same 4,000 ports twice, many at a time, reset or closed: none is lost in mode group either, where conntrack knows them still.
func TestGroupPortsTwice(t *testing.T) {
	p := newGroupPool(t, "")
	p.portsTwice(p.client)
}

// What conntrack is made to forget goes on without a stall.
func TestGroupFlush(t *testing.T) {
	p := newGroupPool(t, "")
	zone := edgeZone(t, p.sw(1))
	tcp := p.open("tcp", 3)
	p.askedWhile(tcp, func() { p.sw(1).Ofctl("ct-flush", "zone="+zone) })
	p.smooth("forgotten by conntrack", slices.Concat(slices.Collect(maps.Values(tcp))...), 0)
	p.stay("forgotten by conntrack", tcp, "")
}

// When conntrack has no room TCP connections are made without it, and last. Nothing leaves untranslated.
func TestGroupConntrackFull(t *testing.T) {
	p := newGroupPool(t, "")
	tryConntrackFull(p, "80", p.sw(1))
}

// tryConntrackFull leaves some switches, which track connections, without room for more, and gives it back. A service of datagrams is at
// the VIP's port of that name: they are dropped meanwhile.
func tryConntrackFull(p *groupPool, datagrams string, trackers ...*lab.Switch) {
	p.t.Helper()
	room := func(n string) {
		for _, s := range trackers {
			s.Appctl("dpctl/ct-set-maxconns", n)
		}
	}
	held := p.open("tcp", len(p.backends))
	toVIP := func(g gopacket.Packet) bool {
		ip, _ := g.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		return ip != nil && ip.DstIP.String() == address
	}
	var leaks []*tap
	for _, b := range p.backends {
		leaks = append(leaks, p.tap(b, toVIP))
	}
	room("1")
	full := p.open("tcp", len(p.backends))
	for range 40 {
		c := p.dial(p.client, "tcp", "", address+":80")
		name := p.who(c)
		full[name] = append(full[name], c)
	}
	p.smooth("no room", slices.Concat(slices.Collect(maps.Values(full))...), 0)
	c := p.dial(p.client, "udp", "", address+":"+datagrams)
	p.Eventually(patience, func() error { // and counted
		if _, err := c.Write([]byte("lost\n")); err != nil {
			return err
		}
		n, err := p.drops("no room", trackers...)
		if err == nil && n < 3 {
			err = fmt.Errorf("%d dropped", n)
		}
		return err
	})
	p.stay("full", full, "")
	p.stay("full", held, "")
	room("3000000")
	p.stay("room again", full, "")
	p.stay("room again", held, "")
	for i, l := range leaks {
		if n := len(l.packets()); n > 0 {
			p.t.Errorf("%d packets have left untranslated for %s", n, p.backends[i].Name())
		}
	}
}

// Through the VIP and past it at a time, also from one port.
func TestGroupBesideDirect(t *testing.T) {
	p := newGroupPool(t, "")
	for _, network := range []string{"tcp", "udp"} {
		_, past := p.besideDirect(network, p.client, p.backends...)
		if network == "tcp" {
			c := p.dial(p.client, network, ":5000", address+":80") // the same at one of the backends, were its port not changed
			for range 3 {
				p.who(c)
				past()
			}
		}
	}
	if _, _, err := p.dial(p.client, "udp", "", p.backends[0].IP()+":9").ask("closed"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a closed port of a backend: %v", err)
	}
	if out := p.sw(1).Ofctl("show"); !strings.Contains(out, "dpid") { // it has survived equal tuples
		t.Error(out)
	}
}
