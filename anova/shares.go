package anova

import (
	"fmt"
	"math"
	"slices"
)

// maxAutocorrelation bounds the estimate, and so how much a sample is discounted.
const maxAutocorrelation = 0.95

// ShareTest is Welch's test on shares with the effective number of samples.
type ShareTest struct {
	Test
	Means     []float64 // of each group's share of the load at an instant, in mean shares: 1 is fair
	Raw       float64   // lag-1 autocorrelation of the shares, pooled
	Phi       float64   // the same, corrected for bias and bounded
	Effective float64   // number of independent samples that those of a group are worth
	Inflation float64   // of variances, which are underestimated by as few samples as are effective
	spreads   []spread
}

// Shares tests whether groups, samples of the same instants, have equal shares of the load. Shares do not move with the load;
// and consecutive samples, which depend on each other as long as flows last over both, count for as many as are independent:
// n(1-φ)/(1+φ), φ their autocorrelation.
//
// A group that does not vary, such as an idle port, is taken to vary as the mean of all. Where none varies, F is NaN if the shares
// are equal and infinite if not.
func Shares(groups [][]float64) (ShareTest, error) {
	shares, err := sharesOf(groups)
	if err != nil {
		return ShareTest{}, err
	}
	n, k := float64(len(shares[0])), float64(len(groups))
	g := summaries(shares)
	var t ShareTest
	var products, squares float64
	for i, y := range shares {
		for j := range len(y) - 1 {
			products += (y[j] - g[i].Mean) * (y[j+1] - g[i].Mean)
		}
		squares += g[i].square
	}
	floor := squares / (n - 1) / k
	if squares > 0 {
		t.Raw = products / squares
	}
	t.Phi = clamp(t.Raw+(1+3*t.Raw)/n, 0, maxAutocorrelation)
	t.Effective = clamp(n*(1-t.Phi)/(1+t.Phi), 2, n)
	t.Inflation = clamp((1-1/n)/(1-1/t.Effective), 1, 4)
	for i := range g {
		t.Means = append(t.Means, g[i].Mean)
		v := g[i].Variance
		if v == 0 {
			v = floor
		}
		t.spreads = append(t.spreads, spread{g[i].Mean, v * k / (k - 1) * t.Inflation, t.Effective})
	}
	if squares == 0 {
		t.Test = constant(t.Means, t.Effective)
		return t, nil
	}
	t.Test, err = welch(t.spreads)
	return t, err
}

// constant is the test of groups that do not vary.
func constant(means []float64, n float64) Test {
	k := float64(len(means))
	t := Test{Statistic: math.NaN(), DF1: k - 1, DF2: k * (n - 1), P: math.NaN()}
	if slices.Max(means) > slices.Min(means) {
		t.Statistic, t.P = math.Inf(1), 0
	}
	return t
}

// Pairs compares each two groups' shares by Welch's t on the effective number of samples.
func (t ShareTest) Pairs(how Adjustment, alpha float64) ([]Pair, error) {
	return welchPairs(t.spreads, how, alpha)
}

// sharesOf divides by the mean over groups at the same instant. Instants without load have no shares.
func sharesOf(groups [][]float64) ([][]float64, error) {
	if err := check(groups); err != nil {
		return nil, err
	}
	n := len(groups[0])
	for i, g := range groups {
		if len(g) != n {
			return nil, &SampleError{i, -1, fmt.Errorf("%w: %d, the first has %d", ErrUneven, len(g), n)}
		}
		for j, x := range g {
			if x < 0 {
				return nil, &SampleError{i, j, ErrNegative}
			}
		}
	}
	if n < 2 {
		return nil, fmt.Errorf("%w: %d in a group", ErrFewSamples, n)
	}
	out := make([][]float64, len(groups))
	for j := range n {
		sum := 0.0
		for i := range groups {
			sum += groups[i][j] / float64(len(groups))
		}
		if sum == 0 || math.IsInf(sum, 0) {
			continue
		}
		for i := range groups {
			out[i] = append(out[i], groups[i][j]/sum)
		}
	}
	if len(out[0]) < 2 {
		return nil, fmt.Errorf("%w: %d with any load", ErrFewSamples, len(out[0]))
	}
	return out, nil
}

func clamp(x, low, high float64) float64 { return min(max(x, low), high) }

// Deviations are how far ports are from their fair shares of the load, as a part of those: 0.2 is a fifth too much. means are of
// loads, fair is what the ports have of capacity, in any unit; nil: all have the same. Without load all are 0.
func Deviations(means, fair []float64) []float64 {
	out := make([]float64, len(means))
	var load, capacity float64
	for i, m := range means {
		load += m
		capacity += of(fair, i)
	}
	if load == 0 || capacity == 0 {
		return out
	}
	for i, m := range means {
		out[i] = m/of(fair, i)/(load/capacity) - 1
	}
	return out
}

func of(fair []float64, i int) float64 {
	if fair == nil {
		return 1
	}
	return fair[i]
}

// Farthest is the index of the deviation with the largest absolute value, and that value. Of equals it is the one that has too much:
// of two ports both are equally far.
func Farthest(deviations []float64) (index int, most float64) {
	for i, d := range deviations {
		if a := math.Abs(d); a > most*(1+1e-9) || d > 0 && deviations[index] < 0 && a > most*(1-1e-9) {
			index, most = i, a
		}
	}
	return index, most
}
