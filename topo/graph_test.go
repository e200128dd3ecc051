package topo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/flows"
)

// build reads cables such as "1:2-2:1", switch and port at both ends.
func build(t *testing.T, switches int, cables string, away ...flows.DPID) *graph {
	var all []flows.DPID
	for d := range switches {
		all = append(all, flows.DPID(d+1))
	}
	var cs []Cable
	for c := range strings.FieldsSeq(cables) {
		var a, b PortID
		if _, err := fmt.Sscanf(c, "%d:%d-%d:%d", &a.DPID, &a.No, &b.DPID, &b.No); err != nil {
			t.Fatal(err)
		}
		cs = append(cs, newCable(a, b))
	}
	slices.SortFunc(cs, Cable.Compare)
	gone := make(map[flows.DPID]bool)
	for _, d := range away {
		gone[d] = true
	}
	return newGraph(all, cs, gone)
}

// hops is the matrix of next hops, a line per source.
func hops(g *graph, n int) string {
	var b strings.Builder
	for i := range n {
		for j := range n {
			if no, ok := g.full.hop(flows.DPID(i+1), flows.DPID(j+1)); ok {
				fmt.Fprint(&b, no)
			} else {
				fmt.Fprint(&b, "-")
			}
		}
		fmt.Fprintf(&b, " %v\n", g.treePorts[flows.DPID(i+1)])
	}
	return b.String()
}

func TestGraph(t *testing.T) {
	for name, c := range map[string]struct {
		n         int
		cables    string
		away      []flows.DPID
		want      string
		shortcuts bool
	}{
		"alone":     {n: 1, want: "- []\n"},
		"apart":     {n: 2, want: "-- []\n-- []\n"},
		"line":      {n: 3, cables: "1:1-2:1 2:2-3:1", want: "-11 [1]\n1-2 [1 2]\n11- [1]\n"},
		"two":       {n: 4, cables: "1:1-2:1 3:1-4:1", want: "-1-- [1]\n1--- [1]\n---1 [1]\n--1- [1]\n"},
		"ring":      {n: 4, cables: "1:2-2:1 2:2-3:1 3:2-4:1 4:2-1:1", want: "-211 [1 2]\n1-21 [1 2]\n11-2 [1]\n211- [2]\n", shortcuts: true},
		"parallel":  {n: 2, cables: "1:7-2:3 1:5-2:4", want: "-5 [7]\n3- [3]\n", shortcuts: true},
		"to itself": {n: 2, cables: "1:1-1:2 1:3-2:1", want: "-3 [3]\n1- [1]\n"},
		// Past the one that is away, and through it where there is no other way; nor is it the root.
		"ring, 1 away": {n: 4, cables: "1:2-2:1 2:2-3:1 3:2-4:1 4:2-1:1", away: []flows.DPID{1},
			want: "-211 [2]\n1-22 [1 2]\n11-2 [1 2]\n211- [1]\n", shortcuts: true},
		"line, 2 away": {n: 3, cables: "1:1-2:1 2:2-3:1", away: []flows.DPID{2}, want: "-11 [1]\n1-2 [1 2]\n11- [1]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := build(t, c.n, c.cables, c.away...)
			if diff := cmp.Diff(c.want, hops(g, c.n)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if g.shortcuts != c.shortcuts {
				t.Errorf("shortcuts: %t", g.shortcuts)
			}
		})
	}
}

// In random networks each hop comes nearer, the tree spans each part without a ring, and all is the same a second time.
func TestRandomGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := 1 + r.IntN(64)
		var b strings.Builder
		next := make([]int, n)
		for range r.IntN(2 * n) {
			i, j := r.IntN(n), r.IntN(n)
			next[i]++
			a := next[i]
			next[j]++
			fmt.Fprintf(&b, "%d:%d-%d:%d ", i+1, a, j+1, next[j])
		}
		g := build(t, n, b.String())
		if again := build(t, n, b.String()); hops(g, n) != hops(again, n) {
			t.Fatalf("two answers for %s", b.String())
		}
		peer := make(map[PortID]PortID)
		for _, c := range g.cables {
			peer[c.A], peer[c.B] = c.B, c.A
		}
		edges := 0
		for d, ports := range g.treePorts {
			for _, no := range ports {
				edges++
				if to := peer[at(d, no)]; !slices.Contains(g.treePorts[to.DPID], to.No) {
					t.Fatalf("the tree has %v but not %v", at(d, no), to)
				}
			}
		}
		parts := 0
		for i := range n {
			part := true
			for j := range n {
				for _, rt := range []*routes{g.full, g.tree} {
					if steps := walk(rt, peer, flows.DPID(i+1), flows.DPID(j+1)); steps > n {
						t.Fatalf("from %d to %d: no end", i+1, j+1)
					} else if (steps < 0) != (walk(g.full, peer, flows.DPID(j+1), flows.DPID(i+1)) < 0) {
						t.Fatalf("from %d to %d one way only", i+1, j+1)
					} else if steps >= 0 && j < i {
						part = false
					}
				}
			}
			if part {
				parts++
			}
		}
		if edges/2 != n-parts {
			t.Fatalf("%d cables in a tree over %d switches in %d parts", edges/2, n, parts)
		}
	}
}

// walk is the length of the way, -1 if there is none.
func walk(r *routes, peer map[PortID]PortID, from, to flows.DPID) int {
	steps := 0
	for ; from != to && steps <= len(r.nodes); steps++ {
		no, ok := r.hop(from, to)
		if !ok {
			return -1
		}
		from = peer[at(from, no)].DPID
	}
	return steps
}
