package flows_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
)

// ovsRules are rules as one may type them. What Open vSwitch prints for them is what we must print for what we read.
var ovsRules = []string{
	"actions=drop",
	"actions=",
	"table=3,priority=32768,actions=drop",
	"priority=32768,tcp,actions=drop",
	"priority=0,actions=drop",
	"table=253,idle_timeout=5,hard_timeout=65535,send_flow_rem,check_overlap,reset_counts,no_packet_counts,no_byte_counts,arp,actions=2",
	"send_flow_rem,in_port=1,actions=output:3",

	// Matches.
	"pkt_mark=5,in_port=LOCAL,actions=drop",
	"pkt_mark=0x10/0xf0,recirc_id=0,actions=drop",
	"conj_id=4,actions=drop",
	"ct_state=+trk+new-inv,ct_zone=100,ct_mark=3/0xf,ct_label=0x5,actions=drop",
	"ct_state=0x21,ct_mark=0,ct_label=0x10000000000000002/0xf000000000000000f,actions=drop",
	"ct_state=trk|est,ct_zone=0xffff,actions=drop",
	"ct_state=0x20/0x21,actions=drop",
	"ct_state=0,actions=drop",
	"ct_state=+snat+dnat+rpl+rel-inv,actions=drop",
	"ct_state=+trk+est,ip,ct_nw_src=1.2.3.4,ct_nw_dst=1.2.0.0/16,ct_nw_proto=6,ct_tp_src=1,ct_tp_dst=0x10/0xf0,actions=drop",
	"ct_state=+trk-inv,ipv6,ct_ipv6_src=::1,ct_ipv6_dst=fe80::/64,actions=drop",
	"reg0=0,reg1=0x10/0xff,reg2=17,tcp,reg15=0xffffffff,actions=drop",
	"reg0=1,reg1=1,reg2=1,reg3=1,reg4=1,reg5=1,reg6=1,reg7=1,reg8=1,reg9=1,reg10=1,reg11=1,reg12=1,reg13=1,reg14=1,reg15=1,actions=drop",
	"xreg0=5,xreg1=5,xreg2=0x500000000,xreg3=1,xreg4=1,xreg5=1,xreg6=1,xreg7=0x100000002/0xf0000000f,actions=drop",
	"xxreg0=5,xxreg1=5,xxreg2=5/0xff,xxreg3=0x111112222222233333333,actions=drop",
	"tun_id=5,tun_src=1.2.3.4,tun_dst=1.0.0.0/8,metadata=0x10/0xffff,actions=drop",
	"tunnel_id=0x10/0xf0,metadata=0,actions=drop",
	"metadata=18446744073709551615,actions=drop",
	"in_port=65279,actions=drop",
	"in_port=2,dl_vlan=5,dl_vlan_pcp=3,actions=drop",
	"dl_vlan=0,actions=drop",
	"vlan_tci=0x1000/0x1000,actions=drop",
	"vlan_tci=0xf123/0xf0ff,actions=drop",
	"vlan_tci=0x7123,actions=drop",
	"vlan_tci=0,actions=drop",
	"dl_vlan=0xffff,ip,actions=drop",
	"vlan_vid=0,arp,actions=drop",
	"vlan_vid=0x1005/0x100f,actions=drop",
	"vlan_vid=0x1005,vlan_pcp=0,actions=drop",
	"vlan_vid=5/0xf,actions=drop",
	"dl_vlan_pcp=3,actions=drop",
	"dl_src=00:01:02:03:04:0A,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,dl_type=0x88cc,actions=drop",
	"eth_src=0e:ef:01:00:00:00/ff:ff:ff:00:00:00,eth_dst=ff:ff:ff:ff:ff:ff,eth_type=0x600,actions=drop",
	"eth_dst=0e:ef:01:02:03:04/ff:ff:ff:00:00:00,eth_src=0e:ef:01:00:00:00/ff:ff:ff:ff:ff:ff,actions=drop",
	"dl_type=5,actions=drop",
	"dl_type=0x0800,actions=drop",
	"mpls,mpls_label=5,mpls_tc=3,mpls_bos=1,actions=drop",
	"mplsm,actions=drop",
	"ip,nw_src=1.2.3.4/255.0.255.0,nw_dst=10.0.0.1/24,nw_proto=2,ip_dscp=8,nw_ecn=1,nw_ttl=7,nw_frag=not_later,actions=drop",
	"ip,nw_src=1.2.3.4/0,nw_tos=0x20,nw_frag=no,actions=drop",
	"ip,nw_frag=yes,ip_ecn=3,actions=drop", "ip,nw_frag=first,actions=drop", "ip,ip_frag=later,actions=drop",
	"ip,nw_proto=6,tp_dst=80,actions=drop",
	"ip,nw_proto=0,actions=drop",
	"dl_type=0x86dd,nw_proto=58,icmp_type=1,actions=drop",
	"ipv6,ipv6_src=fe80::/10,ipv6_dst=::1.2.3.4,ipv6_label=5,nw_tos=0x20,nw_ecn=1,nw_ttl=7,nw_frag=later,actions=drop",
	"ipv6,ipv6_dst=::1:2:3/ffff::ffff,ipv6_label=0x12345/0xff,nw_proto=200,actions=drop",
	"ipv6,ipv6_src=::ffff:1.2.3.4,ipv6_dst=1:0:0:2::,actions=drop",
	"arp,arp_op=1,arp_spa=1.2.3.4,arp_tpa=2.3.4.0/24,arp_sha=00:00:00:00:00:01,arp_tha=00:00:00:00:00:02/ff:00:00:00:00:00,actions=drop",
	"rarp,arp_op=3,actions=drop",
	"arp,nw_src=1.2.3.4,nw_dst=1.2.3.5,nw_proto=2,actions=drop",
	"tcp,nw_dst=10.0.0.100,tp_dst=80,tcp_flags=+syn-ack,actions=drop",
	"tcp,tcp_src=5,tcp_dst=0/0x8000,actions=drop",
	"tcp6,tp_src=5,tcp_flags=0x012/0xfff,actions=drop", "tcp6,tcp_flags=0x12,actions=drop",
	"tcp,tcp_flags=+[200]+[800]-ns,actions=drop", "tcp,tcp_flags=0/0x2,actions=drop", "tcp,tcp_flags=0,actions=drop",
	"tcp,tcp_flags=fin|[400]|cwr,actions=drop",
	"udp,tp_src=5/0xfff,tp_dst=7,actions=drop", "udp6,udp_src=5,udp_dst=53,actions=drop",
	"sctp,tp_src=5,tp_dst=6,actions=drop", "sctp6,sctp_src=5,sctp_dst=0x10/0x10,actions=drop",
	"icmp,icmp_type=8,icmp_code=0,actions=drop",
	"icmp6,icmp_type=135,icmp_code=0,nd_target=fe80::1,nd_sll=00:00:00:00:00:01,actions=drop",
	"icmp6,icmpv6_type=136,icmpv6_code=0,nd_target=fe80::/10,nd_tll=00:00:00:00:00:01/0f:00:00:00:00:01,actions=drop",

	// Actions.
	"actions=1,output:65279,IN_PORT,TABLE,NORMAL,FLOOD,ALL,LOCAL,CONTROLLER:128,controller(max_len=99),CONTROLLER",
	"actions=in_port,output:CONTROLLER,output:LOCAL",
	"actions=resubmit(,60),resubmit(1,60),resubmit:3,resubmit(4),resubmit(LOCAL,7)",
	"tcp,actions=fin_timeout(idle_timeout=12),fin_timeout(hard_timeout=3,idle_timeout=2),fin_timeout()",
	"actions=group:5,output:1",
	"actions=meter:1,output:3",
	"table=2,actions=output:2,goto_table:3",
	"actions=load:0->NXM_OF_IN_PORT[],output:2",
	"actions=set_field:0->in_port,set_field:5->in_port,set_field:LOCAL->in_port,load:0xfffd->NXM_OF_IN_PORT[]",
	"actions=set_field:0x10/0xff->reg0,set_field:5->reg1,set_field:0->reg2,set_field:7->xreg2,set_field:8->xxreg3",
	"actions=set_field:0x9/0xff->xxreg3,set_field:0x10/0xffffffff->reg0,set_field:0x123456789abcdef0123->xxreg1",
	"actions=load:5->NXM_NX_REG0[],load:5->NXM_NX_REG0[0..15],load:1->NXM_NX_REG0[3],load:0xffff->reg3[16..31]",
	"actions=load:5->NXM_NX_XXREG0[0..63],load:7->OXM_OF_PKT_REG1[],load:0->NXM_NX_REG4[]",
	"actions=set_field:02:00:00:00:00:01->eth_dst,set_field:02:00:00:00:00:01/ff:00:00:00:00:ff->eth_src",
	"ip,actions=set_field:1.2.3.4->ip_dst,set_field:1.2.3.0/24->nw_src,set_field:1.2.0.4/255.255.0.255->ip_src",
	"ip,actions=set_field:5->ip_dscp,set_field:1->nw_ecn,set_field:7->nw_ttl",
	"tcp,actions=set_field:80->tcp_dst,set_field:0x10/0xff->tcp_src,set_field:8080->tp_src",
	"udp,actions=set_field:80->udp_dst,set_field:81->udp_src", "sctp,actions=set_field:80->sctp_dst,set_field:81->sctp_src",
	"arp,actions=set_field:2->arp_op,set_field:1.2.3.4->arp_spa,set_field:00:00:00:00:00:01->arp_sha," +
		"set_field:00:00:00:00:00:01->arp_tha,set_field:1.2.3.4->arp_tpa",
	"icmp,actions=set_field:0->icmp_type,set_field:3->icmp_code",
	"icmp6,icmp_type=135,actions=set_field:136->icmpv6_type,set_field:1->icmpv6_code,set_field:fe80::1->nd_target," +
		"set_field:00:00:00:00:00:01->nd_sll",
	"icmp6,icmp_type=136,actions=set_field:00:00:00:00:00:01->nd_tll",
	"ipv6,actions=set_field:fe80::1->ipv6_src,set_field:fe80::/16->ipv6_dst,set_field:5->ipv6_label,set_field:0x5/0xff->ipv6_label",
	"actions=set_field:5->metadata,set_field:5->tun_id,set_field:1.2.3.4->tun_dst,set_field:5->pkt_mark,set_field:5/0xff->metadata",
	"dl_vlan=5,actions=set_field:0x1007->vlan_vid,set_field:3->vlan_pcp",
	"mpls,actions=set_field:5->mpls_label,set_field:3->mpls_tc",
	"actions=move:NXM_OF_ETH_SRC[]->OXM_OF_PKT_REG1[0..47],move:eth_src[0..31]->reg2[],move:in_port[]->reg0[0..15]",
	"actions=move:reg0[0..15]->in_port[],move:OXM_OF_IN_PORT[]->reg1[],move:OXM_OF_ETH_SRC[]->OXM_OF_ETH_DST[],move:reg0[7]->reg1[8]",
	"actions=move:metadata[16..63]->eth_src[],move:eth_src->metadata[16..63],move:ct_mark[]->reg0[],move:vlan_vid[]->reg0[0..11]",
	"tcp,actions=move:tcp_src[]->tcp_dst[],move:nw_src[]->ip_dst[],move:NXM_NX_CT_STATE[]->reg0[],move:nw_ttl[]->reg1[0..7]",
}

