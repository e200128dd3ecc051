package topo

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/flows"
)

// network is a simulated network around a Topology: cables carry LLDP, stations answer probes by ARP and ND, and time passes when
// the test says so.
type network struct {
	t     *testing.T
	topo  *Topology
	now   time.Time
	peer  map[PortID]PortID
	st    map[PortID][]*station
	sent  map[string]int // frames, by kind and port
	down  map[flows.DPID]bool
	first time.Time

	packets []packet // sent and not delivered yet
}

type packet struct {
	at    PortID
	frame []byte
}

type station struct {
	mac   flows.MAC
	addrs []netip.Addr
	mute  bool
}

var ownMAC = flows.MAC{2, 0xef, 0, 0, 0, 1}

func newNetwork(t *testing.T, cfg Config, saved Saved) *network {
	n := &network{t: t, now: time.Unix(1_000_000, 0), peer: make(map[PortID]PortID), st: make(map[PortID][]*station),
		sent: make(map[string]int), down: make(map[flows.DPID]bool)}
	n.first = n.now
	cfg.MAC = ownMAC
	if cfg.Key == nil {
		cfg.Key = []byte("key")
	}
	cfg.Send = func(at PortID, frame []byte) { n.packets = append(n.packets, packet{at, bytes.Clone(frame)}) }
	n.topo = New(n.now, cfg, saved)
	return n
}

func at(d flows.DPID, no uint32) PortID { return PortID{d, no} }

func mac(n byte) flows.MAC { return flows.MAC{0, 0, 0, 0, 0, n} }

func addr(n byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, n}) }

func (n *network) cable(a, b PortID) { n.peer[a], n.peer[b] = b, a }

func (n *network) station(id PortID, m byte) *station {
	s := &station{mac: mac(m), addrs: []netip.Addr{addr(m)}}
	n.st[id] = append(n.st[id], s)
	return s
}

// up connects a switch whose ports 1 to count are up.
func (n *network) up(d flows.DPID, count uint32) {
	var ports []Port
	for no := range count {
		ports = append(ports, Port{No: no + 1, Name: fmt.Sprintf("s%d-%d", d, no+1), MAC: flows.MAC{0x0a, byte(d), byte(no + 1)}, Up: true})
	}
	n.down[d] = false
	n.topo.SwitchUp(n.now, d, ports)
}

func (n *network) disconnect(d flows.DPID) {
	n.down[d] = true
	n.topo.SwitchDown(n.now, d)
}

func (n *network) port(id PortID, up bool) {
	n.topo.PortStatus(n.now, id.DPID, Port{No: id.No, Up: up}, false)
}

// live has a switch tell of a port that is up whether it is live.
func (n *network) live(id PortID, live bool) {
	n.topo.PortStatus(n.now, id.DPID, Port{No: id.No, Name: fmt.Sprintf("s%d-%d", id.DPID, id.No), Up: true, Live: live}, false)
	n.deliver()
}

// speaks has a station heard: with its i-th address, or with none.
func (n *network) speaks(id PortID, s *station, i int) {
	heard := Sighting{At: id, MAC: s.mac}
	if i >= 0 {
		heard.Addr = s.addrs[i]
	}
	n.topo.Sighting(n.now, heard)
	n.deliver()
}

// pass lets time pass.
func (n *network) pass(d time.Duration) {
	end := n.now.Add(d)
	for steps := 0; ; steps++ {
		if steps > 100_000 {
			n.t.Fatal("Next does not advance")
		}
		next := n.topo.Next()
		if next.IsZero() || next.After(end) {
			break
		}
		if next.After(n.now) {
			n.now = next
		}
		n.topo.Tick(n.now)
		n.deliver()
	}
	n.now = end
}

func (n *network) deliver() {
	packets := n.packets
	n.packets = nil
	for _, p := range packets {
		at, frame := p.at, p.frame
		if n.down[at.DPID] {
			n.t.Errorf("frame for port %s of a switch that is not connected", at)
		}
		if bytes.Equal(frame[12:14], []byte{0x88, 0xcc}) {
			n.sent["lldp "+at.String()]++
			if to, ok := n.peer[at]; ok && !n.down[to.DPID] {
				n.topo.Sighting(n.now, Sighting{At: to, LLDP: frame})
			}
			continue
		}
		kind, target := "arp ", netip.AddrFrom4([4]byte(frame[38:42]))
		if frame[12] == 0x86 {
			kind, target = "nd ", netip.AddrFrom16([16]byte(frame[62:78]))
		}
		n.sent[kind+at.String()]++
		for _, s := range n.st[at] {
			asked := flows.MAC(frame[:6])
			if !s.mute && (asked.Multicast() || asked == s.mac) && slices.Contains(s.addrs, target) {
				n.topo.Sighting(n.now, Sighting{At: at, MAC: s.mac, Addr: target})
			}
		}
	}
}

// events are the events since the last call as text, switches shortened to s1.
func (n *network) events() []string {
	var out []string
	for _, e := range n.topo.Events() {
		out = append(out, short(e.Kind+" "+e.Subject+" "+e.Message))
	}
	return out
}

func short(s string) string {
	s = strings.ReplaceAll(s, "000000000000000", "s")
	return strings.ReplaceAll(s, "00:00:00:00:00:0", "h")
}

// text is a snapshot as text: ports by kind, links, hosts.
func text(s *Snapshot) string {
	var b strings.Builder
	for _, d := range s.Switches() {
		fmt.Fprintf(&b, "%s:", d)
		for _, p := range s.Ports(d) {
			up := ""
			if !p.Up {
				up = "(down)"
			}
			fmt.Fprintf(&b, " %d=%s%s", p.No, p.Kind, up)
		}
		fmt.Fprintf(&b, " tree=%v\n", s.Tree(d))
	}
	for _, c := range s.Links() {
		fmt.Fprintf(&b, "%s\n", c.name())
	}
	for _, h := range s.Hosts() {
		fmt.Fprintf(&b, "%s %v at %s live=%t\n", h.MAC, h.Addresses, h.At, h.Live)
	}
	return short(b.String())
}

func (n *network) wantEvents(want ...string) {
	n.t.Helper()
	if diff := cmp.Diff(want, n.events()); diff != "" {
		n.t.Errorf("events after %s (-want +got):\n%s", n.now.Sub(n.first), diff)
	}
}

func (n *network) want(lines ...string) {
	n.t.Helper()
	want := strings.Join(lines, "\n") + "\n"
	if diff := cmp.Diff(want, text(n.topo.Snapshot())); diff != "" {
		n.t.Errorf("topology after %s (-want +got):\n%s", n.now.Sub(n.first), diff)
	}
}
