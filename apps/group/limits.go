package group

import (
	"maps"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Limits tells of switches that cannot have the mode, or not all of it, and of backends whose connections end when conntrack
// forgets them.
func (a *App) Limits(v *apps.View, x *apps.VIP) (degraded bool, reason string) {
	if !handles(x) {
		return false, ""
	}
	var unable, unstable, shared []string
	for _, d := range slices.Sorted(maps.Keys(v.Switches)) {
		switch i := v.Switches[d]; {
		case !able(i):
			unable = append(unable, d.String())
		case !i.OF15:
			unstable = append(unstable, d.String())
		}
	}
	switch {
	case len(unable) > 0:
		return true, "no conntrack, and so not served, on " + apps.Some("switch", unable)
	case len(unstable) > 0 && x.Spec.Affinity != nil:
		return true, "no stable bucket ids and no choice by address, so that changes reshuffle new connections and there is no affinity, on " +
			apps.Some("switch", unstable)
	case len(unstable) > 0:
		return true, "no stable bucket ids, so that changes reshuffle new connections, on " + apps.Some("switch", unstable)
	}
	hosts := map[flows.MAC]bool{}
	for i := range x.Backends {
		b := &x.Backends[i]
		if b.Host == nil || hosts[b.Host.MAC] || x.Spec.Protocol != vip.TCP {
			continue
		}
		hosts[b.Host.MAC] = true
		for _, l := range hostOf(v, b.Host) {
			if l.VIP == x && !l.alone {
				shared = append(shared, l.Backend.Name)
			}
		}
	}
	if len(shared) > 0 {
		return false, "TCP would break if conntrack were lost, as the port serves other VIPs or ports too: " + apps.Some("backend", shared)
	}
	return false, ""
}