// notOverOpenFlow are fields that a controller cannot match, or not otherwise than above.
var notOverOpenFlow = map[flows.Field]bool{flows.DPHash: true, flows.RecircID: true, flows.SKBPriority: true}

func TestRulesAsOpenVSwitchPrintsThem(t *testing.T) {
	s := lab.New(t).Switch("s1")
	s.Ofctl("add-group", "group_id=5,type=all")
	s.Ofctl("add-meter", "meter=1,pktps,bands=type=drop,rate=1")

	var typed, ours []string
	var rules []flows.Rule
	for i, text := range slices.Concat(ovsRules, niciraRules) {
		text = fmt.Sprintf("cookie=%d,priority=%d,%s", i+1, i+1, text)
		r, err := flows.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		typed, rules, ours = append(typed, text), append(rules, r), append(ours, r.String())
	}
	for round, texts := range [][]string{typed, ours} {
		dump := dumpByCookie(t, s, texts)
		for i, r := range rules {
			theirs, ok := dump[uint64(i+1)]
			if !ok {
				t.Errorf("round %d: %s\nrefused", round, texts[i])
				continue
			}
			if theirs != ours[i] {
				t.Errorf("round %d: %s\nours   %s\ntheirs %s", round, texts[i], ours[i], theirs)
			}
			back, err := flows.ParseRule(theirs)
			if err != nil {
				t.Error(err)
			} else if !back.Equal(r) || back.Key() != r.Key() {
				t.Errorf("round %d: %s\nread back as %s", round, theirs, back)
			}
		}
	}
	covered(t, rules)
}

