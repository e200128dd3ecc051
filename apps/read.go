package apps

import (
	"errors"
	"net/netip"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Errors of the engine's reads and writes.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	ErrConflict = errors.New("conflict")            // a field fixed for life, an overlap, an address of a host
	ErrVersion  = errors.New("version has changed") // a stale If-Match
	ErrFileVIP  = errors.New("declared in the configuration file")
	ErrClosed   = errors.New("shutting down")
	ErrRefused  = errors.New("refused by a switch")
	ErrAway     = errors.New("not connected")
)

// SwitchStatus is a switch as the API answers it.
type SwitchStatus struct {
	DPID          flows.DPID    `json:"dpid"`
	Connected     bool          `json:"connected"`
	Ready         bool          `json:"ready"` // holds its desired state
	OpenFlow      string        `json:"openflow"`
	Address       string        `json:"address"`
	Description   string        `json:"description"`
	Codes         string        `json:"codes" enum:"foretold,other," doc:"Whether it hashes connections as mode othello needs; empty: not known yet, or OpenFlow 1.3"`
	Hash          string        `json:"hash" enum:"murmur,crc32c,unknown," doc:"By which hash it chooses among the buckets of groups; empty: not known yet, or OpenFlow 1.3"`
	Since         time.Time     `json:"since"` // of the present connection, or of its loss
	Error         string        `json:"error"` // the last refusal or reason of disconnection
	Rules         int           `json:"rules"` // desired
	Groups        int           `json:"groups"`
	Meters        int           `json:"meters"`
	PacketIns     uint64        `json:"packet_ins"`
	DroppedIns    uint64        `json:"packet_ins_dropped"`
	FlowMods      uint64        `json:"flow_mods"`
	Modifications uint64        `json:"modifications"` // flow-, group- and meter-mods for desired state
	Drops         []DropCounter `json:"drops"`
	Problems      []string      `json:"problems"` // what an operator should mend: all is not well while there is one
	Warnings      []string      `json:"warnings"` // what is worth a look
}

// DropCounter counts the packets that a rule made to drop has dropped.
type DropCounter struct {
	Reason  string `json:"reason"`
	Packets uint64 `json:"packets"`
}

// PortStatus is a port as the API answers it. Rates are per second.
type PortStatus struct {
	PortNo    uint32  `json:"port_no"`
	Name      string  `json:"name"`
	Kind      string  `json:"kind"`
	RxBytes   uint64  `json:"rx_bytes"`
	TxBytes   uint64  `json:"tx_bytes"`
	RxBPS     float64 `json:"rx_bps"`
	TxBPS     float64 `json:"tx_bps"`
	RxPackets uint64  `json:"rx_packets"`
	TxPackets uint64  `json:"tx_packets"`
	RxPPS     float64 `json:"rx_pps"`
	TxPPS     float64 `json:"tx_pps"`
	Errors    uint64  `json:"errors"`
	Dropped   uint64  `json:"dropped"`
	Up        bool    `json:"up"`
	Live      bool    `json:"live" doc:"Up, and not found dead by what watches the cable, such as BFD."`
}

// HostStatus is a host as the API answers it.
type HostStatus struct {
	MAC       flows.MAC    `json:"mac"`
	Addresses []netip.Addr `json:"addresses"`
	DPID      flows.DPID   `json:"dpid"`
	PortNo    uint32       `json:"port_no"`
	Live      bool         `json:"live"`
}

// LinkStatus is a cable as the API answers it: one row per cable.
type LinkStatus struct {
	A topo.PortID `json:"a"`
	B topo.PortID `json:"b"`
}

// Connection is one live connection of mode nat.
type Connection struct {
	Client  netip.AddrPort `json:"client"`
	VIPPort uint16         `json:"vip_port"`
	Backend string         `json:"backend"`
	DPID    flows.DPID     `json:"dpid"`
	Since   time.Time      `json:"since"`
}

// Event is something that happened, for people: ids rise by one, over restarts too.
type Event struct {
	ID      uint64     `json:"id"`
	Time    time.Time  `json:"time"`
	Kind    string     `json:"kind"`    // controller, switch, port, link, host, agent, vip, backend, imbalance, config, error
	Subject string     `json:"subject"` // its name
	Message string     `json:"message"`
	Origin  vip.Origin `json:"origin,omitempty"` // of kind config: where the change came from
}

// WriteOptions are the circumstances of a write to the model.
type WriteOptions struct {
	Origin    vip.Origin
	Force     bool   // write to a VIP of the configuration file from the API
	IfVersion uint64 // refuse with ErrVersion unless the VIP has this version; 0: any
	DryRun    bool   // validate and answer, change nothing

	DropOldest bool // mode deferred: a change that would wait drops the oldest generation, and what is left of its connections may break
}
