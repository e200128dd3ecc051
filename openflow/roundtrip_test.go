package openflow

import (
	"bytes"
	"slices"
	"testing"

	"github.com/evenflow/evenflow/flows"
	"github.com/google/go-cmp/cmp"
)

// ruleTexts cover each field and action.
var ruleTexts = []string{
	"priority=0 actions=drop",
	"table=253,priority=65535,cookie=0xffffffffffffffff,send_flow_rem,idle_timeout=65535,hard_timeout=1 actions=output:1",
	"priority=1,arp,arp_spa=10.0.0.1,arp_tpa=10.0.0.0/8,arp_op=1,arp_sha=02:00:00:00:00:01,arp_tha=02:00:00:00:00:02 actions=IN_PORT",
	"priority=1,icmp6,icmp_type=135,icmp_code=0,nd_target=fe80::1,nd_sll=02:00:00:00:00:01 actions=NORMAL",
	"priority=1,icmp6,icmp_type=136,nd_tll=02:00:00:00:00:01 actions=FLOOD,ALL,LOCAL",
	"priority=1,icmp,icmp_type=8,icmp_code=3 actions=CONTROLLER:128",
	"priority=1,tcp6,ipv6_src=2001:db8::/32,ipv6_dst=2001:db8::1,ipv6_label=0x5/0xff,tp_src=80,tp_dst=0x1000/0xf000 actions=drop",
	"priority=1,udp,nw_src=10.0.0.1,nw_dst=10.0.0.2/31,tp_src=53,tp_dst=5353,nw_tos=4,nw_ecn=1,nw_ttl=64 actions=drop",
	"priority=1,sctp,tp_src=1,tp_dst=2 actions=drop",
	"priority=1,ip,nw_frag=later actions=drop",
	"priority=1,tcp,tcp_flags=+syn-ack actions=drop",
	"priority=1,dl_src=0e:ef:01:00:00:00/ff:ff:ff:00:00:00,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,dl_type=0x88cc actions=CONTROLLER:65535",
	"priority=1,ct_state=+trk+new-inv,ct_zone=0x5,ct_mark=0x1/0xff,ct_label=0x5,ip actions=drop",
	"priority=1,ct_state=+trk+est,ct_nw_src=10.0.0.1,ct_nw_dst=10.0.0.0/24,ct_nw_proto=6,ct_tp_src=1,ct_tp_dst=2,ip actions=drop",
	"priority=1,reg0=0x1,reg7=0x0/0xff,reg15=0xffffffff,metadata=0x5,tun_id=0x7/0xff,pkt_mark=0x3,in_port=LOCAL actions=drop",
	"priority=1,xreg2=0x500000005,xxreg3=0x5000000050000000500000005 actions=drop",
	"priority=1,dl_vlan=5,dl_vlan_pcp=3 actions=drop",
	"priority=1,mpls,mpls_label=5,mpls_tc=2,mpls_bos=1 actions=drop",
	"priority=1,tun_src=1.2.3.4,tun_dst=5.6.7.8 actions=drop",
	"priority=1,ip actions=meter:1,set_field:0->in_port,set_field:10.0.0.1->ip_src,set_field:02:00:00:00:00:01->eth_dst,output:3",
	"priority=1 actions=set_field:0x5/0xff->reg1,set_field:0x50/0xf0->reg2,set_field:0x500000000/0xf00000000->metadata",
	"priority=1 actions=set_field:0x5/0x5->reg1,set_field:0x1/0x3->xxreg1,set_field:0x5->xxreg0,set_field:0x7->xreg1",
	"priority=1 actions=set_field:0e:ef:01:00:00:00/ff:ff:ff:00:00:00->eth_src",
	"priority=1 actions=move:NXM_OF_ETH_SRC[]->OXM_OF_METADATA[16..63],move:NXM_NX_REG0[0..7]->NXM_NX_REG1[24..31]",
	"priority=1,tcp actions=resubmit(,3),resubmit(7,4),resubmit:9,fin_timeout(idle_timeout=12,hard_timeout=3),group:4294967040",
	"priority=1 actions=goto_table:9",
	"priority=1 actions=meter:4294901760,goto_table:9",
}

