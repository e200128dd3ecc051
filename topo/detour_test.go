package topo

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/flows"
)

// detours is the matrix of detours, a line per source.
func detours(g *graph, n int) string {
	var b strings.Builder
	for i := range n {
		for j := range n {
			if _, no := g.full.ways(flows.DPID(i+1), flows.DPID(j+1)); no != 0 {
				fmt.Fprint(&b, no)
			} else {
				fmt.Fprint(&b, "-")
			}
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func TestDetour(t *testing.T) {
	for name, c := range map[string]struct {
		n      int
		cables string
		away   []flows.DPID
		want   string
	}{
		"line":     {n: 3, cables: "1:1-2:1 2:2-3:1", want: "---\n---\n---\n"},
		"triangle": {n: 3, cables: "1:2-2:1 2:3-3:2 3:1-1:3", want: "-32\n3-1\n21-\n"},
		// From two hops away only: next to the destination the other way round begins at a switch whose way leads back.
		"ring of 4": {n: 4, cables: "1:2-2:1 2:2-3:1 3:2-4:1 4:2-1:1", want: "--2-\n---2\n2---\n-2--\n"},
		"ring of 5": {n: 5, cables: "1:2-2:1 2:2-3:1 3:2-4:1 4:2-5:1 5:2-1:1", want: "--12-\n---12\n2---1\n12---\n-12--\n"},
		"parallel":  {n: 2, cables: "1:7-2:3 1:5-2:4", want: "-7\n4-\n"},
		// Both ends know a cable by its port at the first of them.
		"parallel, sideways": {n: 3, cables: "1:1-3:1 2:1-3:2 1:5-2:9 1:6-2:8", want: "-65\n9-9\n21-\n"},
		// Another switch that is nearer goes before a second cable to the same one, and that before one that is as near.
		"choice": {n: 5, cables: "1:1-2:1 1:2-2:2 1:3-3:3 2:4-4:4 3:5-4:5 1:6-5:6 5:7-2:7",
			want: "-2-31\n2-4-1\n-5--5\n5---5\n7676-\n"},
		"away": {n: 3, cables: "1:2-2:1 2:3-3:2 3:1-1:3", away: []flows.DPID{2}, want: "-3-\n3-1\n-1-\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, detours(build(t, c.n, c.cables, c.away...), c.n)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// In random networks, whatever cables are dead, no packet comes to a switch again by the same port; and with one dead cable, it
// arrives if the switch beside that has a detour.
func TestDetoursEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	used := 0
	for range 200 {
		n := 2 + r.IntN(12)
		var b strings.Builder
		next := make([]int, n)
		for range r.IntN(3 * n) {
			i, j := r.IntN(n), r.IntN(n)
			next[i]++
			a := next[i]
			next[j]++
			fmt.Fprintf(&b, "%d:%d-%d:%d ", i+1, a, j+1, 999-next[j]) // parallel ones in another order at the other end
		}
		g := build(t, n, b.String())
		peer := make(map[PortID]PortID)
		for _, c := range g.cables {
			peer[c.A], peer[c.B] = c.B, c.A
		}
		for range 20 {
			dead := map[Cable]bool{}
			chance := r.Float64()
			for _, c := range g.cables {
				dead[c] = r.Float64() < chance
			}
			all(n, func(from, to flows.DPID) { send(t, g, peer, dead, from, to) })
		}
		for _, c := range g.cables {
			all(n, func(from, to flows.DPID) {
				end, _ := send(t, g, peer, map[Cable]bool{c: true}, from, to)
				at := end.DPID
				port, detour := g.full.ways(at, to)
				if at != to && (port == 0 || detour != 0) && walk(g.full, peer, from, to) >= 0 {
					t.Fatalf("%s from %d to %d ends at %v without %v", b.String(), from, to, at, c)
				}
				if at == to && from != to {
					used++
				}
			})
		}
	}
	if used == 0 {
		t.Error("nothing has arrived")
	}
}

func all(n int, do func(from, to flows.DPID)) {
	for i := range n {
		for j := range n {
			do(flows.DPID(i+1), flows.DPID(j+1))
		}
	}
}

// send is where a packet ends: as Open vSwitch does, each switch takes the first of the two ports that is not dead, and sends
// nothing back by the port of entry.
func send(t *testing.T, g *graph, peer map[PortID]PortID, dead map[Cable]bool, from, to flows.DPID) (end PortID, steps int) {
	t.Helper()
	seen := map[PortID]bool{}
	at := PortID{DPID: from}
	for at.DPID != to {
		if seen[at] {
			t.Fatalf("%v: from %d to %d there is a loop at %v", g.cables, from, to, at)
		}
		seen[at] = true
		steps++
		out := PortID{DPID: at.DPID}
		port, detour := g.full.ways(at.DPID, to)
		for _, no := range []uint32{port, detour} {
			p := PortID{at.DPID, no}
			if no != 0 && !dead[newCable(p, peer[p])] {
				out.No = no
				break
			}
		}
		if out.No == 0 || out.No == at.No {
			return at, steps
		}
		at = peer[out]
	}
	return at, steps
}
