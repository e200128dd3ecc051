package base

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// routedView is a switch with three hosts: the gateway 10.0.0.1, the backend 10.0.0.2 of VIPs 10.0.0.100 and 10.9.9.9, and
// 10.1.0.3 of another network; routers are in both. The VIPs' other backend, 10.8.0.5, is behind the gateway.
func routedView(nicira bool) *apps.View {
	addr := netip.MustParseAddr
	var s topo.Saved
	for i, a := range []string{"10.0.0.1", "10.0.0.2", "10.1.0.3"} {
		no := uint32(i + 1)
		s.Ports = append(s.Ports, topo.SavedPort{PortID: at(1, no), Kind: topo.Edge})
		s.Hosts = append(s.Hosts, topo.SavedHost{MAC: mac(byte(no)), At: at(1, no), Live: true, Addresses: []netip.Addr{addr(a)}})
	}
	s.Hosts[2].Addresses = append(s.Hosts[2].Addresses, addr("fe80::3"))
	net := topo.New(time.Unix(1, 0), topo.Config{}, s).Snapshot()
	var vips []*apps.VIP
	for i, a := range []string{"10.0.0.100", "10.9.9.9"} {
		backend, _ := net.HostAt(addr("10.0.0.2"))
		x := &apps.VIP{VIP: &vip.VIP{ID: vip.ID(i + 1), Address: addr(a), Ports: vip.Ports{First: 80, Last: 80}}}
		x.Spec.Protocol = vip.TCP
		x.Backends = []apps.Backend{{Backend: &vip.Backend{ID: 1, Address: addr("10.0.0.2"), Port: 8080}, Host: backend}}
		gateway, _ := net.HostAt(addr("10.0.0.1"))
		x.Backends = append(x.Backends, apps.Backend{Backend: &vip.Backend{ID: 2, Address: addr("10.8.0.5"), Port: 8080}, Host: gateway, Via: addr("10.0.0.1")})
		vips = append(vips, x)
	}
	v := apps.NewView(net, map[flows.DPID]apps.SwitchInfo{1: {DPID: 1, Nicira: nicira}, 2: {DPID: 2, Nicira: nicira}}, vips)
	v.Routers = []apps.Router{{Address: netip.MustParsePrefix("10.0.0.254/24"), Gateway: addr("10.0.0.1")},
		{Address: netip.MustParsePrefix("10.1.0.254/24")}}
	v.Routes = apps.Routes{{Network: netip.MustParsePrefix("10.8.0.0/16"), Via: addr("10.0.0.1")}}
	return v
}