// allRules are the rules of ruleTexts and niciraTexts.
func allRules(t testing.TB) []flows.Rule {
	var rules []flows.Rule
	for _, text := range slices.Concat(ruleTexts, niciraTexts) {
		r, err := flows.ParseRule(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		rules = append(rules, r)
	}
	return rules
}

// TestRules: what we write is read as an equal value, in flow-mods, flow statistics and flow-removed.
func TestRules(t *testing.T) {
	for _, v := range versions {
		for _, r := range allRules(t) {
			msg := must(t)(AppendFlowMod(nil, v, 1, FlowAdd, &r))
			mod, err := ParseFlowMod(msg)
			if err != nil {
				t.Fatalf("%s %s: %v", v, r, err)
			}
			clear(msg) // nothing may alias the reader's buffer
			if diff := cmp.Diff(FlowMod{Rule: r, Command: FlowAdd, OutPort: flows.PortAny, OutGroup: anyGroup}, mod); diff != "" {
				t.Errorf("%s %s: flow-mod (-want +got):\n%s", v, r, diff)
			}

			in := flows.InstalledRule{Rule: r, Stats: sampleStats}
			if v < V15 {
				in.IdleSec, in.HasIdle = 0, false
			}
			body := must(t)(AppendFlowStats(nil, v, &in))
			got, err := ParseFlowStats(v, body)
			if err != nil {
				t.Fatalf("%s %s: %v", v, r, err)
			}
			clear(body)
			if diff := cmp.Diff([]flows.InstalledRule{in}, got); diff != "" {
				t.Errorf("%s %s: flow statistics (-want +got):\n%s", v, r, diff)
			}

			gone := FlowRemoved{Rule: r, Stats: in.Stats, Reason: RemovedDelete}
			var back FlowRemoved
			if err := ParseFlowRemoved(v, must(t)(AppendFlowRemoved(nil, v, 1, &gone)), &back); err != nil {
				t.Fatalf("%s %s: %v", v, r, err)
			}
			gone.Actions, gone.Flags = nil, 0
			if diff := cmp.Diff(gone, back); diff != "" {
				t.Errorf("%s %s: flow-removed (-want +got):\n%s", v, r, diff)
			}
		}
	}
}

// TestEveryField: each field of package flows that is in a packet or its metadata can be matched, exactly and masked.
func TestEveryField(t *testing.T) {
	for f := flows.DPHash; int(f) < flows.FieldCount; f++ {
		if f == flows.SKBPriority || f == flows.VLANTCI { // without a number, or not for matches
			continue
		}
		for _, v := range versions {
			full, part := f.FullMask(), f.FullMask()
			part[f.Width()-1] &^= 1
			m := flows.Match(nil).Exact(f, full)
			masked := flows.Match(nil).Masked(f, full, part)
			for _, m := range []flows.Match{m, masked} {
				if len(m) == 0 {
					continue // masking a field of one bit
				}
				b, err := appendMatch(nil, v, m)
				if err != nil {
					t.Fatalf("%s %s: %v", v, f, err)
				}
				list, rest, err := parseMatch(b)
				if err != nil || len(rest) != 0 {
					t.Fatalf("%s %s: %v, %d bytes left", v, f, err, len(rest))
				}
				got, err := decodeMatch(list)
				if err != nil || !got.Equal(m) {
					t.Errorf("%s %s: read as %v, %v; want %v", v, f, got, err, m)
				}
			}
		}
	}
}

func TestDeletionsSendIdentityOnly(t *testing.T) {
	r := sampleRule()
	for _, v := range versions {
		for _, cmd := range []FlowCommand{FlowDelete, FlowDeleteStrict} {
			mod, err := ParseFlowMod(must(t)(AppendFlowMod(nil, v, 1, cmd, &r)))
			want := FlowMod{Command: cmd, OutPort: flows.PortAny, OutGroup: anyGroup,
				Rule: flows.Rule{Table: r.Table, Priority: r.Priority, Cookie: r.Cookie, Match: r.Match}}
			if diff := cmp.Diff(want, mod); diff != "" || err != nil {
				t.Errorf("%s %s: %v, (-want +got):\n%s", v, cmd, err, diff)
			}
		}
		f := FlowFilter{Table: 3, Cookie: 0xffff, CookieMask: 0xff00, Match: r.Match}
		mod, err := ParseFlowMod(must(t)(AppendFlowDeleteWhere(nil, v, 1, f)))
		want := FlowMod{Command: FlowDelete, CookieMask: 0xff00, OutPort: flows.PortAny, OutGroup: anyGroup,
			Rule: flows.Rule{Table: 3, Cookie: 0xff00, Match: r.Match}}
		if diff := cmp.Diff(want, mod); diff != "" || err != nil {
			t.Errorf("%s delete where: %v, (-want +got):\n%s", v, err, diff)
		}
		msg := must(t)(AppendFlowStatsRequest(nil, v, 1, f))
		p, err := ParseMultipartRequest(msg)
		if err != nil || p.Kind != MultipartFlow {
			t.Fatalf("%+v, %v", p, err)
		}
		f.Cookie = 0xff00
		if got, err := ParseFlowStatsRequest(p.Body); err != nil || !cmp.Equal(got, f) {
			t.Errorf("%s: %+v, %v; want %+v", v, got, err, f)
		}
	}
}

func TestGroups(t *testing.T) {
	for _, v := range versions {
		sel := *sampleGroup(v)
		all := flows.Group{ID: 8, Type: flows.GroupAll, Buckets: []flows.Bucket{
			{ID: 1, WatchPort: flows.PortAny, WatchGroup: anyGroup, Actions: []flows.Action{flows.Output{Port: 1}}}}}
		failover := flows.Group{ID: 9, Type: flows.GroupFastFailover, Buckets: []flows.Bucket{
			{ID: 1, WatchPort: 3, WatchGroup: anyGroup, Actions: []flows.Action{flows.Output{Port: 3}}},
			{ID: 2, WatchPort: flows.PortAny, WatchGroup: 9}}}
		want := []flows.Group{sel, all, failover, {ID: 10}}
		var body []byte
		for _, g := range want {
			body = must(t)(AppendGroupDesc(body, v, &g))
		}
		if v < V15 { // no ids there
			for i := range want {
				bs := append([]flows.Bucket(nil), want[i].Buckets...)
				for j := range bs {
					bs[j].ID = 0
				}
				want[i].Buckets = bs
			}
		}
		got, err := ParseGroupDescs(v, body)
		clear(body)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", v, err, diff)
		}
		for i, g := range want {
			m, err := ParseGroupMod(must(t)(AppendGroupMod(nil, v, 1, GroupModify, &g)))
			if diff := cmp.Diff(GroupMod{Group: want[i], Command: GroupModify, BucketID: BucketAll}, m); diff != "" || err != nil {
				t.Errorf("%s: %v, (-want +got):\n%s", v, err, diff)
			}
		}
		m, err := ParseGroupMod(must(t)(AppendGroupMod(nil, v, 1, GroupDelete, &sel)))
		if err != nil || m.ID != sel.ID || m.Command != GroupDelete || m.Buckets != nil || m.Method != "" {
			t.Errorf("%s: deletion read as %+v, %v", v, m, err)
		}
	}
}

