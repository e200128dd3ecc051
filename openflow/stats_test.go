package openflow

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/flows"
	"github.com/google/go-cmp/cmp"
)

// again fails unless what is written of x is read as x.
func again[T any](t *testing.T, v Version, x T, write func(Version, T) []byte, parse func(Version, []byte) (T, error)) {
	t.Helper()
	b := write(v, x)
	got, err := parse(v, b)
	clear(b) // nothing may alias the reader's buffer
	if diff := cmp.Diff(x, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" || err != nil {
		t.Errorf("%s: %v, (-want +got):\n%s", v, err, diff)
	}
}

// list makes the reader of one entry from one of several, of which there must be one.
func list[T any](parse func(Version, []byte) ([]T, error)) func(Version, []byte) (T, error) {
	return func(v Version, b []byte) (x T, err error) {
		all, err := parse(v, b)
		if err == nil && len(all) != 1 {
			err = &ValueError{What: "not one entry"}
		}
		if err == nil {
			x = all[0]
		}
		return x, err
	}
}

func writeGroupStats(v Version, s GroupStats) []byte { return AppendGroupStats(nil, v, s) }
func writeMeterStats(v Version, s MeterStats) []byte { return AppendMeterStats(nil, v, s) }
func writeAggregate(v Version, a Aggregate) []byte   { return AppendAggregate(nil, v, a) }

func readFlush(_ Version, msg []byte) (CTFlush, error) { return ParseCTFlush(msg) }

func TestStats(t *testing.T) {
	for _, v := range versions {
		again(t, v, sampleGroupStats, writeGroupStats, list(ParseGroupStats))
		again(t, v, GroupStats{ID: 1, Packets: ^uint64(0)}, writeGroupStats, list(ParseGroupStats))
		again(t, v, sampleMeterStats, writeMeterStats, list(ParseMeterStats))
		again(t, v, sampleAggregate, writeAggregate, ParseAggregate)
		again(t, v, sampleGroupFeatures, func(_ Version, f GroupFeatures) []byte { return AppendGroupFeatures(nil, f) },
			func(_ Version, b []byte) (GroupFeatures, error) { return ParseGroupFeatures(b) })
		again(t, v, sampleMeterFeatures, func(_ Version, f MeterFeatures) []byte { return AppendMeterFeatures(nil, f) },
			func(_ Version, b []byte) (MeterFeatures, error) { return ParseMeterFeatures(b) })
		again(t, v, sampleAsync, func(v Version, a Async) []byte { return must(t)(AppendAsyncReply(nil, v, 1, a)) }, ParseAsync)
		again(t, v, sampleAsync, func(v Version, a Async) []byte { return must(t)(AppendSetAsync(nil, v, 1, a)) }, ParseSetAsync)
		for _, f := range []CTFlush{sampleFlush, sampleEchoFlush, {}, {Zone: 65535}, {Proto: 17, AllZones: true}} {
			again(t, v, f, func(v Version, f CTFlush) []byte { return must(t)(AppendCTFlush(nil, v, 1, &f)) }, readFlush)
		}
		if zone, ok := ParseCTFlushZone(AppendCTFlushZone(nil, v, 1, 0xfffe)); zone != 0xfffe || !ok {
			t.Errorf("%s: zone %d, %v", v, zone, ok)
		}
		for _, b := range [][]byte{AppendCTFlushZone(nil, v, 1, 0)[:20], AppendNiciraProbe(nil, v, 1), AppendBarrier(nil, v, 1)} {
			if _, ok := ParseCTFlushZone(b); ok {
				t.Errorf("%s: %x is a flush of a zone", v, b)
			}
		}
	}
	all := Async{Master: AsyncMasks{1, 2, 3, 4, 5, 6}, Slave: AsyncMasks{7, 8, 9, 10, 11, 12}}
	again(t, V15, all, func(v Version, a Async) []byte { return must(t)(AppendSetAsync(nil, v, 1, a)) }, ParseSetAsync)
}

