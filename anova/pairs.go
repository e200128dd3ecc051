package anova

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Adjustment is how the probabilities of several comparisons are raised, so that alpha bounds that of any false one.
type Adjustment string

// Adjustments. LSD is none: with many groups it accuses innocent ones.
const (
	LSD        Adjustment = "lsd"
	Sidak      Adjustment = "sidak"
	Bonferroni Adjustment = "bonferroni"
	Holm       Adjustment = "holm"
)

// Pair is the comparison of two groups.
type Pair struct {
	I, J     int
	Diff     float64 // mean of I less mean of J
	SE       float64 // standard error of Diff
	T        float64 // Diff/SE; NaN: neither varies and they are equal
	DF       float64
	Raw, P   float64 // of a difference as large if there is none: by itself, and adjusted for the other comparisons
	Bound    float64 // difference that is significant at the level given, by itself or as the adjustment has it; NaN for Holm
	Adjusted Adjustment
}

// Pairs compares each two groups by t with the pooled variance of the table: Fisher's least significant difference, at the
// adjusted level. The order is that of Compare(0,1), (0,2), …, (1,2), ….
func (t Table) Pairs(how Adjustment, alpha float64) ([]Pair, error) {
	out := make([]Pair, 0, len(t.Groups)*(len(t.Groups)-1)/2)
	for i := range t.Groups {
		for j := i + 1; j < len(t.Groups); j++ {
			a, b := t.Groups[i], t.Groups[j]
			se := math.Sqrt(t.MSW * (1/float64(a.N) + 1/float64(b.N)))
			out = append(out, newPair(i, j, a.offset-b.offset, se, t.DF2))
		}
	}
	return out, adjust(out, how, alpha)
}

// welchPairs compares each two groups by t with their own variances (Welch and Satterthwaite).
func welchPairs(groups []spread, how Adjustment, alpha float64) ([]Pair, error) {
	out := make([]Pair, 0, len(groups)*(len(groups)-1)/2)
	for i := range groups {
		for j := i + 1; j < len(groups); j++ {
			a, b := groups[i], groups[j]
			u, v := a.variance/a.n, b.variance/b.n
			df := (u + v) * (u + v) / (u*u/(a.n-1) + v*v/(b.n-1))
			out = append(out, newPair(i, j, a.mean-b.mean, math.Sqrt(u+v), df))
		}
	}
	return out, adjust(out, how, alpha)
}

// WelchPairs compares each two groups by Welch's t. A group that does not vary is an error.
func WelchPairs(groups [][]float64, how Adjustment, alpha float64) ([]Pair, error) {
	if err := check(groups); err != nil {
		return nil, err
	}
	s := make([]spread, len(groups))
	for i, g := range summaries(groups) {
		if g.N < 2 {
			return nil, &SampleError{i, -1, ErrFewSamples}
		}
		if g.Variance == 0 {
			return nil, &SampleError{i, -1, ErrConstant}
		}
		s[i] = spread{g.offset, g.Variance, float64(g.N)}
	}
	return welchPairs(s, how, alpha)
}

func newPair(i, j int, diff, se, df float64) Pair {
	p := Pair{I: i, J: j, Diff: diff, SE: se, T: diff / se, DF: df}
	if p.Raw = TailT(p.T, df); math.IsNaN(p.T) {
		p.Raw = 1 // equal, and known exactly
	}
	return p
}

// adjust sets P and Bound of all pairs.
func adjust(pairs []Pair, how Adjustment, alpha float64) error {
	c := float64(len(pairs))
	level := alpha
	switch how {
	case LSD:
	case Sidak:
		level = SidakLevel(alpha, len(pairs))
	case Bonferroni:
		level = alpha / c
	case Holm:
		level = math.NaN()
		holm(pairs)
	default:
		return fmt.Errorf("adjustment %q: want one of %s, %s, %s, %s", how, LSD, Sidak, Bonferroni, Holm)
	}
	for i := range pairs {
		p := &pairs[i]
		p.Adjusted, p.Bound = how, math.NaN()
		if how != Holm {
			p.Bound = CriticalT(level, p.DF) * p.SE
		}
		switch how {
		case LSD:
			p.P = p.Raw
		case Sidak:
			p.P = -math.Expm1(c * math.Log1p(-p.Raw))
		case Bonferroni:
			p.P = min(1, c*p.Raw)
		}
	}
	return nil
}

// holm sets P by Holm's step-down procedure ("A Simple Sequentially Rejective Multiple Test Procedure", 1979).
func holm(pairs []Pair) {
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pairs[a].Raw, pairs[b].Raw) })
	last := 0.0
	for rank, i := range order {
		last = max(last, min(1, float64(len(pairs)-rank)*pairs[i].Raw))
		pairs[i].P = last
	}
}

// SidakLevel is the level of each of n independent comparisons that together have level alpha.
func SidakLevel(alpha float64, n int) float64 { return -math.Expm1(math.Log1p(-alpha) / float64(n)) }

// FamilyError is the probability of a false rejection among n independent comparisons of level alpha each.
func FamilyError(alpha float64, n int) float64 { return -math.Expm1(float64(n) * math.Log1p(-alpha)) }
