package othello

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAssignDecidesEveryEdgeOfAForest(t *testing.T) {
	tests := []struct {
		name   string
		na, nb int
		edges  []Edge
		err    error
	}{
		{"nothing", 0, 0, nil, nil},
		{"no edge", 2, 2, nil, nil},
		{"one", 1, 1, []Edge{{0, 0, 7}}, nil},
		{"a star", 1, 3, []Edge{{0, 0, 1}, {0, 1, 2}, {0, 2, 3}}, nil},
		{"a path", 2, 3, []Edge{{0, 0, 1}, {0, 1, 2}, {1, 1, 3}, {1, 2, 4}}, nil},
		{"two trees", 2, 2, []Edge{{0, 1, 9}, {1, 0, 8}}, nil},
		{"the same cells twice", 2, 2, []Edge{{0, 0, 1}, {0, 0, 1}}, ErrCycle},
		{"a square", 2, 2, []Edge{{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}, ErrCycle},
		{"a square with a tail", 3, 2, []Edge{{0, 0, 1}, {2, 0, 5}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}, ErrCycle},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := fillOf(test.na, 10), fillOf(test.nb, 20)
			if err := Assign(a, b, test.edges); !errors.Is(err, test.err) {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			if test.err != nil {
				if !slices.Equal(a, fillOf(test.na, 10)) || !slices.Equal(b, fillOf(test.nb, 20)) {
					t.Errorf("cells changed: %v %v", a, b)
				}
				return
			}
			for i, e := range test.edges {
				if got := a[e.A] ^ b[e.B]; got != e.Value {
					t.Errorf("edge %d gives %d, want %d", i, got, e.Value)
				}
			}
		})
	}
}

// A tree of n edges has n+1 cells: one of them keeps its fill, and so do cells without edges.
func TestAssignKeepsAsMuchFillAsItCan(t *testing.T) {
	a, b := fillOf(3, 100), fillOf(3, 200)
	if err := Assign(a, b, []Edge{{0, 0, 1}, {0, 1, 2}}); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for i, want := range fillOf(3, 100) {
		if a[i] == want {
			kept++
		}
	}
	for i, want := range fillOf(3, 200) {
		if b[i] == want {
			kept++
		}
	}
	if kept != 6-2 {
		t.Errorf("%d of 6 cells keep their fill, want 4: %v %v", kept, a, b)
	}
}

// The share of acyclic graphs is the one of the papers, sqrt(1-n²/(ma·mb)): the two halves of the hash are independent.
func TestGraphsAreAcyclicAsOftenAsTheorySays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct{ na, nb, atLeast, atMost int }{ // of 400; theory 0.50 and 0.66, six standard deviations
		{1000, 1333, 140, 260},
		{1333, 1333, 207, 321},
	} {
		acyclic := 0
		for range 400 {
			h := Hash{Seed: random.Uint64(), A: uint32(test.na), B: uint32(test.nb)}
			edges := make([]Edge, 1000)
			for i := range edges { // keys in a row are the hardest for a weak hash
				edges[i].A, edges[i].B = h.Cells(uint64(i))
			}
			if _, ok := peel(test.na, test.nb, edges); ok {
				acyclic++
			}
		}
		if acyclic < test.atLeast || acyclic > test.atMost {
			t.Errorf("%d+%d cells: %d of 400 graphs acyclic, want %d to %d", test.na, test.nb, acyclic, test.atLeast, test.atMost)
		}
	}
}

func fillOf(n, from int) []uint32 {
	s := make([]uint32, n)
	for i := range s {
		s[i] = uint32(from + i)
	}
	return s
}
