package flows_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/flows"
)

// What is built in code prints as what is read from text. That Open vSwitch prints the same is the subject of ovs_test.go.
func TestText(t *testing.T) {
	addr := netip.MustParseAddr
	mac := flows.MAC{2, 0xef, 0, 0, 0, 1}
	for _, c := range []struct {
		rule flows.Rule
		text string
	}{
		{flows.Rule{}, "priority=0 actions=drop"},
		{flows.Rule{Priority: flows.DefaultPriority}, "actions=drop"},
		{flows.Rule{Table: 40, Priority: 100, Cookie: 0xef02000000000001, IdleTimeout: 3600, Flags: flows.SendFlowRemoved,
			Match: flows.Match{}.Num(flows.TCPDst, 80).Addr(flows.IPv4Dst, addr("10.0.0.100")).Num(flows.IPProto, 6).
				Num(flows.EthType, 0x800).Port(3),
			Actions: []flows.Action{flows.SetMAC(flows.EthDst, mac), flows.SetField{Field: flows.IPv4Dst, Value: flows.AddrValue(addr("10.0.0.1"))},
				flows.SetNum(flows.TCPDst, 8080), flows.FinTimeout{Idle: 12}, flows.BackToInPort(), flows.Go(60)}},
			"cookie=0xef02000000000001, table=40, idle_timeout=3600, send_flow_rem priority=100,tcp,in_port=3,nw_dst=10.0.0.100,tp_dst=80 " +
				"actions=set_field:02:ef:00:00:00:01->eth_dst,set_field:10.0.0.1->ip_dst,set_field:8080->tcp_dst," +
				"fin_timeout(idle_timeout=12),set_field:0->in_port,resubmit(,60)"},
		{flows.Rule{Priority: 1, Match: flows.Match{}.Masked(flows.EthSrc, mac.Value(), flows.MAC{0xff, 0xff}.Value())},
			"priority=1,dl_src=02:ef:00:00:00:00/ff:ff:00:00:00:00 actions=drop"},
		{flows.Rule{Priority: 1, Match: flows.Match{}.Num(flows.XReg1, 0x1_00000002).NumMasked(flows.Reg0, 0x1ff, 0xff)},
			"priority=1,reg0=0xff/0xff,reg2=0x1,reg3=0x2 actions=drop"},
		{flows.Rule{Priority: 1, Match: flows.Match{}.NumMasked(flows.Metadata, 5, 0xffffffffffffffff).NumMasked(flows.Reg0, 1, 0)},
			"priority=1,metadata=0x5 actions=drop"},
		{flows.Rule{Priority: 1, Actions: []flows.Action{flows.Unknown{Raw: []byte{0xff, 0xff, 0, 8}}, flows.Unknown{Instruction: true, Raw: []byte{1}}}},
			"priority=1 actions=raw_action:ffff0008,raw_instruction:01"},
		{flows.Rule{Priority: 1, Actions: []flows.Action{flows.Controller(), flows.Output{Port: 2}, flows.Output{Port: flows.PortLocal}}},
			"priority=1 actions=CONTROLLER:65535,output:2,LOCAL"},
		{flows.Rule{Priority: 1, Match: flows.Match{}.NumMasked(flows.CTState, 0x21, 0xff).NumMasked(flows.VLANVID, 0x1005, 0xffff)},
			"priority=1,ct_state=new|trk,dl_vlan=5 actions=drop"}, // Open vSwitch tells an exact ct_state with the mask 0xff
		{flows.Rule{Priority: 1, Match: flows.Match{}.Num(flows.CTLabel, 5)}, "priority=1,ct_label=0x5 actions=drop"},
	} {
		if got := c.rule.String(); got != c.text {
			t.Errorf("got  %s\nwant %s", got, c.text)
		}
		back, err := flows.ParseRule(c.text)
		if err != nil {
			t.Error(err)
		} else if !back.Equal(c.rule) || back.Key() != c.rule.Key() {
			t.Errorf("%s\nread as %s", c.text, back)
		}
	}
}

