package othello

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// scattered is a VIP of ten backends after many changes, and no older generation left.
func scattered(t *testing.T) *vip.Generations {
	random := rand.New(rand.NewPCG(41, 42))
	p := even(10)
	var g *vip.Generations
	for range 120 {
		p = around(random, p, 10, 10)
		var m []vip.Member
		for _, s := range p {
			m = append(m, vip.Member{Backend: s.Owner, Replicas: s.Weight})
		}
		vip.SortMembers(m)
		g = steady(t, g, m)
		g.Kept = g.Kept[:1]
	}
	return g
}

// A scattered table is laid out anew when few connections are alive, and then not again; with more of them than rules are saved
// it stays.
func TestTablesAreRepackedWithFewConnections(t *testing.T) {
	g := scattered(t)
	codes := table(t, g, 0)
	rules := len(codes.Rules())
	live := states(codes, tuples(rand.New(rand.NewPCG(43, 44)), 2000, apps.ProtoTCP, vip4))
	for _, n := range []int{0, 100, 2000} {
		next := Repack(g, live[:n])
		if n == 2000 {
			if next != g {
				t.Errorf("with %d connections and %d rules it is laid out anew", n, rules)
			}
			continue
		}
		if next == g || next.Steady() || len(next.Kept) != 2 || !slices.Equal(next.Kept[0].Members, g.Kept[0].Members) {
			t.Fatalf("with %d connections and %d rules it stays", n, rules)
		}
		packed := table(t, next, 0)
		checkShares(t, packed, pool(g.Kept[0].Members))
		t.Logf("%d connections: %d rules, before %d", n, len(packed.Rules()), rules)
		if len(packed.Rules())*3 > rules {
			t.Errorf("%d rules, before %d", len(packed.Rules()), rules)
		}
		for !next.Steady() {
			next = next.Next(vip.DefaultGenerations)
		}
		if Repack(next, live[:n]) != next {
			t.Error("laid out anew while an older generation is kept")
		}
		next = relieve(t, next, live[:n]) // what has moved is pinned, and the older ones go
		for !next.Steady() {
			next = next.Next(vip.DefaultGenerations)
		}
		if next = relieve(t, next, live[:n]); len(next.Kept) != 1 || len(next.Kept[0].Pins) > rules-len(packed.Rules()) {
			t.Errorf("%d generations, %d pins for %d rules saved", len(next.Kept), len(next.Kept[0].Pins), rules-len(packed.Rules()))
		}
		if Repack(next, live[:n]) != next {
			t.Error("it does not come to rest")
		}
	}
}

// What needs no new layout gets none: a packed table, and one that nobody is in.
func TestPackedTablesStay(t *testing.T) {
	for _, g := range []*vip.Generations{nil, steady(t, nil, members(1, 2, 3)), steady(t, nil, nil), steady(t, steady(t, nil, members(1, 2)), nil)} {
		if Repack(g, nil) != g {
			t.Errorf("%+v is laid out anew", g)
		}
	}
}

// blocks counts what blocksOf lists.
func TestBlocksAreCounted(t *testing.T) {
	random := rand.New(rand.NewPCG(45, 46))
	c, p := Pack(MinCodes, even(5)), even(5)
	for range 60 {
		p = changed(random, p, 10)
		c = c.Change(p, nil)
		n := 0
		for _, o := range c.owners() {
			n += len(c.blocksOf(o))
		}
		if c.blocks() != n || c.fewest() > n {
			t.Fatalf("%d blocks, want %d; %d at least", c.blocks(), n, c.fewest())
		}
	}
}

// A new generation moves the Dcodes with the fewest connections, where it has a choice: fewer pins than by place.
func TestChangesSpareLiveConnections(t *testing.T) {
	g := scattered(t)
	codes := table(t, g, 0)
	all := tuples(rand.New(rand.NewPCG(47, 48)), 3000, apps.ProtoTCP, vip4)
	live := states(codes, all)
	more := append(slices.Clone(g.Kept[0].Members), vip.Member{Backend: 1 << 20, Replicas: 5})
	displaced := func(next *vip.Generations) (n int) {
		c := table(t, next, 0)
		for _, s := range live {
			if c.Owner(s.Code()) != s.Owner {
				n++
			}
		}
		return n
	}
	blind, seeing := displaced(Settle(g.Begin(more), nil)), displaced(Settle(g.Begin(more), func() []State { return live }))
	t.Logf("%d of %d connections displaced; %d if it is not known where they are", seeing, len(live), blind)
	if seeing >= blind {
		t.Errorf("%d connections displaced, %d if it is not known where they are", seeing, blind)
	}
	if asked := Settle(g, func() []State { t.Error("asked for nothing"); return nil }); asked != g {
		t.Error("a table that is there is made anew")
	}
}
