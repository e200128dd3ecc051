package group

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// sorted is rules, groups and meters as text, in one order.
func sorted(t *testing.T, text string) string {
	t.Helper()
	s, err := flows.ParseState(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

func vipState(v *apps.View) flows.State {
	return New(Config{}).Desired(v, apps.Owner{Kind: apps.OwnerVIP, VIP: 1})[1]
}

const (
	meterText = "meter=1001 pktps burst bands=type=drop rate=100 burst_size=100\n"
	cookie    = "cookie=0xef01040000000001, "
	enterText = cookie + "table=30, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=ct(table=41,zone=60001,nat)\n"
	newMatch  = cookie + "table=41, priority=100,ct_state=-inv+trk,ct_mark=0,tcp,nw_dst=10.0.0.100,tp_dst=80 actions="
)

// to are the rules of backend 1's endpoint.
const to1 = cookie + "table=41, priority=120,ct_mark=0x3e9 actions=set_field:02:09:00:00:00:01->eth_dst,resubmit(,60)\n" +
	cookie + "table=41, priority=130,ct_mark=0x3e9,ip,nw_src=10.9.0.1 actions=set_field:02:09:00:00:00:01->eth_dst," +
	"set_field:02:ef:00:00:00:01->eth_src,set_field:0->in_port,ct(commit,table=60,zone=60002,nat(src=10.0.0.100))\n"

const commit1 = cookie + "table=42, send_flow_rem priority=100,ip,reg0=0x3e9 " +
	"actions=ct(commit,table=41,zone=60001,nat(dst=10.9.0.1:8080),exec(set_field:0x3e9->ct_mark))\n"

// begins1 is what is done with a client that begins anew on a port whose connection is at backend 1, which drains.
const begins1 = cookie + "table=41, priority=140,ct_state=+inv+trk,ct_mark=0x3e9,tcp,tcp_flags=+syn-ack actions=meter:1001,CONTROLLER:65535\n"

func TestDesired(t *testing.T) {
	const group = "group_id=16777217,type=select,selection_method=hash,fields(ip_src,ip_dst,nw_proto,tcp_src,tcp_dst,udp_src,udp_dst)"
	const bucket1 = ",bucket=bucket_id:256,actions=set_field:0x3e9->reg0,resubmit(,42)"
	const reject = "meter:1001,resubmit(,59)\n"
	const refused = cookie + "table=59, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=meter:5,CONTROLLER:65535\n"
	for _, tt := range []struct {
		name string
		view *apps.View
		want string
	}{
		{"up", viewOf(true, backend(1, 1, vip.StateUp)), meterText + group + bucket1 + "\n" + enterText + newMatch + "group:16777217\n" + to1 + commit1},
		{"a weight is as many buckets", viewOf(true, backend(1, 2, vip.StateUp)), meterText + group + bucket1 +
			strings.Replace(bucket1, "256", "257", 1) + "\n" + enterText + newMatch + "group:16777217\n" + to1 + commit1},
		{"without bucket ids", viewOf(false, backend(1, 1, vip.StateUp)), meterText + "group_id=16777217,type=select" + bucket1 + "\n" +
			enterText + newMatch + "group:16777217\n" + to1 + commit1},
		{"draining: old connections alone", viewOf(true, backend(1, 1, vip.StateDraining)), meterText + enterText + newMatch + reject + to1 + commit1 + begins1 + refused},
		{"disabled: none", viewOf(true, backend(1, 1, vip.StateDisabled)), meterText + strings.Replace(enterText, "ct(table=41,zone=60001,nat)\n", reject, 1) +
			newMatch + reject + commit1 + refused},
		{"down", viewOf(true, backend(1, 1, vip.StateDown)), meterText + strings.Replace(enterText, "ct(table=41,zone=60001,nat)\n", reject, 1) +
			newMatch + reject + commit1 + refused},
		{"no backends", viewOf(true), meterText + strings.Replace(enterText, "ct(table=41,zone=60001,nat)\n", reject, 1) + newMatch + reject + refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(sorted(t, tt.want), vipState(tt.view).String()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// A switch without conntrack, or without a zone of its own, gets nothing.
func TestDesiredWhereUnable(t *testing.T) {
	v := viewOf(true, backend(1, 1, vip.StateUp))
	for _, i := range []apps.SwitchInfo{{DPID: 1, OF15: true, Zone: 1}, {DPID: 1, Nicira: true, OF15: true}} {
		v.Switches[1] = i
		if s := vipState(v); len(s.Rules)+len(s.Groups)+len(s.Meters) > 0 {
			t.Errorf("%+v: %s", i, s)
		}
		if worse, reason := New(Config{}).Limits(v, v.VIPs[0]); !worse || !strings.Contains(reason, "no conntrack") {
			t.Errorf("%+v: %v %q", i, worse, reason)
		}
	}
}

// After a thousand changes, whatever their order, a VIP's buckets are in the order of their ids and those of a VIP made at once.
func TestBucketsOfManyChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	spec := vip.Spec{Name: "web", Address: "10.0.0.100", Protocol: vip.TCP, Port: "80", Mode: vip.ModeGroup}
	x, err := vip.Create(1, spec, vip.OriginAPI)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]uint32{}
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	for range 1000 {
		s := x.Spec.Clone()
		name := names[random.IntN(len(names))]
		i := slices.IndexFunc(s.Backends, func(b vip.BackendSpec) bool { return b.Name == name })
		switch {
		case i < 0:
			b := vip.BackendSpec{Name: name, Address: "10.9.0." + string('1'+rune(random.IntN(9)))}
			b.Port = 1000 + uint16(name[0])
			s.Backends = slices.Insert(s.Backends, random.IntN(len(s.Backends)+1), b)
		case random.IntN(2) == 0:
			s.Backends = slices.Delete(s.Backends, i, i+1)
		default:
			s.Backends[i].Weight = new(random.IntN(30))
		}
		if x, err = vip.Update(x, s); err != nil {
			t.Fatal(err)
		}
		view, afresh := make([]apps.Backend, 0), make([]apps.Backend, 0)
		for _, b := range x.Backends {
			if key := b.Name + b.Address.String(); ids[key] != 0 && ids[key] != b.ID {
				t.Fatalf("%s has had id %d and has %d", key, ids[key], b.ID)
			} else {
				ids[key] = b.ID
			}
			view = append(view, backend(b.ID, b.Weight, vip.StateUp))
		}
		afresh = append(afresh, view...)
		random.Shuffle(len(afresh), func(i, j int) { afresh[i], afresh[j] = afresh[j], afresh[i] })
		a, b := vipState(viewOf(true, view...)), vipState(viewOf(true, afresh...))
		if len(a.Groups) != len(b.Groups) || len(a.Groups) > 0 && !a.Groups[0].Equal(b.Groups[0]) {
			t.Fatalf("%s\nand\n%s", a, b)
		}
		for _, g := range a.Groups {
			if !slices.IsSortedFunc(g.Buckets, func(a, b flows.Bucket) int { return int(a.ID) - int(b.ID) }) {
				t.Fatalf("not in order: %s", g)
			}
		}
	}
}

// All behind a backend's gateway are called from the VIP's address, and answers come back through both zones. An answer that nobody knows
// is none to them, if the VIP's address is of a network behind the gateway.
func TestBehindRouter(t *testing.T) {
	gateway := netip.MustParseAddr("10.0.0.1")
	b := backend(1, 1, vip.StateUp)
	b.Via, b.Host.Addresses = gateway, []netip.Addr{gateway}
	v := viewOf(true, b)
	v.Topo = topo.New(time.Unix(0, 0), topo.Config{}, topo.Saved{Ports: []topo.SavedPort{{PortID: b.Host.At, Kind: topo.Edge}},
		Hosts: []topo.SavedHost{{MAC: b.Host.MAC, At: b.Host.At, Live: true, Addresses: b.Host.Addresses}}}).Snapshot()
	v.Routes = apps.NewRoutes([]apps.Route{{Network: netip.MustParsePrefix("10.0.0.64/26"), Via: gateway}, // where the VIP is
		{Network: netip.MustParsePrefix("10.9.0.0/16"), Via: gateway}})
	text := vipState(v).String()
	for _, o := range []apps.Owner{{Kind: apps.OwnerHost, MAC: b.Host.MAC}, {Kind: apps.OwnerAddress, Addr: vipAddress}} {
		text += New(Config{}).Desired(v, o)[1].String()
	}
	for _, want := range []string{
		"table=41, priority=120,ct_mark=0x3e9 actions=set_field:02:09:00:00:00:01->eth_dst,resubmit(,60)",
		"table=41, priority=130,ct_mark=0x3e9,ip,nw_src=10.9.0.0/16 actions=",
		"table=70, priority=90,tcp,nw_src=10.9.0.1,tp_src=8080 actions=ct(table=71,zone=60001,nat)",
		"table=70, priority=89,icmp,dl_src=02:09:00:00:00:01,icmp_type=3 actions=ct(table=71,zone=60001,nat)",
		"table=21, priority=110,ip,nw_dst=10.0.0.100 actions=resubmit(,30)",
		"table=21, priority=100,ip,nw_src=10.9.0.1,nw_dst=10.9.0.0/16 actions=ct(table=22,zone=60001,nat)",
		"table=22, priority=100,ip,nw_dst=10.9.0.0/16 actions=set_field:02:ef:00:00:00:01->eth_src,set_field:02:09:00:00:00:01->eth_dst,",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%d times %s in\n%s", strings.Count(text, want), want, text)
		}
	}
}