func TestHashFieldsNotWhole(t *testing.T) {
	g := *sampleGroup(V15)
	g.Fields = []flows.Field{flows.IPv4Dst, flows.IPv4Src}
	body := must(t)(AppendGroupDesc(nil, V15, &g))
	at := bytes.LastIndex(body, []byte{0x80, 0, 11 << 1, 4, 0xff, 0xff, 0xff, 0xff})
	body[at+7] = 0xfe
	got, err := ParseGroupDescs(V15, body)
	if want := []flows.Field{flows.FieldNone, flows.IPv4Dst}; err != nil || !cmp.Equal(got[0].Fields, want) {
		t.Errorf("a partly hashed field is read as %v, %v; want %v", got[0].Fields, err, want)
	}
}

func TestMeters(t *testing.T) {
	want := []flows.Meter{{ID: 1, Rate: 100, Burst: 50}, {ID: 1002, Rate: 1}}
	for _, v := range versions {
		var body []byte
		for _, m := range want {
			body = AppendMeterConfig(body, v, m)
			cmd, got, err := ParseMeterMod(must(t)(AppendMeterMod(nil, v, 1, MeterModify, m)))
			if err != nil || cmd != MeterModify || got != m {
				t.Errorf("%s: %v %+v, %v", v, cmd, got, err)
			}
		}
		got, err := ParseMeterConfigs(v, body)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", v, err, diff)
		}
	}
	foreign := AppendMeterConfig(nil, V15, want[0])
	foreign[3] = 1 // kilobits
	two := append(AppendMeterConfig(nil, V15, want[0]), make([]byte, 16)...)
	two[1] += 16
	copy(two[24:], two[8:24])
	for _, body := range [][]byte{foreign, two} {
		if got, err := ParseMeterConfigs(V15, body); err != nil || got[0] != (flows.Meter{ID: 1}) {
			t.Errorf("a meter of another kind is read as %+v, %v", got, err)
		}
	}
}

