package topo

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/flows"
)

const found = "s1: 1=edge 2=link tree=[2]\ns2: 1=edge 2=link tree=[2]\ns1:2 - s2:2"

func TestHostIsHeardRefreshedAndLost(t *testing.T) {
	n := pair(t, Config{})
	h := n.station(at(1, 1), 1)
	n.speaks(at(1, 1), h, -1)
	n.speaks(at(1, 1), h, 0)
	n.wantEvents("host h1 heard at s1:1", "host h1 has address 10.0.0.1")
	n.want(found, "h1 [10.0.0.1] at s1:1 live=true")

	n.pass(10 * time.Minute)
	n.wantEvents()
	if got := n.sent["arp "+at(1, 1).String()]; got != 20 {
		t.Errorf("%d probes in 10 min, want 20", got)
	}

	h.mute = true
	n.pass(33 * time.Second)
	n.wantEvents("host h1 gone from s1:1: does not answer")
	n.want(found, "h1 [10.0.0.1] at s1:1 live=false")
	h.mute = false
	n.pass(30 * time.Second)
	n.wantEvents("host h1 answers again at s1:1")

	n.port(at(1, 1), false)
	n.wantEvents("host h1 gone from s1:1: port is down")
	n.port(at(1, 1), true)
	n.pass(time.Second)
	n.wantEvents("host h1 answers again at s1:1")

	h.mute = true
	n.pass(12 * time.Minute)
	n.wantEvents("host h1 gone from s1:1: does not answer", "host h1 forgotten: not heard for 10m0s")
	n.want(found)
	if len(n.topo.byAddr)+len(n.topo.byMAC)+len(n.topo.atPort)+len(n.topo.claims) != 0 {
		t.Error("something is left of a forgotten host")
	}
}

func TestAddressIsLost(t *testing.T) {
	n := pair(t, Config{})
	h := n.station(at(1, 1), 1)
	h.addrs = append(h.addrs, addr(7))
	n.speaks(at(1, 1), h, 0)
	n.speaks(at(1, 1), h, 1)
	n.events()
	h.addrs = h.addrs[:1]
	n.pass(40 * time.Second)
	n.wantEvents("host h1 does not answer for 10.0.0.7 any more")
	n.want(found, "h1 [10.0.0.1] at s1:1 live=true")
}

func TestHostWithoutAddressAges(t *testing.T) {
	n := pair(t, Config{})
	h := n.station(at(1, 1), 1)
	n.speaks(at(1, 1), h, -1)
	n.pass(299 * time.Second)
	n.wantEvents("host h1 heard at s1:1")
	n.pass(time.Second)
	n.wantEvents("host h1 gone from s1:1: not heard")
}

func TestMoves(t *testing.T) {
	start := func(t *testing.T) (*network, *station) {
		n := pair(t, Config{})
		h := n.station(at(1, 1), 1)
		n.speaks(at(1, 1), h, 0)
		n.events()
		return n, h
	}
	t.Run("refused while it answers", func(t *testing.T) {
		n, h := start(t)
		for range 5 {
			n.speaks(at(2, 1), &station{mac: h.mac, addrs: h.addrs}, 0)
			n.pass(time.Second)
		}
		n.wantEvents("host h1 move to s2:1 refused: still answers at s1:1")
		if c := n.topo.Counters(); c.RefusedClaims != 5 {
			t.Errorf("%d refused, want 5", c.RefusedClaims)
		}
		n.want(found, "h1 [10.0.0.1] at s1:1 live=true")
		n.pass(time.Minute)
		n.speaks(at(2, 1), h, 0)
		n.wantEvents("host h1 move to s2:1 refused: still answers at s1:1")
	})
	t.Run("accepted when it does not", func(t *testing.T) {
		n, h := start(t)
		n.st[at(1, 1)], n.st[at(2, 1)] = nil, []*station{h}
		n.speaks(at(2, 1), h, -1)
		n.pass(999 * time.Millisecond)
		n.wantEvents()
		n.pass(time.Millisecond)
		n.wantEvents("host h1 moved from s1:1 to s2:1")
		n.want(found, "h1 [10.0.0.1] at s2:1 live=true")
	})
	t.Run("accepted at once when the port is down", func(t *testing.T) {
		n, h := start(t)
		n.port(at(1, 1), false)
		n.speaks(at(2, 1), h, 0)
		n.wantEvents("host h1 gone from s1:1: port is down", "host h1 moved from s1:1 to s2:1")
	})
	t.Run("accepted at once when it was gone", func(t *testing.T) {
		n, h := start(t)
		h.mute = true
		n.pass(time.Minute)
		n.speaks(at(2, 1), h, 0)
		n.wantEvents("host h1 gone from s1:1: does not answer", "host h1 moved from s1:1 to s2:1")
	})
}

