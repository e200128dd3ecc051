package topo

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/flows"
)

// PortID names a port of a switch.
type PortID struct {
	DPID flows.DPID `json:"dpid"`
	No   uint32     `json:"port_no"`
}

// Compare orders ports by switch and number.
func (p PortID) Compare(o PortID) int {
	return cmp.Or(cmp.Compare(p.DPID, o.DPID), cmp.Compare(p.No, o.No))
}

// Port is a port of a switch as the topology sees it.
type Port struct {
	No   uint32
	Name string
	MAC  flows.MAC
	Kind PortKind
	Up   bool
	Live bool // up, and not found dead by what watches the cable, such as BFD; what a switch tells is its OFPPS_LIVE
}

// Host is a station heard behind an edge port. Addresses come from ARP and ND only. A host is Live while its port is up
// and it has not failed to answer probes; one that is not live keeps its place but answers nothing and gets nothing.
//
// A host is Settled some time after it has come to its place: packets to one that is not yet keep to the spanning tree,
// where a switch that does not know it yet does no harm by flooding. See [Snapshot.Toward].
type Host struct {
	MAC       flows.MAC
	Addresses []netip.Addr // sorted
	At        PortID
	Live      bool
	Settled   bool
}

// Cable is a link between two switches, once per cable: A is the smaller end.
type Cable struct{ A, B PortID }

// Compare orders cables by their smaller, then their larger end.
func (c Cable) Compare(o Cable) int { return cmp.Or(c.A.Compare(o.A), c.B.Compare(o.B)) }

// Snapshot is the topology at one moment. It is immutable, may be read by many goroutines at once, and so is all that it
// returns: nobody may write to it. The zero Snapshot is an empty topology.
type Snapshot struct {
	switches []switchView // by DPID
	hosts    []*Host      // by MAC
	macs     []uint64     // of hosts, as numbers: every packet-in is looked up
	addrs    []addrEntry  // by address
	homes    []flows.DPID // sorted
	graph    *graph
}

// SameNetwork reports whether both have the same switches, ports and links in use, whatever their hosts.
func (s *Snapshot) SameNetwork(o *Snapshot) bool {
	return s.graph == o.graph && slices.EqualFunc(s.switches, o.switches, func(a, b switchView) bool {
		return a.dpid == b.dpid && slices.Equal(a.ports, b.ports)
	})
}

type switchView struct {
	dpid  flows.DPID
	ports []Port // by number
	edges []uint32
}

type addrEntry struct {
	addr netip.Addr
	host *Host
}

// Switches are all known switches, sorted; those that are not connected are there with what was last known of them.
func (s *Snapshot) Switches() []flows.DPID {
	out := make([]flows.DPID, len(s.switches))
	for i := range s.switches {
		out[i] = s.switches[i].dpid
	}
	return out
}

func (s *Snapshot) find(d flows.DPID) *switchView {
	i, ok := slices.BinarySearchFunc(s.switches, d, func(v switchView, d flows.DPID) int { return cmp.Compare(v.dpid, d) })
	if !ok {
		return nil
	}
	return &s.switches[i]
}

// Ports are a switch's ports, sorted by number.
func (s *Snapshot) Ports(d flows.DPID) []Port {
	if v := s.find(d); v != nil {
		return v.ports
	}
	return nil
}

// Port is one port.
func (s *Snapshot) Port(id PortID) (Port, bool) {
	ports := s.Ports(id.DPID)
	if i := id.No - 1; i < uint32(len(ports)) && ports[i].No == id.No {
		return ports[i], true // as most switches number them
	}
	i, ok := slices.BinarySearchFunc(ports, id.No, func(p Port, no uint32) int { return cmp.Compare(p.No, no) })
	if !ok {
		return Port{}, false
	}
	return ports[i], true
}

// Kind is what is behind a port: Unknown also if there is no such port.
func (s *Snapshot) Kind(id PortID) PortKind {
	p, _ := s.Port(id)
	return p.Kind
}

// EdgePorts are a switch's edge ports, sorted.
func (s *Snapshot) EdgePorts(d flows.DPID) []uint32 {
	if v := s.find(d); v != nil {
		return v.edges
	}
	return nil
}

// Hosts are all known hosts, sorted by MAC.
func (s *Snapshot) Hosts() []*Host { return s.hosts }

// Homes are the switches that hosts are known at, sorted.
func (s *Snapshot) Homes() []flows.DPID { return s.homes }

// Host is the host with a MAC.
func (s *Snapshot) Host(m flows.MAC) (*Host, bool) {
	i, ok := slices.BinarySearch(s.macs, macNumber(m))
	if !ok {
		return nil, false
	}
	return s.hosts[i], true
}

// macNumber is a MAC as a number, in the same order.
func macNumber(m flows.MAC) uint64 {
	return uint64(m[0])<<40 | uint64(m[1])<<32 | uint64(m[2])<<24 | uint64(m[3])<<16 | uint64(m[4])<<8 | uint64(m[5])
}

// HostAt is the host that has an address.
func (s *Snapshot) HostAt(a netip.Addr) (*Host, bool) {
	i, ok := slices.BinarySearchFunc(s.addrs, a, func(e addrEntry, a netip.Addr) int { return e.addr.Compare(a) })
	if !ok {
		return nil, false
	}
	return s.addrs[i].host, true
}

// Links are the cables in use, sorted.
func (s *Snapshot) Links() []Cable {
	if s.graph == nil {
		return nil
	}
	return s.graph.cables
}

// NextHop is the port of switch from by which a shortest path leads to another switch; of several the same one always.
// It is not ok if there is no path, or if both are the same switch.
func (s *Snapshot) NextHop(from, to flows.DPID) (port uint32, ok bool) {
	if s.graph == nil {
		return 0, false
	}
	return s.graph.full.hop(from, to)
}

// Tree are the ports of a switch on the spanning tree of its part of the network, sorted: ports to links only.
func (s *Snapshot) Tree(d flows.DPID) []uint32 {
	if s.graph == nil {
		return nil
	}
	return s.graph.treePorts[d]
}

// Toward is the port of a switch by which packets to a host leave it: the host's own port on its switch, elsewhere the
// next hop on a shortest path, or on the spanning tree while the host is not settled.
func (s *Snapshot) Toward(from flows.DPID, h *Host) (port uint32, ok bool) {
	switch {
	case h.At.DPID == from:
		_, ok = s.Port(h.At)
		return h.At.No, ok
	case s.graph == nil:
		return 0, false
	case !h.Settled:
		return s.graph.tree.hop(from, h.At.DPID)
	}
	return s.graph.full.hop(from, h.At.DPID)
}

// Sighting is something heard in a packet-in that may change the topology: an LLDP frame, or a host's MAC and (from ARP and
// ND) its address.
type Sighting struct {
	At   PortID
	MAC  flows.MAC
	Addr netip.Addr // the zero Addr: only the MAC was seen
	LLDP []byte     // a whole LLDP frame, owned by the sighting; nil: a host

	Forbidden string // why the switch has dropped what came from MAC; "": it has not
}
