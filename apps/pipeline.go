package apps

import (
	"encoding/binary"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Tables of the pipeline on every switch; docs/pipeline.md shows each with a dump.
const (
	TableClassify  = 0  // LLDP to the controller, edge or link
	TableSource    = 1  // is the sender known at this port?
	TableKind      = 2  // ARP, IP or something else
	TableCopy      = 3  // a copy to the controller, metered; always the last thing done with a packet
	TableNeighbour = 10 // ARP and ND answered in the switch
	TableNeighbor2 = 11 // second step of the ND answer
	TableReply     = 20 // from backends of this switch: un-NAT, hairpin; what is routed loses one of its TTL
	TableHairpin   = 21 // mode group: an answer of a backend to itself has its own address again, but not the VIP's
	TableHairback  = 22 // and now that too
	TableAnswer    = 23 // mode deferred: what conntrack has said of an answer, at the backend's edge
	TableMirror    = 24 // mode deferred: an answer of a backend to itself has its own address again, but not the VIP's
	TableMirrored  = 26 // and now that too
	TableRoute     = 25 // answers of backends that have a router of ours as next hop: to their client's MAC, or its gateway's
	TableVIP       = 30 // VIP address, protocol and port to its mode
	TableSelect    = 40 // mode nat: the connection's forward rule
	TableGroup     = 41 // mode group: a tracked packet to its backend, or a new one to the VIP's group
	TableCommit    = 42 // mode group: the choice in RegEndpoint is committed to conntrack
	TableDcode     = 44 // mode othello, tables 44 to 58: the sender's MAC kept, the connection hashed to RegDcode
	TableOwner     = 45 // its Dcode's owner
	TableConsult   = 46 // does a displaced connection have that Dcode?
	TablePinned    = 47 // pins with rules of their own
	TableCells     = 48 // the connection hashed to its cells: a row and a place in the row of each array
	TableRowA      = 49 // a row of the first array, 30 cells
	TableCellA     = 50 // one of them
	TableRowB      = 51
	TableCellB     = 52
	TableXor       = 53 // and 54, 55: exclusive or of both cells, four bits each
	TablePinValue  = 56 // a pin value's backend
	TableNoted     = 57 // at the backends' edges: flows of datagrams that are known there, and not where they would be sent now
	TableChosen    = 58 // the owner's MAC, the sender's back in its place; the choice is made, see TablePick
	TableRefuse    = 59 // what a VIP's meter has passed of packets to be refused: to the controller, behind the meter of all
	TableForward   = 60 // eth_dst to an output port
	TableEgress    = 70 // output is an edge port: the connection's reverse rule
	TableUnNAT     = 71 // mode group: an answer that conntrack has given the VIP's address
	TableArrival   = 72 // mode deferred, tables 72 to 79 at the backends' edges: what conntrack says of a packet to a VIP
	TableDoubt     = 73 // a known connection, but perhaps not this one: others are asked before it counts
	TableDeliver   = 74 // to the endpoint that conntrack names
	TableAccept    = 75 // a new connection is committed, here
	TableAsk       = 76 // the walk over generations: who knows the connection?
	TablePick      = 77 // what a bucket does, by RegPurpose
	TableAge       = 78 // a known connection is counted by the generation in which it began
	TableSelf      = 79 // a backend that has been given its own connection meets the VIP's address
	TableOutput    = 80 // out of the port in reg0
)

// GroupCopy hands a packet on to TableKind and, unchanged, to TableCopy. Groups of VIPs have larger ids.
const GroupCopy = 1

// GroupHash is there for a test alone: see HashGroup.
const GroupHash = 2

// RegHash is where it writes.
const RegHash = flows.Reg15

// RegOutput holds the output port from TableForward on; flows.PortFlood stands for all edge ports, and values of WayTo for the
// way to another switch.
const RegOutput = flows.Reg0

// WayTo in RegOutput is the way to a switch, told by its number: no port of Open vSwitch has so high a number. What leads to a host
// names its switch alone, so that a way that changes does so in one place.
func WayTo(number uint16) uint32 { return 1<<31 | uint32(number) }

// RegEndpoint holds the endpoint that a group has chosen, before TableForward.
const RegEndpoint = flows.Reg0

// Registers of mode deferred, at the edges of backends; what is translated twice is kept in RegSaved and RegSavedPort, an IPv6
// address in RegSaved6, which overlaps neither.
const (
	RegAsked     = flows.Reg2 // the generation asked last, mod 256; AskedNone before the first
	RegVIP       = flows.Reg3 // the VIP's id
	RegEdges     = flows.Reg4 // edges asked, a bit each
	RegPurpose   = flows.Reg5 // of a pick
	RegSaved     = flows.Reg6 // the backend's IPv4 address
	RegSavedPort = flows.Reg7 // the backend's port
	RegSaved6    = flows.XXReg2
	RegAge       = flows.Reg12 // the generation to write to a new connection's label
)

// AskedNone in RegAsked is no generation: the walk begins.
const AskedNone = 0x100

// Values of RegPurpose.
const (
	PurposeChoose = 0 // a gateway sends a packet to its backend
	PurposeAsk    = 1 // an edge looks for who knows a connection; bit 0 is set in doubt as well
	PurposeOwn    = 2 // nobody knows it: to the present choice
	PurposeDoubt  = 3 // this edge knows the connection, but perhaps another of the same ports
)

// MaxEdgeBits is how many edges have a bit in RegEdges and in the marker. Those beyond are asked again, which is only slower.
const MaxEdgeBits = 16

// Registers of mode othello, besides those of mode deferred, which are kept. The VIP's id is in metadata, below the MAC of the
// sender, whose place in the packet is needed for hashing.
const (
	RegDcode = flows.Reg0  // Dcode, 12 bits; places in rows A and B, 5 bits each; from bit 24 on the generation, mod 256
	RegRows  = flows.Reg1  // rows A and B, 16 bits each; then their cells, 12 bits in the place of each
	RegOwner = flows.Reg13 // the backend's id
)

// Groups of VIPs: the kind in the upper 8 bits. Of kinds 1, 3 and 4 the lower 16 are the VIP's id, of kind 2 the lower 24 are
// id and generation, of kind 5 the lower 16 are a switch's number.
const (
	groupOfVIP        = 1 << 24
	groupOfGeneration = 2 << 24
	groupOfEdges      = 3 << 24
	groupOfGateways   = 4 << 24
	groupOfWay        = 5 << 24
)

// GroupOfGeneration is the group that chooses among the backends of one generation of a VIP, which is told mod 256.
func GroupOfGeneration(id vip.ID, generation uint32) uint32 {
	return groupOfGeneration | uint32(id)<<8 | generation&0xff
}

// VIPOfGeneration is the VIP whose [GroupOfGeneration] a group is, if it is one.
func VIPOfGeneration(group uint32) vip.ID { return vip.ID(group >> 8 & 0xffff) }

// GroupOfEdges is the group that copies ICMP errors to every edge with backends of an address, whose first VIP this is.
func GroupOfEdges(id vip.ID) uint32 { return groupOfEdges | uint32(id) }

// GroupOfVIP is the group that chooses among the backends of a VIP of mode group.
func GroupOfVIP(id vip.ID) uint32 { return groupOfVIP | uint32(id) }

// GroupOfGateways is the group that spreads a VIP's packets over its gateways.
func GroupOfGateways(id vip.ID) uint32 { return groupOfGateways | uint32(id) }

// GroupOfWay is the group that sends to a switch, told by its number, by a detour while the cable of the shortest path is dead.
func GroupOfWay(number uint16) uint32 { return groupOfWay | uint32(number) }

// OwnGroup reports whether a group id is one of ours.
func OwnGroup(id uint32) bool {
	switch low := id & 0xffffff; id >> 24 {
	case 0:
		return id == GroupCopy || id == GroupHash
	case groupOfVIP >> 24, groupOfEdges >> 24, groupOfGateways >> 24:
		return low <= vip.MaxID
	case groupOfGeneration >> 24:
		return true
	case groupOfWay >> 24:
		return low <= 1<<16-1
	}
	return false
}

// MarkDirect is the ct_mark of connections past the VIPs to a port that serves one: no endpoint has this id.
const MarkDirect uint32 = 0xffffffff

// RegIgnored is written and never read: a field copied to it is one that Open vSwitch's cache distinguishes.
const RegIgnored = flows.Reg1

// Addresses of our own. VIPMAC is the one MAC of all VIPs; it is seen only leaving an edge port, and so is ProbeMAC, the sender
// of probes of backends. The markers are MACs that a packet may carry inside the fabric alone.
var (
	VIPMAC       = flows.MAC{0x02, 0xef, 0x00, 0x00, 0x00, 0x01}
	ProbeMAC     = flows.MAC{0x02, 0xef, 0x00, 0x00, 0x00, 0x02}
	MarkerAsked  = flows.MAC{0x0e, 0xef, 0x01}
	MarkerBounce = flows.MAC{0x0e, 0xef, 0x03}
	MarkerMask   = flows.MAC{0xff, 0xff, 0xff}
	gatewayMAC   = flows.MAC{0x02, 0xef, 0x01}
	endpointMAC  = flows.MAC{0x06, 0xef}
)

// EndpointMAC stands for an endpoint within the fabric, if its host's MAC stands for another of the VIP.
func EndpointMAC(endpoint uint32) flows.MAC {
	m := endpointMAC
	binary.BigEndian.PutUint32(m[2:], endpoint)
	return m
}

// GatewayMAC is where a client's switch sends what a gateway is to choose for; n is a number of the gateway's own.
func GatewayMAC(n uint16) flows.MAC {
	m := gatewayMAC
	m[4], m[5] = byte(n>>8), byte(n)
	return m
}

// ProbePorts are the ports that backends are probed from, 320 to 383: below those that hosts give to their connections, and
// those of any service that a VIP is likely to have.
var ProbePorts = vip.PortMask{Port: 0x140, Mask: 0xffc0}

// Marker reports whether a MAC is one of the markers.
func Marker(m flows.MAC) bool {
	return m == MarkerBounce || m[0] == MarkerAsked[0] && m[1] == MarkerAsked[1] && m[2] == MarkerAsked[2]
}

// Meters. Each class of packets that are punted to the controller has one, so that no class starves another; and each edge port
// has one for what is copied, so that the hosts behind one do not starve those behind another.
const (
	MeterLLDP      = 1
	MeterNeighbour = 2
	MeterVIP       = 3
	MeterOther     = 4
	MeterReject    = 5
	MeterForbidden = 6                              // packets dropped for their sender
	MeterEdgeLLDP  = 7                              // LLDP by edge ports, where there is none of ours
	MeterProbe     = 8                              // answers of probed backends, by ports without a meter of their own
	meterPort      = 10                             // + port number
	maxMeteredPort = 900                            // beyond it ports share the meters of the classes
	MeterVIPReject = 1000                           // + VIP id
	MeterHandOver  = MeterVIPReject + vip.MaxID + 1 // + VIP id: what an edge sends on of connections that it does not know
)

// MeterOfPort is the meter of an edge port; not ok: it has none.
func MeterOfPort(no uint32) (id uint32, ok bool) { return meterPort + no, no <= maxMeteredPort }

// Default rates of the meters in packets per second.
const (
	RateLLDP      = 100
	RateNeighbour = 1000
	RateVIP       = 50000
	RateOther     = 1000
	RateReject    = 1000
	RateForbidden = 10
	RateProbe     = 2000
	RateVIPReject = 100
)

// Cookie layout: 0xEF, kind, class, note (8 bits each), owner (32 bits). The only note is 1, for rules made to drop.
const (
	cookieTag  = uint64(0xEF) << 56
	cookieDrop = uint64(1) << 32
	CookieMask = uint64(0xFF) << 56 // selects our rules
)

// Kind is how a rule is kept: it stands in its cookie.
type Kind uint8

// Kinds of rules.
const (
	KindDesired    Kind = 1 // held equal to the desired state
	KindConnection Kind = 2 // half of a connection of mode nat: adopted after a restart, never mended
	KindLearned    Kind = 3 // left to its timeout
)

// Class is the app a rule belongs to: it stands in its cookie, so that a packet-in finds its app.
type Class uint8

// Classes.
const (
	ClassBase     Class = 1
	ClassARP      Class = 2
	ClassNAT      Class = 3
	ClassGroup    Class = 4
	ClassDeferred Class = 5
	ClassOthello  Class = 6
	ClassHealth   Class = 8
)

// Cookie composes a rule's cookie. id is the VIP's id, or 0 for what no VIP owns.
func Cookie(k Kind, c Class, id vip.ID) uint64 {
	return cookieTag | uint64(k)<<48 | uint64(c)<<40 | uint64(id)
}

// Drop marks the cookie of a rule that is made to drop, so that the counters of all such rules can be read apart from the rest.
func Drop(cookie uint64) uint64 { return cookie | cookieDrop }

// Drops reports whether a rule with this cookie is made to drop.
func Drops(cookie uint64) bool { return cookie&cookieDrop != 0 }

// DropCookies are the cookie and mask that select all rules made to drop.
func DropCookies() (cookie, mask uint64) { return cookieTag | cookieDrop, CookieMask | cookieDrop }

// SplitCookie is the reverse of Cookie; ok is false for a cookie that is not ours.
func SplitCookie(cookie uint64) (k Kind, c Class, id vip.ID, ok bool) {
	return Kind(cookie >> 48), Class(cookie >> 40), vip.ID(cookie), cookie&CookieMask == cookieTag
}

// OwnMeter reports whether a meter id is one of ours.
func OwnMeter(id uint32) bool {
	return id >= MeterLLDP && id <= meterPort+maxMeteredPort || id > MeterVIPReject && id <= MeterHandOver+vip.MaxID
}

// ClassCookies are the cookie and mask that select the rules of KindDesired of one class.
func ClassCookies(c Class) (cookie, mask uint64) {
	return cookieTag | uint64(KindDesired)<<48 | uint64(c)<<40, CookieMask | 0xFFFF<<40
}

// DesiredCookies are the cookie and mask that select all rules of KindDesired.
func DesiredCookies() (cookie, mask uint64) {
	return cookieTag | uint64(KindDesired)<<48, CookieMask | 0xFF<<48
}
