package apps

import "net/netip"

// Router is an address with the VIPs' MAC, which hosts and real routers take as their next hop to VIPs outside of their own
// network, and backends to clients outside of theirs. Nothing but traffic of VIPs is routed.
type Router struct {
	Address netip.Prefix // with the length of the network's prefix: hosts in it reach what is in it without a router
	Gateway netip.Addr   // who gets the answers to clients elsewhere; the zero Addr: nobody, they are dropped
}

// Router is the router with an address.
func (v *View) Router(a netip.Addr) (Router, bool) {
	for _, r := range v.Routers {
		if r.Address.Addr() == a {
			return r, true
		}
	}
	return Router{}, false
}

// HasRouter reports whether there is a router for packets to an address.
func (v *View) HasRouter(a netip.Addr) bool {
	for _, r := range v.Routers {
		if r.Address.Addr().Is4() == a.Is4() {
			return true
		}
	}
	return false
}

// Ours reports whether an address is a VIP's or a router's, and so answered with the VIPs' MAC.
func (v *View) Ours(a netip.Addr) bool {
	if len(v.byAddr[a]) > 0 {
		return true
	}
	_, ok := v.Router(a)
	return ok
}