func TestErrorsSayWhereAndWhatIsAllowed(t *testing.T) {
	for _, c := range []struct{ text, near, why string }{
		{"table=3", "", "want actions=ACTIONS"},
		{"tabel=3,actions=drop", "tabel=3", "unknown; want table, priority,"},
		{"table=255,actions=drop", "table=255", "want a table from 0 to 254"},
		{"priority=65536,actions=drop", "priority=65536", "65536 is too large, want at most 0xffff"},
		{"priority=x,actions=drop", "priority=x", "want a number"},
		{"importance=5,actions=drop", "importance=5", "unknown"},
		{"tp_dst=80,actions=drop", "tp_dst=80", "tp_dst needs tcp, udp, sctp"},
		{"tcp_dst=80,ip,in_port=1,actions=drop", "tcp_dst=80", "tcp_dst needs tcp or tcp6"},
		{"nw_dst=10.0.0.1,actions=drop", "nw_dst=10.0.0.1", "ip_dst needs ip"},
		{"ip,nw_dst=10.0.0.1/33,actions=drop", "nw_dst=10.0.0.1/33", "prefix length of at most 32"},
		{"ip,nw_dst=10.0.0.256,actions=drop", "nw_dst=10.0.0.256", "want an IPv4 address"},
		{"ip,nw_dst=::1,actions=drop", "nw_dst=::1", "want an IPv4 address"},
		{"tcp,udp,actions=drop", "udp", "nw_proto has been given before, otherwise"},
		{"tcp,tp_dst=80,tcp_dst=81,actions=drop", "tcp_dst=81", "tcp_dst has been given before"},
		{"reg1=1,xreg0=2,actions=drop", "xreg0=2", "reg1 has been given before"},
		{"in_port=1/1,actions=drop", "in_port=1/1", "in_port cannot be masked"},
		{"in_port=eth0,actions=drop", "in_port=eth0", "want a port number or one of IN_PORT, TABLE, NORMAL, FLOOD, ALL, CONTROLLER, LOCAL, ANY"},
		{"tcp,tcp_flags=+syn+foo,actions=drop", "tcp_flags=+syn+foo", `unknown flag "foo", want one of fin, syn, rst`},
		{"tcp,tcp_flags=+syn|ack,actions=drop", "tcp_flags=+syn|ack", "not both"},
		{"ct_state=+trk+trk,actions=drop", "ct_state=+trk+trk", "flag trk twice"},
		{"ip,nw_frag=maybe,actions=drop", "nw_frag=maybe", "want no, yes, first, later or not_later"},
		{"ip,nw_tos=3,actions=drop", "nw_tos=3", "want a multiple of 4"},
		{"dl_vlan=4096,actions=drop", "dl_vlan=4096", "want at most 4095"},
		{"dl_src=02:00:00:00:00,actions=drop", "dl_src=02:00:00:00:00", "want aa:bb:cc:dd:ee:ff"},
		{"ct_nw_src=1.2.3.4,actions=drop", "ct_nw_src=1.2.3.4", "needs ct_state with"},
		{"reg0=0x1ffffffff,actions=drop", "reg0=0x1ffffffff", "does not fit in 4 bytes"},
		{"actions=output:1,outptu:2", "outptu:2", "want one of output:PORT,"},
		{"actions=note:01.02", "note:01.02", "want one of output:PORT,"},
		{"actions=group(1)", "group(1)", "want one of output:PORT,"},
		{"actions=nat(src=1.2.3.4)", "nat(src=1.2.3.4)", "want one of output:PORT,"},
		{"actions=ct(comit)", "comit", "want commit, force"},
		{"actions=ct(force)", "ct(force)", "force needs commit"},
		{"actions=ct(table=255)", "table=255", "want a table from 0 to 254"},
		{"actions=ct(zone=65536)", "zone=65536", "want zone=NUMBER"},
		{"actions=ct(zone=reg0[0..14])", "ct(zone=reg0[0..14])", "the zone has 16 bits, not 15"},
		{"actions=ct(zone=5,zone=reg0[0..15])", "ct(zone=5,zone=reg0[0..15])", "zone twice"},
		{"actions=ct(alg=http)", "alg=http", "want a number"},
		{"actions=ct(exec(set_field:1->ct_mark))", "ct(exec(set_field:1->ct_mark))", "needs commit"},
		{"actions=ct(nat(src=1.2.3.4))", "ct(nat(src=1.2.3.4))", "needs commit"},
		{"actions=ct(commit,exec(set_field:1->reg0))", "ct(commit,exec(set_field:1->reg0))", "only nat, set_field and move"},
		{"actions=ct(commit,exec(output:1))", "output:1", "want nat(…), set_field"},
		{"actions=ct(commit,nat(src=1.2.3.4,dst=1.2.3.4))", "dst=1.2.3.4", "either src or dst"},
		{"actions=ct(commit,nat(random))", "nat(random)", "need src or dst"},
		{"actions=ct(commit,nat(src=1.2.3.4,random,hash))", "nat(src=1.2.3.4,random,hash)", "either hash or random"},
		{"actions=ct(commit,nat(src=1.2.3.4-1.2.3.3))", "nat(src=1.2.3.4-1.2.3.3)", "FIRST-LAST of one family"},
		{"actions=ct(commit,nat(src=1.2.3.4-fd00::1))", "nat(src=1.2.3.4-fd00::1)", "FIRST-LAST of one family"},
		{"actions=ct(commit,nat(src=1.2.3.4:9-8))", "nat(src=1.2.3.4:9-8)", "want ports FIRST-LAST"},
		{"actions=ct(commit,nat(src=1.2.3.4:0))", "src=1.2.3.4:0", "want a port from 1"},
		{"actions=ct(commit,nat(src=:80))", "src=:80", "want an address"},
		{"actions=ct(commit,nat(src=[1.2.3.4]:80))", "src=[1.2.3.4]:80", "IPv6 ones in brackets"},
		{"actions=ct(commit,nat(src=0.0.0.0))", "nat(src=0.0.0.0)", "no such address"},
		{"actions=ct(commit,nat(source))", "source", "want src[=RANGE]"},
		{"actions=multipath(eth_src,50)", "multipath(eth_src,50)", "want multipath(FIELDS,"},
		{"actions=multipath(vlan,50,hrw,1,0,reg0[])", "vlan", "want one of eth_src"},
		{"actions=multipath(eth_src,50,best,1,0,reg0[])", "best", "want one of modulo_n"},
		{"actions=multipath(eth_src,x,hrw,1,0,reg0[])", "x", "want a number"},
		{"actions=multipath(eth_src,50,hrw,0,0,reg0[])", "reg0[]", "want 1 to 65536"},
		{"actions=multipath(eth_src,50,hrw,17,0,reg0[0..3])", "reg0[0..3]", "17 links do not fit in 4 bits"},
		{"actions=multipath(eth_src,50,hrw,1,0,xxreg0[])", "xxreg0[]", "want 1 to 64 bits"},
		{"actions=learn(table=255)", "learn(table=255)", "want a table from 0 to 254"},
		{"actions=learn(result_dst=reg0[])", "learn(result_dst=reg0[])", "want one bit"},
		{"actions=learn(foo=1)", "foo=1", "want table, priority,"},
		{"actions=learn(tcp)", "tcp", "want table, priority,"},
		{"actions=learn(reg0[]=reg1[0..15])", "learn(reg0[]=reg1[0..15])", "source has 16 bits, destination 32"},
		{"actions=learn(reg0[0..3]=16)", "reg0[0..3]=16", "want at most 0xf"},
		{"actions=learn(load:5)", "load:5", "want load:VALUE->FIELD[]"},
		{"actions=learn(output:5)", "output:5", "unknown field"},
		{"actions=learn(nw_dst=fd00::1)", "nw_dst=fd00::1", "want an IPv4 address"},
		{"actions=output:reg0[0..32]", "output:reg0[0..32]", "want a port number"},
		{"actions=dec_ttl()", "dec_ttl()", "want dec_ttl or dec_ttl(ID,ID)"},
		{"actions=dec_ttl(65536)", "65536", "want a controller's id"},
		{"actions=push:reg0[32]", "push:reg0[32]", "want bits 0 to 31"},
		{"actions=push_vlan:0x12345", "push_vlan:0x12345", "too large"},
		{"actions=set_mpls_ttl(256)", "set_mpls_ttl(256)", "too large"},
		{"actions=check_pkt_larger(5)", "check_pkt_larger(5)", "want check_pkt_larger(BYTES)->"},
		{"actions=check_pkt_larger(5)->reg0[]", "check_pkt_larger(5)->reg0[]", "one bit"},
		{"actions=controller(port=1)", "port=1", "want max_len=BYTES, id=ID"},
		{"actions=controller(userdata=1)", "userdata=1", "odd length"},
		{"actions=CONTROLLER:x", "CONTROLLER:x", "want a number"},
		{"actions=write_metadata:1/x", "write_metadata:1/x", "want a number"},
		{"actions=write_metadata:1,output:1", "write_metadata:1", "only instructions may follow"},
		{"actions=drop,output:1", "output:1", "nothing goes with drop"},
		{"actions=output:1,drop", "drop", "drop goes with no other action"},
		{"actions=output:1,meter:1", "meter:1", "a meter must be the first action"},
		{"actions=goto_table:3,output:1", "output:1", "goto_table:3 must be the last action"},
		{"actions=set_field:1->foo", "set_field:1->foo", `unknown field "foo"`},
		{"actions=set_field:1", "set_field:1", "want VALUE[/MASK]->FIELD"},
		{"actions=set_field:0/0->reg0", "set_field:0/0->reg0", "sets nothing"},
		{"actions=load:256->reg0[0..7]", "load:256->reg0[0..7]", "256 is too large, want at most 0xff"},
		{"actions=load:1->ip_dscp[0]", "load:1->ip_dscp[0]", "ip_dscp can be set as a whole only"},
		{"actions=move:reg0[]->eth_src[]", "move:reg0[]->eth_src[]", "source has 32 bits, destination 48"},
		{"actions=move:reg0[3..32]->reg1[0..29]", "move:reg0[3..32]->reg1[0..29]", "want bits 0 to 31"},
		{"actions=resubmit(,256)", "resubmit(,256)", "256 is too large"},
		{"actions=resubmit()", "resubmit()", "want resubmit(,TABLE)"},
		{"actions=fin_timeout(idle=3)", "idle=3", "want idle_timeout=SECONDS"},
		{"actions=fin_timeout(idle_timeout=3", "fin_timeout(idle_timeout=3", "want fin_timeout(…)"},
	} {
		_, err := flows.ParseRule(c.text)
		var se *flows.SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("%s: %v, want a syntax error", c.text, err)
			continue
		}
		if se.Near != c.near || !strings.HasPrefix(c.text[se.Offset:], c.near) {
			t.Errorf("%s: error at %d, %q; want %q", c.text, se.Offset, se.Near, c.near)
		}
		if !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v\nwant %q", c.text, err, c.why)
		}
	}
}

