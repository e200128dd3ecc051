package health

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// twoFamilies is host 1 with an address of each family at port 1 of switch 1, and one that is no backend at port 2.
func twoFamilies() *topo.Snapshot {
	saved := topo.Saved{Ports: []topo.SavedPort{{PortID: topo.PortID{DPID: 1, No: 1}, Kind: topo.Edge}, {PortID: topo.PortID{DPID: 1, No: 2}, Kind: topo.Edge}},
		Hosts: []topo.SavedHost{
			{MAC: mac(1), At: topo.PortID{DPID: 1, No: 1}, Live: true, Addresses: []netip.Addr{ten(1), netip.MustParseAddr("fd00::1")}},
			{MAC: mac(2), At: topo.PortID{DPID: 1, No: 2}, Live: true, Addresses: []netip.Addr{ten(2)}}}}
	t := topo.New(epoch, topo.Config{}, saved)
	t.SwitchUp(epoch, 1, []topo.Port{{No: 1, Up: true}, {No: 2, Up: true}})
	return t.Snapshot()
}

func service(t *testing.T, id vip.ID, address, backend string, port uint16, kind string) *vip.VIP {
	t.Helper()
	x, err := vip.Create(id, vip.Spec{Name: "v", Address: address, Protocol: vip.TCP, Port: "80", Health: &vip.Health{Type: kind},
		Backends: []vip.BackendSpec{{Name: "b", Address: backend, Port: port}}}, vip.OriginAPI)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

const answerRules = `table=10, priority=130,arp,in_port=1,dl_dst=02:ef:00:00:00:02,arp_spa=10.0.0.1,arp_op=2 actions=METER,CONTROLLER:65535
table=10, priority=130,icmp6,in_port=1,dl_dst=02:ef:00:00:00:02,icmp_type=136,nd_target=fd00::1 actions=METER,CONTROLLER:65535
table=20, priority=105,icmp,in_port=1,nw_src=10.0.0.1,nw_dst=10.0.0.100,icmp_type=0 actions=METER,CONTROLLER:65535
table=20, priority=105,tcp,in_port=1,nw_src=10.0.0.1,nw_dst=10.0.0.100,tp_src=8080,tp_dst=0x140/0xffc0 actions=METER,CONTROLLER:65535
table=20, priority=105,tcp6,in_port=1,ipv6_src=fd00::1,ipv6_dst=fd00::100,tp_src=80,tp_dst=0x140/0xffc0 actions=METER,CONTROLLER:65535
table=20, priority=105,icmp6,in_port=1,ipv6_src=fd00::1,ipv6_dst=fd00::100,icmp_type=129 actions=METER,CONTROLLER:65535
`

// A host's answers alone come to the controller, from its own port, each of one rule whoever asks for it.
func TestDesired(t *testing.T) {
	all := []*vip.VIP{
		service(t, 1, "10.0.0.100", "10.0.0.1", 8080, vip.HealthTCP), service(t, 2, "10.0.0.100", "10.0.0.1", 8080, vip.HealthTCP),
		service(t, 3, "10.0.0.100", "10.0.0.1", 8080, vip.HealthICMP), service(t, 4, "10.0.0.100", "10.0.0.1", 8081, vip.HealthICMP),
		service(t, 5, "10.0.0.101", "10.0.0.1", 8080, vip.HealthARP), service(t, 6, "10.0.0.102", "10.0.0.1", 8080, vip.HealthARP),
		service(t, 7, "fd00::100", "fd00::1", 0, vip.HealthTCP), service(t, 8, "fd00::100", "fd00::1", 8080, vip.HealthICMP),
		service(t, 9, "fd00::100", "fd00::1", 8080, vip.HealthARP), service(t, 10, "10.0.0.103", "10.0.0.2", 8080, vip.HealthNone),
	}
	plain := map[flows.DPID]apps.SwitchInfo{1: {DPID: 1}}
	for name, c := range map[string]struct {
		switches map[flows.DPID]apps.SwitchInfo
		owner    apps.Owner
		want     string
	}{
		"Open vSwitch":   {connected(1, 2), apps.Owner{Kind: apps.OwnerHost, MAC: mac(1)}, "meter:11"},
		"plain OpenFlow": {plain, apps.Owner{Kind: apps.OwnerHost, MAC: mac(1)}, "meter:8"},
		"switch away":    {connected(2), apps.Owner{Kind: apps.OwnerHost, MAC: mac(1)}, ""},
		"not probed":     {connected(1), apps.Owner{Kind: apps.OwnerHost, MAC: mac(2)}, ""},
		"no host":        {connected(1), apps.Owner{Kind: apps.OwnerHost, MAC: mac(9)}, ""},
		"a VIP":          {connected(1), apps.Owner{Kind: apps.OwnerVIP, VIP: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			states := New(Config{}).Desired(view(twoFamilies(), c.switches, all...), c.owner)
			got := states[1]
			for i := range got.Rules {
				if got.Rules[i].Cookie != apps.Cookie(apps.KindDesired, apps.ClassHealth, 0) {
					t.Errorf("cookie %#x", got.Rules[i].Cookie)
				}
				got.Rules[i].Cookie = 0
			}
			got.Sort()
			want := ""
			if c.want != "" {
				want = strings.ReplaceAll(answerRules, "METER", c.want)
			}
			if diff := cmp.Diff(want, got.String()); diff != "" || len(states) > 1 {
				t.Errorf("of %d switches (-want +got):\n%s", len(states), diff)
			}
		})
	}
}

// A router's address in the backend's network, or its gateway's, is asked from before the VIP's.
func TestSource(t *testing.T) {
	gateways := map[string]netip.Addr{"10.8.0.1": netip.MustParseAddr("10.0.0.1"), "10.9.8.1": netip.MustParseAddr("10.1.0.1")}
	v := view(twoFamilies(), connected(1))
	v.Routers = []apps.Router{{Address: netip.MustParsePrefix("10.9.0.254/16")}, {Address: netip.MustParsePrefix("10.0.0.254/24")}}
	for backend, want := range map[string]string{"10.0.0.1": "10.0.0.254", "10.1.0.1": "10.3.0.1", "10.9.1.1": "10.9.0.254",
		"10.8.0.1": "10.0.0.254", "10.9.8.1": "10.3.0.1"} {
		b := &apps.Backend{Backend: &vip.Backend{Address: netip.MustParseAddr(backend)}, Via: gateways[backend]}
		if got := source(v, netip.MustParseAddr("10.3.0.1"), b); got.String() != want {
			t.Errorf("%s is asked from %s, want %s", backend, got, want)
		}
	}
}

// A backend behind a gateway is probed there, and answers come by there; not by ARP, which a VIP may want that is older than the route.
func TestBehindGateway(t *testing.T) {
	snap := twoFamilies()
	routes := apps.NewRoutes([]apps.Route{{Network: netip.MustParsePrefix("10.8.0.0/16"), Via: ten(1)}})
	var all []*apps.VIP
	for i, kind := range []string{vip.HealthTCP, vip.HealthICMP, vip.HealthARP} {
		x := service(t, vip.ID(i+1), "10.0.0.100", "10.8.0.5", 8080, kind)
		all = append(all, &apps.VIP{VIP: x, Backends: apps.ResolveBackends(x, snap, routes, epoch)})
	}
	v := apps.NewView(snap, connected(1), all)
	v.Routes = routes
	for w, at := range targets(v) {
		want := placed{place{topo.PortID{DPID: 1, No: 1}, mac(1), netip.MustParseAddr("10.0.0.100")}, here}
		if w.Type == vip.HealthARP {
			want = placed{}
		}
		if at != want {
			t.Errorf("%s of %s at %+v, want %+v", w.Type, w.Address, at, want)
		}
	}
	s := New(Config{}).Desired(v, apps.Owner{Kind: apps.OwnerHost, MAC: mac(1)})[1]
	for i := range s.Rules {
		s.Rules[i].Cookie = 0
	}
	s.Sort()
	const want = `table=20, priority=105,icmp,in_port=1,nw_src=10.8.0.5,nw_dst=10.0.0.100,icmp_type=0 actions=meter:11,CONTROLLER:65535
table=20, priority=105,tcp,in_port=1,nw_src=10.8.0.5,nw_dst=10.0.0.100,tp_src=8080,tp_dst=0x140/0xffc0 actions=meter:11,CONTROLLER:65535
`
	if diff := cmp.Diff(want, s.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
