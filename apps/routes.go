package apps

import (
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/topo"
)

// Route says that a network is behind a host, its gateway, which routes: what is for an address of it goes to the gateway's MAC.
type Route struct {
	Network netip.Prefix
	Via     netip.Addr // the gateway's address in the layer-2 network
}

// Routes are routes of which no two overlap, in the order of their networks. [NewRoutes] makes them.
type Routes []Route

// NewRoutes makes the longest prefix win, as it does in a routing table: of a network is left what is in no longer one, neither of
// another route nor of those that are attached, whose hosts need no gateway.
func NewRoutes(all []Route, attached ...netip.Prefix) Routes {
	networks := slices.Clone(attached)
	for _, r := range all {
		networks = append(networks, r.Network)
	}
	var out Routes
	for _, r := range all {
		longer := slices.DeleteFunc(slices.Clone(networks), func(p netip.Prefix) bool {
			return p.Bits() <= r.Network.Bits() || !r.Network.Overlaps(p)
		})
		for _, p := range without(r.Network, longer) {
			out = append(out, Route{p, r.Via})
		}
	}
	slices.SortFunc(out, func(a, b Route) int { return a.Network.Addr().Compare(b.Network.Addr()) })
	return out
}

// without is a network without others, as few prefixes.
func without(p netip.Prefix, others []netip.Prefix) []netip.Prefix {
	split := false
	for _, o := range others {
		if o.Bits() <= p.Bits() && o.Overlaps(p) {
			return nil
		}
		split = split || o.Overlaps(p)
	}
	if !split {
		return []netip.Prefix{p}
	}
	lower := netip.PrefixFrom(p.Addr(), p.Bits()+1)
	b := p.Addr().AsSlice()
	b[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	upper, _ := netip.AddrFromSlice(b)
	return append(without(lower, others), without(netip.PrefixFrom(upper, p.Bits()+1), others)...)
}

// Via is the gateway that an address is behind; not ok: none, so that it is a host's of the layer-2 network.
func (r Routes) Via(a netip.Addr) (gateway netip.Addr, ok bool) {
	i, found := slices.BinarySearchFunc(r, a, func(x Route, a netip.Addr) int { return x.Network.Addr().Compare(a) })
	if !found {
		i--
	}
	if i < 0 || !r[i].Network.Contains(a) {
		return netip.Addr{}, false
	}
	return r[i].Via, true
}

// NextHop is the address that is asked for by who sends to another: its gateway's, or the address itself.
func (r Routes) NextHop(a netip.Addr) netip.Addr {
	if gateway, behind := r.Via(a); behind {
		return gateway
	}
	return a
}

// HostAt is the host that packets to an address are sent to: who has it or, whoever claims it, its gateway.
func (r Routes) HostAt(t *topo.Snapshot, a netip.Addr) (*topo.Host, bool) {
	return t.HostAt(r.NextHop(a))
}

// HostAt is the host that packets to an address are sent to.
func (v *View) HostAt(a netip.Addr) (*topo.Host, bool) { return v.Routes.HostAt(v.Topo, a) }

// Beside are those whom a backend answers past its switch: itself or, if it is behind a gateway, whoever else is. Called from the VIP's
// address, it answers that.
func (v *View) Beside(b *Backend) (out []netip.Prefix) {
	if !b.Via.IsValid() {
		return []netip.Prefix{netip.PrefixFrom(b.Address, b.Address.BitLen())}
	}
	for _, r := range v.Routes {
		if r.Via == b.Via {
			out = append(out, r.Network)
		}
	}
	return out
}

// AddressesOf are the addresses that are reached at a host: its own, and those of backends behind it.
func (v *View) AddressesOf(h *topo.Host) []netip.Addr {
	v.index()
	behind := v.served.behind[h.MAC]
	if len(behind) == 0 {
		return h.Addresses
	}
	out := slices.Clone(h.Addresses)
	for _, a := range behind {
		if !slices.Contains(h.Addresses, a) { // it may answer for them, too
			out = append(out, a)
		}
	}
	return out
}
