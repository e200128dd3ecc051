package engine

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// CreateVIP validates, stores and puts into effect a new VIP.
func (e *Engine) CreateVIP(ctx context.Context, spec vip.Spec, opt apps.WriteOptions) (read vip.Read, err error) {
	if cerr := e.call(ctx, func() { read, err = e.createVIP(spec, opt) }); cerr != nil {
		return vip.Read{}, cerr
	}
	return read, err
}

func (e *Engine) createVIP(spec vip.Spec, opt apps.WriteOptions) (vip.Read, error) {
	if e.model.byName[spec.Name] != nil {
		return vip.Read{}, fmt.Errorf("VIP %q: %w", spec.Name, apps.ErrExists)
	}
	create := func(id vip.ID) (*vip.VIP, error) {
		x, err := vip.Create(id, spec, origin(opt))
		if err != nil {
			return nil, err
		}
		x.BeginDrains(nil, e.cfg.Now())
		return x, e.fits(x)
	}
	if opt.DryRun {
		x, err := create(maxVIPID)
		if err != nil {
			return vip.Read{}, err
		}
		return e.preview(x), nil
	}
	x, err := e.storeNew(create)
	if err != nil {
		return vip.Read{}, err
	}
	e.model.put(x)
	e.changed()
	e.tellOf(x.Origin, "config", x.Spec.Name, created(&x.Spec))
	return e.settledRead(x), nil
}

// preview is how a VIP would read that is not written.
func (e *Engine) preview(x *vip.VIP) vip.Read {
	next := &apps.VIP{VIP: x, Backends: apps.ResolveBackends(x, e.topo.Snapshot(), e.cfg.Routes, e.cfg.Now())}
	e.probed(next)
	return e.readVIP(next)
}

// UpdateVIP applies mutate to a copy of the VIP's spec; it runs in the loop, so no other write comes between. A spec that
// stays the same keeps its version.
func (e *Engine) UpdateVIP(ctx context.Context, name string, opt apps.WriteOptions, mutate func(*vip.Spec) error) (read vip.Read, err error) {
	if cerr := e.call(ctx, func() { read, err = e.updateVIP(name, opt, mutate) }); cerr != nil {
		return vip.Read{}, cerr
	}
	return read, err
}

func (e *Engine) updateVIP(name string, opt apps.WriteOptions, mutate func(*vip.Spec) error) (vip.Read, error) {
	old, err := e.writable(name, opt)
	if err != nil {
		return vip.Read{}, err
	}
	spec := old.Spec.Clone()
	if err := mutate(&spec); err != nil {
		return vip.Read{}, err
	}
	x, err := vip.Update(old, spec)
	if err != nil {
		return vip.Read{}, err
	}
	if x != old {
		x.BeginDrains(old, e.cfg.Now())
		if err := e.fits(x); err != nil {
			return vip.Read{}, err
		}
	}
	switch {
	case opt.DryRun && x == old:
		return e.settledRead(old), nil
	case opt.DryRun:
		return e.preview(x), nil
	}
	var dropping map[vip.ID]*vip.Generations
	if opt.DropOldest { // for a change that waits already, too
		dropping = e.dropOldest(x)
	}
	if x == old {
		if err := e.storeGenerations(dropping); err != nil {
			return vip.Read{}, err
		}
		e.settled.stale = e.settled.stale || len(dropping) > 0
		return e.settledRead(old), nil
	}
	if err := e.storeVIP(x, dropping); err != nil {
		return vip.Read{}, err
	}
	e.model.put(x)
	e.changed()
	e.tellOf(origin(opt), "config", name, fmt.Sprintf("changed to version %d: %s", x.Version, changes(&old.Spec, &x.Spec)))
	return e.settledRead(x), nil
}

// DeleteVIP removes a VIP, its rules and its connections.
func (e *Engine) DeleteVIP(ctx context.Context, name string, opt apps.WriteOptions) (err error) {
	if cerr := e.call(ctx, func() { err = e.deleteVIP(name, opt) }); cerr != nil {
		return cerr
	}
	return err
}