func TestPorts(t *testing.T) {
	want := []Port{
		{No: 4, MAC: flows.MAC{2, 3, 4, 5, 6, 7}, Name: "s1-p4", SpeedKbps: 10_000_000, State: PortLive},
		{No: flows.PortLocal, Name: "fifteen-letters", Config: PortDown, State: LinkDown},
	}
	stats := []PortStats{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {No: 2, RxErrors: 1 << 63}}
	for _, v := range versions {
		var body, counters []byte
		for i, p := range want {
			body = AppendPortDesc(body, v, p)
			counters = AppendPortStats(counters, v, stats[i])
			reason, got, err := ParsePortStatus(v, AppendPortStatus(nil, v, 1, PortDeleted, p))
			if err != nil || reason != PortDeleted || got != p {
				t.Errorf("%s: %v %+v, %v", v, reason, got, err)
			}
		}
		if got, err := ParsePortDescs(v, body); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %+v, %v", v, got, err)
		}
		if got, err := ParsePortStats(v, counters); err != nil || !cmp.Equal(stats, got) {
			t.Errorf("%s: %+v, %v", v, got, err)
		}
	}
	if !want[0].Up() || want[1].Up() || (Port{Config: PortDown}).Up() || (Port{State: LinkDown}).Up() || !(Port{}).Up() {
		t.Error("Up is wrong")
	}
}

func TestSessionMessages(t *testing.T) {
	for _, v := range versions {
		f := Features{DPID: 0x1f, Buffers: 1, Tables: 254, Aux: 2, Capabilities: CapBundles}
		if got, err := ParseFeatures(AppendFeaturesReply(nil, v, 1, f)); err != nil || got != f {
			t.Errorf("features %+v, %v", got, err)
		}
		role, gen, err := ParseRole(AppendRoleReply(nil, v, 1, RoleSlave, 1<<63))
		if err != nil || role != RoleSlave || gen != 1<<63 {
			t.Errorf("role %s %d, %v", role, gen, err)
		}
		d := Desc{"maker", "hw", "sw", "serial", "dp"}
		if got, err := ParseDesc(AppendDesc(nil, d)); err != nil || got != d {
			t.Errorf("desc %+v, %v", got, err)
		}
		c := BundleControl{ID: 1 << 31, Type: BundleCommitted, Flags: BundleOrdered}
		if got, err := ParseBundleControl(AppendBundleControl(nil, v, 1, c.ID, c.Type, c.Flags)); err != nil || got != c {
			t.Errorf("bundle %+v, %v", got, err)
		}
		inner := AppendBarrier(nil, v, 5)
		id, flags, got, err := ParseBundleAdd(must(t)(AppendBundleAdd(nil, v, 5, 9, BundleAtomic, inner)))
		if err != nil || id != 9 || flags != BundleAtomic || !bytes.Equal(got, inner) {
			t.Errorf("bundle add %d %d %x, %v", id, flags, got, err)
		}
		p, err := ParseMultipart(must(t)(AppendMultipartReply(nil, v, 1, MultipartDesc, true, []byte("body"))))
		if err != nil || p.Kind != MultipartDesc || !p.More || string(p.Body) != "body" {
			t.Errorf("multipart %+v, %v", p, err)
		}
		actions := []flows.Action{flows.BackToInPort(), flows.Output{Port: flows.PortIn}}
		out, err := ParsePacketOut(must(t)(AppendPacketOut(nil, v, 1, 7, actions, []byte("frame"))))
		want := PacketOut{BufferID: NoBufferID, InPort: 7, Actions: actions, Data: []byte("frame")}
		if diff := cmp.Diff(want, out); diff != "" || err != nil {
			t.Errorf("packet-out: %v, (-want +got):\n%s", err, diff)
		}
	}
}
