package openflow

import (
	"testing"

	"github.com/evenflow/evenflow/flows"
)

var versions = []Version{V13, V15}

// must fails the test when an encoder refused.
func must(t testing.TB) func(b []byte, err error) []byte {
	return func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

var sampleStats = flows.Stats{Packets: 3, Bytes: 44, DurationSec: 5, DurationNsec: 7, IdleSec: 6, HasIdle: true}

var sampleBuckets = []flows.Bucket{
	{ID: 256, Weight: 1, WatchPort: flows.PortAny, WatchGroup: anyGroup,
		Actions: []flows.Action{flows.SetNum(flows.Reg0, 5), flows.Go(60)}},
	{ID: 257, Weight: 100, WatchPort: 5, WatchGroup: anyGroup, Actions: []flows.Action{flows.Output{Port: 4}}},
}

func sampleGroup(v Version) *flows.Group {
	g := &flows.Group{ID: 7, Type: flows.GroupSelect, Buckets: sampleBuckets}
	if v >= V15 {
		g.Method, g.Param = "hash", 3
		g.Fields = []flows.Field{flows.IPv4Src, flows.IPv4Dst, flows.IPProto, flows.TCPSrc, flows.TCPFlags}
	}
	return g
}

func sampleRule() flows.Rule {
	return flows.MustParseRule("cookie=0x5,table=1,priority=10,idle_timeout=3,hard_timeout=9,tcp,in_port=3,nw_src=1.2.3.0/24," +
		"reg1=0x5/0x7,ct_mark=0x3,tcp_flags=+syn " +
		"actions=meter:3,set_field:0->in_port,set_field:0x5/0x7->reg1,fin_timeout(idle_timeout=12)," +
		"move:NXM_OF_ETH_SRC[]->OXM_OF_METADATA[16..63],resubmit(,3),group:4,CONTROLLER:65535,goto_table:9")
}

func samplePacketIn() *PacketIn {
	return &PacketIn{BufferID: NoBufferID, TotalLen: 60, Reason: PacketInAction, Table: 3, Cookie: 0xef, InPort: 4,
		Data: make([]byte, 60)}
}

// sample is one message with what Open vSwitch's decoder prints for it ("@" stands for OF1.3 or OF1.5).
type sample struct {
	name string
	msg  []byte
	text string
}

const sampleXID = 0x9

// samples has every message that can be encoded, of one version.
func samples(t testing.TB, v Version) []sample {
	must := must(t)
	rule, group := sampleRule(), sampleGroup(v)
	installed := &flows.InstalledRule{Rule: rule, Stats: sampleStats}
	removed := &FlowRemoved{Rule: rule, Stats: sampleStats, Reason: RemovedIdle}
	match := "priority=10,ct_mark=0x3,tcp,reg1=0x5/0x7,in_port=3,nw_src=1.2.3.0/24,tcp_flags=+syn"
	timeouts := "idle:3 hard:9"
	actions := "actions=meter:3,set_field:0->in_port,set_field:0x5/0x7->reg1,fin_timeout(idle_timeout=12)," +
		"move:NXM_OF_ETH_SRC[]->OXM_OF_METADATA[16..63],resubmit(,3),group:4,CONTROLLER:65535,goto_table:9"
	buckets := "bucket=actions=set_field:0x5->reg0,resubmit(,60),bucket=weight:100,watch_port:5,actions=output:4"
	idle, ffID := "", ""
	if v < V15 {
		actions = "actions=meter:3,set_field:0->in_port,load:0x5->NXM_NX_REG1[0..2],fin_timeout(idle_timeout=12)," +
			"move:NXM_OF_ETH_SRC[]->OXM_OF_METADATA[16..63],resubmit(,3),group:4,CONTROLLER:65535,goto_table:9"
	} else {
		buckets = "selection_method=hash,selection_method_param=3,fields(ip_src,ip_dst,nw_proto,tcp_src,tcp_flags)," +
			"bucket=bucket_id:256,actions=set_field:0x5->reg0,resubmit(,60)," +
			"bucket=bucket_id:257,weight:100,watch_port:5,actions=output:4"
		idle, ffID = "idle_age=6, ", "bucket_id:0,"
	}
	filter := FlowFilter{Table: 0xff, Cookie: 0xef12, CookieMask: 0xff00, Match: flows.Match(nil).Num(flows.EthType, 0x806)}
	reply := func(kind uint16, body []byte) []byte {
		return must(AppendMultipartReply(nil, v, sampleXID, kind, false, body))
	}
	out := []sample{
		{"echo request", AppendEchoRequest(nil, v, sampleXID, []byte("hi")),
			"OFPT_ECHO_REQUEST (@) (xid=0x9): 2 bytes of payload\n00000000  68 69                                           |hi              |"},
		{"echo reply", AppendEchoReply(nil, v, sampleXID, nil), "OFPT_ECHO_REPLY (@) (xid=0x9): 0 bytes of payload"},
		{"features request", AppendFeaturesRequest(nil, v, sampleXID), "OFPT_FEATURES_REQUEST (@) (xid=0x9):"},
		{"features reply", AppendFeaturesReply(nil, v, sampleXID, Features{DPID: 0x1234, Buffers: 5, Tables: 254, Capabilities: 0x4f}),
			"OFPT_FEATURES_REPLY (@) (xid=0x9): dpid:0000000000001234\nn_tables:254, n_buffers:5\n" +
				"capabilities: FLOW_STATS TABLE_STATS PORT_STATS GROUP_STATS QUEUE_STATS"},
		{"set config", AppendSetConfig(nil, v, sampleXID, 0, NoBuffer),
			"OFPT_SET_CONFIG (@) (xid=0x9): frags=normal miss_send_len=65535"},
		{"get config", AppendGetConfig(nil, v, sampleXID), "OFPT_GET_CONFIG_REQUEST (@) (xid=0x9):"},
		{"barrier", AppendBarrier(nil, v, sampleXID), "OFPT_BARRIER_REQUEST (@) (xid=0x9):"},
		{"barrier reply", AppendBarrierReply(nil, v, sampleXID), "OFPT_BARRIER_REPLY (@) (xid=0x9):"},
		{"role", AppendRole(nil, v, sampleXID, RoleMaster, 7), "OFPT_ROLE_REQUEST (@) (xid=0x9): role=primary generation_id=7"},
		{"role reply", AppendRoleReply(nil, v, sampleXID, RoleSlave, 7),
			"OFPT_ROLE_REPLY (@) (xid=0x9): role=secondary generation_id=7"},
		{"error", AppendError(nil, v, &Error{XID: sampleXID, Type: ErrBadMatch, Code: 6, Data: AppendBarrier(nil, v, sampleXID)}),
			"OFPT_ERROR (@) (xid=0x9): OFPBMC_BAD_FIELD\nOFPT_BARRIER_REQUEST (@) (xid=0x9):"},
		{"experimenter error", AppendError(nil, v, &Error{XID: sampleXID, Type: ErrExperimenter, Code: 2, Experimenter: nicira,
			Data: AppendBarrier(nil, v, sampleXID)}),
			"OFPT_ERROR (@) (xid=0x9): NXBRC_NXM_INVALID\nOFPT_BARRIER_REQUEST (@) (xid=0x9):"},
		{"packet-in", must(AppendPacketIn(nil, v, sampleXID, samplePacketIn(), flows.Match(nil).Num(flows.Reg15, 7)...)),
			"OFPT_PACKET_IN (@) (xid=0x9): table_id=3 cookie=0xef total_len=60 reg15=0x7,in_port=4 (via action) data_len=60 (unbuffered)\n" +
				"vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,dl_type=0x05ff"},
		{"packet-out", must(AppendPacketOut(nil, v, sampleXID, flows.PortController,
			[]flows.Action{flows.SetNum(flows.Reg0, 5), flows.Output{Port: 3}}, make([]byte, 60))),
			"OFPT_PACKET_OUT (@) (xid=0x9): in_port=CONTROLLER actions=set_field:0x5->reg0,output:3 data_len=60\n" +
				"vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,dl_type=0x05ff"},
		{"flow add", must(AppendFlowMod(nil, v, sampleXID, FlowAdd, &rule)),
			"OFPT_FLOW_MOD (@) (xid=0x9): ADD table:1 " + match + " cookie:0x5 " + timeouts + " " + actions},
		{"flow modify strict", must(AppendFlowMod(nil, v, sampleXID, FlowModifyStrict, &rule)),
			"OFPT_FLOW_MOD (@) (xid=0x9): MOD_STRICT table:1 " + match + " " + timeouts + " " + actions},
		{"flow delete strict", must(AppendFlowMod(nil, v, sampleXID, FlowDeleteStrict, &rule)),
			"OFPT_FLOW_MOD (@) (xid=0x9): DEL_STRICT table:1 " + match + " actions=drop"},
		{"flow delete where", must(AppendFlowDeleteWhere(nil, v, sampleXID, filter)),
			"OFPT_FLOW_MOD (@) (xid=0x9): DEL table:255 priority=0,arp cookie:0xef00/0xff00 actions=drop"},
		{"flow removed", must(AppendFlowRemoved(nil, v, sampleXID, removed)),
			"OFPT_FLOW_REMOVED (@) (xid=0x9): " + match +
				" reason=idle table_id=1 cookie:0x5 duration5.000000007s idle3 hard9 pkts3 bytes44"},
		{"port status", AppendPortStatus(nil, v, sampleXID, PortModified, Port{No: 4, MAC: flows.MAC{2, 3, 4}, Name: "s1-p4",
			Config: PortDown, State: LinkDown, SpeedKbps: 10000000}),
			"OFPT_PORT_STATUS (@) (xid=0x9): MOD: 4(s1-p4): addr:02:03:04:00:00:00\n     config:     PORT_DOWN\n" +
				"     state:      LINK_DOWN\n     speed: 10000 Mbps now, 0 Mbps max"},
		{"meter add", must(AppendMeterMod(nil, v, sampleXID, MeterAdd, flows.Meter{ID: 4, Rate: 100, Burst: 50})),
			"OFPT_METER_MOD (@) (xid=0x9): ADD meter=4 pktps burst bands=\ntype=drop rate=100 burst_size=50"},
		{"meter modify", must(AppendMeterMod(nil, v, sampleXID, MeterModify, flows.Meter{ID: 4, Rate: 100})),
			"OFPT_METER_MOD (@) (xid=0x9): MOD meter=4 pktps bands=\ntype=drop rate=100"},
		{"meter delete", must(AppendMeterMod(nil, v, sampleXID, MeterDelete, flows.Meter{ID: 4})),
			"OFPT_METER_MOD (@) (xid=0x9): DEL meter=4 bands="},
		{"group add", must(AppendGroupMod(nil, v, sampleXID, GroupAdd, group)),
			"OFPT_GROUP_MOD (@) (xid=0x9):\n ADD group_id=7,type=select," + buckets},
		{"group modify", must(AppendGroupMod(nil, v, sampleXID, GroupModify, group)),
			"OFPT_GROUP_MOD (@) (xid=0x9):\n MOD group_id=7,type=select," + buckets},
		{"group delete", must(AppendGroupMod(nil, v, sampleXID, GroupDelete, group)),
			"OFPT_GROUP_MOD (@) (xid=0x9):\n DEL group_id=7,type=select"},
		{"group modify, fast failover", must(AppendGroupMod(nil, v, sampleXID, GroupModify, &flows.Group{ID: 8, Type: flows.GroupFastFailover,
			Buckets: []flows.Bucket{{WatchPort: 5, WatchGroup: anyGroup, Actions: []flows.Action{flows.Output{Port: 4}}}}})),
			"OFPT_GROUP_MOD (@) (xid=0x9):\n MOD group_id=8,type=ff,bucket=" + ffID + "watch_port:5,actions=output:4"},
		{"probe", AppendNiciraProbe(nil, v, sampleXID), "NXT_TLV_TABLE_REQUEST (@) (xid=0x9):"},
		{"probe reply", AppendNiciraProbeReply(nil, v, sampleXID), "NXT_TLV_TABLE_REPLY (@) (xid=0x9):\n" +
			" max option space=256 max fields=64\n allocated option space=0\n\n mapping table:\n" +
			"  class  type  length  match field\n ------  ----  ------  --------------"},
		{"desc request", AppendDescRequest(nil, v, sampleXID), "OFPST_DESC request (@) (xid=0x9):"},
		{"port-desc request", AppendPortDescRequest(nil, v, sampleXID), "OFPST_PORT_DESC request (@) (xid=0x9): port=ANY"},
		{"port-stats request", AppendPortStatsRequest(nil, v, sampleXID, 5), "OFPST_PORT request (@) (xid=0x9): port_no=5"},
		{"meter-config request", AppendMeterConfigRequest(nil, v, sampleXID), "OFPST_METER_CONFIG request (@) (xid=0x9): meter=all"},
		{"group-desc request", AppendGroupDescRequest(nil, v, sampleXID), "OFPST_GROUP_DESC request (@) (xid=0x9): group_id=ALL"},
		{"flow-stats request", must(AppendFlowStatsRequest(nil, v, sampleXID, FlowFilter{Table: 5, Match: filter.Match})),
			"OFPST_FLOW request (@) (xid=0x9): table=5 arp"},
		{"desc reply", reply(MultipartDesc, AppendDesc(nil, Desc{"a", "b", "c", "d", "e"})),
			"OFPST_DESC reply (@) (xid=0x9):\nManufacturer: a\nHardware: b\nSoftware: c\nSerial Num: d\nDP Description: e"},
		{"port-desc reply", reply(MultipartPortDesc, AppendPortDesc(AppendPortDesc(nil, v, Port{No: 4, Name: "x", SpeedKbps: 1000}),
			v, Port{No: 5, Name: "y", State: PortLive})),
			"OFPST_PORT_DESC reply (@) (xid=0x9):\n 4(x): addr:00:00:00:00:00:00\n     config:     0\n     state:      0\n" +
				"     speed: 1 Mbps now, 0 Mbps max\n 5(y): addr:00:00:00:00:00:00\n     config:     0\n     state:      LIVE\n" +
				"     speed: 0 Mbps now, 0 Mbps max"},
		{"port-stats reply", reply(MultipartPortStats, AppendPortStats(nil, v, PortStats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})),
			"OFPST_PORT reply (@) (xid=0x9): 1 ports\n  port  1: rx pkts=2, bytes=4, drop=6, errs=8, frame=?, over=?, crc=?\n" +
				"           tx pkts=3, bytes=5, drop=7, errs=9, coll=?\n           duration=10.000000011s"},
		{"meter-config reply", reply(MultipartMeterConfig, AppendMeterConfig(nil, v, flows.Meter{ID: 4, Rate: 100, Burst: 50})),
			"OFPST_METER_CONFIG reply (@) (xid=0x9):\nmeter=4 pktps burst bands=\ntype=drop rate=100 burst_size=50"},
		{"group-desc reply", reply(MultipartGroupDesc, must(AppendGroupDesc(nil, v, group))),
			"OFPST_GROUP_DESC reply (@) (xid=0x9):\n group_id=7,type=select," + buckets},
		{"flow-stats reply", reply(MultipartFlow, must(AppendFlowStats(nil, v, installed))),
			"OFPST_FLOW reply (@) (xid=0x9):\n cookie=0x5, duration=5.000000007s, table=1, n_packets=3, n_bytes=44, idle_timeout=3, hard_timeout=9, " +
				idle + match + " " + actions},
	}
	if v >= V15 {
		inner := out[14]
		out = append(out,
			sample{"hello", AppendHello(nil, sampleXID, V13, V15), "OFPT_HELLO (@) (xid=0x9):\n version bitmap: 0x04, 0x06"},
			sample{"bundle control", AppendBundleControl(nil, v, sampleXID, 77, BundleOpen, BundleAtomic|BundleOrdered),
				"OFPT_BUNDLE_CONTROL (@) (xid=0x9):\n bundle_id=0x4d type=OPEN_REQUEST flags=atomic ordered"},
			sample{"bundle add", must(AppendBundleAdd(nil, v, sampleXID, 77, BundleAtomic|BundleOrdered, inner.msg)),
				"OFPT_BUNDLE_ADD_MESSAGE (@) (xid=0x9):\n bundle_id=0x4d flags=atomic ordered\n" + inner.text},
		)
	} else {
		out = append(out, sample{"hello", AppendHello(nil, sampleXID, V13), "OFPT_HELLO (@) (xid=0x9):\n version bitmap: 0x04"})
	}
	return append(out, statsSamples(t, v)...)
}