func TestGroupsAndMetersAsOpenVSwitchPrintsThem(t *testing.T) {
	s := lab.New(t).Switch("s1")
	for _, typed := range []string{
		"group_id=1,type=select",
		"group_id=2,type=select,bucket=bucket_id:3,weight:3,actions=output:1,bucket=bucket_id=7,actions=resubmit(,3),output:2",
		"group_id=3,type=all,bucket=actions=output:1,bucket=output:2",
		"group_id=4,type=ff,bucket=watch_port:1,output:1,bucket=watch_group:3,bucket_id:9,group:3",
		"group_id=5,type=indirect,bucket=set_field:02:00:00:00:00:01->eth_dst,set_field:0->in_port,resubmit(,60)",
		"group_id=6,type=select,selection_method=dp_hash,selection_method_param=5,bucket=output:1",
		"group_id=7,type=select,selection_method=hash,fields=ip_src,bucket=weight:0,actions=drop,bucket=weight:65535,drop",
		"group_id=8,type=select,selection_method=hash,fields(udp_src,udp_dst,tcp_dst,tcp_src,ip_proto,nw_dst,ip_src,ipv6_src,ipv6_dst)," +
			"bucket=bucket_id:2561,actions=set_field:02:00:00:00:00:01->eth_dst,resubmit(,60)",
		"group_id=9,type=select,selection_method=hash,fields(in_port,metadata,vlan_vid,eth_dst,eth_src,eth_type,arp_spa,arp_op)",
		"group_id=4294967040,type=fast_failover",
	} {
		g, err := flows.ParseGroup(typed)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, text := range []string{typed, g.String()} {
			s.Ofctl("add-group", text)
			dump := s.Ofctl("--no-names", "dump-groups", fmt.Sprint(g.ID))
			theirs := strings.TrimSpace(dump[strings.Index(dump, "group_id="):])
			if theirs != g.String() {
				t.Errorf("%s\nours   %s\ntheirs %s", text, g, theirs)
			}
			if back, err := flows.ParseGroup(theirs); err != nil || !back.Equal(g) {
				t.Errorf("%s\nread back as %s, %v", theirs, back, err)
			}
			if text == typed {
				s.Ofctl("del-groups", fmt.Sprintf("group_id=%d", g.ID))
			}
		}
	}
	for _, typed := range []string{"meter=1,pktps,bands=type=drop,rate=5", "meter=2 burst pktps bands=\ntype=drop rate=5 burst_size=7"} {
		m, err := flows.ParseMeter(typed)
		if err != nil {
			t.Error(err)
			continue
		}
		s.Ofctl("add-meter", m.String())
		dump := s.Ofctl("--no-names", "dump-meters", fmt.Sprintf("meter=%d", m.ID))
		theirs := dump[strings.Index(dump, "meter="):]
		if oneLine := strings.TrimSpace(strings.Replace(theirs, "bands=\n", "bands=", 1)); oneLine != m.String() {
			t.Errorf("%s\nours   %s\ntheirs %s", typed, m, oneLine)
		}
		if back, err := flows.ParseMeter(theirs); err != nil || back != m {
			t.Errorf("%s\nread back as %s, %v", theirs, back, err)
		}
	}
	dump := s.Ofctl("--no-names", "dump-groups") + "\n" + s.Ofctl("--no-names", "dump-meters") + "\n" + s.Ofctl("--no-names", "dump-flows")
	if state, err := flows.ParseState(dump); err != nil || len(state.Groups) < 8 || len(state.Meters) != 2 {
		t.Errorf("%s\nread as\n%s%v", dump, state, err)
	}
}

