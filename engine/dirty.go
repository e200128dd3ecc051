package engine

import (
	"bytes"
	"maps"
	"net/netip"
	"reflect"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// dirtyOwners are the owners whose desired state may differ between the views.
func dirtyOwners(old, v *apps.View, deleted []*vip.VIP) []apps.Owner {
	if old == nil {
		return nil
	}
	var out []apps.Owner
	hosts := map[flows.MAC]bool{}      // of backends, since a host has rules for being one
	addresses := map[netip.Addr]bool{} // whose set of VIPs has changed
	again := map[netip.Addr]bool{}     // nothing new, but what a switch has refused is tried again with each write
	var listens bool                   // the ports of some VIP's backends have changed
	for _, x := range deleted {
		out = append(out, vipOwner(x))
		listens = listens || len(x.Backends) > 0
		out = appendBackends(out, hosts, v, x)
		addresses[x.Address] = true
	}
	for _, x := range v.VIPs {
		prev := old.VIP(x.ID)
		if prev == x {
			continue
		}
		out = append(out, vipOwner(x.VIP))
		if prev == nil {
			addresses[x.Address] = true
			listens = listens || len(x.Backends) > 0
			out = appendBackends(out, hosts, v, x.VIP)
		} else if x.Deferred() && prev.VIP == x.VIP {
			again[x.Address] = true // its edges have a part in what the address wants
		} else if prev.VIP != x.VIP {
			again[x.Address] = true
			listens = listens || !slices.Equal(prev.Listens(), x.Listens())
			out = appendBackends(out, hosts, v, differing(prev.VIP, x.VIP)...)
		}
	}
	for a := range again {
		if !addresses[a] {
			out = append(out, addressOwner(a))
		}
	}
	for a := range addresses {
		out = append(out, addressOwner(a))
		if h, ok := v.Topo.HostAt(a); ok {
			out = append(out, hostOwner(h))
		}
	}
	out = appendReached(out, old, v)
	out = appendForetold(out, old, v)
	rewired := old.Topo != v.Topo && !v.Topo.SameNetwork(old.Topo) || !maps.Equal(old.Numbers, v.Numbers)
	fresh := !maps.Equal(old.Gateways, v.Gateways)
	if rewired || listens || fresh || !maps.Equal(old.Edges, v.Edges) {
		out = append(out, apps.Owner{Kind: apps.OwnerBase})
	}
	for _, x := range v.VIPs {
		if (rewired || fresh) && len(x.Spec.Gateways) > 0 && old.VIP(x.ID) == x {
			out = append(out, vipOwner(x.VIP)) // a gateway may have come, or cannot be reached any more
		}
	}
	out = appendWays(out, old, v, rewired)
	if old.Topo == v.Topo && !rewired {
		return out
	}
	for _, r := range v.Routers {
		was, _ := old.Topo.HostAt(r.Gateway)
		if is, _ := v.Topo.HostAt(r.Gateway); is != was {
			out = append(out, addressOwner(r.Address.Addr()))
		}
	}
	return appendHosts(out, old.Topo.Hosts(), v.Topo.Hosts(), rewired)
}

// appendReached adds unchanged VIPs of which a backend that is down is known to be dead now, or not any more, since the session
// with its switch has begun or ended.
func appendReached(out []apps.Owner, old, v *apps.View) []apps.Owner {
	same := func(a, b apps.SwitchInfo) bool { return a.DPID == b.DPID }
	if maps.EqualFunc(old.Switches, v.Switches, same) {
		return out
	}
	for _, x := range v.VIPs {
		if old.VIP(x.ID) != x {
			continue
		}
		if slices.ContainsFunc(x.Backends, func(b apps.Backend) bool { return old.Keeps(&b) != v.Keeps(&b) }) {
			out = append(out, vipOwner(x.VIP))
		}
	}
	return out
}

// differing are two versions of a VIP, each with those backends alone whose hosts may have other rules for it: if no more than
// backends has changed, those that have.
func differing(prev, x *vip.VIP) []*vip.VIP {
	a, b := prev.Spec, x.Spec
	a.Backends, b.Backends = nil, nil
	if !reflect.DeepEqual(a, b) {
		return []*vip.VIP{prev, x}
	}
	before := make(map[uint32]vip.Backend, len(prev.Backends))
	for _, y := range prev.Backends {
		before[y.ID] = y
	}
	var gone, now vip.VIP
	for _, y := range x.Backends {
		if was, there := before[y.ID]; !there || was != y {
			now.Backends = append(now.Backends, y)
		} else {
			delete(before, y.ID)
		}
	}
	for _, y := range prev.Backends {
		if _, differs := before[y.ID]; differs {
			gone.Backends = append(gone.Backends, y)
		}
	}
	return []*vip.VIP{&gone, &now}
}

// appendForetold adds unchanged VIPs of mode othello when it has shown that a switch can have the mode, or cannot.
func appendForetold(out []apps.Owner, old, v *apps.View) []apps.Owner {
	same := func(a, b apps.SwitchInfo) bool { return a.NoCodes == b.NoCodes }
	if maps.EqualFunc(old.Switches, v.Switches, same) {
		return out
	}
	for _, x := range v.VIPs {
		if x.Spec.Mode == vip.ModeOthello && old.VIP(x.ID) == x {
			out = append(out, vipOwner(x.VIP))
		}
	}
	return out
}

// appendBackends adds the hosts of VIPs' backends that are not in noted yet.
func appendBackends(out []apps.Owner, noted map[flows.MAC]bool, v *apps.View, vips ...*vip.VIP) []apps.Owner {
	for _, x := range vips {
		for _, b := range x.Backends {
			if h, ok := v.HostAt(b.Address); ok && !noted[h.MAC] {
				noted[h.MAC] = true
				out = append(out, hostOwner(h))
			}
		}
	}
	return out
}

// appendHosts adds the hosts that differ between two lists in the order of their MACs, or all of them.
func appendHosts(out []apps.Owner, old, now []*topo.Host, all bool) []apps.Owner {
	for len(old) > 0 || len(now) > 0 {
		switch c := compareHosts(old, now); {
		case c < 0:
			out = append(out, hostOwner(old[0]))
			old = old[1:]
		case c > 0:
			out = append(out, hostOwner(now[0]))
			now = now[1:]
		default:
			if all || old[0] != now[0] {
				out = append(out, hostOwner(now[0]))
			}
			old, now = old[1:], now[1:]
		}
	}
	return out
}

// compareHosts orders the first hosts of two lists, of which one at least has some; an empty list comes last.
func compareHosts(a, b []*topo.Host) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return bytes.Compare(a[0].MAC[:], b[0].MAC[:])
}

// allOwners is everyone who may want something of a switch.
func allOwners(v *apps.View) []apps.Owner {
	out := []apps.Owner{{Kind: apps.OwnerBase}}
	for _, h := range v.Topo.Hosts() {
		out = append(out, hostOwner(h))
	}
	for _, d := range slices.Sorted(maps.Keys(destinations(v))) {
		out = append(out, wayOwner(d))
	}
	addresses := map[netip.Addr]bool{}
	for _, r := range v.Routers {
		out = append(out, addressOwner(r.Address.Addr()))
	}
	for _, x := range v.VIPs {
		out = append(out, vipOwner(x.VIP))
		if !addresses[x.Address] {
			addresses[x.Address] = true
			out = append(out, addressOwner(x.Address))
		}
	}
	return out
}

func vipOwner(x *vip.VIP) apps.Owner       { return apps.Owner{Kind: apps.OwnerVIP, VIP: x.ID} }
func addressOwner(a netip.Addr) apps.Owner { return apps.Owner{Kind: apps.OwnerAddress, Addr: a} }
func hostOwner(h *topo.Host) apps.Owner    { return apps.Owner{Kind: apps.OwnerHost, MAC: h.MAC} }
