package deferred

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps"
)

// maxForgotten is how many ports of a VIP are forgotten one by one; those of more by their addresses alone.
const maxForgotten = 64

// Stale lists the endpoints of a switch that have gone: what conntrack knows of them would take ports that clients use again.
func (a *App) Stale(old, now *apps.View, o apps.Owner, at apps.SwitchInfo) (out []apps.Forget) {
	x := old.VIP(o.VIP)
	if o.Kind != apps.OwnerVIP || x == nil || !x.Deferred() || at.Deferred == 0 {
		return nil
	}
	stays := map[uint32]bool{}
	if y := now.VIP(o.VIP); y != nil {
		for i := range y.Backends {
			if k := &y.Backends[i]; now.Serves(y, k) && k.Host.At.DPID == at.DPID {
				stays[k.Endpoint] = true
			}
		}
	}
	for i := range x.Backends {
		y := &x.Backends[i]
		if y.Host == nil || y.Host.At.DPID != at.DPID || !old.Serves(x, y) || stays[y.Endpoint] {
			continue
		}
		f := apps.Forget{Zone: at.Deferred, Proto: x.Proto(), VIP: netip.AddrPortFrom(x.Address, 0), Backend: netip.AddrPortFrom(y.Address, y.Port)}
		if n := int(x.Ports.Last-x.Ports.First) + 1; n > maxForgotten {
			out = append(out, f)
			continue
		}
		for p := int(x.Ports.First); p <= int(x.Ports.Last); p++ {
			f.VIP = netip.AddrPortFrom(x.Address, uint16(p))
			if y.Port == 0 {
				f.Backend = netip.AddrPortFrom(y.Address, uint16(p))
			}
			out = append(out, f)
		}
	}
	return out
}
