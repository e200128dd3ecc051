package anova

import "fmt"

// Welch is Welch's test of equal means ("On the Comparison of Several Mean Values", 1951), which takes no two variances for
// equal. A group that does not vary is an error: it would have infinite weight.
func Welch(groups [][]float64) (Test, error) {
	if err := check(groups); err != nil {
		return Test{}, err
	}
	g := summaries(groups)
	s := make([]spread, len(g))
	for i := range g {
		s[i] = spread{g[i].offset, g[i].Variance, float64(g[i].N)}
	}
	return welch(s)
}

// spread is what a Welch test needs of a group; n need not be whole.
type spread struct{ mean, variance, n float64 }

func welch(groups []spread) (Test, error) {
	var total, mean float64
	for i, g := range groups {
		if g.n < 2 {
			return Test{}, &SampleError{i, -1, fmt.Errorf("%w: %v", ErrFewSamples, g.n)}
		}
		if g.variance == 0 {
			return Test{}, &SampleError{i, -1, ErrConstant}
		}
		w := g.n / g.variance
		total += w
		mean += w * g.mean
	}
	mean /= total
	k := float64(len(groups))
	var between, lambda float64
	for _, g := range groups {
		w := g.n / g.variance
		between += w * (g.mean - mean) * (g.mean - mean)
		lambda += (1 - w/total) * (1 - w/total) / (g.n - 1)
	}
	t := Test{DF1: k - 1, DF2: (k*k - 1) / (3 * lambda)}
	t.Statistic = between / (k - 1) / (1 + 2*(k-2)/(k*k-1)*lambda)
	if err := finite(t.Statistic, t.DF2); err != nil {
		return Test{}, err
	}
	t.P = TailF(t.Statistic, t.DF1, t.DF2)
	return t, nil
}
