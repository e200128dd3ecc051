package othello

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
)

// members are backends 1 to n, each of weight 1.
func members(ids ...uint32) (out []vip.Member) {
	for _, id := range ids {
		out = append(out, vip.Member{Backend: id, Replicas: 1})
	}
	return out
}

// steady takes a change through its steps.
func steady(t *testing.T, g *vip.Generations, m []vip.Member) *vip.Generations {
	t.Helper()
	for g = Settle(g.Begin(m), nil); !g.Steady(); g = g.Next(vip.DefaultGenerations) {
		if Settle(g, nil) != g {
			t.Fatal("a step changes a table")
		}
	}
	return g
}

func table(t *testing.T, g *vip.Generations, i int) *Codes {
	t.Helper()
	c, ok := FromOwners(g.Kept[i].Owners)
	if !ok {
		t.Fatalf("generation %d has no table", g.Kept[i].ID)
	}
	return c
}

func TestGenerationsHaveTables(t *testing.T) {
	if Settle(nil, nil) != nil {
		t.Error("something out of nothing")
	}
	g := steady(t, nil, members(1, 2, 3))
	checkShares(t, table(t, g, 0), even(3))
	g = steady(t, g, members(1, 2, 3, 4))
	moved := 0
	for code := range uint16(MaxCodes) {
		a, b := table(t, g, 0).Owner(code), table(t, g, 1).Owner(code)
		if a != b {
			if moved++; a != 4 {
				t.Fatalf("a Dcode went from %d to %d", b, a)
			}
		}
	}
	if moved != MaxCodes/4 {
		t.Errorf("%d of 4096 Dcodes moved", moved)
	}
	// Nobody, and again somebody: as before, not laid out anew.
	before := table(t, g, 0)
	g = steady(t, steady(t, g, nil), members(1, 2, 3, 4))
	if c := table(t, g, 0); !slices.Equal(c.owner, before.owner) {
		t.Error("the table is another one after a time without backends")
	}
	if c := table(t, g, 1); c.Counts()[0] != c.Size() {
		t.Errorf("without backends the owners are %v", c.Counts())
	}
}

// Whoever dies leaves its Dcodes to the others where new connections are divided, and to nobody in older generations; no other
// Dcode moves.
func TestDeathMovesNobodyElse(t *testing.T) {
	random := rand.New(rand.NewPCG(29, 30))
	for range 100 {
		weigh := func(m []vip.Member) []vip.Member {
			for i := range m {
				m[i].Replicas = 1 + random.IntN(9)
			}
			return m
		}
		g := steady(t, nil, weigh(members(1, 2, 3, 4, 5)))
		g = steady(t, g, weigh(members(1, 2, 3, 5, 6)))
		g = Settle(g.Begin(weigh(members(1, 2, 3, 5, 6, 7))), nil)
		after := Settle(g.Without(func(id uint32) bool { return id == 3 }), nil)
		for i := range g.Kept {
			was, is := table(t, g, i), table(t, after, i)
			for code := range uint16(MaxCodes) {
				a, b := was.Owner(code), is.Owner(code)
				switch {
				case a != 3 && a != b:
					t.Fatalf("generation %d: a Dcode of %d went to %d", g.Kept[i].ID, a, b)
				case a == 3 && (b == 3 || (b == 0) != (i == 2)):
					t.Fatalf("generation %d, of %d: a Dcode of the dead went to %d", i, len(g.Kept), b)
				}
			}
		}
		if Settle(after, nil) != after {
			t.Fatal("it does not come to rest")
		}
	}
}
