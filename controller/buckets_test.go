package controller_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// selecting is group 101 with buckets of these ids, which the controller is to keep in this order.
func selecting(ids ...uint32) flows.Group {
	g := flows.Group{ID: 101, Type: flows.GroupSelect, Method: "hash", Fields: []flows.Field{flows.IPv4Src, flows.TCPSrc}}
	for _, id := range ids {
		g.Buckets = append(g.Buckets, flows.NewBucket(id, 1, flows.SetNum(flows.Reg0, uint64(id/256)), flows.Go(42)))
	}
	return g
}

func wanting(version uint64, g flows.Group) controller.OwnerState {
	return controller.OwnerState{Owner: owner("a"), Version: version, State: made(flows.State{Groups: []flows.Group{g}})}
}

// upTo are ids of one replica each.
func upTo(n int) (ids []uint32) {
	for i := range n {
		ids = append(ids, uint32(i+1)*256)
	}
	return ids
}

// short is what a modification is, without its buckets.
func short(mods []string) []string {
	out := make([]string, len(mods))
	for i, m := range mods {
		before, _, _ := strings.Cut(m, " group_id=101,type=select")
		out[i] = fmt.Sprintf("%s +%d", before, strings.Count(m, "bucket_id:"))
	}
	return out
}

// What is sent for a change of a group's buckets: the shorter of the ways.
func TestBucketsOneByOne(t *testing.T) {
	ten := upTo(10)
	for _, c := range []struct {
		name   string
		before []uint32
		after  []uint32
		mods   []string // in 1.5
	}{
		{"one more at the end", ten, upTo(11), []string{"INSERT 0xa00 +1"}},
		{"first", ten[1:], ten, []string{"INSERT 0xfffffffd +1"}},
		{"in between", slices.Delete(upTo(10), 4, 5), ten, []string{"INSERT 0x400 +1"}},
		{"replicas", ten, []uint32{256, 512, 513, 514, 768, 1024, 1280, 1536, 1792, 2048, 2304, 2560}, []string{"INSERT 0x200 +2"}},
		{"two places", slices.Concat(ten[:3], ten[4:8], ten[9:]), ten, []string{"INSERT 0x300 +1", "INSERT 0x800 +1"}},
		{"one less", ten, slices.Delete(upTo(10), 4, 5), []string{"REMOVE 1280 +0"}},
		{"the first and the last less", ten, ten[1:9], []string{"REMOVE 256 +0", "REMOVE 2560 +0"}},
		{"one for another", ten, slices.Concat(ten[1:], []uint32{2816}), []string{"INSERT 0xa00 +1", "REMOVE 256 +0"}},
		{"one for the last", ten, slices.Concat(ten[:9], []uint32{2816}), []string{"INSERT 0xa00 +1", "REMOVE 2560 +0"}},
		{"two around one that goes", ten, slices.Concat(ten[:9], []uint32{2559, 2816}), []string{"INSERT 0x900 +2", "REMOVE 2560 +0"}},
		{"most less", ten, ten[:3], []string{"MOD +3"}},
		{"all others", ten, []uint32{25600, 25601}, []string{"MOD +2"}},
		{"the first", nil, ten, []string{"ADD +10"}},
		{"a whole backend of many replicas less", slices.Concat(upTo(200), replicas(201, 70)), upTo(200), []string{"MOD +200"}},
	} {
		for _, v := range versions {
			t.Run(c.name+"/"+v.String(), func(t *testing.T) {
				h := start(t, controller.Config{})
				fake := controllertest.NewSwitch(1, controllertest.Versions(v))
				h.connect(fake)
				before, after := selecting(c.before...), selecting(c.after...)
				if v == openflow.V13 {
					before.Method, before.Fields, after.Method, after.Fields = "", nil, "", nil
				}
				first := controller.OwnerState{Owner: owner("a"), Version: 1}
				if c.before != nil {
					first = wanting(1, before)
				}
				h.ctl.Replace(1, []controller.OwnerState{first})
				h.until(t, "applied a 1")
				fake.Forget()
				h.ctl.Update(1, []controller.OwnerState{wanting(2, after)})
				h.until(t, "applied a 2")
				mods := c.mods
				if v == openflow.V13 {
					mods = []string{fmt.Sprintf("MOD +%d", len(c.after))}
					if c.before == nil {
						mods = []string{fmt.Sprintf("ADD +%d", len(c.after))}
					}
				}
				if diff := cmp.Diff(mods, short(fake.Modifications())); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
				if v == openflow.V15 && !fake.State().Groups[0].Equal(after) {
					t.Errorf("the switch holds %s", fake.State().Groups[0])
				}
			})
		}
	}
}

