package openflow

import (
	"net/netip"
	"testing"

	"github.com/evenflow/evenflow/flows"
)

var (
	sampleAsync = Async{Master: AsyncMasks{PacketIn: 3, PortStatus: 7, FlowRemoved: 0xf}, Slave: AsyncMasks{PortStatus: 7}}
	sampleFlush = CTFlush{Zone: 999, Proto: 6, Original: CTTuple{Dst: netip.MustParseAddr("10.0.0.101"), DstPort: 80},
		Reply: CTTuple{Src: netip.MustParseAddr("10.0.0.11"), SrcPort: 8080}}
	sampleEchoFlush = CTFlush{AllZones: true, Proto: protoICMPv6,
		Original: CTTuple{Dst: netip.MustParseAddr("fd00::1"), ICMPID: 7, ICMPType: 128}}
	sampleGroupStats    = GroupStats{7, 2, 3, 4, 5, 6000000, []BucketStats{{1, 2}, {3, 4}}}
	sampleGroupFeatures = GroupFeatures{15, GroupWeight | GroupLiveness | GroupChaining, [4]uint32{1, 2, 3, 4}, [4]uint32{1, 1 << actGroup, 0, 1}}
	sampleMeterStats    = MeterStats{7, 2, 3, 4, 5, 6000000, []BandStats{{1, 2}}}
	sampleMeterFeatures = MeterFeatures{100, 1 << bandDrop, MeterKbps | MeterPackets | MeterBurst | MeterCounts, 8, 3}
	sampleAggregate     = Aggregate{3, 44, 5}
)

