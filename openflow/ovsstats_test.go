package openflow

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
	"github.com/google/go-cmp/cmp"
)

// bucketsOf are the ids of a group's buckets, in the switch's order.
func bucketsOf(c *session, id uint32) (ids []uint32) {
	c.t.Helper()
	body, _ := c.multipart(AppendGroupDescRequest(nil, c.v, 2))
	groups, err := ParseGroupDescs(c.v, body)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, g := range groups {
		for _, k := range g.Buckets {
			if g.ID == id {
				ids = append(ids, k.ID)
			}
		}
	}
	return ids
}

// TestBucketsInOpenVSwitch: buckets are put in and taken out of a group that stays.
func TestBucketsInOpenVSwitch(t *testing.T) {
	c := dial(t, lab.New(t).Switch("s1"), V15)
	some := func(ids ...uint32) (list []flows.Bucket) {
		for _, id := range ids {
			list = append(list, flows.NewBucket(id, uint16(id), flows.SetNum(flows.Reg0, uint64(id)), flows.Go(60)))
		}
		return list
	}
	g := flows.Group{ID: 7, Type: flows.GroupSelect, Method: "hash", Fields: []flows.Field{flows.IPv4Src}, Buckets: some(10, 20)}
	if err := c.try(AppendGroupMod(nil, V15, 1, GroupAdd, &g)); err != nil {
		t.Fatal(err)
	}
	insert := func(at uint32, ids ...uint32) error {
		return c.try(AppendInsertBuckets(nil, V15, 1, 7, flows.GroupSelect, at, some(ids...)))
	}
	remove := func(id uint32) error { return c.try(AppendRemoveBucket(nil, V15, 1, 7, flows.GroupSelect, id)) }
	steps := []struct {
		name string
		do   func() error
		want []uint32
		code uint16 // of ErrGroupModFailed, 0: none
	}{
		{"last", func() error { return insert(BucketLast, 30, 25) }, []uint32{10, 20, 30, 25}, 0},
		{"first", func() error { return insert(BucketFirst, 5, 6) }, []uint32{5, 6, 10, 20, 30, 25}, 0},
		{"after one", func() error { return insert(10, 15, 16) }, []uint32{5, 6, 10, 15, 16, 20, 30, 25}, 0},
		{"one that is there", func() error { return insert(BucketLast, 15) }, []uint32{5, 6, 10, 15, 16, 20, 30, 25}, CodeBucketExists},
		{"after none", func() error { return insert(99, 98) }, []uint32{5, 6, 10, 15, 16, 20, 30, 25}, CodeUnknownBucket},
		{"remove one", func() error { return remove(15) }, []uint32{5, 6, 10, 16, 20, 30, 25}, 0},
		{"remove first", func() error { return remove(BucketFirst) }, []uint32{6, 10, 16, 20, 30, 25}, 0},
		{"remove last", func() error { return remove(BucketLast) }, []uint32{6, 10, 16, 20, 30}, 0},
		{"remove what is gone", func() error { return remove(15) }, []uint32{6, 10, 16, 20, 30}, CodeUnknownBucket},
		{"remove all", func() error { return remove(BucketAll) }, nil, 0},
	}
	for _, s := range steps {
		err := s.do()
		if s.code == 0 && err != nil || s.code != 0 && !errors.Is(err, &Error{Type: ErrGroupModFailed, Code: s.code}) {
			t.Errorf("%s: %v", s.name, err)
		}
		if got := bucketsOf(c, 7); !slices.Equal(got, s.want) {
			t.Errorf("%s: buckets %v, want %v", s.name, got, s.want)
		}
	}
	body, _ := c.multipart(AppendGroupDescRequest(nil, V15, 2))
	if got, err := ParseGroupDescs(V15, body); err != nil || got[0].Method != "hash" || len(got[0].Fields) != 1 {
		t.Errorf("the group is %+v, %v", got, err)
	}
}

