package anova

import (
	"math"
	"slices"
)

// KruskalWallis is the test of Kruskal and Wallis ("Use of Ranks in One-Criterion Variance Analysis", 1952), corrected for ties.
// It asks whether the samples of some group tend to be larger, whatever their distribution.
func KruskalWallis(groups [][]float64) (Test, error) {
	if err := check(groups); err != nil {
		return Test{}, err
	}
	type ranked struct {
		x     float64
		group int
	}
	var all []ranked
	for i, g := range groups {
		for _, x := range g {
			all = append(all, ranked{x, i})
		}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	n := float64(len(all))
	sums := make([]float64, len(groups)) // of ranks about their mean
	ties := 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].x == all[i].x {
			j++
		}
		rank := float64(i+1+j)/2 - (n+1)/2
		for _, r := range all[i:j] {
			sums[r.group] += rank
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	h := 0.0
	for i, s := range sums {
		h += s * s / float64(len(groups[i]))
	}
	t := Test{Statistic: math.NaN(), DF1: float64(len(groups) - 1)}
	if correction := 1 - ties/(n*n*n-n); correction > 0 { // 0: all are equal
		t.Statistic = 12 / (n * (n + 1)) * h / correction
	}
	t.P = TailChi2(t.Statistic, t.DF1)
	return t, nil
}
