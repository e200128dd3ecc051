package openflow

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
	"github.com/google/go-cmp/cmp"
)

// TestRulesInOpenVSwitch: each rule is accepted, read back equal, and shown by ovs-ofctl as its own text.
func TestRulesInOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	for _, v := range versions {
		c := dial(t, s, v)
		for _, id := range []uint32{1, 4294901760} { // the least and the largest
			if err := c.try(AppendMeterMod(nil, v, 1, MeterAdd, flows.Meter{ID: id, Rate: 10})); err != nil {
				t.Errorf("meter %d: %v", id, err)
			}
		}
		group := flows.Group{ID: 4294967040, Buckets: []flows.Bucket{}}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupAdd, &group)); err != nil {
			t.Errorf("group: %v", err)
		}
		for _, r := range allRules(t) {
			if err := c.try(AppendFlowMod(nil, v, 7, FlowAdd, &r)); err != nil {
				t.Errorf("%s %s: %v", v, r, err)
				continue
			}
			got := c.rules()
			if len(got) != 1 {
				t.Fatalf("%s %s: %d rules", v, r, len(got))
			}
			if diff := cmp.Diff(r, got[0].Rule); diff != "" {
				t.Errorf("%s %s: read back (-want +got):\n%s", v, r, diff)
			}
			if v >= V15 {
				if !got[0].HasIdle {
					t.Errorf("%s: no idle time", r)
				}
				if dump := s.DumpFlows(); len(dump) != 1 || dump[0] != r.String() {
					t.Errorf("ovs-ofctl shows\n%q, we write\n%q", dump, r)
				}
			}
			if err := c.try(AppendFlowMod(nil, v, 7, FlowDeleteStrict, &r)); err != nil {
				t.Errorf("%s delete %s: %v", v, r, err)
			}
			if got := c.rules(); len(got) != 0 {
				t.Fatalf("%s: %s is not deleted", v, got[0])
			}
		}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupDelete, &flows.Group{ID: AllGroups})); err != nil {
			t.Errorf("delete groups: %v", err)
		}
		if err := c.try(AppendMeterMod(nil, v, 1, MeterDelete, flows.Meter{ID: AllMeters})); err != nil {
			t.Errorf("delete meters: %v", err)
		}
	}
}

// TestNiciraBytes: actions are written byte for byte as Open vSwitch writes them.
func TestNiciraBytes(t *testing.T) {
	s := lab.New(t).Switch("s1")
	for _, v := range versions {
		c := dial(t, s, v)
		if err := c.try(AppendMeterMod(nil, v, 1, MeterAdd, flows.Meter{ID: 1, Rate: 10})); err != nil {
			t.Fatal(err)
		}
		for _, text := range niciraTexts {
			r := flows.MustParseRule(text)
			if err := c.try(AppendFlowMod(nil, v, 7, FlowAdd, &r)); err != nil {
				t.Errorf("%s %s: %v", v, r, err)
				continue
			}
			body, _ := c.multipart(must(t)(AppendFlowStatsRequest(nil, v, 1, FlowFilter{Table: 0xff})))
			fixed := flowStats13Len
			if v >= V15 {
				fixed = flowDesc15Len
			}
			_, theirs, err := parseMatch(body[fixed:])
			if v >= V15 && err == nil {
				theirs, err = parseStats(theirs, new(flows.Stats))
			}
			if err != nil {
				t.Fatal(err)
			}
			if ours := must(t)(appendInstructions(nil, v, r.Actions)); !bytes.Equal(ours, theirs) {
				t.Errorf("%s %s\nours   %x\ntheirs %x", v, r, ours, theirs)
			}
			if err := c.try(AppendFlowMod(nil, v, 7, FlowDeleteStrict, &r)); err != nil {
				t.Error(err)
			}
		}
		if err := c.try(AppendMeterMod(nil, v, 1, MeterDelete, flows.Meter{ID: 1})); err != nil {
			t.Error(err)
		}
	}
}

func TestGroupsAndMetersInOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	for _, v := range versions {
		c := dial(t, s, v)
		none := func(k flows.Bucket) flows.Bucket {
			k.WatchPort, k.WatchGroup = flows.PortAny, anyGroup
			return k
		}
		want := []flows.Group{
			{ID: 1, Type: flows.GroupAll, Buckets: []flows.Bucket{none(flows.Bucket{Actions: []flows.Action{flows.Output{Port: 1}}})}},
			{ID: 2, Type: flows.GroupSelect, Buckets: []flows.Bucket{
				none(flows.Bucket{Weight: 1, Actions: []flows.Action{flows.SetMAC(flows.EthDst, flows.MAC{2, 3}), flows.Go(60)}}),
				none(flows.Bucket{Weight: 65535, Actions: []flows.Action{flows.SetNum(flows.Reg15, 9), flows.Controller()}}),
			}},
		}
		if v >= V15 {
			want[1].Buckets[0].ID, want[1].Buckets[1].ID = 5*256, 5*256+1
			hash := want[1]
			hash.ID, hash.Method = 3, "hash"
			hash.Fields = []flows.Field{flows.IPv4Src, flows.IPv4Dst, flows.IPv6Src, flows.IPv6Dst, flows.IPProto, flows.TCPSrc,
				flows.TCPDst, flows.UDPSrc, flows.UDPDst, flows.Metadata, flows.Reg3, flows.CTMark, flows.EthSrc, flows.IPDSCP, flows.TCPFlags}
			slices.Sort(hash.Fields)
			plain := want[1]
			plain.ID, plain.Method, plain.Param = 4, "dp_hash", 1
			want = append(want, hash, plain)
		}
		for _, cmd := range []GroupCommand{GroupAdd, GroupModify} {
			for _, g := range want {
				if err := c.try(AppendGroupMod(nil, v, 1, cmd, &g)); err != nil {
					t.Errorf("%s %s: %v", v, g.String(), err)
				}
			}
			body, _ := c.multipart(AppendGroupDescRequest(nil, v, 2))
			got, err := ParseGroupDescs(v, body)
			slices.SortFunc(got, func(a, b flows.Group) int { return int(a.ID) - int(b.ID) })
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %v, groups (-want +got):\n%s", v, err, diff)
			}
		}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupAdd, &want[0])); !errors.Is(err, &Error{Type: ErrGroupModFailed, Code: CodeGroupExists}) {
			t.Errorf("%s: adding a group twice: %v", v, err)
		}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupDelete, &flows.Group{ID: AllGroups})); err != nil {
			t.Error(err)
		}

		meters := []flows.Meter{{ID: 1, Rate: 100}, {ID: 2, Rate: 50000, Burst: 5}}
		for _, m := range meters {
			if err := c.try(AppendMeterMod(nil, v, 1, MeterAdd, m)); err != nil {
				t.Errorf("%s meter %d: %v", v, m.ID, err)
			}
		}
		body, _ := c.multipart(AppendMeterConfigRequest(nil, v, 3))
		got, err := ParseMeterConfigs(v, body)
		slices.SortFunc(got, func(a, b flows.Meter) int { return int(a.ID) - int(b.ID) })
		if diff := cmp.Diff(meters, got); diff != "" || err != nil {
			t.Errorf("%s: %v, meters (-want +got):\n%s", v, err, diff)
		}
		meters[1].Rate = 7
		if err := c.try(AppendMeterMod(nil, v, 1, MeterModify, meters[1])); err != nil {
			t.Error(err)
		}
		if err := c.try(AppendMeterMod(nil, v, 1, MeterModify, flows.Meter{ID: 9, Rate: 1})); !errors.Is(err,
			&Error{Type: ErrMeterModFailed, Code: CodeUnknownMeter}) {
			t.Errorf("%s: modifying a meter that is not there: %v", v, err)
		}
		if err := c.try(AppendMeterMod(nil, v, 1, MeterDelete, flows.Meter{ID: AllMeters})); err != nil {
			t.Error(err)
		}
	}
}