// statsSamples are the part of samples about counters, limits, buckets, connections and what is sent unasked.
func statsSamples(t testing.TB, v Version) []sample {
	must := must(t)
	reply := func(kind uint16, body []byte) []byte {
		return must(AppendMultipartReply(nil, v, sampleXID, kind, false, body))
	}
	const async = " (@) (xid=0x9):\n primary:\n       PACKET_IN: no_match action\n     PORT_STATUS: add delete modify\n" +
		"    FLOW_REMOVED: idle hard delete group_delete\n     ROLE_STATUS: (off)\n    TABLE_STATUS: (off)\n  REQUESTFORWARD: (off)\n\n" +
		" secondary:\n       PACKET_IN: (off)\n     PORT_STATUS: add delete modify\n    FLOW_REMOVED: (off)\n     ROLE_STATUS: (off)\n" +
		"    TABLE_STATUS: (off)\n  REQUESTFORWARD: (off)"
	out := []sample{
		{"set async", must(AppendSetAsync(nil, v, sampleXID, sampleAsync)), "OFPT_SET_ASYNC" + async},
		{"get async", AppendGetAsync(nil, v, sampleXID), "OFPT_GET_ASYNC_REQUEST (@) (xid=0x9):"},
		{"async reply", must(AppendAsyncReply(nil, v, sampleXID, sampleAsync)), "OFPT_GET_ASYNC_REPLY" + async},
		{"flush of a zone", AppendCTFlushZone(nil, v, sampleXID, 0x1f), "NXT_CT_FLUSH_ZONE (@) (xid=0x9): zone_id=31"},
		{"flush", must(AppendCTFlush(nil, v, sampleXID, &sampleFlush)), "NXT_CT_FLUSH (@) (xid=0x9): zone=999 " +
			"'ct_nw_src=::,ct_nw_dst=10.0.0.101,ct_tp_src=0,ct_tp_dst=80,ct_nw_proto=6' 'ct_nw_src=10.0.0.11,ct_nw_dst=::,ct_tp_src=8080,ct_tp_dst=0'"},
		{"flush of echo requests", must(AppendCTFlush(nil, v, sampleXID, &sampleEchoFlush)), "NXT_CT_FLUSH (@) (xid=0x9): zone=0 " +
			"'ct_ipv6_src=::,ct_ipv6_dst=fd00::1,icmp_id=7,icmp_type=128,icmp_code=0,ct_nw_proto=58' " +
			"'ct_ipv6_src=::,ct_ipv6_dst=::,icmp_id=0,icmp_type=0,icmp_code=0'"},
		{"group-stats request", AppendGroupStatsRequest(nil, v, sampleXID, 7), "OFPST_GROUP request (@) (xid=0x9): group_id=7"},
		{"group-features request", AppendGroupFeaturesRequest(nil, v, sampleXID), "OFPST_GROUP_FEATURES request (@) (xid=0x9):"},
		{"meter-stats request", AppendMeterStatsRequest(nil, v, sampleXID, 4), "OFPST_METER request (@) (xid=0x9): meter=4"},
		{"meter-features request", AppendMeterFeaturesRequest(nil, v, sampleXID), "OFPST_METER_FEATURES request (@) (xid=0x9):"},
		{"aggregate request", must(AppendAggregateRequest(nil, v, sampleXID, FlowFilter{Table: 5, Match: flows.Match{}.Num(flows.EthType, 0x806)})),
			"OFPST_AGGREGATE request (@) (xid=0x9): table=5 arp"},
		{"group-stats reply", reply(MultipartGroupStats, AppendGroupStats(nil, v, sampleGroupStats)), "OFPST_GROUP reply (@) (xid=0x9):\n " +
			"group_id=7,duration=5.006s,ref_count=2,packet_count=3,byte_count=4,bucket0:packet_count=1,byte_count=2,bucket1:packet_count=3,byte_count=4"},
		{"group-features reply", reply(MultipartGroupFeatures, AppendGroupFeatures(nil, sampleGroupFeatures)),
			"OFPST_GROUP_FEATURES reply (@) (xid=0x9):\n Group table:\n    Types:  0xf\n    Capabilities:  0x7\n    all group:\n" +
				"       max_groups=0x1\n       actions: output\n    select group:\n       max_groups=0x2\n       actions: group\n" +
				"    indirect group:\n       max_groups=0x3\n       actions: <none>\n    fast failover group:\n       max_groups=0x4\n" +
				"       actions: output"},
		{"meter-stats reply", reply(MultipartMeterStats, AppendMeterStats(nil, v, sampleMeterStats)), "OFPST_METER reply (@) (xid=0x9):\n" +
			"meter:7 flow_count:2 packet_in_count:3 byte_in_count:4 duration:5.006s bands:\n0: packet_count:1 byte_count:2"},
		{"meter-features reply", reply(MultipartMeterFeatures, AppendMeterFeatures(nil, sampleMeterFeatures)),
			"OFPST_METER_FEATURES reply (@) (xid=0x9):\nmax_meter:100 max_bands:8 max_color:3\nband_types: drop\ncapabilities: kbps pktps burst stats"},
		{"aggregate reply", reply(MultipartAggregate, AppendAggregate(nil, v, sampleAggregate)),
			"OFPST_AGGREGATE reply (@) (xid=0x9): packet_count=3 byte_count=44 flow_count=5"},
	}
	if v < V15 {
		return out
	}
	const mod = "OFPT_GROUP_MOD (@) (xid=0x9):\n "
	return append(out,
		sample{"insert buckets", must(AppendInsertBuckets(nil, v, sampleXID, 7, flows.GroupSelect, BucketLast, sampleBuckets)),
			mod + "INSERT_BUCKET command_bucket_id:last,group_id=7,bucket=bucket_id:256,actions=set_field:0x5->reg0,resubmit(,60)," +
				"bucket=bucket_id:257,weight:100,watch_port:5,actions=output:4"},
		sample{"remove bucket", must(AppendRemoveBucket(nil, v, sampleXID, 7, flows.GroupSelect, 256)),
			mod + "REMOVE_BUCKET command_bucket_id:256,group_id=7"},
		sample{"remove all buckets", must(AppendRemoveBucket(nil, v, sampleXID, 7, flows.GroupSelect, BucketAll)),
			mod + "REMOVE_BUCKET command_bucket_id:all,group_id=7"})
}