func replicas(id, n uint32) (ids []uint32) {
	for r := range n {
		ids = append(ids, id*256+r)
	}
	return ids
}

// A group that is not as it was left is sent whole, and so is one with a bucket that does something else.
func TestBucketsOfDriftedGroup(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1, controllertest.Versions(openflow.V15))
	fake.Put(selecting(upTo(11)...).String()) // of an earlier controller
	h.connect(fake)
	h.ctl.Replace(1, []controller.OwnerState{wanting(1, selecting(upTo(10)...))})
	h.until(t, "applied a 1")
	changed := selecting(upTo(11)...)
	changed.Buckets[3].Actions = []flows.Action{flows.Go(43)}
	h.ctl.Update(1, []controller.OwnerState{wanting(2, changed)})
	h.until(t, "applied a 2")
	turned := selecting(upTo(11)...)
	turned.Method, turned.Fields = "dp_hash", nil
	h.ctl.Update(1, []controller.OwnerState{wanting(3, turned)})
	h.until(t, "applied a 3")
	if diff := cmp.Diff([]string{"MOD +10", "MOD +11", "MOD +11"}, short(fake.Modifications())); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !fake.State().Groups[0].Equal(turned) {
		t.Errorf("the switch holds %s", fake.State().Groups[0])
	}
}

// A refusal takes back all parts of a change.
func TestBucketsRefused(t *testing.T) {
	h := start(t, controller.Config{BundleMax: 1}) // each part in a bundle of its own
	fake := controllertest.NewSwitch(1, controllertest.Versions(openflow.V15))
	h.connect(fake)
	before := selecting(upTo(20)...)
	h.ctl.Replace(1, []controller.OwnerState{wanting(1, before)})
	h.until(t, "applied a 1")
	fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
		if strings.HasPrefix(m.String(), "REMOVE 768") {
			v.Refuse = &openflow.Error{Type: openflow.ErrGroupModFailed, Code: openflow.CodeUnknownBucket}
		}
		return v
	})
	after := slices.Concat(upTo(20)[:2], upTo(25)[3:])
	h.ctl.Update(1, []controller.OwnerState{wanting(2, selecting(after...))})
	h.until(t, "refused a 2")
	if !fake.State().Groups[0].Equal(before) {
		t.Errorf("the switch holds %s", fake.State().Groups[0])
	}
	if h.refusal("a") == nil {
		t.Error("not refused")
	}
	fake.Intercept(nil)
	h.ctl.Update(1, []controller.OwnerState{wanting(3, selecting(after...))})
	h.until(t, "applied a 3")
	if !fake.State().Groups[0].Equal(selecting(after...)) {
		t.Errorf("the switch holds %s", fake.State().Groups[0])
	}
}

// A group near the limit goes in several messages, and beyond it is refused.
func TestBucketsOfLargeGroup(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1, controllertest.Versions(openflow.V15))
	h.connect(fake)
	large := selecting(upTo(1350)...)
	h.ctl.Replace(1, []controller.OwnerState{wanting(1, large)})
	h.until(t, "applied a 1")
	if !fake.State().Groups[0].Equal(large) {
		t.Error("the switch holds another group")
	}
	if n := len(fake.Modifications()); n < 2 {
		t.Errorf("in %d messages", n)
	}
	for _, n := range []int{1370, 2000} {
		h.ctl.Update(1, []controller.OwnerState{wanting(uint64(n), selecting(upTo(n)...))})
		h.until(t, fmt.Sprintf("refused a %d", n))
		if err := h.refusal("a"); err == nil || !strings.Contains(err.Error(), "at most") || !fake.State().Groups[0].Equal(large) {
			t.Errorf("%d buckets: %v", n, err)
		}
	}
}

// chance is a change of some backends: one comes, goes or is weighed anew.
type chance struct {
	weights map[uint32]int
	next    uint32
	random  *rand.Rand
}

func newChance(n int) *chance {
	c := &chance{weights: map[uint32]int{}, next: 1, random: rand.New(rand.NewPCG(4, 2))}
	for range n {
		c.weights[c.next] = 1 + c.random.IntN(5)
		c.next++
	}
	return c
}

func (c *chance) change() {
	ids := c.ids()
	switch some := ids[c.random.IntN(len(ids))]; {
	case c.random.IntN(3) == 0 || len(ids) < 3:
		c.weights[c.next] = 1 + c.random.IntN(5)
		c.next++
	case c.random.IntN(2) == 0:
		delete(c.weights, some)
	default:
		c.weights[some] = 1 + c.random.IntN(20)
	}
	if c.random.IntN(10) == 0 { // one that has left returns with its id
		c.weights[1+uint32(c.random.IntN(int(c.next)-1))] = 1
	}
}

