package othello

import (
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// Relieve makes a VIP's older generations needless, once all its live connections are known: each connection that was there
// when the present generation had been in effect everywhere. Connections that the present one would send elsewhere are pinned, by
// a new generation with the same table; for those born meanwhile the older ones are still asked. Where the present one is right
// for all, the older ones go. Pins go when half of them have ended. It is g itself if there is nothing to do.
func Relieve(g *vip.Generations, to netip.Addr, live []State) (*vip.Generations, error) {
	now := &g.Kept[0]
	codes, ok := FromOwners(now.Owners)
	if !ok || len(live) > 0 && codes.Counts()[0] > 0 {
		return g, nil
	}
	pins := &Pins{}
	if len(now.Pins) > 0 && len(live) > 0 {
		var err error
		if pins, err = Restore(now.Pins, to, live[0].Proto, uint64(now.ID)); err != nil {
			return g, err
		}
	}
	right, displaced := true, 0
	for _, s := range live {
		if o, _ := pins.Owner(codes, s.Tuple); o != s.Owner {
			right = false
		}
		if codes.Owner(s.Code()) != s.Owner {
			displaced++
		}
	}
	switch {
	case right && len(g.Kept) > 1:
		next := *g
		next.Kept = slices.Clone(g.Kept[:1])
		return &next, nil
	case right && 2*displaced >= len(now.Pins):
		return g, nil
	}
	next := g.Begin(now.Members)
	p, err := Pin(codes, live, uint64(next.Last))
	if err != nil {
		return g, err
	}
	next.Kept[0].Owners, next.Kept[0].Pins = now.Owners, p.Named
	return next, nil
}

// Pinned reports whether the newest generation was made to pin what the one before would move: their tables are the same.
func Pinned(g *vip.Generations) bool {
	return len(g.Kept) > 1 && slices.Equal(g.Kept[0].Owners, g.Kept[1].Owners)
}

// RelieveNoted is Relieve for flows of datagrams, by what edges have noted of them: those that the present generation would send
// elsewhere. Its pins are taken for alive. early says that some may not have shown themselves yet, so that older generations stay,
// and all that is done is to pin what has. all says that every flow that began before the present generation is among them, and so
// which pins are over.
func RelieveNoted(v *apps.View, x *apps.VIP, g *vip.Generations, noted []vip.Pin, early, all bool) (*vip.Generations, error) {
	live := make([]State, 0, len(noted))
	listed := make(map[Tuple]bool, len(noted))
	list := func(some []vip.Pin) {
		for _, n := range some {
			s := stateOf(n, x.Address, x.Proto())
			if b := x.BackendByID(n.Backend); !listed[s.Tuple] && b != nil && v.Serves(x, b) {
				listed[s.Tuple] = true
				live = append(live, s)
			}
		}
	}
	list(noted)
	if !all {
		list(g.Kept[0].Pins)
	}
	next, err := Relieve(g, x.Address, live)
	if early && err == nil && len(next.Kept) < len(g.Kept) {
		next = g
	}
	return next, err
}

// StatesOf are a VIP's live connections among those that backends' hosts have reported, by host. Not ok: a host with a served
// backend has not reported, or there is a connection that the switch sees otherwise than its backend, so that nothing can be said.
func StatesOf(v *apps.View, x *apps.VIP, reports func(netip.Addr) ([]apps.LiveState, bool)) (out []State, ok bool) {
	for i := range x.Backends {
		b := &x.Backends[i]
		if !v.Serves(x, b) {
			continue
		}
		states, reported := reports(b.Address)
		if !reported {
			return nil, false
		}
		for _, s := range states {
			port, ours := vipPort(x, b, s)
			switch {
			case !ours:
			case s.Client.Addr() == x.Address: // a backend that has been given its own connection
				return nil, false
			default:
				out = append(out, stateOf(vip.Pin{Client: s.Client, Port: port, Backend: b.ID}, x.Address, s.Proto))
			}
		}
	}
	return out, true
}

// vipPort is the port of the VIP that a connection to a backend may have come by.
func vipPort(x *apps.VIP, b *apps.Backend, s apps.LiveState) (port uint16, ok bool) {
	switch {
	case s.Proto != x.Proto() || s.Local.Addr() != b.Address:
		return 0, false
	case b.Port == 0:
		return s.Local.Port(), x.Ports.Contains(s.Local.Port())
	}
	return x.Ports.First, b.Port == s.Local.Port()
}
