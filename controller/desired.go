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
	begun  bool               // a Replace has been carried out
	lost   map[key]heldObject // found to be missing, or to be otherwise, and not mended yet
	bundle uint32             // the last bundle's id

	rules, groups, meters                  atomic.Int64
	modifications, drift, audits, refusals atomic.Uint64
}

func (d *desired) init(c *Controller, info *Info, s *switchState) {
	d.cfg, d.dpid, d.version = c.cfg, info.DPID, info.Version
	d.held = newHolding(c.identities, info.Version)
	d.held.look(s, c.cfg.Kind)
}

// publish lets others know how much is wanted.
func (d *desired) publish() {
	d.rules.Store(int64(d.held.rules))
	d.groups.Store(int64(d.held.groups))
	d.meters.Store(int64(d.held.meters))
}

// release ends what is wanted, at the end of the session.
func (d *desired) release() {
	if d.held != nil {
		d.held.release()
	}
}

// Desired counts what all owners want of the switch, as of the last transaction.
func (sw *Switch) Desired() (rules, groups, meters int) {
	d := &sw.desired
	return int(d.rules.Load()), int(d.groups.Load()), int(d.meters.Load())
}
