package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// VIPs are all VIPs, by name.
func (e *Engine) VIPs() []vip.Read {
	v := e.view.Load()
	out := make([]vip.Read, 0, len(v.VIPs))
	for _, x := range v.VIPs {
		out = append(out, e.readVIP(x))
	}
	slices.SortFunc(out, func(a, b vip.Read) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// VIP is the VIP of a name.
func (e *Engine) VIP(name string) (vip.Read, error) {
	x, err := e.find(name)
	if err != nil {
		return vip.Read{}, err
	}
	return e.readVIP(x), nil
}

func (e *Engine) find(name string) (*apps.VIP, error) {
	for _, x := range e.view.Load().VIPs {
		if x.Spec.Name == name {
			return x, nil
		}
	}
	return nil, fmt.Errorf("VIP %q: %w", name, apps.ErrNotFound)
}

// settledRead is a VIP just written, as the API answers it: the loop settles first, so that the next read agrees.
func (e *Engine) settledRead(x *vip.VIP) vip.Read {
	e.settle()
	return e.readVIP(e.view.Load().VIP(x.ID))
}

// WaitVIP returns when every connected switch has confirmed the VIP's version or a later one. When ctx ends first or a switch
// refuses, the read says in status.applied which has not, and the error says so too. For a VIP that has been deleted it
// returns apps.ErrNotFound when every connected switch has let go of it.
func (e *Engine) WaitVIP(ctx context.Context, name string, version uint64) (vip.Read, error) {
	for {
		e.status.mu.Lock()
		changed, leaving := e.status.changed, e.status.leaving[name]
		here := leaving != nil && !e.status.left(leaving)
		e.status.mu.Unlock()
		x, err := e.find(name)
		switch {
		case err != nil && !here:
			return vip.Read{}, err
		case err == nil && leaving != nil && !here && x.Version < version: // another one of its name: that which was waited for has left
			return vip.Read{}, fmt.Errorf("VIP %q: %w", name, apps.ErrNotFound)
		case err != nil:
			x, version = &apps.VIP{VIP: leaving}, math.MaxUint64 // never confirmed: it is waited for until it has left
		}
		applied, all := e.status.appliedTo(x, e.connected(), version, nil)
		if under, _ := changing(e.view.Load(), x); all && !under && x.Version >= version {
			return e.readVIP(x), nil
		}
		if refused(applied) {
			return e.readVIP(x), fmt.Errorf("VIP %q: %w", name, apps.ErrRefused)
		}
		select {
		case <-changed:
		case <-e.stopped:
			return e.readVIP(x), apps.ErrClosed
		case <-ctx.Done():
			return e.readVIP(x), fmt.Errorf("VIP %q: not confirmed by every switch: %w", name, ctx.Err())
		}
	}
}

// connected are the switches of the present view, by id.
func (e *Engine) connected() []flows.DPID { return slices.Sorted(maps.Keys(e.view.Load().Switches)) }

// readVIP adds its status to a VIP.
func (e *Engine) readVIP(x *apps.VIP) vip.Read {
	return e.readVIPOn(x, e.connected(), vip.Status{Applied: []vip.Applied{}, Backends: []vip.BackendStatus{}}) // lists, if empty ones
}

// readVIPOn is readVIP for some switches, which puts lists into the room of an earlier answer that is not needed any more.
func (e *Engine) readVIPOn(x *apps.VIP, switches []flows.DPID, room vip.Status) vip.Read {
	r := vip.Read{Spec: x.Spec, Version: x.Version, Origin: x.Origin}
	applied, all := e.status.appliedTo(x, switches, x.Version, room.Applied)
	r.Status.Applied = applied
	r.Status.NewConnections = e.made(x)
	states := make([]vip.State, 0, 16) // on the stack, most often
	r.Status.Backends = slices.Grow(room.Backends[:0], len(x.Backends))[:len(x.Backends)]
	weight, now := 0, e.cfg.Now()
	for i := range x.Backends {
		if b := &x.Backends[i]; b.State == vip.StateUp {
			weight += b.Weight
		}
	}
	for i := range x.Backends {
		b := &x.Backends[i]
		s := vip.BackendStatus{Name: b.Name, State: b.State, Reason: b.Reason, Via: via(b), Since: e.status.since(x.ID, b.ID)}
		if h := e.connectionsOf(x.Spec.Mode); h != nil {
			live, total := h.Connections(x.ID, b.ID)
			s.Connections, s.NewConnections = &live, total
		} else if b.Endpoint != 0 {
			s.NewConnections, _ = e.tally.of(b.Endpoint)
			if live, known := e.live(x, b, time.Time{}); known {
				s.Connections = &live
			}
		}
		if b.State == vip.StateDraining {
			s.State, s.Reason = e.drainOf(x, b, now)
		}
		s.Drain = x.Drain(b.Backend)
		if b.State == vip.StateUp && weight > 0 {
			s.Share = float64(b.Weight) / float64(weight)
		}
		states, r.Status.Backends[i] = append(states, s.State), s
	}
	r.Status.HandOver = e.handOver(e.view.Load(), x)
	under, waits := changing(e.view.Load(), x)
	r.Status.Phase, r.Status.Reason = vip.PhaseOf(states, all && len(applied) > 0 && (!under || waits != ""))
	if waits != "" && r.Status.Phase == vip.PhaseUp {
		r.Status.Reason = waits
	}
	for _, app := range e.apps {
		limited, ok := app.(apps.Limited)
		if !ok {
			continue
		}
		worse, reason := limited.Limits(e.view.Load(), x)
		switch {
		case worse && (r.Status.Phase == vip.PhaseUp || r.Status.Phase == vip.PhaseDegraded):
			r.Status.Phase, r.Status.Reason = vip.PhaseDegraded, join(r.Status.Reason, reason)
		case reason != "" && r.Status.Phase == vip.PhaseUp:
			r.Status.Reason = reason
		}
	}
	for _, a := range applied {
		if a.Error != "" && r.Status.Phase != vip.PhaseDown {
			r.Status.Phase, r.Status.Reason = vip.PhaseDegraded, fmt.Sprintf("switch %s: %s", a.DPID, a.Error)
			break
		}
	}
	if skew := e.shares.skewOf(x); skew != "" {
		r.Status.Reason = join(r.Status.Reason, skew)
	}
	return r
}

// via is the gateway that a backend is behind, "" if none.
func via(b *apps.Backend) string {
	if b.Via.IsValid() {
		return b.Via.String()
	}
	return ""
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// made is how many connections a VIP has had.
func (e *Engine) made(x *apps.VIP) int64 {
	if t, ok := e.connectionsOf(x.Spec.Mode).(totaler); ok {
		return t.Total(x.ID)
	}
	return e.tally.ofVIP(x.ID)
}

// totaler is a connection app that counts all of a VIP's connections.
type totaler interface{ Total(id vip.ID) int64 }

// connectionsOf is the app that counts the connections of a mode, nil if none does.
func (e *Engine) connectionsOf(m vip.Mode) apps.ConnectionHandler {
	if m == vip.ModeNAT {
		return e.connections[apps.ClassNAT]
	}
	return nil
}

// Hosts are the known hosts, by MAC.
func (e *Engine) Hosts() []apps.HostStatus {
	hosts := e.view.Load().Topo.Hosts()
	out := make([]apps.HostStatus, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, apps.HostStatus{MAC: h.MAC, Addresses: h.Addresses, DPID: h.At.DPID, PortNo: h.At.No, Live: h.Live})
	}
	return out
}

// Links are the cables between switches.
func (e *Engine) Links() []apps.LinkStatus {
	links := e.view.Load().Topo.Links()
	out := make([]apps.LinkStatus, 0, len(links))
	for _, l := range links {
		out = append(out, apps.LinkStatus{A: l.A, B: l.B})
	}
	return out
}

// lister is a connection app that can list connections.
type lister interface {
	List(id vip.ID, limit int) []apps.Connection
}

// maxConnectionsListed bounds the answer of Connections.
const maxConnectionsListed = 10000

// Connections are the live connections of a VIP, at most 10,000.
func (e *Engine) Connections(name string) ([]apps.Connection, error) {
	x, err := e.find(name)
	if err != nil {
		return nil, err
	}
	if l, ok := e.connectionsOf(x.Spec.Mode).(lister); ok {
		return l.List(x.ID, maxConnectionsListed), nil
	}
	return nil, fmt.Errorf("VIP %q: the connections of mode %s cannot be listed", name, x.Spec.Mode)
}
