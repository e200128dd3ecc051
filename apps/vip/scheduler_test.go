package vip

import (
	"fmt"
	"math"
	"net/netip"
	"sync/atomic"
	"testing"
)

// pool makes candidates that are up, with ids from 1 and counts of live connections.
func pool(weights ...int) (*Candidates, []*atomic.Int64) {
	all := make([]Candidate, len(weights))
	live := make([]*atomic.Int64, len(weights))
	for i, w := range weights {
		live[i] = new(atomic.Int64)
		all[i] = Candidate{ID: uint32(i + 1), Weight: w, Up: true, Live: live[i]}
	}
	return NewCandidates(all), live
}

func scheduler(t testing.TB, name string, seed uint64) Scheduler {
	t.Helper()
	s, err := NewScheduler(name, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// client is the n-th of many clients.
func client(n int) Flow {
	return Flow{Client: netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), ClientPort: uint16(n), VIPPort: 80}
}

func counts(t *testing.T, s Scheduler, c *Candidates, backends, picks int) []int {
	t.Helper()
	n := make([]int, backends)
	for k := range picks {
		i, ok := s.Pick(c, client(k))
		if !ok {
			t.Fatal("nothing picked")
		}
		n[i]++
	}
	return n
}

func sequence(s Scheduler, c *Candidates, picks int) string {
	var out []byte
	for k := range picks {
		i, _ := s.Pick(c, client(k))
		out = append(out, byte('a'+i))
	}
	return string(out)
}

// chi2 is Pearson's statistic of counts against weights.
func chi2(n, weights []int) float64 {
	var total, sum int
	for i := range n {
		total += n[i]
		sum += weights[i]
	}
	var x float64
	for i := range n {
		if weights[i] > 0 {
			want := float64(total) * float64(weights[i]) / float64(sum)
			x += (float64(n[i]) - want) * (float64(n[i]) - want) / want
		}
	}
	return x
}

func TestSchedulersByName(t *testing.T) {
	for _, name := range Schedulers() {
		scheduler(t, name, 1)
	}
	if _, err := NewScheduler("best", 1); err == nil {
		t.Error("an unknown name was taken")
	}
}

// Floodlight's balancer spins for ever, or throws, when all members are down.
func TestNoCandidate(t *testing.T) {
	none := map[string]*Candidates{
		"empty":    NewCandidates(nil),
		"all down": NewCandidates([]Candidate{{ID: 1, Weight: 1}, {ID: 2, Weight: 5}}),
		"weight 0": NewCandidates([]Candidate{{ID: 1, Up: true}, {ID: 2, Up: true}}),
	}
	for _, name := range Schedulers() {
		for what, c := range none {
			if i, ok := scheduler(t, name, 1).Pick(c, client(1)); ok || i != 0 || c.Len() != 0 {
				t.Errorf("%s, %s: picked %d", name, what, i)
			}
		}
	}
}

func TestOnlyUsableCandidates(t *testing.T) {
	c := NewCandidates([]Candidate{{ID: 1, Weight: 9}, {ID: 2, Weight: 1, Up: true}, {ID: 3, Weight: 0, Up: true}, {ID: 4, Weight: 1, Up: true}})
	for _, name := range Schedulers() {
		n := counts(t, scheduler(t, name, 1), c, 4, 2000)
		least := 800
		if name == StickyRoulette {
			least = 0 // to one alone until loads differ
		}
		if n[0] != 0 || n[2] != 0 || n[1] < least || n[3] < least {
			t.Errorf("%s: %v", name, n)
		}
		one := NewCandidates([]Candidate{{ID: 1, Weight: 9}, {ID: 2, Weight: 3, Up: true}})
		if n := counts(t, scheduler(t, name, 1), one, 2, 100); n[1] != 100 {
			t.Errorf("%s, one usable: %v", name, n)
		}
	}
}

func TestRoundRobinSequence(t *testing.T) {
	c, _ := pool(1, 7, 1)
	s := scheduler(t, RoundRobin, 1)
	if got := sequence(s, c, 7); got != "abcabca" {
		t.Errorf("got %s", got)
	}
	fewer := NewCandidates([]Candidate{{ID: 1, Weight: 1, Up: true}, {ID: 2, Weight: 7}, {ID: 3, Weight: 1, Up: true}})
	if got := sequence(s, fewer, 6); got != "cacaca" {
		t.Errorf("one is down: got %s", got)
	}
}

func TestWeightedRoundRobinSequence(t *testing.T) {
	tests := []struct {
		weights []int
		want    string // one round and the next's start
	}{
		{[]int{5, 1, 1}, "abaacaaab"},
		{[]int{1, 1, 1}, "acbacb"},
		{[]int{200, 200}, "ababab"}, // divided by their greatest common divisor
		{[]int{3, 1}, "abaaabaa"},
		{[]int{4}, "aaaa"},
	}
	for _, tt := range tests {
		c, _ := pool(tt.weights...)
		if got := sequence(scheduler(t, WeightedRoundRobin, 1), c, len(tt.want)); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.weights, got, tt.want)
		}
	}
}

