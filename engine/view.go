package engine

import (
	"maps"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// settled is what the last view was made of, and what has changed since.
type settled struct {
	topo     *topo.Snapshot
	stale    bool                // the model or the set of switches has changed
	deleted  []*vip.VIP          // VIPs that have gone
	attached map[flows.DPID]bool // switches that have come: they get everything
}

// newView resolves every VIP's backends on the present topology. A VIP for which nothing has changed keeps its pointer.
func (e *Engine) newView() *apps.View {
	snap := e.topo.Snapshot()
	old := e.view.Load()
	now := e.cfg.Now()
	vips := make([]*apps.VIP, 0, len(e.model.vips))
	for _, id := range slices.Sorted(maps.Keys(e.model.vips)) {
		x := e.model.vips[id]
		if prev := e.settledVIP(old, snap, x); prev != nil {
			vips = append(vips, prev)
			continue
		}
		next := &apps.VIP{VIP: x, Backends: apps.ResolveBackends(x, snap, e.cfg.Routes, now)}
		e.probed(next)
		e.model.number(next)
		next.Generations, next.Doubted = e.generations.all[id], e.relief.isDoubted(id)
		e.model.weights.apply(next)
		vips = append(vips, next)
	}
	e.followDrains(old, vips)
	e.numberEdges(vips)
	e.aliases(vips)
	for i, next := range vips {
		if old == nil {
			break
		}
		if prev := old.VIP(next.ID); prev != nil && prev.VIP == next.VIP && prev.Generations == next.Generations && prev.Doubted == next.Doubted &&
			slices.EqualFunc(prev.Backends, next.Backends, sameBackend) {
			vips[i] = prev
		}
	}
	switches := make(map[flows.DPID]apps.SwitchInfo, len(e.switches))
	for d, s := range e.switches {
		i := switchInfo(s.sw)
		i.Zone, i.Hash, i.Foretold, i.NoCodes = e.model.zones[edgeZone(d)], s.build, s.foretold, s.noCodes
		i.Deferred, i.Mirror = e.model.zones[deferredZone(d)], e.model.zones[mirrorZone(d)]
		switches[d] = i
	}
	v := apps.NewView(snap, switches, vips)
	v.Routers, v.Routes = e.cfg.Routers, e.cfg.Routes
	v.Edges, v.Gateways, v.Numbers = e.model.edges, e.gateways(vips), e.numbers(old, snap)
	e.health.Follow(v)
	return v
}

func switchInfo(sw *controller.Switch) apps.SwitchInfo {
	i := sw.Info()
	return apps.SwitchInfo{DPID: i.DPID, Nicira: i.Nicira, OF15: i.Version >= 6}
}

// settledVIP is a VIP of the view before if it resolves to the same again at once: with thousands of VIPs, of which one at a time
// changes, that is most of them.
func (e *Engine) settledVIP(old *apps.View, snap *topo.Snapshot, x *vip.VIP) *apps.VIP {
	if old == nil || old.Topo != snap || x.Spec.Health.Probes() || x.Spec.OnImbalance == vip.Reweight {
		return nil
	}
	prev := old.VIP(x.ID)
	if prev == nil || prev.VIP != x || prev.Generations != e.generations.all[x.ID] || prev.Doubted != e.relief.isDoubted(x.ID) {
		return nil
	}
	for i := range x.Backends {
		if x.Drain(&x.Backends[i]) != nil { // it ends some time
			return nil
		}
	}
	return prev
}

// sameBackend reports whether no rule can differ between a and b: same state at the same place.
func sameBackend(a, b apps.Backend) bool {
	if a.State != b.State || a.Weight != b.Weight || a.Reason != b.Reason || a.Dead != b.Dead || a.Aliased != b.Aliased || (a.Host == nil) != (b.Host == nil) {
		return false
	}
	return a.Host == nil || a.Host.MAC == b.Host.MAC && a.Host.At == b.Host.At && a.Host.Live == b.Host.Live
}

// push hands the controller what the dirty owners want of each switch, and everything to switches that have just come.
func (e *Engine) push(old, v *apps.View, dirty []apps.Owner) {
	var came, stayed []flows.DPID
	for d := range v.Switches {
		if e.settled.attached[d] {
			came = append(came, d)
		} else {
			stayed = append(stayed, d)
		}
	}
	if len(dirty) > 0 {
		e.owe(old, v, dirty)
		for d, states := range e.desired(v.Only(stayed...), dirty) {
			for _, s := range states {
				if f := e.stale(old, v, s.Owner.(apps.Owner), v.Switches[d]); len(f) > 0 {
					e.owed.add(d, s.Owner.(apps.Owner), s.Version, f)
				}
			}
			e.ctl.Update(d, states)
		}
	}
	if len(came) > 0 {
		for d, all := range e.desired(v.Only(came...), allOwners(v)) {
			e.collect(v, d, all[0].Version)
			e.ctl.Replace(d, all)
		}
	}
}

// stale is what a switch is to forget for an owner between two views.
func (e *Engine) stale(old, v *apps.View, o apps.Owner, at apps.SwitchInfo) (out []apps.Forget) {
	for _, app := range e.apps {
		if s, ok := app.(apps.Stale); ok {
			out = append(out, s.Stale(old, v, o, at)...)
		}
	}
	return out
}

// desired is what owners want of each switch of the view, noted as sent.
func (e *Engine) desired(v *apps.View, owners []apps.Owner) map[flows.DPID][]controller.OwnerState {
	version := e.status.sent(v, owners)
	out := make(map[flows.DPID][]controller.OwnerState, len(v.Switches))
	for d := range v.Switches {
		out[d] = make([]controller.OwnerState, 0, len(owners))
	}
	for _, o := range owners {
		x := e.shared.of(o)
		wanted := make(map[flows.DPID][]*controller.Block, len(v.Switches))
		for i, app := range e.apps {
			for d, s := range app.Desired(v, o) {
				if b := x.block(d, i, s); b != nil {
					wanted[d] = append(wanted[d], b)
				}
			}
		}
		for d := range v.Switches {
			s := controller.OwnerState{Owner: x.owner, Version: version}
			if len(wanted[d]) > 0 {
				s.State = x.state(d, wanted[d])
			}
			out[d] = append(out[d], s)
		}
		if len(wanted) == 0 {
			delete(e.shared, o)
		}
	}
	return out
}
