package deferred

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

const (
	cookie    = "cookie=0xef01050000000001, "
	meterText = "meter=1001 pktps burst bands=type=drop rate=100 burst_size=100\n"
	fields    = ",type=select,selection_method=hash,fields(ip_src,ip_dst,nw_proto,tcp_src,tcp_dst,udp_src,udp_dst)"
	bucket1   = ",bucket=bucket_id:256,actions=set_field:02:09:00:00:00:01->eth_dst,resubmit(,77)"
	bucket2   = ",bucket=bucket_id:512,actions=set_field:02:09:00:00:00:02->eth_dst,resubmit(,77)"
	group1    = "group_id=33554689" + fields + bucket1 + "\n"
	group2    = "group_id=33554690" + fields + bucket1 + bucket2 + "\n"
	toGroup1  = cookie + "table=30, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=group:33554689\n"
	toGroup2  = cookie + "table=30, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=group:33554690\n"
)

const trust = "actions=move:NXM_NX_REG6[]->NXM_OF_IP_DST[],move:NXM_NX_REG7[0..15]->NXM_OF_TCP_DST[],resubmit(,74)\n"

// What an edge with backend 1 has of a VIP whose second generation is in effect.
const edge = meterText + "meter=66537 pktps burst bands=type=drop rate=5000 burst_size=5000\n" + group1 + group2 + toGroup2 +
	cookie + "table=70, priority=110,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=set_field:0x1->reg3,set_field:0x2->reg12,ct(table=72,zone=60001,nat)\n" +
	cookie + "table=73, priority=120,ct_label=0x1/0xffffffff,tcp,reg3=0x1,dl_src=0e:ef:01:00:00:01/ff:ff:ff:00:00:ff actions=resubmit(,74)\n" +
	cookie + "table=73, priority=120,ct_label=0x2/0xffffffff,tcp,reg3=0x1,dl_src=0e:ef:01:00:00:02/ff:ff:ff:00:00:ff actions=resubmit(,74)\n" +
	cookie + "table=73, priority=110,tcp,reg3=0x1,dl_src=0e:ef:01:00:00:00/ff:ff:ff:00:00:00 actions=move:NXM_OF_IP_DST[]->NXM_NX_REG6[]," +
	"move:NXM_OF_TCP_DST[]->NXM_NX_REG7[0..15],set_field:10.0.0.100->ip_dst,set_field:80->tcp_dst,move:NXM_OF_ETH_SRC[0..7]->NXM_NX_REG2[0..7]," +
	"move:NXM_OF_ETH_SRC[8..23]->NXM_NX_REG4[0..15],set_field:0x3->reg5,set_field:00:00:00:00:00:00->eth_dst,resubmit(,76)\n" +
	cookie + "table=73, priority=100,tcp,reg3=0x1 actions=move:NXM_OF_IP_DST[]->NXM_NX_REG6[],move:NXM_OF_TCP_DST[]->NXM_NX_REG7[0..15]," +
	"set_field:10.0.0.100->ip_dst,set_field:80->tcp_dst,set_field:0x100->reg2,set_field:0x3->reg5,set_field:00:00:00:00:00:00->eth_dst,resubmit(,76)\n" +
	cookie + "table=74, priority=110,ct_mark=0x3e9,ip,nw_src=10.9.0.1 actions=set_field:02:09:00:00:00:01->eth_dst,set_field:0x2->reg0," +
	"ct(commit,table=79,zone=60002,nat(src=10.0.0.100))\n" +
	cookie + "table=74, priority=100,ct_mark=0x3e9 actions=set_field:02:09:00:00:00:01->eth_dst,set_field:02:ef:00:00:00:01->eth_src," +
	"set_field:0->in_port,set_field:0x2->reg0,resubmit(,80)\n" +
	cookie + "table=75, priority=100,tcp,reg3=0x1,dl_dst=02:09:00:00:00:01 actions=ct(commit,table=74,zone=60001,nat(dst=10.9.0.1:8080)," +
	"exec(set_field:0x3e9->ct_mark,move:NXM_NX_REG12[]->NXM_NX_CT_LABEL[0..31]))\n" +
	cookie + "table=75, priority=50,tcp,reg3=0x1 actions=set_field:0x2->reg5,group:33554690\n" +
	cookie + "table=76, priority=110,ct_label=0x2/0xffffffff,tcp,reg2=0x100,reg3=0x1,reg5=0x3,dl_dst=00:00:00:00:00:00 " + trust +
	cookie + "table=76, priority=110,ct_label=0x1/0xffffffff,tcp,reg2=0x2,reg3=0x1,reg5=0x3,dl_dst=00:00:00:00:00:00 " + trust +
	cookie + "table=76, priority=100,reg2=0x100,reg3=0x1,dl_dst=00:00:00:00:00:00 actions=set_field:0x2->reg2,group:33554690,pop:NXM_OF_ETH_DST[],resubmit(,76)\n" +
	cookie + "table=76, priority=100,reg2=0x2,reg3=0x1,dl_dst=00:00:00:00:00:00 actions=set_field:0x1->reg2,group:33554689,pop:NXM_OF_ETH_DST[],resubmit(,76)\n" +
	cookie + "table=76, priority=50,reg3=0x1,dl_dst=00:00:00:00:00:00 actions=set_field:0x2->reg5,group:33554690\n" +
	cookie + "table=76, priority=10,reg3=0x1 actions=meter:66537,set_field:0e:ef:01:00:00:00->eth_src,move:NXM_NX_REG2[0..7]->NXM_OF_ETH_SRC[0..7]," +
	"move:NXM_NX_REG4[0..15]->NXM_OF_ETH_SRC[8..23],set_field:0->reg5,set_field:0->in_port,resubmit(,60)\n" +
	cookie + "table=78, priority=100,ct_label=0x1/0xffffffff,reg3=0x1 actions=resubmit(,74)\n" +
	cookie + "table=78, priority=100,ct_label=0x2/0xffffffff,reg3=0x1 actions=resubmit(,74)\n"