func (c *chance) ids() (ids []uint32) {
	for id := range c.weights {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// group is what is wanted now, built afresh.
func (c *chance) group() flows.Group {
	var all []uint32
	for _, id := range c.ids() {
		all = append(all, replicas(id, uint32(c.weights[id]))...)
	}
	return selecting(all...)
}

// After a thousand random changes, and after each, the switch has the list that a new one would get.
func TestBucketsAfterManyChanges(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1, controllertest.Versions(openflow.V15))
	h.connect(fake)
	c := newChance(30)
	h.ctl.Replace(1, []controller.OwnerState{wanting(1, c.group())})
	h.until(t, "applied a 1")
	for i := range 1000 {
		for range 1 + i%3 { // several at once
			c.change()
		}
		h.ctl.Update(1, []controller.OwnerState{wanting(uint64(i+2), c.group())})
		h.until(t, fmt.Sprintf("applied a %d", i+2))
		if got, want := fake.State().Groups[0], c.group(); !got.Equal(want) {
			t.Fatalf("after %d changes\n%s\nwant\n%s", i+1, got, want)
		}
	}
	singly := 0
	for _, m := range fake.Modifications() {
		if strings.HasPrefix(m, "INSERT") || strings.HasPrefix(m, "REMOVE") {
			singly++
		}
	}
	if singly < 1000 {
		t.Errorf("%d insertions and removals", singly)
	}
}

// The same on Open vSwitch, which describes what it holds.
func TestBucketsOnOVS(t *testing.T) {
	onOVS(t, func(t *testing.T, o *ovs) {
		r := o.start(controller.Config{AuditInterval: -1})
		c := newChance(30)
		plain := func() flows.Group {
			g := c.group()
			if o.version == openflow.V13 {
				g.Method, g.Fields = "", nil
			}
			return g
		}
		r.ctl.Replace(0x51, []controller.OwnerState{wanting(1, plain())})
		r.until(t, "applied a 1")
		for i := range 200 {
			for range 1 + i%3 {
				c.change()
			}
			r.ctl.Update(0x51, []controller.OwnerState{wanting(uint64(i+2), plain())})
			if got := r.until(t, fmt.Sprintf("applied a %d", i+2)); r.refusal("a") != nil {
				t.Fatal(got, r.refusal("a"))
			}
			if i%20 > 0 {
				continue
			}
			want := plain()
			if o.version == openflow.V13 { // where they have none
				for k := range want.Buckets {
					want.Buckets[k].ID = uint32(k)
				}
			}
			if got := state(t, strings.Join(o.sw.DumpGroups(), "\n")); len(got.Groups) != 1 || !got.Groups[0].Equal(want) {
				t.Fatalf("after %d changes\n%s\nwant\n%s", i+1, got, want)
			}
		}
	})
}

// What a change of one backend costs on the wire, among 10, 100 and 1,000.
func BenchmarkBucketWire(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		all := upTo(n)
		middle := all[n/2]
		less := slices.Delete(slices.Clone(all), n/2, n/2+1)
		i, _ := slices.BinarySearch(all, middle)
		more := slices.Insert(slices.Clone(all), i+1, middle+1, middle+2)
		for name, to := range map[string][]uint32{"add": upTo(n + 1), "drain": less, "reweight 1 to 3": more} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				h := start(b, controller.Config{})
				fake := controllertest.NewSwitch(1, controllertest.Versions(openflow.V15))
				h.connect(fake)
				h.ctl.Replace(1, []controller.OwnerState{wanting(1, selecting(all...))})
				h.until(b, "applied a 1")
				version, messages, bytes := uint64(1), 0, 0
				for b.Loop() {
					fake.Forget()
					version++
					h.ctl.Update(1, []controller.OwnerState{wanting(version, selecting(to...))})
					h.until(b, fmt.Sprintf("applied a %d", version))
					for _, m := range fake.Received(openflow.TypeGroupMod) {
						messages++
						bytes += len(m.Raw)
					}
					b.StopTimer()
					version++
					h.ctl.Update(1, []controller.OwnerState{wanting(version, selecting(all...))})
					h.until(b, fmt.Sprintf("applied a %d", version))
					b.StartTimer()
				}
				b.ReportMetric(float64(messages)/float64(b.N), "messages/op")
				b.ReportMetric(float64(bytes)/float64(b.N), "bytes/op")
			})
		}
	}
}