func TestAddressClaims(t *testing.T) {
	start := func(t *testing.T) (*network, *station, *station) {
		n := pair(t, Config{})
		h, thief := n.station(at(1, 1), 1), n.station(at(2, 1), 2)
		thief.addrs[0] = addr(1)
		n.speaks(at(1, 1), h, 0)
		n.events()
		return n, h, thief
	}
	t.Run("refused while the owner answers", func(t *testing.T) {
		n, _, thief := start(t)
		n.speaks(at(2, 1), thief, 0)
		n.pass(5 * time.Second)
		n.wantEvents("host h2 heard at s2:1", "host h2 address 10.0.0.1 refused at s2:1: h1 answers for it at s1:1")
		n.want(found, "h1 [10.0.0.1] at s1:1 live=true", "h2 [] at s2:1 live=true")
	})
	t.Run("accepted when it does not", func(t *testing.T) {
		n, h, thief := start(t)
		h.addrs = []netip.Addr{addr(9)}
		n.speaks(at(2, 1), thief, 0)
		n.pass(5 * time.Second)
		n.wantEvents("host h2 heard at s2:1", "host h2 has address 10.0.0.1")
		n.want(found, "h1 [] at s1:1 live=true", "h2 [10.0.0.1] at s2:1 live=true")
	})
	t.Run("a VIP's", func(t *testing.T) {
		n, h, thief := start(t)
		n.topo.SetReserved([]netip.Addr{addr(1), addr(100)})
		n.wantEvents("host h1 loses address 10.0.0.1, which is a VIP's or a router's")
		n.speaks(at(2, 1), thief, 0)
		n.speaks(at(1, 1), h, 0)
		n.wantEvents("host h2 heard at s2:1", "host h2 address 10.0.0.1 refused at s2:1: it is a VIP's or a router's")
		n.want(found, "h1 [] at s1:1 live=true", "h2 [] at s2:1 live=true")
		if u := n.topo.Usurpers(); len(u) != 1 || u[0].At != at(2, 1) || u[0].Addr != addr(1) {
			t.Errorf("usurpers: %+v", u)
		}
		n.topo.SetReserved(nil)
		if u := n.topo.Usurpers(); len(u) != 0 {
			t.Errorf("usurpers of nothing: %+v", u)
		}
	})
}

func TestHostsThatAreNone(t *testing.T) {
	n := pair(t, Config{})
	for _, s := range []Sighting{
		{At: at(1, 2), MAC: mac(1)}, // a link
		{At: at(9, 1), MAC: mac(1)},
		{At: at(1, 1), MAC: ownMAC},
		{At: at(1, 1), MAC: broadcast},
		{At: at(1, 1)},
	} {
		n.topo.Sighting(n.now, s)
	}
	n.wantEvents()
	n.want(found)
	for _, a := range []string{"0.0.0.0", "224.0.0.1", "127.0.0.1", "255.255.255.255"} {
		n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(1), Addr: netip.MustParseAddr(a)})
	}
	n.want(found, "h1 [] at s1:1 live=true")
}

func TestTablesAreBounded(t *testing.T) {
	n := pair(t, Config{MaxHosts: 3, MaxHostsPerPort: 2, MaxAddresses: 2})
	for m := range byte(5) {
		n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(m + 1), Addr: addr(m + 1)})
	}
	for a := range byte(4) {
		n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(1), Addr: addr(a + 11)})
	}
	n.topo.Sighting(n.now, Sighting{At: at(2, 1), MAC: mac(7)})
	n.topo.Sighting(n.now, Sighting{At: at(2, 1), MAC: mac(8)})
	n.want(found, "h1 [10.0.0.1 10.0.0.11] at s1:1 live=true", "h2 [10.0.0.2] at s1:1 live=true", "h7 [] at s2:1 live=true")
	if c := n.topo.Counters(); c.TableFull != 3+3+1 {
		t.Errorf("counted %d, want 7", c.TableFull)
	}
}

