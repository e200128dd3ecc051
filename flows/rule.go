package flows

// Flags of a rule (OFPFF_*).
type Flags uint16

// Flags of a rule.
const (
	SendFlowRemoved Flags = 1 << 0
	CheckOverlap    Flags = 1 << 1
	ResetCounts     Flags = 1 << 2
	NoPacketCounts  Flags = 1 << 3
	NoByteCounts    Flags = 1 << 4
)

// Rule is a flow entry as desired or as read back from a switch. Table, Priority and Match are its identity.
// No actions means drop.
type Rule struct {
	Table       uint8
	Priority    uint16
	Cookie      uint64
	IdleTimeout uint16 // seconds, 0: none
	HardTimeout uint16 // seconds, 0: none
	Flags       Flags
	Match       Match
	Actions     []Action
}

// Stats are the counters of a rule in a switch.
type Stats struct {
	Packets, Bytes uint64
	DurationSec    uint32 // since it was installed
	DurationNsec   uint32 // and the part of a second
	IdleSec        uint32 // since its last packet; only if HasIdle (OpenFlow 1.5 and Nicira statistics have it)
	HasIdle        bool
}

// InstalledRule is a rule with its counters.
type InstalledRule struct {
	Rule
	Stats
}

// GroupType is a group's kind.
type GroupType uint8

// Group types (OFPGT_*).
const (
	GroupAll GroupType = iota
	GroupSelect
	GroupIndirect
	GroupFastFailover
)

// Bucket is one choice of a group. Weight counts in select groups only and must be at least 1 there: 0 is dead.
type Bucket struct {
	ID         uint32
	Weight     uint16
	WatchPort  uint32 // PortAny: none
	WatchGroup uint32 // 0xffffffff: none
	Actions    []Action
}

// Group is a group entry. Buckets are always sorted by ID: Open vSwitch breaks hash ties by list order.
type Group struct {
	ID      uint32
	Type    GroupType
	Method  string  // selection method, "" for the switch's default ("hash" needs Fields)
	Param   uint64  // selection method parameter
	Fields  []Field // fields hashed, whole
	Buckets []Bucket
}

// Meter is a meter with one drop band, in packets per second.
type Meter struct {
	ID    uint32
	Rate  uint32 // packets per second
	Burst uint32 // packets, 0: the switch's default
}

// State is what one owner wants in one switch, or what a switch holds.
type State struct {
	Rules  []Rule
	Groups []Group
	Meters []Meter
}

// Append adds another state's rules, groups and meters.
func (s *State) Append(o State) {
	s.Rules = append(s.Rules, o.Rules...)
	s.Groups = append(s.Groups, o.Groups...)
	s.Meters = append(s.Meters, o.Meters...)
}
