package deferred

import (
	"maps"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// Limits tells of switches that cannot have the mode, of gateways that are away, and of backends that cannot be told apart, or whose
// connections end when conntrack forgets them.
func (a *App) Limits(v *apps.View, x *apps.VIP) (degraded bool, reason string) {
	if !x.Deferred() {
		return false, ""
	}
	var unable, other, hidden, away, shared []string
	var why string // the first of other cannot
	for _, d := range x.Gateways() {
		if _, connected := v.Switches[d]; !connected {
			away = append(away, d.String())
		}
	}
	for _, d := range slices.Sorted(maps.Keys(v.Switches)) {
		switch i := v.Switches[d]; {
		case !i.Deferrable():
			unable = append(unable, d.String())
		case !i.Able(x):
			if why == "" {
				why = i.NoCodes
			}
			other = append(other, d.String())
		}
	}
	for i := range x.Backends {
		if x.Hidden(&x.Backends[i]) {
			hidden = append(hidden, x.Backends[i].Name)
		}
		if x.Spec.Protocol == vip.TCP && x.Backends[i].Host != nil && !alone(v, apps.Served{VIP: x, Backend: &x.Backends[i]}) {
			shared = append(shared, x.Backends[i].Name)
		}
	}
	var unlike []string
	if x.Spec.Mode == vip.ModeDeferred { // the codes of mode othello are hashed alike by all
		unlike = disagreeing(v)
	}
	switch {
	case len(unable) > 0:
		return true, "mode deferred needs conntrack and the stable bucket ids of OpenFlow 1.5, and so is not served, on " + apps.Some("switch", unable)
	case len(other) > 0:
		return true, "mode othello is not served, while mode deferred could be, on " + apps.Some("switch", other) + ": " + why
	case len(unlike) > 0:
		return true, "old connections are not found again after a change, since switches choose by different hashes: " + apps.Some("switch", unlike)
	case len(away) > 0:
		return true, "not connected: " + apps.Some("gateway", away)
	case len(hidden) > 0:
		return true, "not served, for an older one has the same MAC, and they could not be told apart: " + apps.Some("backend", hidden)
	case len(shared) > 0:
		return false, "TCP would break if conntrack were lost, as the port serves other VIPs or ports too: " + apps.Some("backend", shared)
	}
	return false, ""
}
