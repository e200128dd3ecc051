package othello

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSizeFollowsThePool(t *testing.T) {
	for _, test := range []struct {
		pool []Share
		want int
	}{
		{nil, 256}, {even(1), 256}, {even(8), 256}, {even(9), 1024}, {even(32), 1024}, {even(33), 4096}, {even(500), 4096},
		{[]Share{{1, 1}, {2, 7}}, 256}, {[]Share{{1, 1}, {2, 8}}, 1024}, {[]Share{{1, 1}, {2, 255}}, 4096},
	} {
		if got := SizeFor(test.pool); got != test.want {
			t.Errorf("%v: %d Dcodes, want %d", test.pool, got, test.want)
		}
	}
}

func TestSharesAreRight(t *testing.T) {
	for _, test := range []struct {
		size    int
		weights []int
		want    []int
	}{
		{256, []int{1}, []int{256}},
		{256, []int{1, 1, 1}, []int{86, 85, 85}},
		{256, []int{2, 1, 1, 1}, []int{103, 51, 51, 51}},
		{1024, []int{1, 2, 3, 4, 5}, []int{68, 137, 205, 273, 341}},
		{256, []int{1, 255, 255}, []int{1, 128, 127}},
		{256, []int{1, 1, 255, 255, 255}, []int{1, 1, 84, 85, 85}},
	} {
		pool := weighted(test.weights)
		for name, c := range map[string]*Codes{"packed": Pack(test.size, pool), "changed": Pack(test.size, even(7)).Change(pool, nil)} {
			n := c.Counts()
			for i := range test.want {
				if got := n[pool[i].Owner] * test.size / c.Size(); got != test.want[i] && name == "packed" || n[0] != 0 {
					t.Errorf("%s, weights %v: %v, want %v", name, test.weights, n, test.want)
				}
			}
		}
	}
}

// Each change moves as few Dcodes as there can be: nobody gives and takes.
func TestChangesMoveNoMoreThanTheyMust(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c, pool := Pack(MinCodes, even(5)), even(5)
	for step := range 300 {
		pool = changed(random, pool, 12)
		next := c.Change(pool, nil)
		grown := next.Size() / c.Size()
		before, after := c.Counts(), next.Counts()
		must := 0
		for o, n := range after {
			must += max(0, n-grown*before[o])
		}
		moved := 0
		for code := range uint16(MaxCodes) {
			if c.Owner(code) != next.Owner(code) {
				moved++
			}
		}
		if moved *= next.Size(); moved != must*MaxCodes {
			t.Fatalf("step %d: %d of %d moved, %d must", step, moved/MaxCodes, next.Size(), must)
		}
		checkShares(t, next, pool)
		c = next
	}
}

func checkShares(t *testing.T, c *Codes, pool []Share) {
	t.Helper()
	total := 0
	for _, s := range pool {
		total += s.Weight
	}
	n := c.Counts()
	for _, s := range pool {
		if exact := float64(s.Weight*c.Size()) / float64(total); float64(n[s.Owner]) < exact-2 || float64(n[s.Owner]) > exact+1 {
			t.Fatalf("owner %d of weight %d/%d has %d of %d Dcodes", s.Owner, s.Weight, total, n[s.Owner], c.Size())
		}
	}
	if len(n) != len(pool) {
		t.Fatalf("%d owners, want %d", len(n), len(pool))
	}
}

// A backend that leaves, or weighs less, moves no Dcode of another, whatever the rounding says.
func TestWhoLeavesMovesNobodyElse(t *testing.T) {
	random := rand.New(rand.NewPCG(27, 28))
	for step := range 400 {
		pool := even(3 + random.IntN(60))
		for i := range pool {
			pool[i].Weight = 1 + random.IntN(9)
		}
		c := Pack(SizeFor(pool), pool)
		gone := random.IntN(len(pool))
		next := c.Change(slices.Delete(slices.Clone(pool), gone, gone+1), nil)
		for code := range uint16(MaxCodes) {
			if o := c.Owner(code); o != pool[gone].Owner && next.Owner(code) != o {
				t.Fatalf("step %d: %d left, and a Dcode of %d went to %d", step, pool[gone].Owner, o, next.Owner(code))
			}
		}
	}
}

