package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/evenflow/evenflow/apps"
)

// Route says that a network, of backends and clients, is behind a host of the layer-2 network that routes. The longest prefix wins.
type Route struct {
	Network string `json:"network"` // "10.8.0.0/16"
	Via     string `json:"via"`     // the host's address there: "10.0.0.1"
}

func (d *document) checkRoutes(c *Config) {
	if slices.ContainsFunc(d.errs, func(e Error) bool { return strings.HasPrefix(e.Key, "route") }) {
		return // what could not be read would be found missing, too
	}
	routers := c.AppRouters()
	routes := make([]apps.Route, len(c.Routes))
	sound := true
	networks := make(map[netip.Prefix]int)
	for i := range c.Routes {
		at := fmt.Sprintf("routes[%d].", i)
		r, ok := d.route(at, &c.Routes[i])
		if routes[i], sound = r, sound && ok; !ok {
			continue
		}
		if j, twice := networks[r.Network]; twice {
			d.fail(at+"network", "routes[%d] has the same network", j)
		}
		networks[r.Network] = i
		for j, own := range routers {
			switch n := own.Address.Masked(); {
			case n == r.Network:
				d.fail(at+"network", "is the network of routers[%d], whose hosts are behind nobody", j)
			case n.Bits() < r.Network.Bits() && r.Network.Contains(own.Address.Addr()):
				d.fail(at+"network", "has the address of routers[%d], which is behind nobody", j)
			case r.Via == own.Address.Addr():
				d.fail(at+"via", "is the address of routers[%d]; want that of a host", j)
			}
		}
	}
	if !sound {
		return
	}
	all := apps.NewRoutes(routes, attached(routers)...)
	for i, r := range routes {
		switch via, behind := all.Via(r.Via); {
		case !behind:
		case via == r.Via:
			d.fail(fmt.Sprintf("routes[%d].via", i), "%s is behind itself; want a host of the layer-2 network, and if a route has that network, "+
				"an address of it in routers", r.Via)
		default:
			d.fail(fmt.Sprintf("routes[%d].via", i), "%s is behind %s, as routes say; want a host of the layer-2 network", r.Via, via)
		}
	}
	for j, own := range routers {
		if via, behind := all.Via(own.Gateway); behind {
			d.fail(fmt.Sprintf("routers[%d].gateway", j), "%s is behind %s, as routes say; want a host of the layer-2 network", own.Gateway, via)
		}
	}
}

// route checks one route.
func (d *document) route(at string, r *Route) (out apps.Route, ok bool) {
	p, err := netip.ParsePrefix(r.Network)
	switch a := p.Addr(); {
	case err != nil:
		d.fail(at+"network", "%q: want a network, such as 10.8.0.0/16 or fd08::/48", r.Network)
		return out, false
	case a.Is4In6() || a.IsMulticast() || a.IsLoopback() || a.IsLinkLocalUnicast():
		d.fail(at+"network", "%q: want a network that can be behind a router", r.Network)
		return out, false
	case p != p.Masked():
		d.fail(at+"network", "%q has bits of a host; want %s", r.Network, p.Masked())
		return out, false
	}
	via, err := netip.ParseAddr(r.Via)
	switch {
	case err != nil || via.Zone() != "" || via.IsUnspecified() || via.IsMulticast() || via.IsLoopback() || via.Is4In6() ||
		via == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		d.fail(at+"via", "%q: want the address of a host, such as 10.0.0.1", r.Via)
		return out, false
	case via.Is4() != p.Addr().Is4():
		d.fail(at+"via", "%q: want an address of the family of network %s", r.Via, p)
		return out, false
	}
	return apps.Route{Network: p, Via: via}, true
}

func attached(routers []apps.Router) (out []netip.Prefix) {
	for _, r := range routers {
		out = append(out, r.Address.Masked())
	}
	return out
}

// AppRoutes are the routes as apps have them, of a configuration that has been checked.
func (c *Config) AppRoutes() apps.Routes {
	var all []apps.Route
	for _, r := range c.Routes {
		p, err := netip.ParsePrefix(r.Network)
		via, verr := netip.ParseAddr(r.Via)
		if err == nil && verr == nil {
			all = append(all, apps.Route{Network: p, Via: via})
		}
	}
	return apps.NewRoutes(all, attached(c.AppRouters())...)
}
