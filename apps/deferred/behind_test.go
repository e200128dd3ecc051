package deferred

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// behindRouter is two backends behind one gateway, at switch 1.
func behindRouter() *apps.View {
	gateway := netip.MustParseAddr("10.0.0.1")
	host := &topo.Host{MAC: flows.MAC{2, 0, 0, 0, 0, 1}, At: topo.PortID{DPID: 1, No: 2}, Live: true, Addresses: []netip.Addr{gateway}}
	a, b := backend(1, 1, vip.StateUp), backend(2, 1, vip.StateUp)
	a.Host, b.Host, a.Via, b.Via, b.Aliased = host, host, gateway, gateway, true
	v := viewOf(vip.StepSteady, [][]uint32{{1, 2}}, a, b)
	v.Topo = topo.New(time.Unix(0, 0), topo.Config{}, topo.Saved{Ports: []topo.SavedPort{{PortID: host.At, Kind: topo.Edge}},
		Hosts: []topo.SavedHost{{MAC: host.MAC, At: host.At, Live: true, Addresses: host.Addresses}}}).Snapshot()
	v.Routes = apps.NewRoutes([]apps.Route{{Network: netip.MustParsePrefix("10.9.0.0/16"), Via: gateway},
		{Network: netip.MustParsePrefix("10.10.0.0/16"), Via: gateway}, {Network: netip.MustParsePrefix("10.11.0.0/16"), Via: netip.MustParseAddr("10.0.0.2")}})
	return v
}

// Backends behind a gateway get packets by its MAC, and answer by it. All behind it are called from the VIP's address.
func TestBehindRouter(t *testing.T) {
	v := behindRouter()
	host := New(Config{}).Desired(v, apps.Owner{Kind: apps.OwnerHost, MAC: flows.MAC{2, 0, 0, 0, 0, 1}})
	text := vipState(v, 1).String() + host[1].String()
	for _, want := range []string{
		"priority=100,ct_mark=0x3e9 actions=set_field:02:00:00:00:00:01->eth_dst,set_field:02:ef:00:00:00:01->eth_src,set_field:0->in_port,set_field:0x2->reg0,",
		"table=75, priority=100,tcp,reg3=0x1,dl_dst=02:00:00:00:00:01 actions=ct(commit,table=74,zone=60001,nat(dst=10.9.0.1:8080)",
		"table=75, priority=100,tcp,reg3=0x1,dl_dst=06:ef:00:00:03:ea actions=ct(commit,table=74,zone=60001,nat(dst=10.9.0.2:8080)",
		"table=74, priority=110,ct_mark=0x3e9,ip,nw_src=10.9.0.0/16 actions=",
		"table=74, priority=110,ct_mark=0x3ea,ip,nw_src=10.10.0.0/16 actions=",
		"table=20, priority=90,tcp,dl_src=02:00:00:00:00:01,nw_src=10.9.0.1,tp_src=8080 actions=ct(table=23,zone=60001,nat)",
		"table=20, priority=90,tcp,dl_src=02:00:00:00:00:01,nw_src=10.9.0.2,tp_src=8080 actions=ct(table=23,zone=60001,nat)",
		"table=20, priority=89,icmp,dl_src=02:00:00:00:00:01,icmp_type=3 actions=ct(table=23,zone=60001,nat)",
		"table=24, priority=100,ct_state=+rpl-inv+trk,ip,dl_src=02:00:00:00:00:01,nw_dst=10.9.0.0/16 actions=ct(table=26,zone=60001,nat)",
		"table=26, priority=100,ip,dl_src=02:00:00:00:00:01,nw_dst=10.10.0.0/16 actions=set_field:02:00:00:00:00:01->eth_dst,",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%d times %s in\n%s", strings.Count(text, want), want, text)
		}
	}
	if strings.Contains(text, "10.11.") {
		t.Errorf("who is behind another gateway is called from the VIP's address:\n%s", text)
	}
	if text := host[2].String(); strings.Contains(text, "table=20") {
		t.Errorf("another switch takes answers:\n%s", text)
	}
	address := func() string {
		return New(Config{}).Desired(v, apps.Owner{Kind: apps.OwnerAddress, Addr: vipAddress})[1].String()
	}
	const unknown = "table=24, priority=110,ip,nw_dst=10.0.0.100 actions=resubmit(,30)"
	if text := address(); strings.Contains(text, unknown) {
		t.Errorf("a VIP that is behind nobody has\n%s", text)
	}
	v.Routes = apps.NewRoutes([]apps.Route{{Network: netip.MustParsePrefix("10.0.0.64/26"), Via: netip.MustParseAddr("10.0.0.1")}})
	if text := address(); !strings.Contains(text, unknown) {
		t.Errorf("an answer to a VIP that nobody knows is taken for one to a client behind the gateway:\n%s", text)
	}
}
