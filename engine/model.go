package engine

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// model is the VIPs as stored. Only the loop touches it.
type model struct {
	vips   map[vip.ID]*vip.VIP
	byName map[string]*vip.VIP
	weights
	tracked
	edges map[flows.DPID]uint16 // numbers of switches with backends of VIPs that choose by generations; views share it
}

func newModel() *model {
	return &model{vips: map[vip.ID]*vip.VIP{}, byName: map[string]*vip.VIP{}, weights: weights{}, tracked: newTracked()}
}

func (m *model) put(x *vip.VIP) {
	m.vips[x.ID] = x
	m.byName[x.Spec.Name] = x
	if x.Spec.OnImbalance != vip.Reweight {
		delete(m.weights, x.ID)
	}
}

func (m *model) remove(x *vip.VIP) {
	delete(m.vips, x.ID)
	delete(m.byName, x.Spec.Name)
	delete(m.weights, x.ID)
}

// overlapping is another VIP that x would share a packet with.
func (m *model) overlapping(x *vip.VIP) error {
	for _, y := range m.vips {
		if y.ID != x.ID && vip.Overlap(x, y) {
			return fmt.Errorf("%w: VIP %q has %s %s port %s already", apps.ErrConflict, y.Spec.Name, y.Spec.Address, y.Spec.Protocol, y.Spec.Port)
		}
	}
	return nil
}

// chained refuses a backend at an address that is no host's but a VIP's, and a VIP at a backend's: a packet is balanced once. The
// error is [vip.FieldErrors].
func (m *model) chained(x *vip.VIP) error {
	var wrong vip.FieldErrors
	own := make(map[netip.Addr]int, len(x.Backends))
	for i := range x.Backends {
		own[x.Backends[i].Address] = i
	}
	for _, y := range m.vips {
		if y.ID == x.ID {
			continue
		}
		if i, ours := own[y.Address]; ours {
			wrong = append(wrong, vip.FieldError{Field: fmt.Sprintf("backends[%d].address", i), Value: y.Address.String(),
				Message: fmt.Sprintf("is the address of VIP %q; want a host's", y.Spec.Name)})
		}
		for i := range y.Backends {
			if y.Backends[i].Address == x.Address {
				wrong = append(wrong, vip.FieldError{Field: "address", Value: x.Address.String(),
					Message: fmt.Sprintf("is the address of backend %q of VIP %q; want one that no host has", y.Backends[i].Name, y.Spec.Name)})
			}
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.SortFunc(wrong, func(a, b vip.FieldError) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	return wrong
}

// addresses are those of all VIPs.
func (m *model) addresses() []netip.Addr {
	seen := map[netip.Addr]bool{}
	var out []netip.Addr
	for _, x := range m.vips {
		if !seen[x.Address] {
			seen[x.Address] = true
			out = append(out, x.Address)
		}
	}
	return out
}

// backends are the addresses of all backends.
func (m *model) backends() map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, x := range m.vips {
		for i := range x.Backends {
			out[x.Backends[i].Address] = true
		}
	}
	return out
}
