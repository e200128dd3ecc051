package topo

import (
	"testing"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// pair is two switches joined by their ports 2, with an edge port 1 each, all found out.
func pair(t *testing.T, cfg Config) *network {
	n := newNetwork(t, cfg, Saved{})
	n.cable(at(1, 2), at(2, 2))
	n.up(1, 2)
	n.up(2, 2)
	n.pass(1500 * time.Millisecond)
	n.wantEvents("link s1:2 - s2:2 up")
	return n
}

func TestPortsAreFoundOut(t *testing.T) {
	n := newNetwork(t, Config{}, Saved{})
	n.cable(at(1, 2), at(2, 2))
	n.up(1, 2)
	n.up(2, 2)
	n.want("s1: 1=unknown 2=unknown tree=[]", "s2: 1=unknown 2=unknown tree=[]")
	n.pass(0)
	n.want("s1: 1=unknown 2=link tree=[2]", "s2: 1=unknown 2=link tree=[2]", "s1:2 - s2:2")
	n.pass(999 * time.Millisecond)
	n.want("s1: 1=unknown 2=link tree=[2]", "s2: 1=unknown 2=link tree=[2]", "s1:2 - s2:2")
	n.pass(time.Millisecond)
	n.want("s1: 1=edge 2=link tree=[2]", "s2: 1=edge 2=link tree=[2]", "s1:2 - s2:2")
	if got := n.sent["lldp "+at(1, 1).String()]; got != 3 {
		t.Errorf("%d LLDP frames in the first second, want 3", got)
	}
	n.pass(20 * time.Second)
	if got := n.sent["lldp "+at(1, 1).String()]; got != 13 {
		t.Errorf("%d LLDP frames in 21 s, want 13", got)
	}
	n.wantEvents("link s1:2 - s2:2 up")
}

func TestSnapshotStaysWhileNothingChanges(t *testing.T) {
	n := pair(t, Config{})
	before := n.topo.Snapshot()
	n.pass(time.Minute)
	n.up(1, 2)
	if n.topo.Snapshot() != before {
		t.Error("another snapshot although nothing has changed")
	}
	n.port(at(1, 1), false)
	if n.topo.Snapshot() == before {
		t.Error("the same snapshot although a port is down")
	}
}

func TestLateSwitchMakesEdgeALink(t *testing.T) {
	n := newNetwork(t, Config{}, Saved{})
	n.cable(at(1, 1), at(2, 1))
	n.down[2] = true
	n.up(1, 1)
	n.pass(2 * time.Second)
	h := n.station(at(1, 1), 9)
	n.speaks(at(1, 1), h, 0)
	n.events()
	n.up(2, 1)
	n.pass(5 * time.Second)
	n.wantEvents("port s1:1 edge has become a link to s2:1, 1 hosts forgotten", "link s1:1 - s2:1 up")
	n.want("s1: 1=link tree=[1]", "s2: 1=link tree=[1]", "s1:1 - s2:1")
}

func TestEdgeComesBack(t *testing.T) {
	back := func(t *testing.T, then func(n *network)) *network {
		n := pair(t, Config{})
		n.port(at(1, 1), false)
		n.port(at(2, 1), false)
		n.want("s1: 1=edge(down) 2=link tree=[2]", "s2: 1=edge(down) 2=link tree=[2]", "s1:2 - s2:2")
		n.events()
		then(n)
		return n
	}
	t.Run("as an edge at once", func(t *testing.T) {
		n := back(t, func(n *network) { n.port(at(1, 1), true) })
		n.want("s1: 1=edge 2=link tree=[2]", "s2: 1=edge(down) 2=link tree=[2]", "s1:2 - s2:2")
	})
	t.Run("as a link", func(t *testing.T) {
		n := back(t, func(n *network) {
			n.cable(at(1, 1), at(2, 1))
			n.port(at(1, 1), true)
			n.pass(100 * time.Millisecond)
			n.port(at(2, 1), true)
			n.pass(0)
		})
		n.want("s1: 1=link 2=link tree=[1]", "s2: 1=link 2=link tree=[1]", "s1:1 - s2:1", "s1:2 - s2:2")
	})
	t.Run("as a link to what speaks late", func(t *testing.T) {
		n := back(t, func(n *network) {
			n.port(at(1, 1), true)
			n.port(at(2, 1), true)
			n.pass(400 * time.Millisecond)
			n.cable(at(1, 1), at(2, 1)) // frames were lost until now
			n.pass(100 * time.Millisecond)
		})
		n.want("s1: 1=link 2=link tree=[1]", "s2: 1=link 2=link tree=[1]", "s1:1 - s2:1", "s1:2 - s2:2")
	})
}

func TestLinkEnds(t *testing.T) {
	t.Run("three LLDP frames missed", func(t *testing.T) {
		n := pair(t, Config{})
		clear(n.peer)
		n.pass(4900 * time.Millisecond)
		n.wantEvents()
		n.pass(700 * time.Millisecond)
		n.wantEvents("link s1:2 - s2:2 down")
		n.want("s1: 1=edge 2=unknown tree=[]", "s2: 1=edge 2=unknown tree=[]")
		n.pass(time.Second)
		n.want("s1: 1=edge 2=edge tree=[]", "s2: 1=edge 2=edge tree=[]")
	})
	t.Run("one direction", func(t *testing.T) {
		n := pair(t, Config{})
		delete(n.peer, at(1, 2)) // s2 does not hear s1
		n.pass(time.Minute)
		n.wantEvents("link s1:2 - s2:2 down")
		n.want("s1: 1=edge 2=link tree=[]", "s2: 1=edge 2=unknown tree=[]") // s2:2 is no edge: s1 hears it
	})
	t.Run("port down", func(t *testing.T) {
		n := pair(t, Config{})
		n.port(at(1, 2), false)
		n.wantEvents("link s1:2 - s2:2 down")
		n.want("s1: 1=edge 2=unknown(down) tree=[]", "s2: 1=edge 2=link tree=[]")
		n.port(at(1, 2), true)
		n.pass(0)
		n.wantEvents("link s1:2 - s2:2 up")
	})
	t.Run("port removed", func(t *testing.T) {
		n := pair(t, Config{})
		n.topo.PortStatus(n.now, 1, Port{No: 2}, true)
		n.wantEvents("link s1:2 - s2:2 down")
		n.want("s1: 1=edge tree=[]", "s2: 1=edge 2=link tree=[]")
	})
	t.Run("not while the other switch is away", func(t *testing.T) {
		n := pair(t, Config{})
		n.disconnect(2)
		n.pass(10 * time.Minute)
		n.wantEvents()
		n.up(2, 2)
		n.pass(10 * time.Minute)
		n.wantEvents()
	})
	t.Run("switch comes back without the cable", func(t *testing.T) {
		n := pair(t, Config{})
		n.disconnect(2)
		clear(n.peer)
		n.pass(time.Minute)
		n.up(2, 2)
		n.pass(6 * time.Second)
		n.wantEvents()
		n.pass(time.Second)
		n.wantEvents("link s1:2 - s2:2 down")
	})
}

// What watches a cable may find it dead while both ends have their carrier: the link ends at once, and comes back by LLDP.
func TestLiveness(t *testing.T) {
	const deaf = "is not live: it has its carrier, but what watches it, such as BFD, does not hear the other end"
	t.Run("a link", func(t *testing.T) {
		n := pair(t, Config{})
		n.live(at(1, 2), true) // from now on it means something that it is not
		n.live(at(1, 1), true)
		n.wantEvents()
		n.live(at(1, 2), false)
		n.wantEvents("port s1:2 s1-2 "+deaf, "link s1:2 - s2:2 down")
		n.want("s1: 1=edge 2=unknown tree=[]", "s2: 1=edge 2=link tree=[]")
		n.pass(10 * time.Minute) // what is behind it is not known: LLDP came, but nothing is believed of what is dead
		n.want("s1: 1=edge 2=unknown tree=[]", "s2: 1=edge 2=link tree=[]")
		n.live(at(1, 1), false)
		n.wantEvents()
		n.want("s1: 1=edge 2=unknown tree=[]", "s2: 1=edge 2=link tree=[]") // an edge stays one
		n.live(at(1, 2), true)
		n.pass(0)
		n.wantEvents("port s1:2 s1-2 is live again", "link s1:2 - s2:2 up")
	})
	t.Run("a link without its cable", func(t *testing.T) {
		n := pair(t, Config{})
		n.live(at(1, 2), true)
		n.live(at(1, 2), false)
		clear(n.peer)
		n.live(at(1, 2), true)
		n.pass(20 * time.Second)
		n.want("s1: 1=edge 2=edge tree=[]", "s2: 1=edge 2=edge tree=[]")
	})
	t.Run("a named link", func(t *testing.T) {
		n := newNetwork(t, Config{Ports: map[PortID]Fixed{at(1, 1): {Kind: Link, Peer: at(2, 1)}}}, Saved{})
		n.up(1, 1)
		n.up(2, 1)
		n.live(at(2, 1), true)
		n.live(at(2, 1), false)
		n.want("s1: 1=link tree=[]", "s2: 1=link tree=[]")
		n.live(at(2, 1), true)
		n.want("s1: 1=link tree=[1]", "s2: 1=link tree=[1]", "s1:1 - s2:1")
	})
	t.Run("found at the beginning of a session", func(t *testing.T) {
		n := pair(t, Config{})
		n.events()
		n.disconnect(1)
		n.topo.SwitchUp(n.now, 1, []Port{{No: 1, Up: true, Live: true}, {No: 2, Name: "s1-2", Up: true}})
		n.wantEvents("port s1:2 s1-2 "+deaf, "link s1:2 - s2:2 down")
	})
	t.Run("a switch that does not know of it", func(t *testing.T) {
		n := pair(t, Config{})
		n.live(at(1, 2), true)
		n.disconnect(1)
		n.up(1, 2) // none is live: it is another program now
		n.live(at(1, 1), false)
		n.pass(10 * time.Minute)
		n.wantEvents()
	})
}

func TestFixedPorts(t *testing.T) {
	n := newNetwork(t, Config{Ports: map[PortID]Fixed{
		at(1, 1): {Kind: Edge},
		at(1, 2): {Kind: Link, Peer: at(2, 2)},
		at(1, 3): {Kind: Link},
	}}, Saved{})
	n.cable(at(1, 1), at(2, 1))
	n.cable(at(1, 3), at(2, 3))
	n.up(1, 3)
	n.up(2, 3)
	n.want("s1: 1=edge 2=link 3=link tree=[2]", "s2: 1=unknown 2=link 3=unknown tree=[2]", "s1:2 - s2:2")
	n.pass(20 * time.Second)
	n.want("s1: 1=edge 2=link 3=link tree=[2]", "s2: 1=edge 2=link 3=link tree=[2]", "s1:2 - s2:2", "s1:3 - s2:3")
	n.wantEvents("link s1:2 - s2:2 up", "port s1:1 LLDP of port s2:1 heard, against the configuration", "link s1:3 - s2:3 up")
	if n.sent["lldp "+at(1, 1).String()]+n.sent["lldp "+at(1, 2).String()] != 0 {
		t.Error("LLDP out of a fixed port")
	}
	n.port(at(2, 2), false)
	n.wantEvents("link s1:2 - s2:2 down")
	n.port(at(2, 2), true)
	n.wantEvents("link s1:2 - s2:2 up")
}

func TestStrangeLLDP(t *testing.T) {
	n := pair(t, Config{})
	own := newCodec([]byte("key"))
	hear := func(id PortID, frame []byte) { n.topo.Sighting(n.now, Sighting{At: id, LLDP: frame}) }

	hear(at(1, 1), newCodec([]byte("other")).append(nil, at(2, 2), ownMAC, n.now))
	hear(at(1, 1), newCodec([]byte("other")).append(nil, at(2, 2), ownMAC, n.now))
	hear(at(1, 2), own.append(nil, at(2, 1), ownMAC, n.now.Add(-time.Minute)))
	n.wantEvents("port s1:1 forged or replayed LLDP refused", "port s1:2 forged or replayed LLDP refused")
	hear(at(1, 1), own.append(nil, at(1, 1), ownMAC, n.now))
	hear(at(1, 1), []byte("\x01\x80\xc2\x00\x00\x0e\x00\x00\x00\x00\x00\x07\x88\xcc\x02\x07\x04\x00\x01\x02\x03\x04\x05\x00\x00"))
	hear(at(1, 1), own.append(nil, at(7, 1), ownMAC, n.now)) // of a switch that is not there
	hear(at(1, 2), own.append(nil, at(2, 1), ownMAC, n.now))
	n.wantEvents("port s1:2 LLDP of port s2:1 heard beside that of s2:2")
	hear(at(1, 2), own.append(nil, at(2, 1), ownMAC, n.now))
	n.wantEvents() // told a moment ago already
	n.pass(2 * time.Minute)
	hear(at(1, 2), own.append(nil, at(2, 1), ownMAC, n.now))
	n.wantEvents("port s1:2 LLDP of port s2:1 heard beside that of s2:2")
	if c := n.topo.Counters(); c.ForgedLLDP != 3 || c.ForeignLLDP != 1 || c.LoopedLLDP != 1 {
		t.Errorf("counted %+v", c)
	}
	n.want("s1: 1=edge 2=link tree=[2]", "s2: 1=edge 2=link tree=[2]", "s1:2 - s2:2")
}

func TestReservedPortsAreNone(t *testing.T) {
	n := newNetwork(t, Config{}, Saved{})
	n.topo.SwitchUp(n.now, 1, []Port{{No: flows.PortLocal, Up: true}, {No: 0, Up: true}})
	n.want("s1: tree=[]")
}
