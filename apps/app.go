package apps

import (
	"net/netip"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/ovshash"
	"github.com/evenflow/evenflow/topo"
)

// OwnerKind says what a piece of desired state belongs to.
type OwnerKind uint8

// Owner kinds.
const (
	OwnerBase    OwnerKind = iota // a switch's base: ports and tree, the pipeline's frame; one per switch
	OwnerVIP                      // one VIP
	OwnerAddress                  // what all VIPs of one address share, and what a router's address has: ARP and ND, ping, closed ports
	OwnerHost                     // one host: its place, which switch leads to it, answers to ARP for it
	OwnerSwitch                   // the way to one switch from all others
)

// Owner is the unit of desired state: what one owner wants is computed, compared and confirmed apart from all others.
// It is comparable. Only the field of its Kind is set.
type Owner struct {
	Kind OwnerKind
	VIP  vip.ID
	Addr netip.Addr
	MAC  flows.MAC
	DPID flows.DPID
}

// String names the owner in logs and errors.
func (o Owner) String() string {
	switch o.Kind {
	case OwnerVIP:
		return "vip " + itoa(uint64(o.VIP))
	case OwnerAddress:
		return "address " + o.Addr.String()
	case OwnerHost:
		return "host " + o.MAC.String()
	case OwnerSwitch:
		return "way to " + o.DPID.String()
	}
	return "base"
}

// SwitchInfo is what an app must know of a connected switch. What an app desires must not depend on Hash, which comes later.
type SwitchInfo struct {
	DPID   flows.DPID
	Nicira bool          // understands Nicira's extensions (resubmit, registers, fin_timeout)
	OF15   bool          // an OpenFlow 1.5 session: copy_field, stable bucket ids
	Zone   uint16        // conntrack zone for NAT at the client's edge, the switch's alone; 0: none could be given
	Hash   ovshash.Build // by which its select groups choose; 0: not known, or not yet

	// Zones of modes that translate beside the backend, the switch's alone; 0: none could be given, or no VIP needs it.
	Deferred uint16 // for all of its backends
	Mirror   uint16 // for backends that are given their own connections
	Foretold bool   // it has shown that it hashes as mode othello needs
	NoCodes  string // why it does not, as it has shown
}

// Deferrable reports whether the switch can have modes deferred and othello: conntrack, zones of its own, and an OpenFlow 1.5
// session.
func (i SwitchInfo) Deferrable() bool { return i.Nicira && i.OF15 && i.Deferred != 0 && i.Mirror != 0 }

// Able reports whether the switch can have a VIP of mode deferred or othello.
func (i SwitchInfo) Able(x *VIP) bool {
	return i.Deferrable() && (x.Spec.Mode != vip.ModeOthello || i.NoCodes == "")
}

// View is everything that apps see, immutable: the topology, the switches that are connected, the VIPs and the routers.
type View struct {
	Topo     *topo.Snapshot
	Switches map[flows.DPID]SwitchInfo
	VIPs     []*VIP                   // by id
	Routers  []Router                 // set before the view is shown to anybody
	Routes   Routes                   // what is behind routers that are hosts; set likewise
	Gateways map[flows.DPID]flows.MAC // of VIPs that name some: those that have ever connected; set likewise
	Edges    map[flows.DPID]uint16    // numbers of switches as edges with backends, from 0; set likewise
	Numbers  map[flows.DPID]uint16    // of switches: each has one of its own, for ever; set likewise
	byID     map[vip.ID]*VIP
	byAddr   map[netip.Addr][]*VIP
	served   *servedIndex
	all      map[flows.DPID]SwitchInfo // Switches before Only
}

// VIP is a declared VIP with the present state of its backends.
type VIP struct {
	*vip.VIP
	Backends []Backend
	Hairpin  uint16 // conntrack zone for backends that are given their own connections; 0: the mode needs none

	Generations *vip.Generations // of modes deferred and othello; nil: there is none yet, or the mode has none
	Doubted     bool             // in mode othello: agents claim a flow of datagrams for two backends, and edges are to note all
}

// Backend is a backend with its present state. Host is nil while its address, or its gateway's, has not been heard.
type Backend struct {
	*vip.Backend
	Host     *topo.Host // if it is behind a gateway, that
	Via      netip.Addr // the gateway; the zero Addr: it is behind none
	State    vip.State
	Reason   string
	Endpoint uint32 // the ct_mark of its connections, never 0 or MarkDirect in modes that use conntrack, 0 in others
	Aliased  bool   // it shares its host's MAC with an older backend of the VIP, and has a MAC of its own within the fabric
	Dead     bool   // StateDown because its probes have failed, which was found out while its switch had a session
}

// TargetPort is the port that the backend listens on for a packet to the VIP's port.
func (b *Backend) TargetPort(vipPort uint16) uint16 {
	if b.Port != 0 {
		return b.Port
	}
	return vipPort
}

