package deferred

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

var vipAddress = netip.MustParseAddr("10.0.0.100")

// backend is a backend with an id at port 2 of a switch, as it stands in a view.
func backend(id uint32, at flows.DPID, state vip.State) apps.Backend {
	addr := netip.AddrFrom4([4]byte{10, 9, byte(id >> 8), byte(id)})
	mac := flows.MAC{0x02, 9, 0, 0, byte(id >> 8), byte(id)}
	return apps.Backend{Backend: &vip.Backend{ID: id, Name: fmt.Sprint("b", id), Address: addr, Port: 8080, Weight: 1},
		Host:  &topo.Host{MAC: mac, At: topo.PortID{DPID: at, No: 2}, Live: true, Addresses: []netip.Addr{addr}},
		State: state, Endpoint: 1000 + id}
}

// viewOf is a view of two switches with a VIP of these backends and generations; a generation is its backends.
func viewOf(step vip.Step, generations [][]uint32, backends ...apps.Backend) *apps.View {
	g := &vip.Generations{Step: step, Last: uint32(len(generations))}
	for i, ids := range generations {
		k := vip.Generation{ID: g.Last - uint32(i)}
		for _, id := range ids {
			k.Members = append(k.Members, vip.Member{Backend: id, Replicas: 1})
		}
		g.Kept = append(g.Kept, k)
	}
	x := &apps.VIP{VIP: &vip.VIP{ID: 1, Spec: vip.Spec{Name: "web", Protocol: vip.TCP, Mode: vip.ModeDeferred, HandOver: 32, HandOverRate: 5000}, Address: vipAddress,
		Ports: vip.Ports{First: 80, Last: 80}}, Backends: backends, Generations: g}
	t := topo.New(time.Unix(0, 0), topo.Config{Key: make([]byte, 32)}, topo.Saved{})
	v := apps.NewView(t.Snapshot(), map[flows.DPID]apps.SwitchInfo{
		1: {DPID: 1, Nicira: true, OF15: true, Deferred: 60001, Mirror: 60002},
		2: {DPID: 2, Nicira: true, OF15: true, Deferred: 60003, Mirror: 60004},
	}, []*apps.VIP{x})
	v.Edges = map[flows.DPID]uint16{1: 0, 2: 1}
	return v
}

// sorted is rules, groups and meters as text, in one order.
func sorted(t *testing.T, text string) string {
	t.Helper()
	s, err := flows.ParseState(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

func vipState(v *apps.View, at flows.DPID) flows.State {
	return New(Config{}).Desired(v, apps.Owner{Kind: apps.OwnerVIP, VIP: 1})[at]
}