func dumpByCookie(t *testing.T, s *lab.Switch, texts []string) map[uint64]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "flows")
	if err := os.WriteFile(file, []byte(strings.Join(texts, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Ofctl("del-flows")
	if out, err := s.TryOfctl("add-flows", file); err != nil {
		t.Errorf("add-flows: %v\n%s", err, out)
	}
	dump := map[uint64]string{}
	for _, line := range s.DumpFlows() {
		var cookie uint64
		if _, err := fmt.Sscanf(line, "cookie=0x%x,", &cookie); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		dump[cookie] = line
	}
	return dump
}

// covered fails for a field or action that is in no rule.
func covered(t *testing.T, rules []flows.Rule) {
	t.Helper()
	fields, actions := map[flows.Field]bool{}, map[string]bool{}
	for _, r := range rules {
		for _, c := range r.Match {
			fields[c.Field] = true
		}
		for _, a := range r.Actions {
			actions[reflect.TypeOf(a).Name()] = true
			switch a := a.(type) {
			case flows.SetField:
				fields[a.Field] = true
			case flows.Move:
				fields[a.Src.Field], fields[a.Dst.Field] = true, true
			}
		}
	}
	for f := flows.Field(1); int(f) < flows.FieldCount; f++ {
		if !fields[f] && !notOverOpenFlow[f] && (f < flows.XReg0 || f > flows.XXReg3) {
			t.Errorf("no rule with %v", f)
		}
	}
	for _, a := range []string{"Output", "SetField", "Move", "Resubmit", "FinTimeout", "ToGroup", "ToMeter", "GotoTable", "CT", "CTClear",
		"Multipath", "Learn", "OutputReg", "DecTTL", "PushVLAN", "PopVLAN", "PushMPLS", "PopMPLS", "SetMPLSTTL", "DecMPLSTTL", "StackPush",
		"StackPop", "CheckPacketLarger", "ToController", "Exit", "WriteMetadata"} {
		if !actions[a] {
			t.Errorf("no rule with action %s", a)
		}
	}
}
