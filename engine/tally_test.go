package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
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

// countingTally is a tally of endpoints 7 and 8 of VIP 3, and 9 of VIP 4.
func countingTally() *tally {
	t := newTally()
	t.know(map[backendKey]uint32{{3, 1}: 7, {3, 2}: 8, {4, 1}: 9})
	return t
}

// noteAll notes rules of both tables, as they are read one after the other.
func (t *tally) noteAll(d flows.DPID, now time.Time, rules []flows.InstalledRule) {
	for _, table := range []uint8{apps.TableCommit, apps.TableGroup} {
		t.note(d, table, t.begin(), now, slices.DeleteFunc(slices.Clone(rules), func(r flows.InstalledRule) bool { return r.Table != table }))
	}
}

// Counts add up over switches, and do not fall when a switch's do or a rule has gone.
func TestTally(t *testing.T) {
	y := countingTally()
	now := time.Unix(1e6, 0)
	const (
		commit = "cookie=0xef01040000000003,table=42,ip,reg0=7 actions=drop"
		other  = "cookie=0xef01040000000003,table=42,ip,reg0=8 actions=drop"
		to     = "table=41,priority=120,ct_mark=7 actions=drop"
		self   = "table=41,priority=130,ip,ct_mark=7,nw_src=10.0.0.1 actions=drop"
	)
	for i, step := range []struct {
		dpid        flows.DPID
		rules       map[string]uint64
		made, total int64
		heard       time.Duration // since the beginning; -1: never
	}{
		{1, map[string]uint64{commit: 10}, 10, 10, -1},
		{1, map[string]uint64{commit: 10, to: 0, self: 0}, 10, 10, -1},
		{2, map[string]uint64{commit: 5, to: 3}, 15, 15, 3},
		{1, map[string]uint64{commit: 10, other: 9, "table=42 actions=drop": 99}, 15, 24, 3},
		{1, map[string]uint64{commit: 12, self: 1}, 17, 26, 5},
		{1, map[string]uint64{commit: 4}, 21, 30, 5}, // it was restarted
		{1, nil, 21, 30, 5},
		{1, map[string]uint64{commit: 6}, 27, 36, 5}, // the backend has come back
		{1, map[string]uint64{commit: 6, other: 1}, 27, 37, 5},
		{2, map[string]uint64{commit: 5, to: 3}, 27, 37, 5},
	} {
		y.noteAll(step.dpid, now.Add(time.Duration(i+1)*time.Second), counted(t, step.rules))
		made, heard := y.of(7)
		if since := heard.Sub(now); made != step.made || step.heard >= 0 && since != step.heard*time.Second || step.heard < 0 && !heard.IsZero() {
			t.Errorf("step %d: %d connections, heard of at %s", i, made, heard)
		}
		if total := y.ofVIP(3); total != step.total {
			t.Errorf("step %d: the VIP has had %d, want %d", i, total, step.total)
		}
	}
	y.forget(3, map[uint32]bool{7: true})
	if made, heard := y.of(7); made != 0 || !heard.IsZero() || y.ofVIP(3) != 0 {
		t.Error("not forgotten")
	}
	if made, _ := y.of(8); made != 10 {
		t.Errorf("another has %d", made)
	}
}

// What a switch makes up is neither counted nor kept.
func TestTallyOfWhatIsNotThere(t *testing.T) {
	y, now := countingTally(), time.Unix(1e6, 0)
	x := &apps.VIP{VIP: &vip.VIP{ID: 3}, Generations: &vip.Generations{Kept: []vip.Generation{{ID: 5}}}}
	v := apps.NewView(&topo.Snapshot{}, nil, []*apps.VIP{x})
	kept := func(a age) bool { return a.kept(v) }
	for round := range 20 {
		made, ages := map[string]uint64{}, map[string]uint64{
			"table=78,reg3=3,ct_label=5 actions=drop": uint64(round), "table=78,reg3=3,ct_label=0 actions=drop": uint64(round)}
		for i := range 20 {
			n := 100 + 20*round + i
			made[fmt.Sprintf("cookie=0xef01040000000003,table=42,ip,reg0=%d actions=drop", n)] = 7
			made[fmt.Sprintf("table=41,priority=120,ct_mark=%d actions=drop", n)] = 7
			ages[fmt.Sprintf("table=78,reg3=3,ct_label=%d actions=drop", n)] = 7
			ages[fmt.Sprintf("table=78,reg3=%d,ct_label=5 actions=drop", n)] = 7
		}
		y.noteAll(1, now, counted(t, made))
		for _, r := range counted(t, made) {
			y.end(1, &r.Rule, now, 9)
		}
		y.noteAges(1, now, counted(t, ages), kept)
	}
	y.noteAll(1, now, counted(t, map[string]uint64{"cookie=0xef01040000000004,table=42,ip,reg0=7 actions=drop": 2})) // whose it is, is known
	if made, _ := y.of(7); made != 2 || y.ofVIP(3) != 2 || y.ofVIP(4) != 0 {
		t.Errorf("%d, VIP 3: %d, VIP 4: %d", made, y.ofVIP(3), y.ofVIP(4))
	}
	n := len(y.made) + len(y.heard) + len(y.total) + len(y.ages)
	for _, m := range y.last {
		n += len(m)
	}
	for _, m := range y.ended {
		n += len(m)
	}
	for _, m := range y.lastAges {
		n += len(m)
	}
	if n != 7 || y.aged(3, 5).IsZero() || y.aged(3, 0).IsZero() {
		t.Errorf("%d entries are kept", n)
	}
}

// A rule that is taken out tells what it has counted since it was last read; what was being read meanwhile does not count that twice.
func TestTallyOfARuleThatEnds(t *testing.T) {
	y, now := countingTally(), time.Unix(1e6, 0)
	rule := func(packets uint64) []flows.InstalledRule {
		return counted(t, map[string]uint64{"cookie=0xef01040000000003,table=42,ip,reg0=7 actions=drop": packets})
	}
	wants := func(when string, want int64) {
		t.Helper()
		if made, _ := y.of(7); made != want || y.ofVIP(3) != want {
			t.Errorf("%s: %d, the VIP %d, want %d", when, made, y.ofVIP(3), want)
		}
	}
	y.noteAll(1, now, rule(10))
	begun := y.begin()
	y.end(1, &rule(0)[0].Rule, now, 14)
	wants("ended", 14)
	y.note(1, apps.TableCommit, begun, now, rule(13)) // read before
	wants("read before it ended", 14)
	y.note(1, apps.TableCommit, begun, now, rule(2)) // or after it has come back
	wants("nobody knows which", 14)
	y.noteAll(1, now, rule(3))
	wants("back", 17)
	y.noteAll(1, now, rule(5))
	wants("and goes on", 19)
	y.end(1, &rule(0)[0].Rule, now, 5)
	y.end(2, &rule(0)[0].Rule, now, 1) // never read
	wants("ended again", 20)
}
