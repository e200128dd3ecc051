package apps

import (
	"context"
	"net/netip"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// LiveState is a connection as the host of a backend has it: of a client, at an address of the host's own.
type LiveState struct {
	Proto         uint8
	Client, Local netip.AddrPort
}

// LiveReport is all TCP connections that the host with an address has, told at once.
type LiveReport struct {
	Host   netip.Addr
	After  int64 // what the answer to the host's last report said; 0: this is the first
	States []LiveState
}

// MaxLiveStates is how many connections a host may have told of at a time.
const MaxLiveStates = 1 << 18

// AgentHello is what an agent says of itself when it connects.
type AgentHello struct {
	Host        netip.Addr
	Run         string // names its run: numbers of changes of another mean nothing
	First, Last uint64 // the changes that it can send; none if First is Last + 1
}

// AgentOrder is what an agent is told. Dump, if not 0, is the id of a dump that is wanted, of Ports by protocol; else all changes up
// to Seq have come, and with Resume those after it are wanted.
type AgentOrder struct {
	Dump   uint64
	Ports  map[uint8][]vip.Ports
	Seq    uint64
	Resume bool
	Now    int64 // to be repeated in LiveChange.After
}

// LiveChange is what has changed at a host.
type LiveChange struct {
	Seq            uint64 // rises by one
	After          int64  // the last Now that had been heard when the host's connections were read
	Opened, Closed []LiveState
	Complete       Protocols
}

// Protocols is a set of TCP and UDP.
type Protocols struct{ TCP, UDP bool }

// Has reports whether a protocol is in the set.
func (p Protocols) Has(proto uint8) bool {
	return proto == ProtoTCP && p.TCP || proto == ProtoUDP && p.UDP
}

// AgentSession is a connection of an agent. What comes by it is taken in order, by one goroutine; who brings it waits. An error is an
// [*AgentError], and ends it.
type AgentSession interface {
	// Orders are for the agent.
	Orders() <-chan AgentOrder
	// Over is closed when the engine has ended the session; Err says why.
	Over() <-chan struct{}
	Err() error
	// DumpPart takes a part of the dump that was asked for by id.
	DumpPart(id uint64, states []LiveState) error
	// DumpEnd ends it: it had so many states, of all changes up to seq, and is complete for some protocols.
	DumpEnd(ctx context.Context, id, seq uint64, states int, complete Protocols) error
	Change(ctx context.Context, c LiveChange) error
	// Close must be called at the end; nil: the agent has gone.
	Close(err error)
}

// AgentError is why an agent is refused, or its connection ended. Reason is one of a few words, and a label of metrics.
type AgentError struct{ Reason, Detail string }

func (e *AgentError) Error() string { return e.Reason + ": " + e.Detail }

// AgentStatus is what is known of the agent of a backend's host.
type AgentStatus struct {
	Host      netip.Addr `json:"host" doc:"Address of the host, a backend's"`
	Connected bool       `json:"connected"`
	Since     time.Time  `json:"since" doc:"When it connected, or its connection ended"`
	Reason    string     `json:"reason" doc:"Why its last connection ended"`
	Heard     time.Time  `json:"heard" doc:"When it was last heard of"`
	TCP       int        `json:"tcp" doc:"TCP connections that it has told of"`
	UDP       *int       `json:"udp" doc:"The same of UDP; null: the host does not track them"`
	Dumps     uint64     `json:"dumps" doc:"How often it has told of all connections, since the controller began"`
	Changes   uint64     `json:"changes" doc:"How often of what has changed"`
}
