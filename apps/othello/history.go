package othello

import (
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// Settle gives each of a VIP's generations its table of codes: a new one as few changes as there can be from the one before. A
// backend that has gone from a generation, dead or removed, leaves its Dcodes to the others of that generation where new
// connections are, or will be, divided by it; in an older one nobody has them, for they are asked of others. It is g itself if
// nothing is to be done.
//
// live, which may be nil, gives what is known of live connections: of the Dcodes that could be moved those with fewer of them are. It
// need not be right, and is called only if a table must be made.
func Settle(g *vip.Generations, live func() []State) *vip.Generations {
	if g == nil || !slices.ContainsFunc(g.Kept, unsettled) {
		return g
	}
	next := *g
	next.Kept = slices.Clone(g.Kept)
	last := max(g.Current(), 0) // the oldest by which connections are, or will be, divided
	for i := len(next.Kept) - 1; i >= 0; i-- {
		k := &next.Kept[i]
		codes, ok := FromOwners(k.Owners)
		switch {
		case !unsettled(*k):
			continue
		case !ok:
			codes = before(next.Kept[i+1:])
			if codes == nil {
				codes = Pack(SizeFor(pool(k.Members)), pool(k.Members))
			}
			var known []State
			if live != nil {
				known = live()
			}
			codes = codes.Change(pool(k.Members), codes.census(known))
		case i <= last:
			codes = codes.Change(pool(k.Members), nil)
		default:
			codes = codes.without(k.Members)
		}
		k.Owners = codes.Owners()
	}
	return &next
}

// Carry gives the newest generation, whose table has just been made, the pins of the one before, as that table needs them. It is
// for flows of datagrams: one that is silent for longer than its edge remembers it is found by nothing else. Connections of TCP
// are remembered as long as they live. Where there would be too many pins there are none, until flows are noted again.
func Carry(g *vip.Generations, to netip.Addr) *vip.Generations {
	if len(g.Kept) < 2 || len(g.Kept[1].Pins) == 0 {
		return g
	}
	codes, ok := FromOwners(g.Kept[0].Owners)
	if !ok || codes.Counts()[0] > 0 {
		return g
	}
	live := make([]State, len(g.Kept[1].Pins))
	for i, n := range g.Kept[1].Pins {
		live[i] = stateOf(n, to, apps.ProtoUDP)
	}
	p, err := Pin(codes, live, uint64(g.Kept[0].ID))
	if err != nil {
		return g
	}
	next := *g
	next.Kept = slices.Clone(g.Kept)
	next.Kept[0].Pins = p.Named
	return &next
}

// unsettled reports whether a generation has no table, or one with Dcodes of backends that are none of its members.
func unsettled(k vip.Generation) bool {
	if len(k.Owners) == 0 {
		return true
	}
	return slices.ContainsFunc(k.Owners, func(o uint32) bool { return o != 0 && !isMember(k.Members, o) })
}

func isMember(members []vip.Member, backend uint32) bool {
	_, found := slices.BinarySearchFunc(members, backend, func(m vip.Member, id uint32) int { return int(m.Backend) - int(id) })
	return found
}

// before is the table that a new generation begins with: of the newest of some where anybody has anything.
func before(kept []vip.Generation) *Codes {
	for _, k := range kept {
		if codes, ok := FromOwners(k.Owners); ok && codes.Counts()[0] < codes.Size() {
			return codes
		}
	}
	return nil
}

// without is the table without those that are no members.
func (c *Codes) without(members []vip.Member) *Codes {
	next := &Codes{owner: slices.Clone(c.owner)}
	for i, o := range next.owner {
		if !isMember(members, o) {
			next.owner[i] = 0
		}
	}
	return next
}

func pool(members []vip.Member) []Share {
	out := make([]Share, len(members))
	for i, m := range members {
		out[i] = Share{m.Backend, m.Replicas}
	}
	return out
}
