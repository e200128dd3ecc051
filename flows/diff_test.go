package flows_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/flows"
)

func state(t *testing.T, text string) flows.State {
	t.Helper()
	s, err := flows.ParseState(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDiff(t *testing.T) {
	const have = `
		meter=1 pktps bands=type=drop rate=100
		meter=2 pktps bands=type=drop rate=100
		group_id=5,type=all,bucket=bucket_id:1,actions=output:1
		group_id=6,type=all,bucket=bucket_id:1,actions=group:5
		table=1,priority=5,in_port=1 actions=output:2
		cookie=0x1, idle_timeout=60, send_flow_rem priority=5,tcp actions=output:2`
	for _, c := range []struct{ name, want, change string }{
		{"same", have, ""},
		{"all gone", "", `- priority=5,tcp actions=output:2
			- table=1, priority=5,in_port=1 actions=output:2
			- group_id=6
			- group_id=5
			- meter=1
			- meter=2`},
		{"other actions are modified", strings.Replace(have, "tcp actions=output:2", "tcp actions=output:3", 1),
			"~ priority=5,tcp actions=output:3"},
		{"another cookie is added anew", strings.Replace(have, "0x1", "0x2", 1), "+ priority=5,tcp actions=output:2"},
		{"another timeout is added anew", strings.Replace(have, "=60", "=61", 1), "+ priority=5,tcp actions=output:2"},
		{"another hard timeout is added anew", strings.Replace(have, "=60,", "=60,hard_timeout=9,", 1), "+ priority=5,tcp actions=output:2"},
		{"a flag is added anew", strings.Replace(have, "send_flow_rem", "", 1), "+ priority=5,tcp actions=output:2"},
		{"a flag of the adding does not count", strings.Replace(have, "send_flow_rem", "send_flow_rem check_overlap", 1), ""},
		{"another priority is another rule", strings.Replace(have, "priority=5,tcp", "priority=6,tcp", 1),
			"+ priority=6,tcp actions=output:2\n- priority=5,tcp actions=output:2"},
		{"another match is another rule", strings.Replace(have, "5,tcp", "5,udp", 1),
			"+ priority=5,udp actions=output:2\n- priority=5,tcp actions=output:2"},
		{"another table is another rule", strings.Replace(have, "table=1", "table=2", 1),
			"+ table=2, priority=5,in_port=1 actions=output:2\n- table=1, priority=5,in_port=1 actions=output:2"},
		{"groups and meters are modified", strings.NewReplacer("group:5", "group:5,output:7", "rate=100\n\t\tgroup", "rate=9\n\t\tgroup").Replace(have),
			"~ meter=2 pktps bands=type=drop rate=9\n~ group_id=6,type=all,bucket=bucket_id:1,actions=group:5,output:7"},
		{"used groups first", have + `
			group_id=1,type=all,bucket=bucket_id:0,actions=group:9,bucket=bucket_id:1,actions=group:7
			group_id=7,type=ff,bucket=bucket_id:0,watch_group:8,actions=output:1
			group_id=8,type=all
			group_id=9,type=all`, `+ group_id=9,type=all
			+ group_id=8,type=all
			+ group_id=7,type=ff,bucket=bucket_id:0,watch_group:8,actions=output:1
			+ group_id=1,type=all,bucket=bucket_id:0,actions=group:9,bucket=bucket_id:1,actions=group:7`},
		{"sorted", have + `
			table=2,priority=1,udp actions=drop
			table=2,priority=9,udp actions=drop
			priority=9,in_port=10 actions=drop
			priority=9,in_port=9 actions=drop`, `+ priority=9,in_port=9 actions=drop
			+ priority=9,in_port=10 actions=drop
			+ table=2, priority=9,udp actions=drop
			+ table=2, priority=1,udp actions=drop`},
	} {
		change, err := flows.Diff(state(t, have), state(t, c.want))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(c.change, "\t", "")
		got := strings.TrimSpace(change.String())
		// Cookies and timeouts are the same in all cases, and checked by Apply.
		for _, s := range []string{"cookie=0x1, ", "cookie=0x2, ", "idle_timeout=60, ", "idle_timeout=61, ", "hard_timeout=9, ", "send_flow_rem "} {
			got = strings.ReplaceAll(got, s, "")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		applies(t, c.name, state(t, have), state(t, c.want), change)
	}
}

// applies fails unless the change makes want of have.
func applies(t *testing.T, name string, have, want flows.State, change flows.Change) {
	t.Helper()
	got := change.Apply(have)
	again, err := flows.Diff(got, want)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Empty() {
		t.Errorf("%s: after the change there is another:\n%s", name, again)
	}
	if change.Empty() { // then flags that Diff ignores may differ
		return
	}
	if d := cmp.Diff(want.String(), got.String()); d != "" {
		t.Errorf("%s: after the change (-want +got):\n%s", name, d)
	}
}

func TestApplyModifiesActionsAlone(t *testing.T) {
	c := flows.Change{Modify: state(t, "cookie=0x2,ip actions=output:2\ncookie=0x2,arp actions=output:2").Rules}
	if got := c.Apply(state(t, "cookie=0x1,idle_timeout=3,ip actions=output:1")).String(); got != "cookie=0x1, idle_timeout=3, ip actions=output:2\n" {
		t.Errorf("got %s", got)
	}
}

func TestDiffDuplicates(t *testing.T) {
	for _, c := range []struct{ have, want, state string }{
		{"", "ip actions=drop\npriority=32768,dl_type=0x800 actions=output:1", "want"},
		{"ip actions=drop\nip actions=output:1", "ip actions=drop", "actual"},
		{"ip actions=drop\nip actions=output:1", "", "actual"},
		{"", "group_id=1,type=all\ngroup_id=1,type=select", "want"},
		{"meter=1 pktps bands=type=drop rate=1\nmeter=1 pktps bands=type=drop rate=2", "", "actual"},
	} {
		_, err := flows.Diff(state(t, c.have), state(t, c.want))
		var d *flows.DuplicateError
		if !errors.As(err, &d) || d.State != c.state {
			t.Errorf("%q, %q: %v", c.have, c.want, err)
			continue
		}
		lines := strings.Split(c.have+c.want, "\n")
		if c.state == "want" && !strings.Contains(err.Error(), d.First.String()) || d.First.String() == d.Second.String() {
			t.Errorf("%q: %v names not both of %q", c.want, err, lines)
		}
	}
}

// randomState draws from few identities, so that two states share many.
func randomState(r *rand.Rand) (s flows.State) {
	actions := []string{"drop", "output:1", "output:2,group:1", "raw_action:ffff0008", "raw_action:ffff0009"}
	seen := map[flows.RuleKey]bool{}
	for range r.IntN(40) {
		match := []string{"", "ip,", "tcp,", "in_port=1,", "in_port=2,", "reg0=1,", "reg0=0x1/0xff,", "reg0=1/0xf,", "reg0=0,"}[r.IntN(9)]
		rule := flows.MustParseRule(fmt.Sprintf("table=%d,priority=%d,cookie=%d,idle_timeout=%d,%s%sactions=%s", r.IntN(2), r.IntN(2), r.IntN(2),
			r.IntN(2), []string{"", "send_flow_rem,"}[r.IntN(2)], match, actions[r.IntN(len(actions))]))
		if !seen[rule.Key()] {
			seen[rule.Key()] = true
			s.Rules = append(s.Rules, rule)
		}
	}
	for id := range uint32(5) {
		if r.IntN(2) == 0 {
			g := flows.Group{ID: id, Type: flows.GroupType(r.IntN(2)), Method: []string{"", "hash"}[r.IntN(2)]}
			for b := range uint32(r.IntN(3)) {
				weight := uint16(r.IntN(2))
				if g.Type != flows.GroupSelect {
					weight = 0
				}
				g.Buckets = append(g.Buckets, flows.NewBucket(b, weight, flows.ToGroup{ID: r.Uint32N(5)}))
			}
			s.Groups = append(s.Groups, g)
		}
		if r.IntN(2) == 0 {
			s.Meters = append(s.Meters, flows.Meter{ID: 1 + id, Rate: 1 + r.Uint32N(2)})
		}
	}
	return s
}

func shuffled(r *rand.Rand, s flows.State) flows.State {
	r.Shuffle(len(s.Rules), func(i, j int) { s.Rules[i], s.Rules[j] = s.Rules[j], s.Rules[i] })
	r.Shuffle(len(s.Groups), func(i, j int) { s.Groups[i], s.Groups[j] = s.Groups[j], s.Groups[i] })
	r.Shuffle(len(s.Meters), func(i, j int) { s.Meters[i], s.Meters[j] = s.Meters[j], s.Meters[i] })
	return s
}

func TestDiffAppliedIsWanted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		have, want := randomState(r), randomState(r)
		change, err := flows.Diff(have, want)
		if err != nil {
			t.Fatal(err)
		}
		applies(t, fmt.Sprint(i), have, want, change)
		other, err := flows.Diff(shuffled(r, have), shuffled(r, want))
		if err != nil || other.String() != change.String() {
			t.Fatalf("%d: the change depends on the order of the states (%v):\n%s\n%s", i, err, change, other)
		}
		if t.Failed() {
			return
		}
		back, err := flows.ParseState(want.String())
		if err != nil {
			t.Fatal(err)
		}
		if d, err := flows.Diff(back, want); err != nil || !d.Empty() {
			t.Fatalf("%d: the text of a state is read as another: %v\n%s", i, err, d)
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	var have, want flows.State
	for i := range 100_000 {
		r := flows.Rule{Table: 40, Priority: 100, Cookie: 1, Match: flows.Match{}.Num(flows.EthType, 0x800).Num(flows.IPProto, 6).
			Num(flows.IPv4Src, uint64(i)).Num(flows.IPv4Dst, 1).Num(flows.TCPDst, 80), Actions: []flows.Action{flows.Output{Port: 1}}}
		have.Rules = append(have.Rules, r)
		if i%100 == 0 {
			r.Actions = []flows.Action{flows.Output{Port: 2}}
		}
		want.Rules = append(want.Rules, r)
	}
	b.ReportAllocs()
	for b.Loop() {
		if c, err := flows.Diff(have, want); err != nil || len(c.Modify) != 1000 {
			b.Fatal(err)
		}
	}
}
