package vip

import (
	"time"

	"github.com/evenflow/evenflow/flows"
)

// Phase is a VIP's health in one word.
type Phase string

// Phases.
const (
	PhaseUp       Phase = "up"
	PhaseDegraded Phase = "degraded"
	PhaseDown     Phase = "down"
	PhasePending  Phase = "pending"
)

// State is a backend's health in one word.
type State string

// Backend states. Only StateUp takes new connections.
const (
	StateUp       State = "up"
	StateDown     State = "down"
	StateDraining State = "draining"
	StateDrained  State = "drained"
	StateDisabled State = "disabled"
	StateUnknown  State = "unknown"
)

// Status is what a read of a VIP adds to its Spec.
type Status struct {
	Phase  Phase  `json:"phase"`
	Reason string `json:"reason"`
	// NewConnections is all there have ever been, also to backends that have left.
	NewConnections int64           `json:"new_connections" doc:"Ever made, also to backends that have left"`
	Applied        []Applied       `json:"applied"`
	Backends       []BackendStatus `json:"backends"`
	HandOver       *HandOver       `json:"handover,omitempty"` // of modes deferred and othello
}

// HandOver is how far the last change of a VIP's set of backends is, and how many sets are kept for connections made before it.
type HandOver struct {
	Step        Step      `json:"step"`
	Generation  uint32    `json:"generation" doc:"The newest"`
	Generations int       `json:"generations" doc:"How many are kept"`
	Pins        int       `json:"pins" doc:"Mode othello: connections that are kept by name"`
	Cells       int       `json:"cells" doc:"Mode othello: cells of 12 bits that the pins are in; 0: each has a rule of its own"`
	SettleTime  *Duration `json:"settle_time" doc:"How long the last change took, from the decision to the last step; null: there was none since the start"`
	Waiting     string    `json:"waiting"` // why a change waits, "" if none does
}

// Applied says which version of the VIP a switch has confirmed, and its last refusal.
type Applied struct {
	DPID    flows.DPID `json:"dpid"`
	Version uint64     `json:"version"`
	Error   string     `json:"error"`
}

// BackendStatus is one backend's state. Connections is nil where it cannot be known.
type BackendStatus struct {
	Name           string    `json:"name"`
	State          State     `json:"state"`
	Reason         string    `json:"reason"`
	Via            string    `json:"via,omitempty" doc:"The gateway that it is behind; absent: none, it is a host of the layer-2 network"`
	Since          time.Time `json:"since"`
	Connections    *int64    `json:"connections"`
	NewConnections int64     `json:"new_connections"`
	Share          float64   `json:"share"`
	Drain          *Drain    `json:"drain,omitempty"` // while it drains or has drained
}

// Read is a VIP as the API answers it.
type Read struct {
	Spec
	Version uint64 `json:"version"`
	Origin  Origin `json:"origin"`
	Status  Status `json:"status"`
}