func TestGroupAndMeterErrors(t *testing.T) {
	group := func(s string) error { _, err := flows.ParseGroup(s); return err }
	meter := func(s string) error { _, err := flows.ParseMeter(s); return err }
	for _, c := range []struct {
		parse     func(string) error
		text, why string
	}{
		{group, "type=all", "want group_id=ID"},
		{group, "group_id=1", "want type=all, select, indirect or ff"},
		{group, "group_id=1,type=some", "want type=all, select, indirect or ff"},
		{group, "group_id=1,type=select,foo=1", "want group_id, type,"},
		{group, "group_id=1,type=select,fields(ip_src)", "need selection_method"},
		{group, "group_id=1,type=select,selection_method=hash,fields(ip_src=1.0.0.0)", "unknown field"},
		{group, "group_id=1,type=select,selection_method=hash,fields(ip_src,nw_src)", "twice"},
		{group, "group_id=1,type=select,bucket=weight:1", "want actions"},
		{group, "group_id=1,type=all,bucket=weight:1,output:1", "only buckets of select groups"},
		{group, "group_id=1,type=select,bucket=bucket_id:1,output:1,bucket=bucket_id:1,output:2", "bucket_id 1 twice"},
		{group, "group_id=1,type=indirect,bucket=output:1,bucket=output:2", "one bucket at most"},
		{group, "group_id=1,type=select,bucket=foo:1", "unknown action"},
		{meter, "meter=1 kbps bands=type=drop rate=1", "want meter=ID pktps"},
		{meter, "meter=1 pktps bands=type=dscp_remark rate=1", "type=drop"},
		{meter, "meter=1 pktps bands=type=drop rate=1 type=drop rate=2", "one band"},
		{meter, "meter=1 pktps bands=type=drop rate=1 burst_size=2", "[burst]"},
		{meter, "pktps bands=type=drop rate=1", "want meter=ID"},
	} {
		if err := c.parse(c.text); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %q", c.text, err, c.why)
		}
	}
}