// NewView indexes a view. The VIPs must be sorted by id.
func NewView(t *topo.Snapshot, switches map[flows.DPID]SwitchInfo, vips []*VIP) *View {
	v := &View{Topo: t, Switches: switches, VIPs: vips, byID: make(map[vip.ID]*VIP, len(vips)), byAddr: make(map[netip.Addr][]*VIP),
		served: &servedIndex{}, all: switches}
	for _, x := range vips {
		v.byID[x.ID] = x
		v.byAddr[x.Address] = append(v.byAddr[x.Address], x)
	}
	return v
}

// VIP is the VIP with an id, nil if there is none.
func (v *View) VIP(id vip.ID) *VIP { return v.byID[id] }

// VIPsAt are the VIPs of an address, by id.
func (v *View) VIPsAt(a netip.Addr) []*VIP { return v.byAddr[a] }

// App computes what an owner wants on each switch. Each mode is an app, and so are base and arp.
type App interface {
	Name() string

	// Desired is a pure function of the view: no clock, no state, the same answer for the same view. It names connected
	// switches only, and may leave out switches on which the owner wants nothing. A rule's identity (table, priority,
	// match) must be the owner's alone.
	Desired(v *View, o Owner) map[flows.DPID]flows.State
}

// Punted is a packet-in: the frame and what the switch said of it. It is valid during the call alone.
type Punted struct {
	At     topo.PortID
	Table  uint8
	Cookie uint64    // of the rule that sent it
	Came   time.Time // zero: now
	Frame  *Frame
}

// Reply takes an app's answers to a packet-in. They are written to the switch the packet came from, in order, without
// waiting; what is passed in may be used again after the call.
type Reply interface {
	// Add installs a rule.
	Add(r *flows.Rule)
	// Delete removes the rule with r's table, priority and match.
	Delete(r *flows.Rule)
	// PacketOut sends a frame through actions, as if it had come in by port inPort (flows.PortController: by none).
	PacketOut(inPort uint32, actions []flows.Action, data []byte)
	// AskRule asks for the counters of the rule with r's table, priority and match; the answer comes to ConnectionHandler.RuleStats.
	AskRule(r *flows.Rule)
	// Sighted hands what changes the topology to the engine's queue; false: the queue is full, it was counted and dropped.
	Sighted(s topo.Sighting) bool
}

// PacketInHandler is an app that answers packet-ins sent by rules of its class.
type PacketInHandler interface {
	// PacketIn runs in the session's reader and must not block. Of one switch, calls come one after the other; of several
	// switches at the same time.
	PacketIn(v *View, in *Punted, out Reply) (handled bool)
}

// Prefetcher is a PacketInHandler whose tables are larger than the processor's caches.
type Prefetcher interface {
	// Prefetch has the processor fetch what PacketIn will look at, and waits for nothing. PacketIn is called soon, after Prefetch was
	// for some other packet-ins, whose waits for memory overlap so.
	Prefetch(v *View, in *Punted)
}

// ConnectionHandler is an app whose rules of KindConnection live and end by themselves. All but Sync run in a session's
// reader, as PacketIn does.
type ConnectionHandler interface {
	// FlowRemoved tells that a rule has ended in the switch (r.Match and r.Cookie are set, r.Actions are not).
	FlowRemoved(v *View, d flows.DPID, r *flows.Rule, reason RemovedReason, st flows.Stats, out Reply)
	// RuleStats answers AskRule; found is false when the switch has no such rule.
	RuleStats(v *View, d flows.DPID, r *flows.Rule, st flows.Stats, found bool, out Reply)
	// Refused tells that a switch has refused to add a rule.
	Refused(v *View, d flows.DPID, r *flows.Rule, out Reply)
	// Adopt takes over the connection rules that a switch holds when it connects, and returns those to delete.
	Adopt(v *View, d flows.DPID, rules []flows.InstalledRule) (remove []flows.Rule)
	// Sync tells that the view has changed, from the engine's goroutine: VIPs and backends may have come, gone or died.
	// It returns the connection rules to delete, by switch.
	Sync(v *View) map[flows.DPID][]flows.Rule
	// Connections counts a backend's connections: those alive and all ever made.
	Connections(id vip.ID, backend uint32) (live, total int64)
}

// LoadTaker is an app whose schedulers may go by the loads of backends' ports.
type LoadTaker interface {
	// TakeLoads gives the loads of a VIP's backends in bits per second, by id, as last read; one that is not known is left out. rejected
	// says that they have been found to differ beyond chance.
	TakeLoads(id vip.ID, loads map[uint32]float64, rejected bool)
}

// RemovedReason is why a rule ended (OFPRR_*).
type RemovedReason uint8

// Reasons.
const (
	RemovedIdle   RemovedReason = 0
	RemovedHard   RemovedReason = 1
	RemovedDelete RemovedReason = 2
	RemovedOther  RemovedReason = 255
)

// Only is the view with some of its switches: what owners want there is computed without the others.
func (v *View) Only(switches ...flows.DPID) *View {
	w := *v
	w.Switches = make(map[flows.DPID]SwitchInfo, len(switches))
	for _, d := range switches {
		w.Switches[d] = v.Switches[d]
	}
	return &w
}
