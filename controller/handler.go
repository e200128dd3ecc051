package controller

import (
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// Owner is who wants a piece of desired state: the unit that is compared, confirmed and refused apart from all others.
// Its dynamic type must be comparable.
type Owner interface{ String() string }

// OwnerState is what an owner wants of a switch. Version is the owner's own and comes back with [Handler.Applied].
// A rule's identity (table, priority, match), a group's and a meter's id must be one owner's alone, and so must a State and its
// blocks.
type OwnerState struct {
	Owner   Owner
	Version uint64
	State   *State // nil: it wants nothing
}

// RuleKind says how a rule that a switch holds is treated.
type RuleKind uint8

// Kinds of rules.
const (
	Foreign    RuleKind = iota // somebody else's: never touched
	Desired                    // held equal to the desired state
	Connection                 // handed to [Handler.Connected], then left to the handler
	Learned                    // left to its timeouts
)

// Handler is told what happens. Of one session Connected comes first and Disconnected last; what tells of a message runs in
// the session's reader, in the order of messages, and must not block. Applied runs in a goroutine of the session's own,
// Refused in any, also within a call of Switch.Add and the like. None may wait for an answer from the switch.
type Handler interface {
	// Connected tells that a switch is there: its description, ports and state have been read. conns are the rules of kind
	// Connection that it holds. The handler answers with Replace when it has the whole desired state.
	Connected(sw *Switch, conns []flows.InstalledRule)
	// Disconnected tells why the session has ended.
	Disconnected(sw *Switch, err error)
	// PortStatus tells that a port has come, gone or changed.
	PortStatus(sw *Switch, reason openflow.PortReason, p openflow.Port)
	// PacketIns hands over packets that were read together, in order, at least one. ins and what they point to are valid during
	// the call.
	PacketIns(sw *Switch, ins []openflow.PacketIn)
	// FlowRemoved tells that a rule has ended. fr is valid during the call, what it points to may be kept.
	FlowRemoved(sw *Switch, fr *openflow.FlowRemoved)
	// RuleStats answers Switch.AskRule; found is false when the switch has no such rule. r may be kept.
	RuleStats(sw *Switch, r *flows.Rule, st flows.Stats, found bool)
	// Applied tells that the switch has confirmed what owner wants in version, or refused it (a [*RefusedError]), and keeps
	// what it had. It is not called for versions overtaken by a newer one before they were sent.
	Applied(d flows.DPID, o Owner, version uint64, err error)
	// Refused tells of an error that answers a message outside of transactions; what is that message as text.
	Refused(sw *Switch, what string, err error)
	// RuleRefused tells, behind Refused, that a rule of kind Connection is not there, since the switch has refused it. It tells of a
	// message: of the error. r is valid during the call.
	RuleRefused(sw *Switch, r *flows.Rule)
}
