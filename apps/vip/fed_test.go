package vip

import (
	"math"
	"sync"
	"testing"
)

// fed is a scheduler that has been given loads.
func fed(t *testing.T, name string, c *Candidates, loads ...float64) Fed {
	t.Helper()
	s, ok := scheduler(t, name, 7).(Fed)
	if !ok || !NeedsLoads(name) {
		t.Fatalf("%s goes by no loads", name)
	}
	s.Feed(c, loads, false)
	return s
}

func TestGreedy(t *testing.T) {
	c, _ := pool(1, 1, 1)
	g := fed(t, Greedy, c, 30, 10, 20)
	if got := sequence(g, c, 5); got != "bbbbb" {
		t.Errorf("the least loaded of 30, 10, 20: %s", got)
	}
	g.Feed(c, []float64{10, 10, 20}, false)
	if got := sequence(g, c, 4); got != "baba" {
		t.Errorf("of equals each in turn: %s", got)
	}
	c, _ = pool(1, 4)
	if got := sequence(fed(t, Greedy, c, 10, 20), c, 3); got != "bbb" {
		t.Errorf("by weight: %s", got)
	}
	c, _ = pool(1, 1, 1)
	if got := sequence(fed(t, Greedy, c, 30, math.NaN(), 20), c, 2); got != "cc" {
		t.Errorf("what is unknown is not taken for idle: %s", got)
	}
	if got := sequence(scheduler(t, Greedy, 7), c, 6); got != "abcabc" {
		t.Errorf("without loads each in turn: %s", got)
	}
}

// The roulette gives each backend the part that 1/x says.
func TestRouletteDistribution(t *testing.T) {
	const picks = 20000
	for _, tc := range []struct {
		name        string
		weights     []int
		loads, want []float64 // of want, parts
	}{
		{"one over x", []int{1, 1, 1, 1}, []float64{100, 200, 400, 400}, []float64{4, 2, 1, 1}},
		{"an idle port has a floor", []int{1, 1}, []float64{1000, 0}, []float64{1, 2000}},
		{"no load anywhere", []int{1, 1}, []float64{0, 0}, []float64{1, 1}},
		{"unknown is the mean", []int{1, 1, 1}, []float64{100, math.NaN(), 300}, []float64{6, 3, 2}},
		{"by weight", []int{1, 2}, []float64{100, 200}, []float64{1, 1}},
	} {
		c, _ := pool(tc.weights...)
		n := counts(t, fed(t, Roulette, c, tc.loads...), c, len(tc.weights), picks)
		sum := 0.0
		for _, w := range tc.want {
			sum += w
		}
		for i, w := range tc.want {
			p := w / sum
			if sd := math.Sqrt(picks * p * (1 - p)); math.Abs(float64(n[i])-picks*p) > 4*sd {
				t.Errorf("%s: backend %d got %d of %d, want %.0f ± %.0f", tc.name, i, n[i], picks, picks*p, 4*sd)
			}
		}
	}
	c, _ := pool(1, 3)
	if n := counts(t, scheduler(t, Roulette, 7), c, 2, picks); math.Abs(float64(n[0])-picks/4) > 300 {
		t.Errorf("without loads, by weight: %v", n)
	}
	a, b := fed(t, Roulette, c, 10, 20), fed(t, Roulette, c, 10, 20)
	if x, y := sequence(a, c, 100), sequence(b, c, 100); x != y {
		t.Errorf("the same seed: %s, %s", x, y)
	}
}

// The sticky roulette changes its choice at rejections alone, and then as the roulette does, at times to the same backend again.
func TestStickyRoulette(t *testing.T) {
	c, _ := pool(1, 1, 1, 1)
	loads := []float64{100, 200, 400, 400}
	s := fed(t, StickyRoulette, c, loads...)
	first := sequence(s, c, 50)
	for i := range first {
		if first[i] != first[0] {
			t.Fatalf("changes without a rejection: %s", first)
		}
	}
	const rounds = 4000
	var n [4]int
	last, stayed := -1, 0
	for range rounds {
		s.Feed(c, loads, true)
		i, _ := s.Pick(c, client(1))
		s.Feed(c, loads, false)
		if j, _ := s.Pick(c, client(2)); j != i {
			t.Fatal("changes without a rejection")
		}
		n[i]++
		if i == last {
			stayed++
		}
		last = i
	}
	for i, p := range []float64{.5, .25, .125, .125} {
		if math.Abs(float64(n[i])-rounds*p) > 4*math.Sqrt(rounds*p*(1-p)) {
			t.Errorf("backend %d drawn %d times of %d, want %.0f", i, n[i], rounds, rounds*p)
		}
	}
	if stayed < rounds/4 || stayed > rounds/2 { // .5² + .25² + 2×.125² = .34
		t.Errorf("drew the same again in %d of %d rounds", stayed, rounds)
	}
	// One that has gone is chosen no more.
	one := NewCandidates([]Candidate{{ID: 9, Weight: 1, Up: true}})
	if i, ok := s.Pick(one, client(1)); i != 0 || !ok {
		t.Errorf("of others: %d, %v", i, ok)
	}
}

func TestFedSchedulersWithoutCandidates(t *testing.T) {
	none := NewCandidates(nil)
	for _, name := range []string{Greedy, Roulette, StickyRoulette} {
		s := fed(t, name, none)
		s.Feed(none, nil, true)
		if _, ok := s.Pick(none, client(1)); ok {
			t.Errorf("%s picks one of none", name)
		}
	}
}

// Loads come while connections are made: from one goroutine, while many pick.
func TestFedWhilePicking(t *testing.T) {
	for _, name := range []string{Greedy, Roulette, StickyRoulette} {
		c, _ := pool(1, 2, 3)
		few := NewCandidates([]Candidate{{ID: 2, Weight: 1, Up: true}})
		s := fed(t, name, c, 1, 2, 3)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for k := range 2000 {
					if i, ok := s.Pick(c, client(k)); !ok || i > 2 {
						t.Errorf("%s: picked %d, %v", name, i, ok)
					}
					if i, ok := s.Pick(few, client(k)); !ok || i != 0 {
						t.Errorf("%s: picked %d of one, %v", name, i, ok)
					}
				}
			})
		}
		for k := range 500 {
			s.Feed(c, []float64{float64(k), 2, 3}, k%3 == 0)
			s.Feed(few, []float64{1}, k%5 == 0)
		}
		wg.Wait()
	}
}
