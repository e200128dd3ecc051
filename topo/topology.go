package topo

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// Config is what a topology is told at its start. Zero values mean the defaults.
type Config struct {
	Ports map[PortID]Fixed              // ports whose kind is not left to LLDP
	Key   []byte                        // of the HMAC that makes LLDP authentic
	MAC   flows.MAC                     // sender of probes; no host may have it, nor its LinkLocal
	Send  func(at PortID, frame []byte) // sends a frame out of a port, during any call, and must not keep it; nil: none are sent

	RoundInterval time.Duration // between a port's first two LLDP frames: 500 ms
	LLDPInterval  time.Duration // between all further ones: 2 s
	Missed        int           // LLDP frames missed in a row that end a link: 3
	Grace         time.Duration // after which a switch that has gone, or has not come, counts as away: 15 s

	Refresh       time.Duration                  // a host not heard for so long is probed: 30 s
	ProbeInterval time.Duration                  // how long an answer is waited for: 1 s
	Probes        int                            // probes unanswered in a row that make a host not live: 3
	Forget        time.Duration                  // a host not live for so long is forgotten: 10 min
	SeekInterval  time.Duration                  // between the first probes for an address that is sought, then doubled: 1 s
	SeekLimit     time.Duration                  // the longest interval between them: 30 s
	Settle        time.Duration                  // see Host.Settled: 1 s
	Lag           func(flows.DPID) time.Duration // how long a switch takes now to answer: its silence means nothing before; nil: no time
	Hold          time.Duration                  // a claim refused is not looked at again for so long: 30 s

	MaxHosts, MaxHostsPerPort, MaxAddresses int // 16384 in all, 1024 at one port, 16 of one host
}

// Fixed is what the configuration says of a port: that it is an edge; or a link, whose other end may be named, and is else
// told by LLDP.
type Fixed struct {
	Kind PortKind
	Peer PortID
}

func orDefault[T cmp.Ordered](v *T, d T) {
	var zero T
	if *v <= zero {
		*v = d
	}
}

func (c *Config) setDefaults() {
	if c.Send == nil {
		c.Send = func(PortID, []byte) {}
	}
	orDefault(&c.RoundInterval, 500*time.Millisecond)
	orDefault(&c.LLDPInterval, 2*time.Second)
	orDefault(&c.Missed, 3)
	orDefault(&c.Grace, 15*time.Second)
	orDefault(&c.Refresh, 30*time.Second)
	orDefault(&c.ProbeInterval, time.Second)
	orDefault(&c.Probes, 3)
	orDefault(&c.Forget, 10*time.Minute)
	orDefault(&c.SeekInterval, time.Second)
	orDefault(&c.SeekLimit, 30*time.Second)
	orDefault(&c.Settle, time.Second)
	orDefault(&c.Hold, 30*time.Second)
	orDefault(&c.MaxHosts, 16384)
	orDefault(&c.MaxHostsPerPort, 1024)
	orDefault(&c.MaxAddresses, 16)
	fixed := make(map[PortID]Fixed, len(c.Ports))
	for id, f := range c.Ports {
		fixed[id] = f
		if f.Kind == Link && f.Peer != (PortID{}) {
			if _, named := c.Ports[f.Peer]; !named {
				fixed[f.Peer] = Fixed{Link, id}
			}
		}
	}
	c.Ports = fixed
}

// Counters count what was refused or ignored, and is not told by an event each.
type Counters struct {
	ForeignLLDP   uint64 // LLDP of other systems
	ForgedLLDP    uint64 // of our form, but not of our key, or replayed
	LoopedLLDP    uint64 // our own, heard by the port that sent it
	IgnoredHosts  uint64 // heard by what is not an edge port in use, or from an address that no host may have
	Forbidden     uint64 // packets told of that were dropped for their sender
	TableFull     uint64 // hosts and addresses refused for want of room
	Displaced     uint64 // idle hosts forgotten to make room
	RefusedClaims uint64 // moves and addresses refused, repetitions included
	LostEvents    uint64 // not kept because nobody fetched the earlier ones
}

// Topology is the topology and what is being found out about it. It has one user at a time, no goroutine and no clock: each
// call is told the time. After a call, [Topology.Events] are to be told.
type Topology struct {
	cfg      Config
	switches []*swtch // by DPID
	hosts    []*host  // by MAC
	byMAC    map[flows.MAC]*host
	byAddr   map[netip.Addr]*host
	atPort   map[PortID]int // hosts at a port
	claims   map[claimKey]*claim
	seeks    map[netip.Addr]*seek
	reserved map[netip.Addr]bool
	lldp     *codec
	frame    []byte // of the LLDP frame sent last

	events   []Event
	counters Counters
	next     time.Time // when Tick is wanted; zero: never

	snap             *Snapshot
	changed, rewired bool // since snap: anything; switches, cables or who is away
}

