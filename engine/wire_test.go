package engine

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/deferred"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/topo"
)

// What a change of one backend costs each switch in mode deferred: the new generation's group and some rules, whatever is declared besides.
func TestDeferredChangeOnTheWire(t *testing.T) {
	app := deferred.New(deferred.Config{})
	snapshot := topo.New(time.Unix(0, 0), topo.Config{Key: make([]byte, 32)}, topo.Saved{}).Snapshot()
	for _, n := range []int{10, 100, 1000} {
		view := func(g *vip.Generations, others int) *apps.View {
			x := &apps.VIP{VIP: &vip.VIP{ID: 1, Spec: vip.Spec{Protocol: vip.TCP, Mode: vip.ModeDeferred, HandOver: 32}, Address: netip.MustParseAddr("10.0.0.100"),
				Ports: vip.Ports{First: 80, Last: 80}}, Generations: g}
			for i := range n {
				id := uint32(i + 1)
				x.Backends = append(x.Backends, apps.Backend{State: vip.StateUp, Endpoint: id,
					Backend: &vip.Backend{ID: id, Address: netip.MustParseAddr(fmt.Sprintf("10.9.%d.%d", i/250, i%250+1)), Port: 8080, Weight: 1},
					Host:    &topo.Host{MAC: flows.MAC{2, 0, 0, 0, byte(i >> 8), byte(i)}, At: topo.PortID{DPID: flows.DPID(1 + i%2), No: id}}})
			}
			all := []*apps.VIP{x}
			for i := range others { // on the same backends
				y := *x
				y.VIP = &vip.VIP{ID: vip.ID(2 + i), Spec: x.Spec, Address: netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), Ports: x.Ports}
				all = append(all, &y)
			}
			return apps.NewView(snapshot, map[flows.DPID]apps.SwitchInfo{
				1: {DPID: 1, Nicira: true, OF15: true, Deferred: 1, Mirror: 2},  // with every second backend
				9: {DPID: 9, Nicira: true, OF15: true, Deferred: 9, Mirror: 10}, // with none
			}, all)
		}
		var members []vip.Member
		for i := range n {
			members = append(members, vip.Member{Backend: uint32(i + 1), Replicas: 1})
		}
		g := (&vip.Generations{Step: vip.StepSteady, Last: 0}).Begin(members[1:])
		for !g.Steady() {
			g = g.Next(32)
		}
		steps := []*vip.Generations{g, g.Begin(members)}
		for !steps[len(steps)-1].Steady() {
			steps = append(steps, steps[len(steps)-1].Next(32))
		}
		for at, what := range map[flows.DPID]string{1: "an edge with backends", 9: "a gateway without"} {
			sum := func(others int) (total int) {
				for i := 1; i < len(steps); i++ {
					o := apps.Owner{Kind: apps.OwnerVIP, VIP: 1}
					change, err := flows.Diff(app.Desired(view(steps[i-1], others), o)[at], app.Desired(view(steps[i], others), o)[at])
					if err != nil {
						t.Fatal(err)
					}
					total += size(t, &change)
				}
				return total
			}
			total := sum(0)
			if more := sum(20); more != total {
				t.Errorf("%d backends, %s: %d bytes, and %d beside 20 other VIPs", n, what, total, more)
			}
			t.Logf("%d backends, %s: %d bytes", n, what, total)
			if most := 60*n + 4000; total > most {
				t.Errorf("%d backends, %s: %d bytes, want at most %d", n, what, total, most)
			}
		}
	}
}

// size is how many bytes a change's messages have.
func size(t *testing.T, c *flows.Change) (n int) {
	t.Helper()
	add := func(b []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(b)
	}
	for i := range c.AddGroups {
		add(openflow.AppendGroupMod(nil, openflow.V15, 0, openflow.GroupAdd, &c.AddGroups[i]))
	}
	for _, id := range c.DeleteGroups {
		add(openflow.AppendGroupMod(nil, openflow.V15, 0, openflow.GroupDelete, &flows.Group{ID: id}))
	}
	for i := range c.Add {
		add(openflow.AppendFlowMod(nil, openflow.V15, 0, openflow.FlowAdd, &c.Add[i]))
	}
	for i := range c.Modify {
		add(openflow.AppendFlowMod(nil, openflow.V15, 0, openflow.FlowModifyStrict, &c.Modify[i]))
	}
	for i := range c.Delete {
		add(openflow.AppendFlowMod(nil, openflow.V15, 0, openflow.FlowDeleteStrict, &c.Delete[i]))
	}
	return n
}
