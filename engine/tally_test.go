package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// counted are rules with their counters, as a switch answers them.
func counted(t *testing.T, rules map[string]uint64) (out []flows.InstalledRule) {
	t.Helper()
	for text, packets := range rules {
		r, err := flows.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, flows.InstalledRule{Rule: r, Stats: flows.Stats{Packets: packets}})
	}
	return out
}

// Counts add up over switches, and do not fall when a switch's do.
func TestTally(t *testing.T) {
	y := newTally()
	now := time.Unix(1e6, 0)
	const commit, to, self = "table=42,ip,reg0=7 actions=drop", "table=41,priority=120,ct_mark=7 actions=drop", "table=41,priority=130,ip,ct_mark=7,nw_src=10.0.0.1 actions=drop"
	for i, step := range []struct {
		dpid  flows.DPID
		rules map[string]uint64
		made  int64
		heard time.Duration // since the beginning; -1: never
	}{
		{1, map[string]uint64{commit: 10}, 10, -1},
		{1, map[string]uint64{to: 0, self: 0}, 10, -1},
		{2, map[string]uint64{commit: 5, to: 3}, 15, 3},
		{1, map[string]uint64{commit: 10, "table=42,ip,reg0=8 actions=drop": 9, "table=42 actions=drop": 99}, 15, 3},
		{1, map[string]uint64{commit: 12, self: 1}, 17, 5},
		{1, map[string]uint64{commit: 4}, 21, 5}, // it was restarted
		{1, nil, 21, 5},
		{1, map[string]uint64{commit: 6}, 23, 5},
	} {
		y.note(step.dpid, now.Add(time.Duration(i+1)*time.Second), joined(counted(t, step.rules)))
		made, heard := y.of(7)
		if since := heard.Sub(now); made != step.made || step.heard >= 0 && since != step.heard*time.Second || step.heard < 0 && !heard.IsZero() {
			t.Errorf("step %d: %d connections, heard of at %s", i, made, heard)
		}
	}
	y.forget(0, map[uint32]bool{7: true})
	if made, heard := y.of(7); made != 0 || !heard.IsZero() {
		t.Error("not forgotten")
	}
	if made, _ := y.of(8); made != 9 {
		t.Errorf("another has %d", made)
	}
}

// What chance may do is not told of, and what it may not is.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		counts  []int64
		weights []int
		tells   bool
	}{
		{[]int64{0, 0, 0}, []int{1, 1, 1}, false},
		{[]int64{9, 0}, []int{1, 1}, false}, // too few
		{[]int64{330, 340, 335}, []int{1, 1, 1}, false},
		{[]int64{300, 370, 335}, []int{1, 1, 1}, false},
		{[]int64{100, 205, 295}, []int{1, 2, 3}, false},
		{[]int64{1000, 0, 0}, []int{1, 1, 1}, true},
		{[]int64{500, 250, 250}, []int{1, 1, 1}, true},
		{[]int64{554, 446}, []int{2, 9}, true}, // weights as Open vSwitch has them by itself, one of two among nine of one
		{[]int64{1000000, 1003000}, []int{1, 1}, false},
		{[]int64{1000}, []int{1}, false},
	} {
		w := watch{of: &apps.VIP{VIP: &vip.VIP{}}, base: make([]int64, len(tt.counts))}
		for i, n := range tt.weights {
			w.of.Backends = append(w.of.Backends, apps.Backend{Backend: &vip.Backend{Name: string(rune('a' + i)), Weight: n}, State: vip.StateUp})
		}
		// One that is drained has nothing to do with it.
		w.of.Backends = append(w.of.Backends, apps.Backend{Backend: &vip.Backend{Name: "drained", Weight: 1}, State: vip.StateDraining})
		w.base = append(w.base, 0)
		if got := w.deviation(append(tt.counts, 500)); (got != "") != tt.tells || tt.tells && !strings.Contains(got, "do not spread") {
			t.Errorf("%v by weights %v: %q", tt.counts, tt.weights, got)
		}
	}
}