func TestRoute(t *testing.T) {
	address := func(a string) apps.Owner { return apps.Owner{Kind: apps.OwnerAddress, Addr: netip.MustParseAddr(a)} }
	host := func(n byte) apps.Owner { return apps.Owner{Kind: apps.OwnerHost, MAC: mac(n)} }
	for name, c := range map[string]struct {
		owner       apps.Owner
		here, there string
	}{
		"a VIP of a network": {owner: address("10.0.0.100"), here: `table=20, priority=70,ip,nw_src=10.0.0.0/24,nw_dst=10.0.0.100 actions=resubmit(,30)
table=20, priority=60,ip,nw_dst=10.0.0.100,nw_ttl=0 actions=drop
table=20, priority=60,ip,nw_dst=10.0.0.100,nw_ttl=1 actions=drop
table=20, priority=50,ip,nw_dst=10.0.0.100 actions=dec_ttl,resubmit(,30)
`},
		"a VIP of no network": {owner: address("10.9.9.9"), here: `table=20, priority=60,ip,nw_dst=10.9.9.9,nw_ttl=0 actions=drop
table=20, priority=60,ip,nw_dst=10.9.9.9,nw_ttl=1 actions=drop
table=20, priority=50,ip,nw_dst=10.9.9.9 actions=dec_ttl,resubmit(,30)
`},
		"a router with a gateway": {owner: address("10.0.0.254"),
			here: "table=25, priority=74,ip,nw_src=10.0.0.0/24 actions=set_field:00:00:00:00:00:01->eth_dst,resubmit(,60)\n"},
		"a client's gateway, as a backend's": {owner: host(1),
			here: `table=20, priority=40,tcp,dl_src=00:00:00:00:00:01,dl_dst=02:ef:00:00:00:01,nw_src=10.8.0.5,tp_src=8080 actions=dec_ttl,resubmit(,25)
table=25, priority=210,ip,nw_dst=10.8.0.0/16 actions=set_field:00:00:00:00:00:01->eth_dst,resubmit(,60)
table=25, priority=200,ip,nw_dst=10.0.0.1 actions=set_field:00:00:00:00:00:01->eth_dst,resubmit(,60)
`,
			there: `table=25, priority=210,ip,nw_dst=10.8.0.0/16 actions=set_field:00:00:00:00:00:01->eth_dst,resubmit(,60)
table=25, priority=200,ip,nw_dst=10.0.0.1 actions=set_field:00:00:00:00:00:01->eth_dst,resubmit(,60)
`},
		"a router without": {owner: address("10.1.0.254")},
		"a host":           {owner: host(3), here: "table=25, priority=200,ip,nw_dst=10.1.0.3 actions=set_field:00:00:00:00:00:03->eth_dst,resubmit(,60)\n"},
		"a backend, once for two VIPs": {owner: host(2),
			here: `table=20, priority=40,tcp,dl_src=00:00:00:00:00:02,dl_dst=02:ef:00:00:00:01,nw_src=10.0.0.2,tp_src=8080 actions=dec_ttl,resubmit(,25)
table=25, priority=200,ip,nw_dst=10.0.0.2 actions=set_field:00:00:00:00:00:02->eth_dst,resubmit(,60)
`,
			there: "table=25, priority=200,ip,nw_dst=10.0.0.2 actions=set_field:00:00:00:00:00:02->eth_dst,resubmit(,60)\n"},
		"the base": {owner: apps.Owner{Kind: apps.OwnerBase}, here: "table=25, priority=0 actions=drop\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.there == "" {
				c.there = c.here
			}
			states := New(Config{}).Desired(routedView(true), c.owner)
			for d, want := range map[flows.DPID]string{1: c.here, 2: c.there} {
				if diff := cmp.Diff(want, routing(states[d])); diff != "" {
					t.Errorf("switch %d (-want +got):\n%s", d, diff)
				}
			}
			for d, s := range New(Config{}).Desired(routedView(false), c.owner) {
				if got := routing(s); got != "" {
					t.Errorf("plain switch %d routes:\n%s", d, got)
				}
			}
			for _, r := range states[1].Rules {
				if reason, ok := DropReason(&r); ok != (len(r.Actions) == 0 || r.Priority == prioForbid) || ok && reason == "" {
					t.Errorf("%s: %q, %t", r.String(), reason, ok)
				}
			}
		})
	}
}

// Of the gateways of networks one within the other a backend has that of the smaller one: no packet has two that are equal.
func TestRouteNested(t *testing.T) {
	v := routedView(true)
	v.Routers = append(v.Routers, apps.Router{Address: netip.MustParsePrefix("10.1.1.254/8"), Gateway: netip.MustParseAddr("10.1.0.3")})
	for router, want := range map[string]string{
		"10.0.0.254": "table=25, priority=74,ip,nw_src=10.0.0.0/24 actions=set_field:00:00:00:00:00:01->eth_dst,resubmit(,60)\n",
		"10.1.1.254": "table=25, priority=58,ip,nw_src=10.0.0.0/8 actions=set_field:00:00:00:00:00:03->eth_dst,resubmit(,60)\n",
	} {
		o := apps.Owner{Kind: apps.OwnerAddress, Addr: netip.MustParseAddr(router)}
		if diff := cmp.Diff(want, routing(New(Config{}).Desired(v, o)[1])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", router, diff)
		}
	}
}

// routing is what a state has in tables 20 and 25, but for the way through table 20.
func routing(s flows.State) string {
	var out flows.State
	for _, r := range s.Rules {
		if r.Table == apps.TableRoute || r.Table == apps.TableReply && r.Priority > 0 {
			r.Cookie = 0
			out.Rules = append(out.Rules, r)
		}
	}
	out.Sort()
	return out.String()
}
