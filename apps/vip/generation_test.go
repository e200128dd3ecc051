package vip

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sets makes generations as text: "steady 3:ab 2:a 1:b", the newest first; a backend is a letter.
func sets(t *testing.T, text string) *Generations {
	t.Helper()
	f := strings.Fields(text)
	g := &Generations{Step: Step(f[0])}
	for _, k := range f[1:] {
		var id uint32
		var members string
		if _, err := fmt.Sscanf(strings.Replace(k, ":", " ", 1)+".", "%d %s", &id, &members); err != nil {
			t.Fatal(err)
		}
		n := Generation{ID: id, Members: []Member{}}
		for _, b := range strings.TrimSuffix(members, ".") {
			n.Members = append(n.Members, Member{uint32(b-'a') + 1, 1})
		}
		g.Kept = append(g.Kept, n)
		g.Last = max(g.Last, id)
	}
	return g
}

func (g *Generations) text() string {
	out := string(g.Step)
	for _, k := range g.Kept {
		out += fmt.Sprintf(" %d:", k.ID)
		for _, m := range k.Members {
			out += string(rune('a' + m.Backend - 1))
		}
	}
	return out
}

// A change goes through its steps; new connections are divided by the newest generation from the flip on, and noted as of the one
// before while some switch may still choose by that.
func TestGenerationSteps(t *testing.T) {
	g := (*Generations)(nil)
	var got []string
	note := func() { got = append(got, fmt.Sprintf("%s, current %d, age %d", g.text(), g.Current(), g.Age())) }
	for _, members := range [][]Member{{{1, 1}}, {{1, 1}, {2, 1}}} {
		g = g.Begin(members)
		note()
		for !g.Steady() {
			g = g.Next(32)
			note()
		}
	}
	want := []string{
		"prepare 1:a, current -1, age 1", "flip 1:a, current 0, age 1", "settle 1:a, current 0, age 1", "steady 1:a, current 0, age 1",
		"prepare 2:ab 1:a, current 1, age 1", "flip 2:ab 1:a, current 0, age 1", "settle 2:ab 1:a, current 0, age 1", "steady 2:ab 1:a, current 0, age 2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	b, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	var back Generations
	if err := json.Unmarshal(b, &back); err != nil || back.text() != g.text() || back.Last != g.Last {
		t.Errorf("%s comes back as %+v, %v", b, back, err)
	}
	if last := sets(t, "settle 3:a 2:b 1:c").Next(1); last.text() != "steady 3:a" {
		t.Errorf("without hand-over: %s", last.text())
	}
	if last := sets(t, "settle 3:a 2:b 1:c").Next(2); last.text() != "steady 3:a 2:b 1:c" {
		t.Errorf("a lowered limit drops connections: %s", last.text())
	}
}

func TestGenerationsWithout(t *testing.T) {
	g := sets(t, "steady 3:abc 2:b 1:bc")
	if g.Without(func(b uint32) bool { return b == 9 }) != g {
		t.Error("a stranger's leaving makes a change")
	}
	if got := g.Without(func(b uint32) bool { return b == 2 }).text(); got != "steady 3:ac 2: 1:c" {
		t.Error(got)
	}
	if g.text() != "steady 3:abc 2:b 1:bc" {
		t.Errorf("what was given is changed: %s", g.text())
	}
}

// A walk asks each set once, from the current generation on, and passes over those without members.
func TestGenerationsAsked(t *testing.T) {
	for _, tt := range []struct {
		kept string
		want string
		free bool // the oldest may go
	}{
		{"steady 1:a", "0", false},
		{"steady 3:a 2:b 1:a", "0 1", true},
		{"steady 4:a 3: 2:b 1:c", "0 2 3", false},
		{"steady 2:a 1:", "0", true},
		{"prepare 3:a 2:b 1:a", "1 2", false}, // the newest is not asked yet
		{"prepare 1:a", "0", false},
		{"flip 3:a 2:b 1:a", "0 1", true},
	} {
		g := sets(t, tt.kept)
		var got []string
		for i := g.Asked(max(g.Current(), 0)); i < len(g.Kept); i = g.Asked(i + 1) {
			got = append(got, fmt.Sprint(i))
		}
		if s := strings.Join(got, " "); s != tt.want || g.Spare() != tt.free {
			t.Errorf("%s: asked %s, want %s; spare %v", tt.kept, s, tt.want, g.Spare())
		}
	}
}

// A set between whose backends clients are divided is another than the same for connections.
func TestGenerationsOfClients(t *testing.T) {
	g := sets(t, "steady 3:a 2:a 1:a")
	g.Kept[1].Clients = true
	if g.Asked(1) != 1 || g.Asked(2) != 3 || !g.Spare() {
		t.Errorf("asked %d, then %d", g.Asked(1), g.Asked(2))
	}
	want := Generation{Members: g.Kept[0].Members}
	if !g.Newest().Divides(want) || g.Kept[1].Divides(want) || (*Generation)(nil).Divides(want) {
		t.Error("taken for one another")
	}
	next := g.BeginAs(Generation{Members: want.Members, Clients: true})
	if n := next.Newest(); n.ID != 4 || !n.Clients || next.Step != StepPrepare {
		t.Errorf("%+v", next)
	}
}
