package apps

import (
	"fmt"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/topo"
)

// ResolveBackends are a VIP's backends, in its order, with their state on a topology at a time. It is a pure function. What the
// operator has disabled is disabled whatever its host does, and so is a drain over whose time has passed; a host that is gone is
// down also while it drains. The host of a backend behind a gateway is the gateway.
func ResolveBackends(v *vip.VIP, snap *topo.Snapshot, routes Routes, now time.Time) []Backend {
	out := make([]Backend, len(v.Backends))
	for i := range v.Backends {
		b := Backend{Backend: &v.Backends[i]}
		b.Via, _ = routes.Via(b.Address)
		if h, ok := routes.HostAt(snap, b.Address); ok {
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
		return vip.StateUnknown, b.hostName() + " has not been heard yet"
	}
	at := b.Host.At
	switch port, known := snap.Port(at); {
	case !known:
		return vip.StateDown, fmt.Sprintf("port %d of switch %s is gone", at.No, at.DPID)
	case !port.Up:
		return vip.StateDown, fmt.Sprintf("port %d of switch %s is down", at.No, at.DPID)
	case !b.Host.Live:
		return vip.StateDown, fmt.Sprintf("%s does not answer at port %d of switch %s", b.hostName(), at.No, at.DPID)
	case b.Admin == vip.Draining:
		return vip.StateDraining, "draining by the operator"
	case b.Weight == 0:
		return vip.StateDraining, "weight 0"
	}
	return vip.StateUp, ""
}

// hostName is what is asked for by ARP or ND to reach a backend.
func (b *Backend) hostName() string {
	if b.Via.IsValid() {
		return fmt.Sprintf("gateway %s of %s", b.Via, b.Address)
	}
	return "host " + b.Address.String()
}