func TestFields(t *testing.T) {
	for f := flows.Field(1); int(f) < flows.FieldCount; f++ {
		if f.Width() == 0 || f.Bits() == 0 || f.Bits() > 8*f.Width() {
			t.Errorf("%v has %d bytes, %d bits", f, f.Width(), f.Bits())
		}
		if got, ok := flows.FieldByName(f.String()); !ok || got != f {
			t.Errorf("%v is found as %v", f, got)
		}
	}
	for name, f := range map[string]flows.Field{"dl_src": flows.EthSrc, "nw_dst": flows.IPv4Dst, "ip_dst": flows.IPv4Dst, "tp_dst": flows.TCPDst,
		"ip_proto": flows.IPProto, "NXM_NX_REG15": flows.Reg15, "OXM_OF_ETH_DST": flows.EthDst, "in_port_oxm": flows.InPort} {
		if got, ok := flows.FieldByName(name); !ok || got != f {
			t.Errorf("%s is found as %v, want %v", name, got, f)
		}
	}
	for _, f := range []flows.Field{flows.FieldNone, flows.Field(flows.FieldCount), 255} {
		if f.Width() != 0 || f.Maskable() || f.FullMask() != (flows.Value{}) || f.String() == "" {
			t.Errorf("%d counts as a field", f)
		}
	}
}