// Over one round the counts are the weights exactly, and at no time far from them.
func TestWeightedRoundRobinIsSmooth(t *testing.T) {
	for _, weights := range [][]int{{5, 1, 1}, {10, 9, 8, 7}, {255, 1}, {255, 254, 253, 1, 1, 1}, {100, 99}, {1, 2, 4, 8, 16, 32, 64, 128}} {
		c, _ := pool(weights...)
		s := scheduler(t, WeightedRoundRobin, 1)
		n := make([]int, len(weights))
		worst := 0.0
		for k := range int(c.total) {
			i, _ := s.Pick(c, client(k))
			n[i]++
			for j := range n {
				worst = max(worst, math.Abs(float64(n[j])-float64(k+1)*float64(weights[j])/float64(c.total)))
			}
		}
		if fmt.Sprint(n) != fmt.Sprint(weights) {
			t.Errorf("%v: one round gave %v", weights, n)
		}
		if worst > 2.5 {
			t.Errorf("%v: once %.2f connections off its weight", weights, worst)
		}
	}
}

func TestWeightedRoundRobinFollowsChange(t *testing.T) {
	s := scheduler(t, WeightedRoundRobin, 1)
	c, _ := pool(3, 1)
	counts(t, s, c, 2, 1001)
	more, _ := pool(3, 1, 4)
	if n := counts(t, s, more, 3, 80); fmt.Sprint(n) != "[30 10 40]" {
		t.Errorf("after a change: %v, want no burst to anyone", n)
	}
}

func TestLeastConnections(t *testing.T) {
	c, live := pool(1, 1, 2)
	s := scheduler(t, LeastConnections, 1)
	live[0].Store(5)
	live[1].Store(3)
	live[2].Store(8)
	if i, _ := s.Pick(c, client(1)); i != 1 {
		t.Errorf("picked %d, want the one with 3 connections", i)
	}
	live[2].Store(5) // 2.5 per weight
	if i, _ := s.Pick(c, client(1)); i != 2 {
		t.Errorf("picked %d, want the one with 2.5 per weight", i)
	}
	live[2].Store(-1) // an error of the caller's must not lead to nonsense
	if i, _ := s.Pick(c, client(1)); i != 2 {
		t.Errorf("picked %d for a negative count", i)
	}
}

func TestLeastConnectionsFills(t *testing.T) {
	weights := []int{1, 2, 5, 0, 10}
	c, live := pool(weights...)
	s := scheduler(t, LeastConnections, 1)
	for k := range 1800 {
		i, _ := s.Pick(c, client(k))
		live[i].Add(1)
	}
	for i, w := range weights {
		if n := live[i].Load(); n != int64(100*w) {
			t.Errorf("weight %d holds %d connections, want %d", w, n, 100*w)
		}
	}
}

// Connections too short to be counted must still follow the weights.
func TestSharesWithoutLiveConnections(t *testing.T) {
	weights := []int{1, 2, 3, 4}
	for _, name := range []string{WeightedRoundRobin, LeastConnections, TwoChoices, SourceHash} {
		for seed := range uint64(3) {
			c, _ := pool(weights...)
			n := counts(t, scheduler(t, name, seed), c, 4, 20000)
			if x := chi2(n, weights); x > 16.3 { // p = 0.001, 3 degrees of freedom
				t.Errorf("%s, seed %d: %v, chi-square %.1f", name, seed, n, x)
			}
		}
	}
}