// When there is no more room at a port the host there that is idle for longest goes: first those that do not answer, then those
// that were never known by an address. One that answers stays.
func TestIdleHostsMakeRoom(t *testing.T) {
	n := pair(t, Config{MaxHostsPerPort: 3})
	n.station(at(1, 1), 1)
	n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(1), Addr: addr(1)})
	n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(2)})
	n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(3), Addr: addr(3)}) // forged: nobody answers
	n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(4)})
	n.want(found, "h1 [10.0.0.1] at s1:1 live=true", "h2 [] at s1:1 live=true", "h3 [10.0.0.3] at s1:1 live=true")
	n.events()
	n.pass(35 * time.Second)
	n.wantEvents("host h3 gone from s1:1: does not answer")
	n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(5), Addr: addr(5)})
	n.wantEvents("port s1:1 no room for more hosts: those that are idle for longest are forgotten", "host h5 heard at s1:1", "host h5 has address 10.0.0.5")
	n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(6), Addr: addr(6)})
	n.want(found, "h1 [10.0.0.1] at s1:1 live=true", "h5 [10.0.0.5] at s1:1 live=true", "h6 [10.0.0.6] at s1:1 live=true")
	n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(7), Addr: addr(7)})
	if c := n.topo.Counters(); c.Displaced != 2 || c.TableFull != 2 {
		t.Errorf("counted %+v", c)
	}
}

// When the whole table is full, the port that has most gives way, whether its hosts are idle or not.
func TestFloodDisplacesItsOwn(t *testing.T) {
	n := pair(t, Config{MaxHosts: 50})
	for m := range byte(200) {
		n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(m + 1), Addr: addr(m + 1)})
	}
	for m := range byte(10) {
		n.topo.Sighting(n.now, Sighting{At: at(2, 1), MAC: mac(m + 201), Addr: addr(m + 201)})
	}
	count := map[PortID]int{}
	for _, h := range n.topo.Snapshot().Hosts() {
		count[h.At]++
	}
	if count[at(1, 1)] != 40 || count[at(2, 1)] != 10 {
		t.Errorf("hosts at the ports: %v", count)
	}
	if c := n.topo.Counters(); c.Displaced != 10 || c.TableFull != 150 {
		t.Errorf("counted %+v", c)
	}
	for id, k := range n.topo.atPort {
		if k != count[id] {
			t.Errorf("%s: %d counted, %d there", id, k, count[id])
		}
	}
}

func TestForbiddenSenders(t *testing.T) {
	n := pair(t, Config{})
	for range 3 {
		n.topo.Sighting(n.now, Sighting{At: at(1, 1), MAC: mac(9), Forbidden: "no host may have it"})
	}
	n.wantEvents("port s1:1 packets from h9 are dropped: no host may have it")
	n.want(found)
	if c := n.topo.Counters(); c.Forbidden != 3 {
		t.Errorf("counted %+v", c)
	}
}

func TestSeek(t *testing.T) {
	n := newNetwork(t, Config{}, Saved{})
	n.cable(at(1, 2), at(2, 2))
	n.topo.Seek(n.now, addr(5))
	n.up(1, 3)
	n.up(2, 2)
	h := n.station(at(1, 3), 5)
	n.pass(1500 * time.Millisecond)
	n.wantEvents("link s1:2 - s2:2 up", "host h5 heard at s1:3", "host h5 has address 10.0.0.5")
	if n.sent["arp "+at(1, 2).String()] != 0 {
		t.Error("sought behind a link")
	}
	n.sent = make(map[string]int)
	n.pass(25 * time.Second)
	if got := n.sent["arp "+at(2, 1).String()]; got != 0 {
		t.Errorf("%d probes for what is found", got)
	}
	// It dies, and comes back at another port without a word.
	h.mute = true
	n.pass(10 * time.Second)
	n.wantEvents("host h5 gone from s1:3: does not answer")
	n.st = map[PortID][]*station{at(2, 1): {h}}
	h.mute = false
	n.pass(30 * time.Second)
	n.wantEvents("host h5 moved from s1:3 to s2:1")
	n.topo.Unseek(addr(5))
	h.mute = true
	n.pass(time.Minute)
	n.sent = make(map[string]int)
	n.pass(15 * time.Second)
	if got := n.sent["arp "+at(1, 1).String()]; got != 0 {
		t.Errorf("%d probes for what is not sought any more", got)
	}
}

