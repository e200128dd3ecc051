package othello

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// viewOf is a view of two switches, of which the second is an edge of a VIP's two backends, weight 3 and 1; the third cannot have
// the mode.
func viewOf() *apps.View {
	spec := vip.Spec{Name: "web", Address: "10.0.0.100", Protocol: vip.TCP, Port: "80", Mode: vip.ModeOthello}
	x := &apps.VIP{VIP: &vip.VIP{ID: 7, Spec: spec, Address: netip.MustParseAddr("10.0.0.100"), Ports: vip.Ports{First: 80, Last: 80}}}
	for id := range uint32(2) {
		x.Backends = append(x.Backends, apps.Backend{
			Backend:  &vip.Backend{ID: id + 1, Name: "b", Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(id + 1)}), Port: 8080, Weight: 1},
			Host:     &topo.Host{MAC: flows.MAC{2, 0, 0, 0, 0, byte(id + 1)}, At: topo.PortID{DPID: 2, No: id + 1}, Live: true},
			Endpoint: id + 100, State: vip.StateUp})
	}
	owners := make(vip.Owners, MinCodes)
	for i := range owners {
		owners[i] = 1
		if i >= 192 {
			owners[i] = 2
		}
	}
	older := make(vip.Owners, MinCodes)
	for i := range older {
		older[i] = 1
	}
	x.Generations = &vip.Generations{Step: vip.StepSteady, Last: 2, Kept: []vip.Generation{
		{ID: 258, Members: []vip.Member{{Backend: 1, Replicas: 3}, {Backend: 2, Replicas: 1}}, Owners: owners},
		{ID: 1, Members: []vip.Member{{Backend: 1, Replicas: 3}}, Owners: older}}}
	t := topo.New(time.Unix(0, 0), topo.Config{Key: make([]byte, 32)}, topo.Saved{})
	able := apps.SwitchInfo{Nicira: true, OF15: true, Zone: 1, Deferred: 2, Mirror: 3}
	return apps.NewView(t.Snapshot(), map[flows.DPID]apps.SwitchInfo{1: able, 2: able, 3: {Nicira: true}}, []*apps.VIP{x})
}

func text(s flows.State) string {
	var b strings.Builder
	for _, r := range s.Rules {
		r.Cookie = 0
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// A gateway knows the present table, an edge with backends the older ones too.
func TestTablesAsRules(t *testing.T) {
	got := New().Desired(viewOf(), apps.Owner{Kind: apps.OwnerVIP, VIP: 7})
	chosen := `table=58, priority=100,reg13=0x1,metadata=0x7/0xffff actions=set_field:02:00:00:00:00:01->eth_dst,move:OXM_OF_METADATA[16..63]->NXM_OF_ETH_SRC[],resubmit(,77)
table=58, priority=100,reg13=0x2,metadata=0x7/0xffff actions=set_field:02:00:00:00:00:02->eth_dst,move:OXM_OF_METADATA[16..63]->NXM_OF_ETH_SRC[],resubmit(,77)
`
	present := `table=45, priority=100,reg0=0x2000000/0xff000000,metadata=0x7/0xffff actions=set_field:0x1->reg13,resubmit(,46)
table=45, priority=102,reg0=0x2000003/0xff000003,metadata=0x7/0xffff actions=set_field:0x2->reg13,resubmit(,46)
`
	older := `table=45, priority=100,reg0=0x1000000/0xff000000,metadata=0x7/0xffff actions=set_field:0x1->reg13,resubmit(,46)
`
	want := map[flows.DPID]string{1: present + chosen, 2: present + older + chosen}
	have := map[flows.DPID]string{}
	for d, s := range got {
		have[d] = text(s)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// While nobody takes new connections, old ones go as the last generation that had somebody sends them, on every switch.
func TestTheLastTableStays(t *testing.T) {
	v := viewOf()
	g := v.VIPs[0].Generations
	g.Kept = append([]vip.Generation{{ID: 259, Owners: make(vip.Owners, MinCodes)}}, g.Kept...)
	got := New().Desired(v, apps.Owner{Kind: apps.OwnerVIP, VIP: 7})
	if s := text(got[1]); !strings.Contains(s, "reg0=0x2000003/0xff000003") || strings.Contains(s, "reg0=0x1000000") {
		t.Errorf("a gateway has\n%s", s)
	}
}

// Without VIPs of the mode that have backends the base wants nothing of it.
func TestBaseOnlyWhereNeeded(t *testing.T) {
	const cells = 2*cellsInRow + 3*15*16
	v := viewOf()
	if s := New().Desired(v, apps.Owner{Kind: apps.OwnerBase}); len(s) != 2 || len(s[1].Rules) != 8+cells {
		t.Errorf("%d switches, %d rules, want 2 and %d", len(s), len(s[1].Rules), 8+cells)
	}
	v.VIPs[0].Backends = nil
	if s := New().Desired(v, apps.Owner{Kind: apps.OwnerBase}); len(s) != 0 {
		t.Errorf("rules without backends: %v", s)
	}
}

func TestExplain(t *testing.T) {
	v := viewOf()
	to := netip.MustParseAddrPort("10.0.0.100:80")
	for port := range uint16(200) {
		tuple := apps.Tuple{Proto: apps.ProtoTCP, Src: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.9"), 40000+port), Dst: to}
		want := uint32(1)
		if Tuple(tuple).Code()&3 == 3 {
			want = 2
		}
		if b, why := New().Explain(v, v.VIPs[0], 1, tuple); b == nil || b.ID != want {
			t.Fatalf("port %d: %v %s, want %d", 40000+port, b, why, want)
		}
		if b, why := New().Explain(v, v.VIPs[0], 3, tuple); b != nil || why == "" {
			t.Fatalf("a switch that cannot: %v %s", b, why)
		}
	}
	tuple := apps.Tuple{Proto: apps.ProtoTCP, Src: netip.MustParseAddrPort("10.0.0.9:40000"), Dst: to}
	v.VIPs[0].Backends[0].Name, v.VIPs[0].Backends[1].Name = "b1", "b2"
	code := Tuple(tuple).Code()
	owner, other := "b1", uint32(2)
	if code&3 == 3 {
		owner, other = "b2", 1
	}
	want := fmt.Sprintf("Dcode %#05x of 0x1000, generation 258: %s", code, owner)
	if got := New().Detail(v, v.VIPs[0], tuple); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	v.VIPs[0].Generations.Kept[0].Pins = []vip.Pin{{Client: tuple.Src, Port: 80, Backend: other}}
	if got := New().Detail(v, v.VIPs[0], tuple); got != want+fmt.Sprintf(", but pinned to b%d", other) {
		t.Errorf("%q", got)
	}
	if b, _ := New().Explain(v, v.VIPs[0], 1, tuple); b == nil || b.ID != other {
		t.Errorf("a pinned connection goes to %v", b)
	}
	v.VIPs[0].Generations = nil
	if b, why := New().Explain(v, v.VIPs[0], 1, apps.Tuple{Proto: apps.ProtoTCP, Src: to, Dst: to}); b != nil || why == "" {
		t.Errorf("without a generation: %v %s", b, why)
	}
}
