package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/evenflow/evenflow/apps"
)

// Router is an address, answered with the VIPs' MAC, that hosts and routers use as their next hop to VIPs outside of their own
// network, and backends to clients outside of theirs.
type Router struct {
	Address string `json:"address"` // with the length of its network's prefix: "10.0.0.254/24"
	Gateway string `json:"gateway"` // a host of that network who gets backends' answers to clients elsewhere; "": nobody
}

func (d *document) checkRouters(routers []Router) {
	if slices.ContainsFunc(d.errs, func(e Error) bool { return strings.HasPrefix(e.Key, "routers") }) {
		return // what could not be read would be found missing, too
	}
	addresses := make(map[netip.Addr]int)
	gateways := make(map[netip.Prefix]int)
	for i := range routers {
		at := fmt.Sprintf("routers[%d].", i)
		r, ok := d.router(at, &routers[i])
		if !ok {
			continue
		}
		if j, twice := addresses[r.Address.Addr()]; twice {
			d.fail(at+"address", "routers[%d] has the same address", j)
		}
		addresses[r.Address.Addr()] = i
		if !r.Gateway.IsValid() {
			continue
		}
		if j, twice := gateways[r.Address.Masked()]; twice {
			d.fail(at+"gateway", "routers[%d] has a gateway for the same network", j)
		}
		gateways[r.Address.Masked()] = i
	}
}

// router checks one router.
func (d *document) router(at string, r *Router) (apps.Router, bool) {
	p, err := netip.ParsePrefix(r.Address)
	a := p.Addr()
	switch {
	case err != nil:
		d.fail(at+"address", "%q: want an address with the length of its network's prefix, such as 10.0.0.254/24 or fd00::fe/64", r.Address)
		return apps.Router{}, false
	case a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.Is4In6():
		d.fail(at+"address", "%q: want an address that a host can have", r.Address)
		return apps.Router{}, false
	case r.Gateway == "":
		return apps.Router{Address: p}, true
	}
	g, err := netip.ParseAddr(r.Gateway)
	switch {
	case err != nil:
		d.fail(at+"gateway", "%q: want the address of a host, such as 10.0.0.1", r.Gateway)
	case a.IsLinkLocalUnicast():
		d.fail(at+"gateway", "means nothing for a link-local address, whose network no backend is in; give it to the other one")
	case !p.Contains(g) || g == a:
		d.fail(at+"gateway", "%q: want another address of the network %s", r.Gateway, p.Masked())
	default:
		return apps.Router{Address: p, Gateway: g}, true
	}
	return apps.Router{}, false
}

// AppRouters are the routers as apps have them, of a configuration that has been checked.
func (c *Config) AppRouters() []apps.Router {
	var out []apps.Router
	for _, r := range c.Routers {
		p, err := netip.ParsePrefix(r.Address)
		if err != nil {
			continue
		}
		g, _ := netip.ParseAddr(r.Gateway) // the zero Addr if there is none
		out = append(out, apps.Router{Address: p, Gateway: g})
	}
	return out
}