func TestSeekBacksOff(t *testing.T) {
	n := pair(t, Config{})
	n.topo.Seek(n.now, addr(5))
	n.pass(10 * time.Minute)
	if got := n.sent["arp "+at(1, 1).String()]; got < 20 || got > 26 { // 0, 1, 3, 7, 15, 31, then each 30 s
		t.Errorf("%d probes in 10 min", got)
	}
}

func TestSwitchAway(t *testing.T) {
	n := pair(t, Config{})
	h := n.station(at(2, 1), 1)
	n.speaks(at(2, 1), h, 0)
	n.events()
	n.disconnect(2)
	n.pass(14 * time.Second)
	n.wantEvents()
	n.pass(time.Second)
	n.wantEvents("host h1 gone from s2:1: switch is away")
	n.want(found, "h1 [10.0.0.1] at s2:1 live=false")
	n.up(2, 2)
	n.pass(time.Second)
	n.wantEvents("host h1 answers again at s2:1")
}

// What was saved holds after a restart: the same topology before the switches have connected, and nothing happens when they do.
func TestRestart(t *testing.T) {
	n := pair(t, Config{})
	for i, p := range []PortID{at(1, 1), at(2, 1)} {
		n.speaks(p, n.station(p, byte(i+1)), 0)
	}
	n.pass(time.Minute)
	b, err := json.Marshal(n.topo.Saved())
	if err != nil {
		t.Fatal(err)
	}
	var saved Saved
	if err := json.Unmarshal(b, &saved); err != nil {
		t.Fatal(err)
	}
	m := newNetwork(t, Config{}, saved)
	m.peer, m.st = n.peer, n.st
	m.down[1], m.down[2] = true, true
	if diff := cmp.Diff(text(n.topo.Snapshot()), text(m.topo.Snapshot())); diff != "" {
		t.Errorf("after the restart (-before +after):\n%s\n%s", diff, b)
	}
	if diff := cmp.Diff(n.topo.Saved(), m.topo.Saved(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	m.pass(time.Second)
	before := text(m.topo.Snapshot())
	m.up(1, 2)
	m.pass(5 * time.Second)
	m.up(2, 2)
	m.pass(10 * time.Minute)
	m.wantEvents()
	if diff := cmp.Diff(before, text(m.topo.Snapshot())); diff != "" {
		t.Errorf("after connecting:\n%s", diff)
	}

	// The other way: nobody connects.
	m = newNetwork(t, Config{}, saved)
	m.down[1], m.down[2] = true, true
	m.pass(20 * time.Second)
	m.wantEvents("host h1 gone from s1:1: switch is away", "host h2 gone from s2:1: switch is away")
}

func TestHostSettlesWhereThereAreShortcuts(t *testing.T) {
	n := newNetwork(t, Config{}, Saved{})
	for d := range flows.DPID(4) {
		n.cable(at(d+1, 3), at((d+1)%4+1, 2))
	}
	for d := range flows.DPID(4) {
		n.up(d+1, 3)
	}
	n.pass(2 * time.Second)
	n.speaks(at(4, 1), n.station(at(4, 1), 1), 0)
	hop := func() uint32 {
		s := n.topo.Snapshot()
		h, _ := s.HostAt(addr(1))
		no, _ := s.Toward(3, h)
		return no
	}
	// The tree is s1-s2, s1-s4, s2-s3; the shortcut is s3-s4.
	if got := hop(); got != 2 {
		t.Errorf("s3 sends to a new host on s4 by port %d, want 2", got)
	}
	n.pass(time.Second)
	if got := hop(); got != 3 {
		t.Errorf("s3 sends to a settled host on s4 by port %d, want 3", got)
	}
}