// Growth alone moves nothing: every Dcode of 12 bits keeps its owner.
func TestMoreDcodesMoveNothing(t *testing.T) {
	c := Pack(MinCodes, even(4))
	next := c.Change(weighted([]int{255, 255, 255, 254}), nil) // the same shares but for one Dcode, at a finer grain
	if next.Size() != MinCodes {
		t.Fatalf("%d Dcodes", next.Size())
	}
	next = c.Change(append(even(4), Share{5, 1}, Share{6, 1}, Share{7, 1}, Share{8, 1}, Share{9, 1}), nil)
	if next.Size() != 1024 {
		t.Fatalf("%d Dcodes", next.Size())
	}
	for code := range uint16(MaxCodes) {
		if o := next.Owner(code); o <= 4 && o != c.Owner(code) {
			t.Fatalf("Dcode %d went from %d to %d", code, c.Owner(code), o)
		}
	}
}

// Dcodes without live connections are moved before others, among blocks of one size.
func TestEmptyBlocksMoveFirst(t *testing.T) {
	// Two owners whose Dcodes lie one by one: all blocks have one size.
	owners := make([]uint32, MinCodes)
	for i := range owners {
		owners[i] = uint32(i%2 + 1)
	}
	c, _ := FromOwners(owners)
	live := func(code uint16) int {
		if c.place(code)%6 == 0 {
			return 0
		}
		return 10
	}
	next := c.Change(even(3), live)
	moved, full := 0, 0
	for i, o := range next.owner {
		if o == 3 && c.owner[i] == 1 {
			moved++
			if i%6 != 0 {
				full++
			}
		}
	}
	if moved != 43 && moved != 42 || full > 0 {
		t.Errorf("of owner 1's %d moved Dcodes %d had connections; 43 had none", moved, full)
	}
}

func TestNobodyOwnsAnythingWithoutBackends(t *testing.T) {
	c := Pack(MinCodes, even(3)).Change(nil, nil)
	if len(c.Rules()) != 0 || c.Owner(7) != 0 {
		t.Errorf("rules %v", c.Rules())
	}
	c = c.Change(even(2), nil)
	checkShares(t, c, even(2))
	if rules := c.Rules(); len(rules) != 2 {
		t.Errorf("rules %v", rules)
	}
}

func TestOwnersCanBeStored(t *testing.T) {
	c := Pack(1024, even(10))
	back, ok := FromOwners(c.Owners())
	if !ok || cmp.Diff(c.owner, back.owner) != "" {
		t.Errorf("read back: %v", ok)
	}
	for _, n := range []int{0, 1, 128, 257, 8192} {
		if _, ok := FromOwners(make([]uint32, n)); ok {
			t.Errorf("%d Dcodes pass", n)
		}
	}
}

// The rules say what the table says, for every Dcode, and are few: the longest that matches counts.
func TestRulesAreTheTable(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	c, pool := Pack(MinCodes, even(5)), even(5)
	for range 60 {
		pool = changed(random, pool, 10)
		c = c.Change(pool, nil)
		rules := c.Rules()
		for code := range uint16(MaxCodes) {
			best := CodeRule{Bits: -1}
			for _, r := range rules {
				if code&r.Mask == r.Code && r.Bits > best.Bits {
					best = r
				}
			}
			if best.Owner != c.Owner(code) {
				t.Fatalf("Dcode %d: the rules say %d, the table %d", code, best.Owner, c.Owner(code))
			}
		}
	}
}