// New starts from what was saved, which holds until it is contradicted.
func New(now time.Time, cfg Config, saved Saved) *Topology {
	cfg.setDefaults()
	t := &Topology{cfg: cfg, byMAC: make(map[flows.MAC]*host), byAddr: make(map[netip.Addr]*host), atPort: make(map[PortID]int),
		claims: make(map[claimKey]*claim), seeks: make(map[netip.Addr]*seek), reserved: map[netip.Addr]bool{LinkLocal(cfg.MAC): true},
		lldp: newCodec(cfg.Key), changed: true, rewired: true}
	t.restore(now, saved)
	return t
}

// tickPause is the least time between two ticks: what falls due within it is done together.
const tickPause = 20 * time.Millisecond

// Next is when Tick is wanted, which may be in the past; the zero time: never. Any other call may change it.
func (t *Topology) Next() time.Time { return t.next }

// wake makes sure that Tick is called at a time.
func (t *Topology) wake(at time.Time) {
	if t.next.IsZero() || at.Before(t.next) {
		t.next = at
	}
}

// Tick does what has fallen due, which is nothing before Next.
func (t *Topology) Tick(now time.Time) {
	if t.next.IsZero() || now.Before(t.next) {
		return
	}
	t.next = time.Time{}
	t.tickSwitches(now)
	t.tickHosts(now)
	t.tickClaims(now)
	t.tickSeeks(now)
	if soonest := now.Add(tickPause); !t.next.IsZero() && t.next.Before(soonest) {
		t.next = soonest
	}
}

func (t *Topology) sendLLDP(now time.Time, p *port) {
	t.frame = t.lldp.append(t.frame[:0], p.id, p.MAC, now)
	t.cfg.Send(p.id, t.frame)
}

// Counters are the present counts.
func (t *Topology) Counters() Counters { return t.counters }

// Snapshot is the topology now: the same pointer while nothing has changed.
func (t *Topology) Snapshot() *Snapshot {
	t.rewire()
	if !t.changed && t.snap != nil {
		return t.snap
	}
	s := &Snapshot{graph: t.snap.graph, switches: make([]switchView, len(t.switches)), hosts: make([]*Host, len(t.hosts)),
		macs: make([]uint64, len(t.hosts))}
	for i, sw := range t.switches {
		s.switches[i] = sw.view()
	}
	for i, h := range t.hosts {
		s.hosts[i], s.macs[i] = h.view(), macNumber(h.mac)
		for _, a := range s.hosts[i].Addresses {
			s.addrs = append(s.addrs, addrEntry{a, s.hosts[i]})
		}
	}
	for id := range t.atPort {
		s.homes = append(s.homes, id.DPID)
	}
	slices.Sort(s.homes)
	s.homes = slices.Compact(s.homes)
	slices.SortFunc(s.addrs, func(a, b addrEntry) int { return a.addr.Compare(b.addr) })
	t.snap, t.changed = s, false
	return s
}

// rewire brings the graph up to date, and tells which links have come and gone.
func (t *Topology) rewire() {
	if t.snap == nil {
		t.snap = &Snapshot{graph: newGraph(nil, nil, nil)}
	}
	if !t.rewired {
		return
	}
	switches := make([]flows.DPID, len(t.switches))
	away := make(map[flows.DPID]bool)
	var cables []Cable
	for i, sw := range t.switches {
		switches[i] = sw.dpid
		if sw.away {
			away[sw.dpid] = true
		}
		for _, p := range sw.ports {
			if q := t.port(p.peer); p.id.Compare(p.peer) < 0 && p.joined(q) {
				cables = append(cables, Cable{p.id, q.id})
			}
		}
	}
	slices.SortFunc(cables, Cable.Compare)
	t.tellLinks(t.snap.graph.cables, cables)
	old := *t.snap
	old.graph = newGraph(switches, cables, away)
	t.snap, t.rewired, t.changed = &old, false, true
}

func (t *Topology) tellLinks(old, now []Cable) {
	for _, c := range old {
		if !slices.Contains(now, c) {
			t.tell("link", c.name(), "down")
		}
	}
	for _, c := range now {
		if !slices.Contains(old, c) {
			t.tell("link", c.name(), "up")
		}
	}
}

func compareMAC(a, b flows.MAC) int { return bytes.Compare(a[:], b[:]) }
