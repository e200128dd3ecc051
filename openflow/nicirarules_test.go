package openflow

// niciraTexts continue ruleTexts: the actions and fields that are Nicira's, and tags.
var niciraTexts = []string{
	"priority=1,ip actions=ct(),ct(table=3),ct(zone=65535,nat),ct(table=0,zone=NXM_NX_REG1[0..15]),ct(commit,force)",
	"priority=1,ip actions=ct(commit,table=74,zone=9,nat(dst=10.0.0.1:8080),exec(set_field:0x7->ct_mark))",
	"priority=1,ip actions=ct(commit,exec(set_field:0x5/0xff->ct_mark,move:NXM_NX_REG0[0..15]->NXM_NX_CT_LABEL[16..31]))",
	"priority=1,ip actions=ct(commit,nat(src)),ct(commit,nat(dst)),ct(commit,nat(src=10.0.0.1-10.0.0.9)),ct(commit,nat(src=10.0.0.1:80-90))",
	"priority=1,ip actions=ct(commit,nat(src=10.0.0.1-10.0.0.2:1000-65535,random)),ct(commit,nat(dst=255.255.255.255,persistent,hash))",
	"priority=1,ipv6 actions=ct(commit,nat(src=fd00::1)),ct(commit,nat(dst=fd00::1-fd00::9)),ct(commit,nat(src=[fd00::1]:80))",
	"priority=1,ipv6 actions=ct(commit,nat(dst=[fd00::1]-[fd00::9]:80-90,hash)),ct(commit,nat(dst=::ffff:1.2.3.4))",
	"priority=1,ip actions=ct(commit,exec(set_field:0x1->ct_mark,nat(src=1.2.3.4)))",
	"priority=1,tcp actions=ct(commit,alg=ftp),ct(table=1,alg=ftp)", "priority=1,udp actions=ct(commit,zone=7,alg=tftp)",
	"priority=1 actions=ct_clear,exit",
	"priority=1,ip actions=multipath(eth_src,50,modulo_n,1,0,NXM_NX_REG0[]),multipath(symmetric_l4,1024,hash_threshold,16,7,NXM_NX_REG0[0..3])",
	"priority=1,ip actions=multipath(symmetric_l3l4+udp,65535,iter_hash,65536,4294967295,NXM_NX_REG2[16..31])",
	"priority=1,ip actions=multipath(symmetric_l3,0,hrw,64,0,OXM_OF_PKT_REG1[])",
	"priority=1 actions=learn(table=10,hard_timeout=300,NXM_OF_VLAN_TCI[0..11],NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[])",
	"priority=1,tcp actions=learn(table=7,idle_timeout=1,hard_timeout=2,fin_idle_timeout=3,fin_hard_timeout=4,priority=5,send_flow_rem," +
		"delete_learned,cookie=0x6,limit=9,result_dst=NXM_NX_REG0[3],eth_type=0x800,nw_proto=6,NXM_OF_IP_DST[]=NXM_OF_IP_SRC[],tcp_dst=80," +
		"load:0x5->NXM_NX_REG1[3..7])",
	"priority=1,ipv6 actions=learn(table=1,eth_type=0x86dd,NXM_NX_IPV6_DST[]=NXM_NX_IPV6_SRC[],ipv6_src=fd00::1," +
		"load:0x10000000000000000001->NXM_NX_XXREG0[])",
	"priority=1 actions=learn(table=1,NXM_NX_REG2[1..3]=0x2,reg3=0x7,NXM_NX_REG4[],in_port=LOCAL,load:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15]," +
		"load:NXM_NX_REG0[0..7]->NXM_NX_REG1[24..31],load:0->NXM_NX_REG1[],output:NXM_NX_REG7[])",
	"priority=1 actions=learn(table=254)",
	"priority=1 actions=output:NXM_NX_REG1[0..15],output:OXM_OF_PKT_REG3[32..63],output:NXM_OF_IN_PORT[]",
	"priority=1,ip actions=dec_ttl,dec_ttl(1),dec_ttl(1,2,3,4,65535)",
	"priority=1 actions=push_vlan:0x8100,set_field:4101->vlan_vid,push_vlan:0x88a8,pop_vlan",
	"priority=1 actions=set_field:0x5->vlan_tci,move:NXM_OF_VLAN_TCI[]->NXM_NX_REG0[0..15]",
	"priority=1,mpls actions=push_mpls:0x8848,dec_mpls_ttl,set_mpls_ttl(64),set_field:5->mpls_ttl", "priority=1,mpls actions=pop_mpls:0x0800",
	"priority=1 actions=push:NXM_OF_ETH_DST[],pop:NXM_OF_ETH_DST[],push:NXM_NX_REG0[0..5],pop:NXM_NX_XXREG1[122..127],push:NXM_OF_IN_PORT[]",
	"priority=1 actions=check_pkt_larger(1500)->NXM_NX_REG0[3],check_pkt_larger(0)->NXM_NX_XXREG3[127]",
	"priority=1 actions=controller(userdata=01.02.ff),controller(pause),controller(reason=no_match,max_len=99,id=65535),controller(id=7)",
	"priority=1 actions=controller(reason=invalid_ttl,max_len=0,id=3,userdata=00.01.02.03.04,pause,meter_id=1)",
	"priority=1 actions=output:1,write_metadata:0x5/0xff,goto_table:9", "priority=1 actions=write_metadata:0x5",
	"priority=1 actions=meter:1,write_metadata:0x5/0xff",
	"priority=1,icmp6,icmp_type=135,nd_target=fe80::1,nd_reserved=4294967295,nd_options_type=1 " +
		"actions=set_field:3->nd_reserved,set_field:2->nd_options_type,move:NXM_NX_REG0[]->ERICOXM_OF_ICMPV6_ND_RESERVED[]",
	"priority=1,tun_ipv6_src=fe80::1,tun_ipv6_dst=fe80::/16 actions=set_field:fe80::1->tun_ipv6_dst",
	"priority=1,mpls,mpls_ttl=7 actions=drop",
}
