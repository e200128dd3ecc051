package anova

import (
	"fmt"
	"math"
)

// Test is the result of a test of the hypothesis that all groups have one mean.
type Test struct {
	Statistic float64 // F, or H of Kruskal and Wallis; NaN: nothing varies
	DF1, DF2  float64 // degrees of freedom; DF2 is 0 where the distribution has one number of them
	P         float64 // of a statistic as large, if the hypothesis holds; NaN: nothing varies
}

// Rejects reports whether the hypothesis is rejected at a level. If nothing varies it is not.
func (t Test) Rejects(alpha float64) bool { return t.P < alpha }

// Table is the table of a one-way analysis of variance.
type Table struct {
	Test
	Groups   []Group
	N        int
	Mean     float64 // of all samples
	SSB, SSW float64 // sums of squares between groups and within
	MSB, MSW float64 // mean squares
}

// OneWay is the one-way analysis of variance. Where no group varies, F is NaN if the means are equal and infinite if not.
func OneWay(groups [][]float64) (Table, error) {
	if err := check(groups); err != nil {
		return Table{}, err
	}
	t := Table{Groups: summaries(groups)}
	offset := 0.0
	for _, g := range t.Groups {
		t.N += g.N
		offset += float64(g.N) * g.offset
	}
	df1, df2 := len(groups)-1, t.N-len(groups)
	if df2 < 1 {
		return Table{}, fmt.Errorf("%w: %d in %d groups", ErrFewSamples, t.N, len(groups))
	}
	offset /= float64(t.N)
	t.Mean = groups[0][0] + offset
	equal := true
	for _, g := range t.Groups {
		d := g.offset - offset
		t.SSB += float64(g.N) * d * d
		t.SSW += g.square
		equal = equal && g.offset == t.Groups[0].offset
	}
	if equal {
		t.SSB = 0 // the mean of equal numbers may be rounded
	}
	t.DF1, t.DF2 = float64(df1), float64(df2)
	t.MSB, t.MSW = t.SSB/t.DF1, t.SSW/t.DF2
	if err := finite(t.SSB, t.SSW); err != nil {
		return Table{}, err
	}
	if t.SSB == 0 && t.SSW == 0 {
		t.Statistic = math.NaN()
	} else {
		t.Statistic = t.MSB / t.MSW
	}
	t.P = TailF(t.Statistic, t.DF1, t.DF2)
	return t, nil
}
