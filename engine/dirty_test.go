package engine

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// What changes in a view makes its own owners dirty, and no others.
func TestDirtyOwners(t *testing.T) {
	now := time.Unix(1, 0)
	at := func(no uint32) topo.PortID { return topo.PortID{DPID: 1, No: no} }
	mac := func(n byte) flows.MAC { return flows.MAC{0, 0, 0, 0, 0, n} }
	net := topo.New(now, topo.Config{}, topo.Saved{
		Ports: []topo.SavedPort{{PortID: at(1), Kind: topo.Edge}, {PortID: at(2), Kind: topo.Edge}},
		Hosts: []topo.SavedHost{{MAC: mac(1), At: at(1), Live: true, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.100")}}},
	})
	net.SwitchUp(now, 1, []topo.Port{{No: 1, Up: true}, {No: 2, Up: true}})
	x := &apps.VIP{VIP: &vip.VIP{ID: 1, Address: netip.MustParseAddr("10.0.0.100")}}
	y := &apps.VIP{VIP: &vip.VIP{ID: 2, Address: netip.MustParseAddr("10.0.0.101")}}
	view := func(vips ...*apps.VIP) *apps.View { return apps.NewView(net.Snapshot(), nil, vips) }

	a := view(x)
	net.Sighting(now, topo.Sighting{At: at(2), MAC: mac(2)})
	b := view(x)
	net.Sighting(now, topo.Sighting{At: at(2), MAC: mac(2), Addr: netip.MustParseAddr("10.0.0.1")})
	g := view(x)
	empty := topo.New(now, topo.Config{}, topo.Saved{Ports: []topo.SavedPort{{PortID: at(1), Kind: topo.Edge}, {PortID: at(2), Kind: topo.Edge}}})
	empty.SwitchUp(now, 1, []topo.Port{{No: 1, Up: true}, {No: 2, Up: true}})
	nobody := apps.NewView(empty.Snapshot(), nil, nil)
	empty.Sighting(now, topo.Sighting{At: at(1), MAC: mac(1)})
	somebody := apps.NewView(empty.Snapshot(), nil, nil)
	numbered := func(v *apps.View) *apps.View {
		r := *v
		r.Numbers = map[flows.DPID]uint16{1: 65535}
		return &r
	}
	routed := func(v *apps.View) *apps.View {
		r := *v
		r.Routers = []apps.Router{{Address: netip.MustParsePrefix("10.0.0.254/24"), Gateway: netip.MustParseAddr("10.0.0.1")}}
		return &r
	}
	far := &apps.VIP{VIP: &vip.VIP{ID: 2, Address: y.Address, Backends: []vip.Backend{{ID: 1, Address: netip.MustParseAddr("10.8.0.5")}}}}
	behind := func(v *apps.View, more ...*apps.VIP) *apps.View {
		r := apps.NewView(v.Topo, nil, append(slices.Clone(v.VIPs), more...))
		r.Routes = apps.Routes{{Network: netip.MustParsePrefix("10.8.0.0/16"), Via: netip.MustParseAddr("10.0.0.1")}}
		return r
	}
	net.PortStatus(now, 1, topo.Port{No: 2, Up: false}, false)
	c := view(x)
	written := *x
	written.VIP = &vip.VIP{ID: 1, Version: 2, Address: x.Address}
	changed := *x
	served := *x
	served.VIP = &vip.VIP{ID: 1, Version: 3, Address: x.Address, Backends: []vip.Backend{{ID: 1, Address: netip.MustParseAddr("10.0.0.100")}}}
	served2 := served
	pair := func(version uint64, change func(x *vip.VIP)) *apps.View {
		y := &vip.VIP{ID: 1, Version: version, Address: x.Address, Backends: []vip.Backend{
			{ID: 1, Address: netip.MustParseAddr("10.0.0.100")}, {ID: 2, Address: netip.MustParseAddr("10.0.0.1")}}}
		change(y)
		return apps.NewView(g.Topo, nil, []*apps.VIP{{VIP: y}})
	}
	both := pair(4, func(*vip.VIP) {})
	withBackend := apps.NewView(a.Topo, nil, []*apps.VIP{&served})
	for _, tt := range []struct {
		name    string
		old, v  *apps.View
		deleted []*vip.VIP
		want    []string
	}{
		{"first view", nil, a, nil, nil},
		{"nothing", a, a, nil, nil},
		{"a host has come", a, b, nil, []string{"host 00:00:00:00:00:02"}},
		{"a host has gone", b, a, nil, []string{"host 00:00:00:00:00:02"}},
		{"a port has gone down", b, c, nil, []string{"base", "host 00:00:00:00:00:01", "host 00:00:00:00:00:02", "way to 0000000000000001"}},
		{"a switch has its first host", nobody, somebody, nil, []string{"host 00:00:00:00:00:01", "way to 0000000000000001"}},
		{"a switch has no host any more", somebody, nobody, nil, []string{"host 00:00:00:00:00:01", "way to 0000000000000001"}},
		{"a switch has its number", a, numbered(a), nil,
			[]string{"base", "host 00:00:00:00:00:01", "way to 0000000000000001"}},
		{"a VIP was written", a, apps.NewView(a.Topo, nil, []*apps.VIP{&written}), nil, []string{"address 10.0.0.100", "vip 1"}},
		{"a host has become a backend", a, withBackend, nil, []string{"address 10.0.0.100", "base", "host 00:00:00:00:00:01", "vip 1"}},
		{"a host is no backend any more", withBackend, a, nil, []string{"address 10.0.0.100", "base", "host 00:00:00:00:00:01", "vip 1"}},
		{"a host is a backend as before", withBackend, apps.NewView(a.Topo, nil, []*apps.VIP{&served2}), nil, []string{"vip 1"}},
		{"one of two backends has changed", both, pair(5, func(x *vip.VIP) { x.Backends[1].Weight = 2 }), nil,
			[]string{"address 10.0.0.100", "host 00:00:00:00:00:02", "vip 1"}},
		{"one of two backends has gone", both, pair(5, func(x *vip.VIP) { x.Backends = x.Backends[1:] }), nil,
			[]string{"address 10.0.0.100", "host 00:00:00:00:00:01", "vip 1"}},
		{"more than backends has changed", both, pair(5, func(x *vip.VIP) { x.Spec.Health = &vip.Health{Type: vip.HealthICMP} }), nil,
			[]string{"address 10.0.0.100", "host 00:00:00:00:00:01", "host 00:00:00:00:00:02", "vip 1"}},
		{"a VIP's backend has changed", a, apps.NewView(a.Topo, nil, []*apps.VIP{&changed}), nil, []string{"vip 1"}},
		{"a VIP has come", a, apps.NewView(a.Topo, nil, []*apps.VIP{x, y}), nil, []string{"address 10.0.0.101", "vip 2"}},
		{"a VIP has gone from a host's address", a, apps.NewView(a.Topo, nil, nil), []*vip.VIP{x.VIP},
			[]string{"address 10.0.0.100", "host 00:00:00:00:00:01", "vip 1"}},
		{"a gateway has come", routed(a), routed(b), nil, []string{"host 00:00:00:00:00:02"}},
		{"a backend's gateway has come", behind(a), behind(b), nil, []string{"host 00:00:00:00:00:02"}},
		{"a host has become the gateway of a backend", behind(g), behind(g, far), nil,
			[]string{"address 10.0.0.101", "host 00:00:00:00:00:02", "vip 2"}},
		{"a gateway has its address", routed(b), routed(g), nil, []string{"address 10.0.0.254", "host 00:00:00:00:00:02"}},
	} {
		var got []string
		for _, o := range dirtyOwners(tt.old, tt.v, tt.deleted) {
			got = append(got, fmt.Sprint(o))
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
