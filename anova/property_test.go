package anova

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func normal(r *rand.Rand, k, n int, mean, sd float64) [][]float64 {
	out := make([][]float64, k)
	for i := range out {
		out[i] = make([]float64, n)
		for j := range out[i] {
			out[i][j] = mean + sd*r.NormFloat64()
		}
	}
	return out
}

func mapped(groups [][]float64, f func(float64) float64) [][]float64 {
	out := make([][]float64, len(groups))
	for i, g := range groups {
		for _, x := range g {
			out[i] = append(out[i], f(x))
		}
	}
	return out
}

var tests = map[string]func([][]float64) (Test, error){
	"anova": func(g [][]float64) (Test, error) { t, err := OneWay(g); return t.Test, err },
	"welch": Welch, "kruskal": KruskalWallis,
	"shares": func(g [][]float64) (Test, error) { t, err := Shares(g); return t.Test, err },
}

func TestInvariance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		k, n := 2+r.IntN(7), 5+r.IntN(40)
		groups := normal(r, k, n, 100, 5)
		shuffled := slices.Clone(groups)
		r.Shuffle(k, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		shift := math.Trunc(r.NormFloat64() * 1e6)
		scale := math.Exp2(math.Trunc(r.NormFloat64() * 20))
		for name, test := range tests {
			want, err := test(groups)
			if err != nil {
				t.Fatal(err)
			}
			agree := func(what string, groups [][]float64, tolerance float64) {
				t.Helper()
				got, err := test(groups)
				if err != nil || math.Abs(got.Statistic-want.Statistic) > tolerance*want.Statistic ||
					math.Abs(got.P-want.P) > tolerance*max(want.P, 1e-3) || got.DF1 != want.DF1 {
					t.Errorf("%s, %s: %+v, want %+v (%v)", name, what, got, want, err)
				}
			}
			agree("order", shuffled, 1e-9)
			agree("scale", mapped(groups, func(x float64) float64 { return x * scale }), 1e-9)
			if name != "shares" { // of a sum that is shifted a share is another
				agree("shift", mapped(groups, func(x float64) float64 { return x + shift }), 1e-6)
			}
		}
	}
}

// Where the hypothesis holds, and its test's assumptions, p is uniform: the largest distance between its distribution and the
// uniform one stays below the 99.9 % point of Kolmogorov and Smirnov, 1.95/√n.
func TestPIsUniformUnderTheNull(t *testing.T) {
	const runs = 2000
	for name, test := range tests {
		if name == "shares" {
			continue // it is not exact: see TestSharesLevel
		}
		r := rand.New(rand.NewPCG(7, 11))
		ps := make([]float64, runs)
		for i := range ps {
			got, err := test(normal(r, 4, 30, 100, 20))
			if err != nil {
				t.Fatal(err)
			}
			ps[i] = got.P
		}
		slices.Sort(ps)
		worst := 0.0
		for i, p := range ps {
			worst = max(worst, math.Abs(p-float64(i)/runs), math.Abs(p-float64(i+1)/runs))
		}
		if worst > 1.95/math.Sqrt(runs) {
			t.Errorf("%s: p is not uniform: distance %.4f", name, worst)
		}
	}
}

// On samples that depend on each other the plain analysis rejects most balanced windows and the test of shares few.
func TestSharesLevel(t *testing.T) {
	const runs = 500
	r := rand.New(rand.NewPCG(3, 5))
	var plain, shares int
	for range runs {
		groups := make([][]float64, 4)
		for i := range groups {
			x := r.NormFloat64()
			for range 30 {
				groups[i] = append(groups[i], max(0, 100+20*x))
				x = 0.6*x + 0.8*r.NormFloat64()
			}
		}
		a, err := OneWay(groups)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Shares(groups)
		if err != nil {
			t.Fatal(err)
		}
		if a.Rejects(0.05) {
			plain++
		}
		if s.Rejects(0.05) {
			shares++
		}
	}
	if plain < runs/2 || shares > runs/10 {
		t.Errorf("balanced windows rejected: %d of %d by analysis of variance, %d by shares", plain, runs, shares)
	}
}

// A port without any load, or one with all of it, is not undecided.
func TestSharesOfIdlePorts(t *testing.T) {
	idle := [][]float64{{10, 12, 11, 9, 10, 11}, {11, 10, 12, 11, 9, 10}, {0, 0, 0, 0, 0, 0}}
	s, err := Shares(idle)
	if err != nil || !s.Rejects(0.05) {
		t.Errorf("an idle port: %+v, %v", s, err)
	}
	one := [][]float64{{10, 12, 11}, {0, 0, 0}}
	if s, err = Shares(one); err != nil || !math.IsInf(s.Statistic, 1) || !s.Rejects(0.05) {
		t.Errorf("one port with all: %+v, %v", s, err)
	}
	pairs, err := s.Pairs(Holm, 0.05)
	if err != nil || pairs[0].P != 0 {
		t.Errorf("one port with all: %+v, %v", pairs, err)
	}
	if s, err = Shares([][]float64{{10, 12, 11}, {10, 12, 11}}); err != nil || !math.IsNaN(s.Statistic) || s.Rejects(0.05) {
		t.Errorf("equal ports: %+v, %v", s, err)
	}
}

func FuzzTests(f *testing.F) {
	f.Add(uint64(1), 3, 5, 1.0, 1.0)
	f.Add(uint64(2), 2, 2, 1e15, 0.0)
	f.Fuzz(func(t *testing.T, seed uint64, k, n int, mean, sd float64) {
		if k < 0 || k > 20 || n < 0 || n > 100 {
			return
		}
		groups := normal(rand.New(rand.NewPCG(seed, 0)), k, n, mean, sd)
		for name, test := range tests {
			got, err := test(groups)
			if err == nil && (got.P < 0 || got.P > 1 || got.Statistic < 0) {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}
