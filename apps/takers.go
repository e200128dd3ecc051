package apps

import (
	"slices"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Takes reports whether a backend is given new connections.
func (b *Backend) Takes() bool { return b.State == vip.StateUp && b.Weight > 0 && b.Host != nil }

// Takers are the backends that a VIP which chooses by generations wants to divide new connections between.
func (v *View) Takers(x *VIP) []vip.Member {
	out := []vip.Member{}
	for i := range x.Backends {
		if b := &x.Backends[i]; b.Takes() && v.Serves(x, b) {
			out = append(out, vip.Member{Backend: b.ID, Replicas: b.Weight})
		}
	}
	vip.SortMembers(out)
	return out
}

// Wants is the generation that a VIP should have, without an id and what mode othello adds.
func (v *View) Wants(x *VIP) vip.Generation {
	return vip.Generation{Members: v.Takers(x), Clients: x.Spec.Affinity != nil}
}

// Way is the MAC by which packets find a backend within the fabric, in modes that translate beside the backend: its host's, or its own. Its host
// must be known.
func (b *Backend) Way() flows.MAC {
	if b.Aliased {
		return EndpointMAC(b.Endpoint)
	}
	return b.Host.MAC
}

// Serves reports whether packets of a backend's connections are sent to it, in modes that translate beside the backend.
func (v *View) Serves(x *VIP, b *Backend) bool {
	return b.Host != nil && b.Endpoint != 0 && v.Keeps(b) && !x.Hidden(b)
}

// Chooses is the index of the generation that a VIP's packets are divided by: the current one, or the last that has backends; -1:
// there is none.
func (v *View) Chooses(x *VIP) int {
	i := x.Generations.Current()
	if i < 0 {
		return -1
	}
	for ; i < len(x.Generations.Kept); i++ {
		for _, m := range x.Generations.Kept[i].Members {
			if y := x.BackendByID(m.Backend); y != nil && v.Serves(x, y) {
				return i
			}
		}
	}
	return -1
}

// Hidden reports whether an older backend of the VIP has the same MAC, and the backend none of its own yet: it cannot be told apart.
func (x *VIP) Hidden(b *Backend) bool {
	for i := range x.Backends {
		if y := &x.Backends[i]; y.ID < b.ID && y.Host != nil && b.Host != nil && y.Way() == b.Way() {
			return true
		}
	}
	return false
}

// BackendByID is the VIP's backend with an id, nil if it has none.
func (x *VIP) BackendByID(id uint32) *Backend {
	for i := range x.Backends {
		if x.Backends[i].ID == id {
			return &x.Backends[i]
		}
	}
	return nil
}

// Deferred reports whether the VIP's packets are translated beside their backends.
func (x *VIP) Deferred() bool {
	return (x.Spec.Mode == vip.ModeDeferred || x.Spec.Mode == vip.ModeOthello) && x.Proto() != 0
}

// EdgesOf are the switches that have backends of the VIP, whatever their state.
func (x *VIP) EdgesOf() map[flows.DPID]bool {
	out := map[flows.DPID]bool{}
	for i := range x.Backends {
		if h := x.Backends[i].Host; h != nil {
			out[h.At.DPID] = true
		}
	}
	return out
}

// Gateways are the switches that choose for the VIP's packets, sorted; none: each where its clients are.
func (x *VIP) Gateways() []flows.DPID {
	out := make([]flows.DPID, 0, len(x.Spec.Gateways))
	for _, text := range x.Spec.Gateways {
		if d, err := flows.ParseDPID(text); err == nil { // always: the spec has been checked
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return out
}