// TestLargestGroupInOpenVSwitch: the largest group that we write is described in a way that we can read, and one more
// bucket is too much.
func TestLargestGroupInOpenVSwitch(t *testing.T) {
	s := lab.New(t).Switch("s1")
	for _, v := range versions {
		c := dial(t, s, v)
		g := flows.Group{ID: 7, Type: flows.GroupSelect, Buckets: make([]flows.Bucket, 0, 1500)}
		var msg []byte
		for _, actions := range [][]flows.Action{{flows.SetMAC(flows.EthDst, flows.MAC{1: 2, 5: 1}), flows.Go(60)}, nil} { // then small ones
			for {
				k := flows.NewBucket(0, 1, actions...)
				if v >= V15 {
					k.ID = uint32(len(g.Buckets))
				}
				g.Buckets = append(g.Buckets, k)
				b, err := AppendGroupMod(nil, v, 1, GroupAdd, &g)
				if err != nil {
					checkRefusal(t, err)
					g.Buckets = g.Buckets[:len(g.Buckets)-1]
					break
				}
				msg = b
			}
		}
		if n := len(g.Buckets); n < 1000 {
			t.Errorf("%s: at most %d buckets", v, n)
		}
		if err := c.try(msg, nil); err != nil {
			t.Fatal(err)
		}
		body, _ := c.multipart(AppendGroupDescRequest(nil, v, 2))
		got, err := ParseGroupDescs(v, body)
		if diff := cmp.Diff([]flows.Group{g}, got); diff != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", v, err, diff)
		}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupDelete, &g)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCountersInOpenVSwitch: groups', meters' and rules' counters, and what the switch says that it can.
func TestCountersInOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	frame := make([]byte, 100)
	copy(frame, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5})
	for _, v := range versions {
		c := dial(t, s, v)
		group := flows.Group{ID: 5, Buckets: []flows.Bucket{flows.NewBucket(1, 0), flows.NewBucket(2, 0)}}
		rules := []flows.Rule{
			flows.MustParseRule("table=1,cookie=0x10,dl_type=0x88b5 actions=meter:3,group:5"),
			flows.MustParseRule("table=1,cookie=0x11,priority=1 actions=drop"),
		}
		msgs := [][]byte{
			must(t)(AppendMeterMod(nil, v, 1, MeterAdd, flows.Meter{ID: 3, Rate: 1000, Burst: 10})),
			must(t)(AppendGroupMod(nil, v, 1, GroupAdd, &group)),
			must(t)(AppendFlowMod(nil, v, 1, FlowAdd, &rules[0])), must(t)(AppendFlowMod(nil, v, 1, FlowAdd, &rules[1])),
			must(t)(AppendPacketOut(nil, v, 1, flows.PortLocal, []flows.Action{flows.Go(1)}, frame)),
		}
		for _, m := range msgs {
			if err := c.try(m, nil); err != nil {
				t.Fatalf("%s %s: %v", v, Type(m[1]), err)
			}
		}
		l.Eventually(10*time.Second, func() error {
			body, _ := c.multipart(AppendGroupStatsRequest(nil, v, 2, AllGroups))
			got, err := ParseGroupStats(v, body)
			if err != nil || len(got) != 1 || got[0].DurationNsec == 0 {
				return fmt.Errorf("%+v, %v", got, err)
			}
			got[0].DurationSec, got[0].DurationNsec = 0, 0
			want := GroupStats{ID: 5, Users: 1, Packets: 1, Bytes: 100, Buckets: []BucketStats{{1, 100}, {1, 100}}}
			if diff := cmp.Diff(want, got[0]); diff != "" {
				return fmt.Errorf("%s group (-want +got):\n%s", v, diff)
			}
			return nil
		})
		body, _ := c.multipart(AppendMeterStatsRequest(nil, v, 2, AllMeters))
		meters, err := ParseMeterStats(v, body)
		if err != nil || len(meters) != 1 || meters[0].ID != 3 || meters[0].Packets != 1 || meters[0].Bytes != 100 || len(meters[0].Bands) != 1 ||
			meters[0].Bands[0] != (BandStats{}) || meters[0].DurationNsec == 0 {
			t.Errorf("%s meter: %+v, %v", v, meters, err)
		}
		body, _ = c.multipart(must(t)(AppendAggregateRequest(nil, v, 2, FlowFilter{Table: 1, Cookie: 0x10, CookieMask: 0xff})))
		if got, err := ParseAggregate(v, body); err != nil || got != (Aggregate{Packets: 1, Bytes: 100, Rules: 1}) {
			t.Errorf("%s aggregate: %+v, %v", v, got, err)
		}
		body, _ = c.multipart(must(t)(AppendAggregateRequest(nil, v, 2, FlowFilter{Table: 0xff})))
		if got, err := ParseAggregate(v, body); err != nil || got.Rules != 2 {
			t.Errorf("%s aggregate of all: %+v, %v", v, got, err)
		}
		body, _ = c.multipart(AppendGroupFeaturesRequest(nil, v, 2))
		features, err := ParseGroupFeatures(body)
		if err != nil || features.Types != 0xf || features.Capabilities&GroupWeight == 0 || features.MaxGroups[flows.GroupSelect] != 0xffffff00 {
			t.Errorf("%s group features: %+v, %v", v, features, err)
		}
		body, _ = c.multipart(AppendMeterFeaturesRequest(nil, v, 2))
		limits, err := ParseMeterFeatures(body)
		if err != nil || len(body) != meterFeaturesLen || limits.BandTypes != 1<<bandDrop || limits.MaxMeter == 0 || limits.MaxBands == 0 ||
			limits.Capabilities&(MeterPackets|MeterBurst) != MeterPackets|MeterBurst {
			t.Errorf("%s meter features: %d bytes, %+v, %v", v, len(body), limits, err)
		}
		for _, m := range [][]byte{
			must(t)(AppendGroupMod(nil, v, 1, GroupDelete, &flows.Group{ID: AllGroups})),
			must(t)(AppendMeterMod(nil, v, 1, MeterDelete, flows.Meter{ID: AllMeters})),
			must(t)(AppendFlowDeleteWhere(nil, v, 1, FlowFilter{Table: 0xff})),
		} {
			if err := c.try(m, nil); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestAsyncInOpenVSwitch: what is asked for is what is set, and what is not asked for is not sent.
func TestAsyncInOpenVSwitch(t *testing.T) {
	s := lab.New(t).Switch("s1")
	for _, v := range versions {
		c := dial(t, s, v)
		if err := c.try(AppendSetConfig(nil, v, 1, 0, NoBuffer), nil); err != nil { // else nothing is sent to those who connect
			t.Fatal(err)
		}
		want := Async{Master: AsyncMasks{PacketIn: 1<<PacketInAction | 1<<PacketInNoMatch, PortStatus: 7, FlowRemoved: 1 << RemovedDelete},
			Slave: AsyncMasks{PortStatus: 1 << PortAdded}}
		if v >= V15 {
			want.Master.RoleStatus, want.Master.TableStatus, want.Slave.RequestForward = 3, 1<<3, 3
		}
		ask := func() Async {
			c.send(AppendGetAsync(nil, v, 1))
			got, err := ParseAsync(v, c.next(TypeGetAsyncReply))
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if err := c.try(AppendSetAsync(nil, v, 1, want)); err != nil {
			t.Errorf("%s: %v", v, err)
		}
		if diff := cmp.Diff(want, ask()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", v, diff)
		}
		// One rule is deleted by a flow-mod, then another with its group.
		group := flows.Group{ID: 1}
		deleted, lost := flows.MustParseRule("send_flow_rem,arp actions=drop"), flows.MustParseRule("send_flow_rem,ip actions=group:1")
		first := func() (r FlowRemoved) {
			c.send(must(t)(AppendGroupMod(nil, v, 1, GroupAdd, &group)))
			c.send(must(t)(AppendFlowMod(nil, v, 1, FlowAdd, &deleted)))
			c.send(must(t)(AppendFlowMod(nil, v, 1, FlowAdd, &lost)))
			c.send(must(t)(AppendFlowMod(nil, v, 1, FlowDeleteStrict, &deleted)))
			c.send(must(t)(AppendGroupMod(nil, v, 1, GroupDelete, &group)))
			if err := ParseFlowRemoved(v, c.next(TypeFlowRemoved), &r); err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := first(); r.Reason != RemovedDelete || !r.Match.Equal(deleted.Match) {
			t.Errorf("%s: %+v is removed first", v, r)
		}
		want.Master.FlowRemoved = 1 << RemovedGroupDelete
		if err := c.try(AppendSetAsync(nil, v, 1, want)); err != nil {
			t.Error(err)
		}
		if r := first(); r.Reason != RemovedGroupDelete || !r.Match.Equal(lost.Match) {
			t.Errorf("%s: %+v is removed first, though others are not wanted", v, r)
		}
	}
}

// TestNoIdleAgeIn13: Open vSwitch has Nicira's flow statistics, which tell how long a rule has been idle, in OpenFlow 1.0
// alone. So rules read in 1.3 have no idle age.
func TestNoIdleAgeIn13(t *testing.T) {
	c := dial(t, lab.New(t).Switch("s1"), V13)
	b := beginMultipart(nil, V13, TypeMultipartRequest, 5, 0xffff)
	b = be.AppendUint32(be.AppendUint32(b, nicira), 0)                                       // NXST_FLOW
	b = append(b, 0xff, 0xff, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)                   // any port, no match, any table
	if err := c.try(end(b, 0), nil); !errors.Is(err, &Error{Type: ErrBadRequest, Code: 4}) { // bad experimenter type
		t.Errorf("Nicira's flow statistics in 1.3: %v", err)
	}
}
