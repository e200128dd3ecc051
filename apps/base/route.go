package base

import (
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Priorities in table 20, below those of the modes.
const (
	prioNear    = 70
	prioExpired = 60
	prioRouted  = 50
	prioAnswer  = 40
)

// Priorities in table 25.
const (
	prioToNetwork = 210
	prioToHost    = 200
	prioToGateway = 50 // plus the length of the prefix: the longest wins
)

// route is the end of table 25, if there are routers.
func (b *builder) route(v *apps.View) {
	if b.nicira && len(v.Routers) > 0 {
		b.rule(apps.TableRoute, 0, nil)
	}
}

// routeAddress has packets to an address of VIPs lose one of their TTL unless they come from the address's own network: their
// senders have a router of ours as next hop. A switch without Nicira's extensions leaves the TTL: there the first packet of a
// connection passes twice.
//
// For a router's address it is the way of backends' answers to clients elsewhere.
func (b *builder) routeAddress(v *apps.View, a netip.Addr) {
	if !b.nicira {
		return
	}
	if r, ok := v.Router(a); ok {
		if h, known := v.Topo.HostAt(r.Gateway); known {
			b.rule(apps.TableRoute, prioToGateway+uint16(r.Address.Bits()), network(r.Address.Masked()), flows.SetMAC(flows.EthDst, h.MAC), b.next(apps.TableForward))
		}
		return
	}
	if len(v.VIPsAt(a)) == 0 {
		return
	}
	for ttl := range uint64(2) {
		b.rule(apps.TableReply, prioExpired, apps.To(a).Num(flows.IPTTL, ttl))
	}
	b.rule(apps.TableReply, prioRouted, apps.To(a), flows.DecTTL{}, b.next(apps.TableVIP))
	near := map[netip.Prefix]bool{}
	for _, r := range v.Routers {
		if n := r.Address.Masked(); n.Contains(a) && !near[n] {
			near[n] = true
			b.rule(apps.TableReply, prioNear, with(network(n), apps.To(a)), b.next(apps.TableVIP))
		}
	}
}

// routeHost is a host as a client, to whose MAC answers are routed, as a gateway, who gets those to clients behind it, and as a backend,
// whose answers are.
func (b *builder) routeHost(v *apps.View, h *topo.Host) {
	if !b.nicira || len(v.Routers) == 0 {
		return
	}
	for _, r := range v.Routes {
		if slices.Contains(h.Addresses, r.Via) {
			f := apps.FamilyOf(r.Via)
			b.rule(apps.TableRoute, prioToNetwork, apps.In(f.IP(), f.Dst, r.Network), flows.SetMAC(flows.EthDst, h.MAC), b.next(apps.TableForward))
		}
	}
	for _, a := range h.Addresses {
		if v.HasRouter(a) && !v.Ours(a) && !a.IsLinkLocalUnicast() {
			b.rule(apps.TableRoute, prioToHost, apps.To(a), flows.SetMAC(flows.EthDst, h.MAC), b.next(apps.TableForward))
		}
	}
	if h.At.DPID != b.dpid {
		return
	}
	type endpoint struct {
		addr  netip.Addr
		proto uint64
		port  vip.PortMask
	}
	seen := map[endpoint]bool{}
	for _, x := range v.VIPs {
		for i := range x.Backends {
			y := &x.Backends[i]
			if y.Host == nil || y.Host.MAC != h.MAC || !v.HasRouter(y.Address) {
				continue
			}
			proto, field := uint64(apps.ProtoTCP), flows.TCPSrc
			if x.Spec.Protocol == vip.UDP {
				proto, field = apps.ProtoUDP, flows.UDPSrc
			}
			for _, p := range (apps.Served{VIP: x, Backend: y}).Listens().Masks() {
				from := endpoint{y.Address, proto, p}
				if seen[from] {
					continue
				}
				seen[from] = true
				m := with(network(netip.PrefixFrom(y.Address, y.Address.BitLen())), nil).Num(flows.IPProto, proto)
				m = m.MAC(flows.EthSrc, h.MAC).MAC(flows.EthDst, apps.VIPMAC).NumMasked(field, uint64(p.Port), uint64(p.Mask))
				b.rule(apps.TableReply, prioAnswer, m, flows.DecTTL{}, b.next(apps.TableRoute))
			}
		}
	}
}

// network matches packets from a network.
func network(p netip.Prefix) flows.Match {
	f := apps.FamilyOf(p.Addr())
	return apps.In(f.IP(), f.Src, p)
}

// with is m with the conditions of another match.
func with(m, other flows.Match) flows.Match {
	for _, c := range other {
		m = m.With(c)
	}
	return m
}
