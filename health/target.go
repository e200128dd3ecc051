package health

import (
	"net/netip"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// target is what is probed and how. Backends of several VIPs that agree in it are one target.
type target struct {
	what
	how
}

// what is probed. The port is 0 but for TCP.
type what struct {
	Type    string     `json:"type"`
	Address netip.Addr `json:"address"`
	Port    uint16     `json:"port,omitempty"`
}

// how it is probed.
type how struct {
	interval, timeout time.Duration
	rise, fall        int
}

// targetOf is a backend's target; not ok: the VIP's backends are not probed. Of several ports the first is probed.
func targetOf(x *vip.VIP, b *vip.Backend) (t target, ok bool) {
	h := x.Spec.Health
	if !h.Probes() {
		return target{}, false
	}
	t = target{what{Type: h.Type, Address: b.Address}, how{time.Duration(h.Interval), time.Duration(h.Timeout), h.Rise, h.Fall}}
	if h.Type == vip.HealthTCP {
		t.Port = b.Port
		if t.Port == 0 {
			t.Port = x.Ports.First
		}
	}
	return t, true
}

// place is where a target is probed, and from which address.
type place struct {
	at     topo.PortID
	mac    flows.MAC
	source netip.Addr
}

// reach says whether a target can be probed now.
type reach uint8

const (
	away   reach = iota // not found yet, or its switch has no session: nothing is known
	silent              // its host does not answer ARP or ND
	gone                // its port is down
	here
)

// beyond reports whether a backend cannot be asked: ARP and ND reach its gateway alone. A VIP that asks so is refused, but for one that
// is older than the route.
func beyond(w what, b *apps.Backend) bool { return w.Type == vip.HealthARP && b.Via.IsValid() }

// reached finds the place where a backend is probed: its own, or its gateway's.
func reached(v *apps.View, w what, x *apps.VIP, b *apps.Backend) (place, reach) {
	h := b.Host
	if h == nil || beyond(w, b) {
		return place{}, away
	}
	if _, connected := v.Switches[h.At.DPID]; !connected {
		return place{}, away
	}
	if port, ok := v.Topo.Port(h.At); !ok || !port.Up || port.Kind != topo.Edge {
		return place{}, gone
	}
	if !h.Live {
		return place{}, silent
	}
	return place{h.At, h.MAC, source(v, x.Address, b)}, here
}

// source is the address that a backend is probed from by IP: one of ours in its own network, or its gateway's, if a router has one, which
// it can answer whatever its routes are; else the VIP's, which it can answer if it has a route there, as one of a VIP in its own network
// has.
func source(v *apps.View, own netip.Addr, b *apps.Backend) netip.Addr {
	near := b.Address
	if b.Via.IsValid() {
		near = b.Via
	}
	for _, r := range v.Routers {
		if r.Address.Contains(near) {
			return r.Address.Addr()
		}
	}
	return own
}

// placed is a target's place and whether it can be probed.
type placed struct {
	place
	reach
}

// targets are those of all VIPs. One that several VIPs have is probed for the first of them.
func targets(v *apps.View) map[target]placed {
	out := map[target]placed{}
	for _, x := range v.VIPs {
		if !x.Spec.Health.Probes() {
			continue
		}
		for i := range x.Backends {
			b := &x.Backends[i]
			t, _ := targetOf(x.VIP, b.Backend)
			if _, known := out[t]; !known {
				at, r := reached(v, t.what, x, b)
				out[t] = placed{at, r}
			}
		}
	}
	return out
}