// TestFlushBytes: as ovs-ofctl 3.1 sends it for
// ct-flush zone=999 'ct_nw_dst=10.0.0.101,ct_nw_proto=6,ct_tp_dst=80' 'ct_nw_src=10.0.0.11,ct_nw_proto=6,ct_tp_src=8080'.
func TestFlushBytes(t *testing.T) {
	const want = "06040070 00000002 00002320 00000020 0600000000000000" +
		"0000 0028 00000000  0001 0014 00000000000000000000ffff0a000065 00000000  0003 0008 0050 0000" +
		"0001 0028 00000000  0000 0014 00000000000000000000ffff0a00000b 00000000  0002 0008 1f90 0000" +
		"0002 0008 03e7 0000"
	got := hex.EncodeToString(must(t)(AppendCTFlush(nil, V15, 2, &sampleFlush)))
	if diff := cmp.Diff(strings.ReplaceAll(want, " ", ""), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStatsRefusals continues TestRefusals.
func TestStatsRefusals(t *testing.T) {
	addr := netip.MustParseAddr
	flush := func(f CTFlush) func(b []byte, v Version) ([]byte, error) {
		return func(b []byte, v Version) ([]byte, error) { return AppendCTFlush(b, v, 1, &f) }
	}
	v4, v6 := addr("10.0.0.1"), addr("fd00::1")
	refused(t, []refusal{
		{"zone twice", flush(CTFlush{AllZones: true, Zone: 1}), "all zones and of one", 0},
		{"families", flush(CTFlush{Original: CTTuple{Src: v4}, Reply: CTTuple{Dst: v6}}), "two families", 0},
		{"any address", flush(CTFlush{Original: CTTuple{Src: addr("0.0.0.0")}}), "address 0.0.0.0", 0},
		{"address with a zone", flush(CTFlush{Original: CTTuple{Src: addr("fe80::1%eth0")}}), "address fe80", 0},
		{"IPv4 in IPv6", flush(CTFlush{Original: CTTuple{Src: addr("::ffff:1.2.3.4")}}), "address ::ffff", 0},
		{"port without protocol", flush(CTFlush{Original: CTTuple{SrcPort: 1}}), "ports with protocol 0", 0},
		{"port with ICMP", flush(CTFlush{Proto: 1, Reply: CTTuple{DstPort: 1}}), "ports with protocol 1", 0},
		{"ICMP with TCP", flush(CTFlush{Proto: 6, Reply: CTTuple{ICMPType: 8}}), "ICMP numbers with protocol 6", 0},
		{"async of 1.5", func(b []byte, v Version) ([]byte, error) {
			return AppendSetAsync(b, v, 1, Async{Slave: AsyncMasks{RequestForward: 1}})
		}, "cannot be expressed in OpenFlow 1.3", V13},
		{"insert in 1.3", func(b []byte, v Version) ([]byte, error) {
			return AppendInsertBuckets(b, v, 1, 7, flows.GroupSelect, BucketLast, sampleBuckets)
		}, "group 7: openflow: insertion of buckets cannot", V13},
		{"insert at all", func(b []byte, v Version) ([]byte, error) {
			return AppendInsertBuckets(b, v, 1, 7, flows.GroupSelect, BucketAll, sampleBuckets)
		}, "group 7: buckets inserted at 0xffffffff", V15},
		{"insert nil", func(b []byte, v Version) ([]byte, error) {
			return AppendInsertBuckets(b, v, 1, 7, flows.GroupSelect, BucketLast, []flows.Bucket{{Actions: []flows.Action{nil}}})
		}, "group 7, bucket 0: openflow: nil action", V15},
		{"remove in 1.3", func(b []byte, v Version) ([]byte, error) {
			return AppendRemoveBucket(b, v, 1, 7, flows.GroupSelect, 1)
		}, "group 7: openflow: removal", V13},
		{"remove none", func(b []byte, v Version) ([]byte, error) {
			return AppendRemoveBucket(b, v, 1, 7, flows.GroupSelect, MaxBucketID+1)
		}, "bucket 0xffffff01", V15},
		{"group-mod about a bucket", func(b []byte, v Version) ([]byte, error) {
			return AppendGroupMod(b, v, 1, GroupInsertBucket, sampleGroup(v))
		}, "group 7: command 3", 0},
		{"a large group", func(b []byte, v Version) ([]byte, error) {
			g := flows.Group{ID: 7, Buckets: make([]flows.Bucket, 9000)}
			return AppendGroupMod(b, v, 1, GroupAdd, &g)
		}, "group 7: openflow: 9000 buckets have", 0},
	})
}
