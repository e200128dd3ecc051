package apps

import (
	"fmt"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/topo"
)

// ResolveBackends are a VIP's backends, in its order, with their state on a topology at a time. It is a pure function. What the
// operator has disabled is disabled whatever its host does, and so is a drain over whose time has passed; a host that is gone is
// down also while it drains.
func ResolveBackends(v *vip.VIP, snap *topo.Snapshot, now time.Time) []Backend {
	out := make([]Backend, len(v.Backends))
	for i := range v.Backends {
		b := Backend{Backend: &v.Backends[i]}
		if h, ok := snap.HostAt(b.Address); ok {
			b.Host = h
		}
		if d := v.Drain(b.Backend); d != nil && !now.Before(d.Ends) {
			b.State, b.Reason = vip.StateDrained, vip.DrainOver(v.Spec.DrainTimeout)
		} else {
			b.State, b.Reason = stateOf(&b, snap)
		}
		out[i] = b
	}
	return out
}

func stateOf(b *Backend, snap *topo.Snapshot) (vip.State, string) {
	switch {
	case b.Admin == vip.Disabled:
		return vip.StateDisabled, "disabled by the operator"
	case b.Host == nil:
		return vip.StateUnknown, fmt.Sprintf("host %s has not been heard yet", b.Address)
	}
	at := b.Host.At
	switch port, known := snap.Port(at); {
	case !known:
		return vip.StateDown, fmt.Sprintf("port %d of switch %s is gone", at.No, at.DPID)
	case !port.Up:
		return vip.StateDown, fmt.Sprintf("port %d of switch %s is down", at.No, at.DPID)
	case !b.Host.Live:
		return vip.StateDown, fmt.Sprintf("host %s does not answer at port %d of switch %s", b.Address, at.No, at.DPID)
	case b.Admin == vip.Draining:
		return vip.StateDraining, "draining by the operator"
	case b.Weight == 0:
		return vip.StateDraining, "weight 0"
	}
	return vip.StateUp, ""
}
