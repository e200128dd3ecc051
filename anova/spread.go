package anova

import "fmt"

// leastExpected is how many of the counted a group must be expected to have for Pearson's test to be valid.
const leastExpected = 5

// Spread tests whether things that are counted, such as live connections, are spread over groups as shares of any unit say: Pearson's
// chi-squared test. Unlike loads in successive samples, counts of one moment do not depend on each other. [ErrFewSamples]: there are too
// few to tell.
func Spread(counts []int64, shares []float64) (Test, error) {
	if len(counts) < 2 || len(shares) != len(counts) {
		return Test{}, fmt.Errorf("%w: %d, with %d shares", ErrFewGroups, len(counts), len(shares))
	}
	var n, total float64
	for i := range counts {
		n += float64(counts[i])
		total += shares[i]
	}
	t := Test{DF1: float64(len(counts) - 1)}
	for i := range counts {
		want := n * shares[i] / total
		if !(want >= leastExpected) {
			return Test{}, fmt.Errorf("%w: group %d should have %.3g", ErrFewSamples, i, want)
		}
		d := float64(counts[i]) - want
		t.Statistic += d * d / want
	}
	t.P = TailChi2(t.Statistic, t.DF1)
	return t, nil
}
