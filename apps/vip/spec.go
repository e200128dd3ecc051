package vip

// Protocol of a VIP.
type Protocol string

// Protocols.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// Mode says who chooses a backend and where addresses are rewritten.
type Mode string

// Modes.
const (
	ModeNAT      Mode = "nat"
	ModeGroup    Mode = "group"
	ModeDeferred Mode = "deferred"
	ModeOthello  Mode = "othello"
)

func (m Mode) known() bool {
	return m == ModeNAT || m == ModeGroup || m == ModeDeferred || m == ModeOthello
}

// Admin is what the operator wants of a backend.
type Admin string

// Admin states.
const (
	Enabled  Admin = "enabled"
	Draining Admin = "draining"
	Disabled Admin = "disabled"
)

// Reject is what a client is told of a connection that cannot be had.
type Reject string

// Ways to reject. Connections that were had, and end, are always told of.
const (
	RejectAnswer Reject = "answer" // RST, or ICMP port unreachable
	RejectDrop   Reject = "drop"   // nothing
)

// Spec is a VIP as its user declares it: the JSON and YAML of the API. Zero values mean the defaults, which [Normalize]
// writes out.
//
// HandOver, in mode deferred, is how many generations of backends are kept, the present one included: 1 is no hand-over, and a
// change breaks what it moves. One may go when none of its connections has had a packet for HandOverIdle. HandOverRate is how many packets a second
// of connections that it does not know an edge sends on to others.
type Spec struct {
	Name         string        `json:"name"`
	Address      string        `json:"address"`
	Protocol     Protocol      `json:"protocol"`
	Port         PortRange     `json:"port"`
	Mode         Mode          `json:"mode,omitempty"`
	Scheduler    string        `json:"scheduler,omitempty"`
	IdleTimeout  Duration      `json:"idle_timeout,omitempty"`
	Gateways     []string      `json:"gateways,omitempty"`
	HandOver     int           `json:"handover,omitempty"`
	HandOverIdle Duration      `json:"handover_idle,omitempty"`
	HandOverRate int           `json:"handover_rate,omitempty"`
	Affinity     *Affinity     `json:"affinity,omitempty"`
	Health       *Health       `json:"health,omitempty"`
	DrainTimeout Duration      `json:"drain_timeout,omitempty"`
	Reject       Reject        `json:"reject,omitempty"`
	OnImbalance  OnImbalance   `json:"on_imbalance,omitempty"`
	Backends     []BackendSpec `json:"backends"`
}

// Affinity keeps a client address with one backend for a time.
type Affinity struct {
	Timeout Duration `json:"timeout"`
}

// BackendSpec is one backend of a [Spec]. Port 0 keeps the VIP's; a missing weight is 1; weight 0 drains. Capacity is what the backend can
// take in Mbit/s; 0: not known, and loads are compared by weight.
type BackendSpec struct {
	Name     string  `json:"name"`
	Address  string  `json:"address"`
	Port     uint16  `json:"port,omitempty"`
	Weight   *int    `json:"weight,omitempty"`
	Capacity float64 `json:"capacity,omitempty"`
	Admin    Admin   `json:"admin,omitempty"`
}
