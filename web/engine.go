package web

import (
	"context"
	"io"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// VIPModel reads and writes VIPs. Errors are those of packages apps and vip.
type VIPModel interface {
	// VIPs are all VIPs by name.
	VIPs() []vip.Read
	VIP(name string) (vip.Read, error)
	// CreateVIP validates the Spec, stores the VIP and answers what it has become.
	CreateVIP(ctx context.Context, spec vip.Spec, opt apps.WriteOptions) (vip.Read, error)
	// UpdateVIP is atomic: mutate runs on a copy of the present Spec while nothing else writes. Errors of mutate come back
	// wrapped or as they are. A Spec that means the same keeps its version.
	UpdateVIP(ctx context.Context, name string, opt apps.WriteOptions, mutate func(*vip.Spec) error) (vip.Read, error)
	DeleteVIP(ctx context.Context, name string, opt apps.WriteOptions) error
	// WaitVIP returns when every connected switch has confirmed the version or a later one. When ctx ends first, the error
	// wraps ctx.Err() and the answer's status.applied says which have not; when a switch refuses it is apps.ErrRefused. Of a
	// VIP that is gone it is apps.ErrNotFound, and comes when every connected switch has confirmed that.
	WaitVIP(ctx context.Context, name string, version uint64) (vip.Read, error)
	Connections(name string) ([]apps.Connection, error)
	// Explain says where a new connection goes; apps.ErrNotFound: no VIP has its destination.
	Explain(t apps.Tuple) (apps.Explanation, error)
	// VIPHistory is of the last seconds, at most 900.
	VIPHistory(name string, seconds int) (apps.VIPHistory, error)
}

// SwitchReader reads switches. Flows, Groups and Meters ask the switch itself.
type SwitchReader interface {
	Switches() []apps.SwitchStatus
	Switch(d flows.DPID) (apps.SwitchStatus, error)
	Ports(d flows.DPID) ([]apps.PortStatus, error)
	// PortHistories are the rates of the last seconds, at most 900: of one port, which is apps.ErrNotFound if there is none, or
	// of all if port is 0.
	PortHistories(d flows.DPID, port uint32, seconds int) ([]apps.PortHistory, error)
	Flows(ctx context.Context, d flows.DPID) ([]flows.InstalledRule, error)
	Groups(ctx context.Context, d flows.DPID) ([]apps.GroupStatus, error)
	Meters(ctx context.Context, d flows.DPID) ([]apps.MeterStatus, error)
	// About and AboutGroup say what a rule and a group are for, "" if there is nothing to say.
	About(r *flows.Rule) string
	AboutGroup(id uint32) string
}

// TopologyReader reads hosts and links.
type TopologyReader interface {
	Hosts() []apps.HostStatus
	Links() []apps.LinkStatus
}

// EventReader reads what happened, and how much.
type EventReader interface {
	// Events are at most limit events with ids above since, oldest first. Ids rise by one; where one is missing, what came
	// between is kept no more.
	Events(since uint64, limit int) []apps.Event
	// LastEvent is the id of the newest event, 0 if there is none.
	LastEvent() uint64
	// History is of the last seconds, at most 900.
	History(seconds int) apps.History
	// EventsChanged is closed at the next event.
	EventsChanged() <-chan struct{}
}

// LoadReader reads how evenly ports are loaded.
type LoadReader interface {
	// Imbalances are those of VIPs and of sets of ports, by name; with samples and history in detail.
	Imbalances(detail bool) []apps.Imbalance
	// VIPImbalance is a VIP's in detail.
	VIPImbalance(name string) (apps.Imbalance, error)
}

// Engine is what the API stands on.
type Engine interface {
	VIPModel
	SwitchReader
	TopologyReader
	EventReader
	LoadReader
	Agent
	// Backup writes a backup of the store.
	Backup(w io.Writer) error
	// Counts are what was turned away, one for each part and reason.
	Counts() []apps.Count
	// Probes counts the probes of backends, by type.
	Probes() []apps.ProbeStats
	// Ready is nil when the state is loaded and the listeners are open.
	Ready() error
}