func TestRulesAsText(t *testing.T) {
	owners := make([]uint32, MinCodes)
	for i := range owners {
		owners[i] = 1
		if i >= 64 && i < 128 { // places 64 to 127 are the Dcodes that end in 10
			owners[i] = 2
		}
		if i == 255 {
			owners[i] = 3
		}
	}
	c, _ := FromOwners(owners)
	var got []string
	for _, r := range c.Rules() {
		got = append(got, fmt.Sprintf("%#x/%#x %d", r.Code, r.Mask, r.Owner))
	}
	if want := []string{"0x0/0x0 1", "0x2/0x3 2", "0xff/0xff 3"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Rules per VIP after long random churn. The bars are the counts that a study of this layout gave (even weights, weights 1 to
// 10), plus 30 %.
func TestRulesStayFew(t *testing.T) {
	for _, test := range []struct{ n, size, even, weighted int }{
		{10, 256, 77, 81}, {10, 1024, 144, 148}, {10, 4096, 225, 248},
		{100, 256, 190, 180}, {100, 1024, 399, 501}, {100, 4096, 1274, 1845},
	} {
		for _, maxWeight := range []int{1, 10} {
			bar := test.even
			if maxWeight > 1 {
				bar = test.weighted
			}
			random := rand.New(rand.NewPCG(uint64(test.n), uint64(test.size)))
			pool := even(test.n)
			c := Pack(test.size, pool)
			const changes = 120
			sum := 0
			for i := range changes {
				pool = around(random, pool, test.n, maxWeight)
				c = c.change(test.size, pool, nil)
				if i >= changes/2 {
					sum += len(c.Rules())
				}
			}
			mean := sum / (changes / 2)
			t.Logf("%d backends, %d Dcodes, weights to %d: %d rules, the study has %d", test.n, test.size, maxWeight, mean, bar)
			if mean*10 > bar*13 {
				t.Errorf("%d backends, %d Dcodes, weights to %d: %d rules, want at most %d and 30 %%", test.n, test.size, maxWeight, mean, bar)
			}
		}
	}
}

func even(n int) []Share {
	pool := make([]Share, n)
	for i := range pool {
		pool[i] = Share{uint32(i + 1), 1}
	}
	return pool
}

func weighted(weights []int) []Share {
	pool := even(len(weights))
	for i := range pool {
		pool[i].Weight = weights[i]
	}
	return pool
}

// changed is a pool after a random change: a backend more, one less, another weight.
func changed(random *rand.Rand, pool []Share, most int) []Share {
	next := slices.Clone(pool)
	switch i := random.IntN(len(next)); {
	case random.IntN(3) == 0 && len(next) < most || len(next) == 1:
		owner := uint32(0)
		for _, s := range next {
			owner = max(owner, s.Owner)
		}
		return append(next, Share{owner + 1, 1 + random.IntN(5)})
	case random.IntN(2) == 0:
		return slices.Delete(next, i, i+1)
	default:
		next[i].Weight = 1 + random.IntN(10)
		return next
	}
}

// around keeps a pool within a fifth of n.
func around(random *rand.Rand, pool []Share, n, maxWeight int) []Share {
	next := slices.Clone(pool)
	i := random.IntN(len(next))
	switch kind := random.IntN(3); {
	case kind == 0 && len(next) < n+n/5:
		owner := uint32(0)
		for _, s := range next {
			owner = max(owner, s.Owner)
		}
		return append(next, Share{owner + 1, 1 + random.IntN(maxWeight)})
	case kind == 1 && len(next) > n-n/5:
		return slices.Delete(next, i, i+1)
	default:
		next[i].Weight = 1 + random.IntN(maxWeight)
		return next
	}
}

// Every backend has a Dcode, as long as there are enough, however unlike the weights are; and those that give for that are the largest.
func TestLightBackendsHaveDcodesBesideHeavyOnes(t *testing.T) {
	for _, x := range []struct{ heavy, light int }{{20, 300}, {100, 3000}, {1, 4095}, {0, 4096}, {3, 40}, {20, 1}} {
		var all []Share
		for i := range x.heavy + x.light {
			weight := 1
			if i < x.heavy {
				weight = 255
			}
			all = append(all, Share{Owner: uint32(i + 1), Weight: weight})
		}
		check := func(what string, c *Codes) {
			counts, sum := c.Counts(), 0
			for _, s := range all {
				sum += counts[s.Owner]
				if counts[s.Owner] < 1 {
					t.Errorf("%d heavy, %d light, %s: backend %d of weight %d has none", x.heavy, x.light, what, s.Owner, s.Weight)
					return
				}
			}
			if sum != c.Size() {
				t.Errorf("%d heavy, %d light, %s: %d of %d have an owner", x.heavy, x.light, what, sum, c.Size())
			}
		}
		size := SizeFor(all)
		check("laid out", Pack(size, all))
		check("after half has come", Pack(size, all[:len(all)/2]).Change(all, nil))
		check("after one has come", Pack(size, all[:len(all)-1]).Change(all, nil))
	}
}