func TestTwoChoicesStaysEven(t *testing.T) {
	weights := []int{1, 1, 2, 4, 8}
	c, live := pool(weights...)
	s := scheduler(t, TwoChoices, 42)
	for k := range 16000 {
		i, _ := s.Pick(c, client(k))
		live[i].Add(1)
	}
	for i, w := range weights {
		// Random choice alone would be off by about 3 % (a standard deviation of 31 in 1,000).
		if n := float64(live[i].Load()); math.Abs(n-1000*float64(w)) > 20 {
			t.Errorf("weight %d holds %v connections, want %d", w, n, 1000*w)
		}
	}
}

func TestTwoChoicesDrawsTwo(t *testing.T) {
	c, live := pool(1, 1)
	s := scheduler(t, TwoChoices, 1)
	live[0].Store(1)
	for k := range 1000 { // of two, both are always looked at
		if i, _ := s.Pick(c, client(k)); i != 1 {
			t.Fatal("took the one with more connections")
		}
	}
}

func TestTwoChoicesRepeats(t *testing.T) {
	c, _ := pool(1, 2, 3)
	a, b := sequence(scheduler(t, TwoChoices, 5), c, 200), sequence(scheduler(t, TwoChoices, 5), c, 200)
	if a != b || a == sequence(scheduler(t, TwoChoices, 6), c, 200) {
		t.Error("a seed must give one sequence, another seed another")
	}
}

func TestSourceHashIsStable(t *testing.T) {
	all := []Candidate{{ID: 1, Weight: 1, Up: true}, {ID: 2, Weight: 2, Up: true}, {ID: 3, Weight: 1, Up: true}, {ID: 4, Weight: 4, Up: true}}
	s := scheduler(t, SourceHash, 9)
	const clients = 20000
	before := make([]int, clients)
	c := NewCandidates(all)
	for k := range before {
		before[k], _ = s.Pick(c, client(k))
		f := client(k)
		f.ClientPort, f.VIPPort = 1, 443
		if i, _ := s.Pick(c, f); i != before[k] {
			t.Fatalf("client %d: another port, another backend", k)
		}
	}
	moved := func(change func(a []Candidate) []Candidate, mayMove func(was, is int) bool) (n int) {
		c := NewCandidates(change(append([]Candidate(nil), all...)))
		for k, was := range before {
			is, _ := s.Pick(c, client(k))
			if is == was {
				continue
			}
			if n++; !mayMove(was, is) {
				t.Fatalf("client %d moved from %d to %d for nothing", k, was, is)
			}
		}
		return n
	}
	near := func(what string, got int, share float64) {
		if want := share * clients; math.Abs(float64(got)-want) > 4*math.Sqrt(want) {
			t.Errorf("%s: %d clients moved, want about %.0f", what, got, want)
		}
	}
	near("a backend dies", moved(func(a []Candidate) []Candidate { a[1].Up = false; return a },
		func(was, _ int) bool { return was == 1 }), 2.0/8)
	near("a backend comes", moved(func(a []Candidate) []Candidate { return append(a, Candidate{ID: 5, Weight: 2, Up: true}) },
		func(_, is int) bool { return is == 4 }), 2.0/10)
	near("a weight rises", moved(func(a []Candidate) []Candidate { a[0].Weight = 3; return a },
		func(_, is int) bool { return is == 0 }), 3.0/10-1.0/8)
	near("nothing changes", moved(func(a []Candidate) []Candidate { return a }, func(int, int) bool { return false }), 0)
	// The order of the list says nothing, only the ids do.
	turned := NewCandidates([]Candidate{all[3], all[2], all[1], all[0]})
	for k, was := range before {
		if i, _ := s.Pick(turned, client(k)); 3-i != was {
			t.Fatalf("client %d moved when the list was turned", k)
		}
	}
}

func TestSourceHashBySeed(t *testing.T) {
	c, _ := pool(1, 1, 1, 1)
	a, b := sequence(scheduler(t, SourceHash, 1), c, 4000), sequence(scheduler(t, SourceHash, 2), c, 4000)
	same := 0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	if same < 850 || same > 1150 {
		t.Errorf("two VIPs agree on %d of 4000 clients, want about a quarter", same)
	}
	v6 := Flow{Client: netip.MustParseAddr("2001:db8::1")}
	if _, ok := scheduler(t, SourceHash, 1).Pick(c, v6); !ok {
		t.Error("no backend for an IPv6 client")
	}
}