// TestForeignInOpenVSwitch: whatever ovs-ofctl can install is read without an error, and never equals a rule of ours.
func TestForeignInOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	texts := []string{
		"priority=1,ip,actions=note:01.02.03",
		"priority=2,tcp,actions=ct(commit,table=2,zone=42,nat(dst=10.0.0.5:8080),exec(set_field:1->ct_mark)),set_queue:5",
		"priority=3,actions=learn(table=1,tun_gbp_id=5,output:NXM_OF_IN_PORT[])",
		"priority=4,actions=push_vlan:0x8100,set_field:4101->vlan_vid,output(port=1,max_len=100)",
		"priority=5,ip,actions=dec_ttl,ct_clear,note:01.02.03,exit",
		"priority=6,conj_id=7,ip,actions=output:1",
		"priority=7,ip,nw_src=10.0.0.1,actions=conjunction(7,1/2)",
		"priority=8,actions=move:reg0[]->tun_metadata0[0..31],delete_field:tun_metadata0",
		"priority=9,actions=clear_actions,write_actions(output:2),goto_table:4",
		"priority=10,actions=controller(userdata=01.02,pause),clone(output:1),check_pkt_larger(100)->reg0[0]",
		"priority=11,ip,actions=output:reg1[0..15],sample(probability=1,collector_set_id=1,obs_domain_id=1,obs_point_id=1)",
		"priority=12,tun_gbp_id=5,actions=drop",
		"priority=13,actset_output=7,actions=drop",
		"priority=14,ip,nw_tos=4,actions=bundle(eth_src,50,active_backup,ofport,members:1,2)",
		"priority=15,tun_metadata0=5/0xff,actions=drop",
		"priority=16,packet_type=(1,0x800),actions=drop",
		"priority=17,vlan_tci=0x1123/0x1fff,actions=strip_vlan,enqueue:1:2",
	}
	s.Ofctl("add-tlv-map", "{class=0xffff,type=1,len=4}->tun_metadata0")
	for _, text := range texts {
		s.Ofctl("add-flow", text)
	}
	ours := flows.MustParseRule("priority=100,arp,actions=drop")
	for _, v := range versions {
		c := dial(t, s, v)
		if err := c.try(AppendFlowMod(nil, v, 1, FlowAdd, &ours)); err != nil {
			t.Fatal(err)
		}
		rules := c.rules()
		if len(rules) != len(texts)+1 {
			t.Errorf("%s: %d rules, want %d", v, len(rules), len(texts)+1)
		}
		for _, r := range rules {
			unknown := Foreign(r.Match)
			for _, a := range r.Actions {
				if _, ok := a.(flows.Unknown); ok {
					unknown = true
				}
			}
			simple := r.Priority == ours.Priority || r.Priority == 6
			if unknown == simple {
				t.Errorf("%s: %s unknown: %v", v, r, unknown)
			}
			if equal := r.Match.Equal(ours.Match); equal != (r.Priority == ours.Priority) {
				t.Errorf("%s: %s equals ours: %v", v, r, equal)
			}
		}
	}
	s.Ofctl("add-group", "group_id=1,type=select,selection_method=hash,fields(ip_src=255.255.0.0,ip_dst),bucket=weight:1,actions=output:1")
	c := dial(t, s, V15)
	body, _ := c.multipart(AppendGroupDescRequest(nil, V15, 2))
	groups, err := ParseGroupDescs(V15, body)
	if err != nil || !slices.Contains(groups[0].Fields, flows.FieldNone) {
		t.Errorf("a group hashing half a field: %+v, %v", groups, err)
	}
	s.Ofctl("add-meter", "meter=1,kbps,band=type=drop,rate=100")
	body, _ = c.multipart(AppendMeterConfigRequest(nil, V15, 2))
	if meters, err := ParseMeterConfigs(V15, body); err != nil || meters[0] != (flows.Meter{ID: 1}) {
		t.Errorf("a meter in kilobits: %+v, %v", meters, err)
	}
}

// TestReplyInPieces reads more rules than one message holds.
func TestReplyInPieces(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	for _, v := range versions {
		c := dial(t, s, v)
		const n = 3000
		var b []byte
		for i := range n {
			r := flows.Rule{Table: 1, Priority: uint16(i), Match: flows.Match(nil).Num(flows.EthType, 0x800),
				Actions: []flows.Action{flows.Output{Port: uint32(i + 1)}}}
			b = must(t)(AppendFlowMod(b, v, 1, FlowAdd, &r))
		}
		if err := c.try(b, nil); err != nil {
			t.Fatal(err)
		}
		body, pieces := c.multipart(must(t)(AppendFlowStatsRequest(nil, v, 1, FlowFilter{Table: 1})))
		rules, err := ParseFlowStats(v, body)
		if err != nil || len(rules) != n || pieces < 2 {
			t.Errorf("%s: %d rules in %d pieces, %v", v, len(rules), pieces, err)
		}
	}
}