func (e *Engine) deleteVIP(name string, opt apps.WriteOptions) error {
	x, err := e.writable(name, opt)
	if err != nil || opt.DryRun {
		return err
	}
	if err := e.unstoreVIP(x); err != nil {
		return err
	}
	e.model.remove(x)
	e.settled.deleted = append(e.settled.deleted, x)
	e.status.forget(x)
	e.changed()
	e.tellOf(origin(opt), "config", name, "deleted")
	e.settle() // so that the next read agrees
	return nil
}

// writable is the VIP of a name if the write may go on.
func (e *Engine) writable(name string, opt apps.WriteOptions) (*vip.VIP, error) {
	x := e.model.byName[name]
	if x == nil {
		return nil, fmt.Errorf("VIP %q: %w", name, apps.ErrNotFound)
	}
	if x.Origin == vip.OriginFile && origin(opt) != vip.OriginFile && !opt.Force {
		return nil, fmt.Errorf("VIP %q: %w", name, apps.ErrFileVIP)
	}
	if opt.IfVersion != 0 && opt.IfVersion != x.Version {
		return nil, fmt.Errorf("VIP %q: %w: it is %d, not %d", name, apps.ErrVersion, x.Version, opt.IfVersion)
	}
	return x, nil
}

// fits refuses a VIP that overlaps with another, or takes a host's address.
func (e *Engine) fits(x *vip.VIP) error {
	if err := e.model.overlapping(x); err != nil {
		return err
	}
	if err := e.routerWith(x); err != nil {
		return err
	}
	if err := e.model.chained(x); err != nil {
		return err
	}
	if err := e.probeable(x); err != nil {
		return err
	}
	if h, ok := e.topo.Snapshot().HostAt(x.Address); ok {
		return fmt.Errorf("%w: address %s is that of host %s at switch %s port %d", apps.ErrConflict, x.Address, h.MAC, h.At.DPID, h.At.No)
	}
	return nil
}

// routerWith refuses a VIP with the address of a router, or with that of a gateway: nobody would be sent to the gateway any more.
func (e *Engine) routerWith(x *vip.VIP) error {
	for _, r := range e.cfg.Routers {
		switch x.Address {
		case r.Address.Addr():
			return fmt.Errorf("%w: address %s is that of a router", apps.ErrConflict, x.Address)
		case r.Gateway:
			return fmt.Errorf("%w: address %s is that of the gateway of router %s", apps.ErrConflict, x.Address, r.Address)
		}
	}
	for _, r := range e.cfg.Routes {
		if r.Via == x.Address {
			return fmt.Errorf("%w: address %s is that of the gateway of network %s", apps.ErrConflict, x.Address, r.Network)
		}
	}
	return nil
}

// probeable refuses to probe backends behind gateways by ARP or ND, which these do not pass.
func (e *Engine) probeable(x *vip.VIP) error {
	if x.Spec.Health.Type != vip.HealthARP {
		return nil
	}
	for i := range x.Backends {
		if gateway, behind := e.cfg.Routes.Via(x.Backends[i].Address); behind {
			return vip.FieldErrors{{Field: "health.type", Value: x.Spec.Health.Type,
				Message: fmt.Sprintf("reaches nobody behind a gateway, as backend %q is behind %s; want icmp, tcp or none", x.Backends[i].Name, gateway)}}
		}
	}
	return nil
}

// changed tells the topology which addresses are ours and whom to look for, and asks for a new view.
func (e *Engine) changed() {
	now := e.cfg.Now()
	own, want := append(e.model.addresses(), apps.ProbeLinkLocal), map[netip.Addr]bool{}
	for a := range e.model.backends() {
		want[e.cfg.Routes.NextHop(a)] = true
	}
	for _, r := range e.cfg.Routes {
		want[r.Via] = true
	}
	for _, r := range e.cfg.Routers {
		own = append(own, r.Address.Addr())
		if r.Gateway.IsValid() {
			want[r.Gateway] = true
		}
	}
	e.topo.SetReserved(own)
	for a := range want {
		if !e.sought[a] {
			e.topo.Seek(now, a)
		}
	}
	for a := range e.sought {
		if !want[a] {
			e.topo.Unseek(a)
		}
	}
	e.sought = want
	e.settled.stale = true
}

func origin(opt apps.WriteOptions) vip.Origin {
	if opt.Origin == "" {
		return vip.OriginAPI
	}
	return opt.Origin
}