func TestEdge(t *testing.T) {
	v := viewOf(vip.StepSteady, [][]uint32{{1, 2}, {1}}, backend(1, 1, vip.StateUp), backend(2, 2, vip.StateUp))
	if diff := cmp.Diff(sorted(t, edge), vipState(v, 1).String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A gateway has the current group and the way to it alone.
func TestGateway(t *testing.T) {
	both := []apps.Backend{backend(1, 1, vip.StateUp), backend(2, 1, vip.StateUp)}
	draining := []apps.Backend{backend(1, 1, vip.StateDraining), backend(2, 1, vip.StateDraining)}
	const refuse = "actions=meter:1001,resubmit(,59)\n"
	const behind = cookie + "table=59, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=meter:5,CONTROLLER:65535\n"
	const syn = cookie + "table=30, priority=105,tcp,nw_dst=10.0.0.100,tp_dst=80,tcp_flags=+syn-ack " + refuse
	refused := strings.Replace(toGroup1, "actions=group:33554689\n", refuse, 1) + behind
	for _, tt := range []struct {
		name string
		view *apps.View
		want string
	}{
		{"steady", viewOf(vip.StepSteady, [][]uint32{{1, 2}, {1}}, both...), group2 + toGroup2},
		{"prepare", viewOf(vip.StepPrepare, [][]uint32{{1, 2}, {1}}, both...), group1 + toGroup1},
		{"flip", viewOf(vip.StepFlip, [][]uint32{{1, 2}, {1}}, both...), group2 + toGroup2},
		{"the first is being prepared", viewOf(vip.StepPrepare, [][]uint32{{1}}, both...), refused},
		{"none takes new ones", viewOf(vip.StepSteady, [][]uint32{{}, {1, 2}}, draining...),
			strings.ReplaceAll(group2+toGroup2, "33554690", "33554689") + syn + behind},
		{"no generation", viewOf(vip.StepSteady, nil), refused},
		{"one has gone", viewOf(vip.StepSteady, [][]uint32{{1, 2}}, backend(1, 1, vip.StateUp), backend(2, 1, vip.StateDown)), group1 + toGroup1},
	} {
		if diff := cmp.Diff(sorted(t, meterText+tt.want), vipState(tt.view, 2).String()); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// With affinity a generation's group chooses by addresses, while those from before do as they did.
func TestAffinity(t *testing.T) {
	v := viewOf(vip.StepSteady, [][]uint32{{1, 2}, {1, 2}}, backend(1, 1, vip.StateUp), backend(2, 2, vip.StateUp))
	v.VIPs[0].Generations.Kept[0].Clients = true
	want := sorted(t, strings.ReplaceAll(group1, bucket1, bucket1+bucket2)+strings.ReplaceAll(group2, fields, ",type=select,selection_method=hash,fields(ip_src,ip_dst)"))
	if diff := cmp.Diff(want, (&flows.State{Groups: vipState(v, 1).Groups}).String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A walk asks the current generation first, each set once, and ends at the present choice.
func TestWalk(t *testing.T) {
	both := []apps.Backend{backend(1, 1, vip.StateUp), backend(2, 2, vip.StateUp)}
	for _, tt := range []struct {
		name        string
		step        vip.Step
		generations [][]uint32
		want        string // "last asked > asked next", in hexadecimal as in the rules; the last one is the choice at the end
	}{
		{"one", vip.StepSteady, [][]uint32{{1}}, "0x100>1 end:1"},
		{"steady", vip.StepSteady, [][]uint32{{1}, {2}, {1, 2}}, "0x100>3 0x2>1 0x3>2 end:3"},
		{"a set is asked once", vip.StepSteady, [][]uint32{{1}, {2}, {1}}, "0x100>3 0x3>2 end:3"},
		{"a set without members is not", vip.StepSteady, [][]uint32{{1}, {}, {2}}, "0x100>3 0x2>1 0x3>1 end:3"},
		{"the newest is not asked first before the flip", vip.StepPrepare, [][]uint32{{1}, {2}, {1, 2}}, "0x100>2 0x2>1 0x3>2 end:2"},
		{"a set that the newest has too is asked till the flip", vip.StepPrepare, [][]uint32{{1}, {2}, {1}}, "0x100>2 0x2>1 0x3>2 end:2"},
		{"after the flip", vip.StepFlip, [][]uint32{{1}, {2}, {1, 2}}, "0x100>3 0x2>1 0x3>2 end:3"},
		{"nothing to choose from", vip.StepSteady, [][]uint32{{}, {1}}, "0x100>1 0x2>1 end:refuse"},
	} {
		var got []string
		for _, r := range vipState(viewOf(tt.step, tt.generations, both...), 1).Rules {
			if r.Table != apps.TableAsk || r.Priority == prioOfAge || r.Priority == prioFound {
				continue
			}
			end := "refuse"
			for _, a := range r.Actions {
				if g, ok := a.(flows.ToGroup); ok {
					end = fmt.Sprint(g.ID & 0xff)
				}
			}
			if c, ok := r.Match.Get(apps.RegAsked); ok {
				got = append(got, fmt.Sprintf("%#x>%s", c.Value.Uint64(4), end))
			} else {
				got = append(got, "end:"+end)
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
	}
}

// A switch without what the mode needs gets nothing, and the status says why.
func TestDesiredWhereUnable(t *testing.T) {
	for _, i := range []apps.SwitchInfo{{OF15: true, Deferred: 1, Mirror: 2}, {Nicira: true, Deferred: 1, Mirror: 2}, {Nicira: true, OF15: true}} {
		v := viewOf(vip.StepSteady, [][]uint32{{1}}, backend(1, 1, vip.StateUp))
		i.DPID = 1
		v.Switches[1] = i
		if s := vipState(v, 1); len(s.Rules)+len(s.Groups)+len(s.Meters) > 0 {
			t.Errorf("%+v: %s", i, s)
		}
		if worse, reason := New(Config{}).Limits(v, v.VIPs[0]); !worse || !strings.Contains(reason, "OpenFlow 1.5") {
			t.Errorf("%+v: %v %q", i, worse, reason)
		}
	}
}

// Backends with one MAC cannot be told apart: the oldest is served, and the status names the others.
func TestOneMACTwice(t *testing.T) {
	a, b := backend(1, 1, vip.StateUp), backend(2, 1, vip.StateUp)
	b.Host = a.Host
	v := viewOf(vip.StepSteady, [][]uint32{{1, 2}}, a, b)
	if got := v.Takers(v.VIPs[0]); len(got) != 1 || got[0].Backend != 1 {
		t.Errorf("takers %+v", got)
	}
	if worse, reason := New(Config{}).Limits(v, v.VIPs[0]); !worse || !strings.Contains(reason, "b2") {
		t.Errorf("%v %q", worse, reason)
	}
}

// One that has a MAC of its own within the fabric is served, and gets packets for its host's.
func TestOneMACTwiceTold(t *testing.T) {
	a, b := backend(1, 1, vip.StateUp), backend(2, 1, vip.StateUp)
	b.Host, b.Aliased = a.Host, true
	v := viewOf(vip.StepSteady, [][]uint32{{1, 2}}, a, b)
	if got := v.Takers(v.VIPs[0]); len(got) != 2 {
		t.Errorf("takers %+v", got)
	}
	if worse, reason := New(Config{}).Limits(v, v.VIPs[0]); worse || strings.Contains(reason, "MAC") {
		t.Errorf("%v %q", worse, reason)
	}
	text := vipState(v, 1).String()
	for _, want := range []string{"bucket=bucket_id:512,actions=set_field:06:ef:00:00:03:ea->eth_dst,resubmit(,77)",
		"priority=100,tcp,reg3=0x1,dl_dst=06:ef:00:00:03:ea actions=ct(commit,table=74,zone=60001,nat(dst=10.9.0.2:8080)",
		"priority=100,ct_mark=0x3ea actions=set_field:02:09:00:00:00:01->eth_dst,"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// ICMP errors are copied to every edge, the switch's own last.
func TestEdges(t *testing.T) {
	v := viewOf(vip.StepSteady, [][]uint32{{1, 2}}, backend(1, 1, vip.StateUp), backend(2, 2, vip.StateUp))
	for at, want := range map[flows.DPID]string{
		1: "group_id=50331649,type=all,bucket=bucket_id:1,actions=set_field:02:09:00:00:00:02->eth_dst,resubmit(,60)," +
			"bucket=bucket_id:2,actions=set_field:02:09:00:00:00:01->eth_dst,resubmit(,60)",
		2: "group_id=50331649,type=all,bucket=bucket_id:1,actions=set_field:02:09:00:00:00:01->eth_dst,resubmit(,60)," +
			"bucket=bucket_id:2,actions=set_field:02:09:00:00:00:02->eth_dst,resubmit(,60)",
	} {
		s := New(Config{}).Desired(v, apps.Owner{Kind: apps.OwnerAddress, Addr: vipAddress})[at]
		if len(s.Groups) != 1 || s.Groups[0].String() != want {
			t.Errorf("at %s: %s", at, s)
		}
	}
}

// What conntrack knows of an endpoint that has gone, or moved, is forgotten at its edge.
func TestStale(t *testing.T) {
	is := func(b ...apps.Backend) *apps.View { return viewOf(vip.StepSteady, [][]uint32{{1, 2}}, b...) }
	for _, tt := range []struct {
		name     string
		old, now *apps.View
		at       flows.DPID
		want     int
	}{
		{"nothing", is(backend(1, 1, vip.StateUp)), is(backend(1, 1, vip.StateUp)), 1, 0},
		{"draining", is(backend(1, 1, vip.StateUp)), is(backend(1, 1, vip.StateDraining)), 1, 0},
		{"disabled", is(backend(1, 1, vip.StateUp)), is(backend(1, 1, vip.StateDisabled)), 1, 1},
		{"disabled at another edge", is(backend(1, 2, vip.StateUp)), is(backend(1, 2, vip.StateDisabled)), 1, 0},
		{"removed", is(backend(1, 1, vip.StateUp), backend(2, 1, vip.StateUp)), is(backend(2, 1, vip.StateUp)), 1, 1},
		{"moved", is(backend(1, 1, vip.StateUp)), is(backend(1, 2, vip.StateUp)), 1, 1},
		{"come", is(), is(backend(1, 1, vip.StateUp)), 1, 0},
	} {
		got := New(Config{}).Stale(tt.old, tt.now, apps.Owner{Kind: apps.OwnerVIP, VIP: 1}, tt.now.Switches[tt.at])
		if len(got) != tt.want || tt.want > 0 && (got[0].Zone != 60001 || got[0].VIP.String() != "10.0.0.100:80" || got[0].Backend.Port() != 8080) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}
