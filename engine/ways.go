package engine

import (
	"maps"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// numbers are those of all known switches that have one: their conntrack zones at the client's edge, which no two share, and which
// are stored.
func (e *Engine) numbers(old *apps.View, t *topo.Snapshot) map[flows.DPID]uint16 {
	all := t.Switches()
	if old != nil && len(old.Numbers) == len(all) && slices.Equal(old.Topo.Switches(), all) {
		return old.Numbers
	}
	out := make(map[flows.DPID]uint16, len(all))
	for _, d := range all {
		if n := e.model.zones[edgeZone(d)]; n != 0 {
			out[d] = n
		}
	}
	return out
}

// destinations are the switches that the others must have a way to: those with hosts, and gateways.
func destinations(v *apps.View) map[flows.DPID]bool {
	out := make(map[flows.DPID]bool, len(v.Gateways))
	for _, d := range v.Topo.Homes() {
		out[d] = true
	}
	for d := range v.Gateways {
		out[d] = true
	}
	return out
}

// appendWays adds the ways that may differ between the views: where the network has changed all of them.
func appendWays(out []apps.Owner, old, v *apps.View, rewired bool) []apps.Owner {
	was, is := destinations(old), destinations(v)
	for _, d := range slices.Sorted(maps.Keys(is)) {
		if rewired || !was[d] {
			out = append(out, wayOwner(d))
		}
	}
	for _, d := range slices.Sorted(maps.Keys(was)) {
		if !is[d] {
			out = append(out, wayOwner(d))
		}
	}
	return out
}

func wayOwner(d flows.DPID) apps.Owner { return apps.Owner{Kind: apps.OwnerSwitch, DPID: d} }
