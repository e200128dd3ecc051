package engine

import (
	"fmt"
	"net/netip"

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