// What package openflow makes of fields that are unknown here.
func TestUnknownFields(t *testing.T) {
	unknown := func(last byte) flows.Match {
		return flows.Match{{Masked: true, Value: flows.Value{0, 1, 0xfe, 4, 1, 2, 3, last}}}.Port(1)
	}
	a, b := flows.Rule{Match: unknown(4)}, flows.Rule{Match: unknown(5)}
	if a.Key() == b.Key() || a.Equal(b) {
		t.Error("two unknown fields are the same")
	}
	if want := "priority=0,raw_oxm=0001fe0401020304,in_port=1 actions=drop"; a.String() != want {
		t.Errorf("got %s, want %s", a, want)
	}
	if err := a.Match.Check(); err == nil {
		t.Error("an unknown field may be sent")
	}
	change, err := flows.Diff(flows.State{Rules: []flows.Rule{a, b}}, flows.State{})
	if err != nil || len(change.Delete) != 2 {
		t.Errorf("%v, %v", change, err)
	}
}

func TestEqualActions(t *testing.T) {
	raw := func(s string) flows.Action { return flows.Unknown{Raw: []byte(s)} }
	for _, c := range []struct {
		a, b []flows.Action
		same bool
	}{
		{nil, []flows.Action{}, true},
		{[]flows.Action{raw("x")}, []flows.Action{raw("x")}, true},
		{[]flows.Action{raw("x")}, []flows.Action{raw("y")}, false},
		{[]flows.Action{raw("x")}, []flows.Action{flows.Unknown{Instruction: true, Raw: []byte("x")}}, false},
		{[]flows.Action{raw("x")}, []flows.Action{flows.Go(1)}, false},
		{[]flows.Action{flows.Go(1)}, []flows.Action{raw("x")}, false},
		{[]flows.Action{flows.Output{Port: 1, MaxLen: 5}}, []flows.Action{flows.Output{Port: 1}}, true},
		{[]flows.Action{flows.Output{Port: 1}}, []flows.Action{flows.Go(1)}, false},
		{[]flows.Action{flows.Controller()}, []flows.Action{flows.Output{Port: flows.PortController}}, false},
		{[]flows.Action{flows.Go(1), flows.Go(2)}, []flows.Action{flows.Go(2), flows.Go(1)}, false},
	} {
		if got := flows.EqualActions(c.a, c.b); got != c.same {
			t.Errorf("%s and %s are equal: %v", flows.ActionsText(c.a), flows.ActionsText(c.b), got)
		}
	}
}

func TestClone(t *testing.T) {
	base := make(flows.Match, 0, 8).Port(1)
	a, b := base.Clone().Num(flows.Reg0, 1), base.Clone().Num(flows.Reg0, 2)
	if a.String() != "reg0=0x1,in_port=1" || b.String() != "reg0=0x2,in_port=1" || base.String() != "in_port=1" {
		t.Errorf("%v, %v of %v", a, b, base)
	}
}
