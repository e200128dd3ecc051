package controller

import (
	"sync/atomic"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// desired is what is wanted of a switch and what it holds. It belongs to the applying goroutine, but for the counters.
type desired struct {
	cfg     *Config
	dpid    flows.DPID
	version openflow.Version

	held   *holding
	wanted map[Owner]OwnerState // the last that each owner asked for, also if refused
	begun  bool                 // a Replace has been carried out
	bundle uint32               // the last bundle's id

	rules, groups, meters                  atomic.Int64
	modifications, drift, audits, refusals atomic.Uint64
}

func (d *desired) init(cfg *Config, info *Info, s switchState) {
	d.cfg, d.dpid, d.version = cfg, info.DPID, info.Version
	d.held = found(s, cfg.Kind, newHolding())
	d.wanted = map[Owner]OwnerState{}
}

// want notes what owners want now.
func (d *desired) want(states []OwnerState) {
	for _, s := range states {
		if len(s.State.Rules)+len(s.State.Groups)+len(s.State.Meters) == 0 {
			delete(d.wanted, s.Owner)
		} else {
			d.wanted[s.Owner] = s
		}
	}
	var rules, groups, meters int
	for _, s := range d.wanted {
		rules, groups, meters = rules+len(s.State.Rules), groups+len(s.State.Groups), meters+len(s.State.Meters)
	}
	d.rules.Store(int64(rules))
	d.groups.Store(int64(groups))
	d.meters.Store(int64(meters))
}

// Desired counts what all owners want of the switch, as of the last transaction.
func (sw *Switch) Desired() (rules, groups, meters int) {
	d := &sw.desired
	return int(d.rules.Load()), int(d.groups.Load()), int(d.meters.Load())
}
