package anova

import (
	"errors"
	"math/rand/v2"
	"testing"
)

func TestSpread(t *testing.T) {
	// 60, 20, 20, 20 of which 30 each are expected: 30²/30 + 3·10²/30 = 40; the tail is erfc(√20) + √(80/π)·e⁻²⁰, by 20 digits.
	got, err := Spread([]int64{60, 20, 20, 20}, []float64{1, 1, 1, 1})
	if err != nil || got.DF1 != 3 {
		t.Fatal(got, err)
	}
	near(t, "chi-squared", got.Statistic, 40)
	probable(t, "p", got.P, 1.0655090334255837e-08)
	if got, err = Spread([]int64{40, 20, 20}, []float64{2, 1, 1}); err != nil || got.Statistic != 0 || got.P != 1 {
		t.Errorf("as shares say: %+v, %v", got, err)
	}
	for _, c := range []struct {
		counts []int64
		shares []float64
		want   error
	}{
		{[]int64{9, 9}, []float64{1, 1}, nil},
		{[]int64{4, 4}, []float64{1, 1}, ErrFewSamples},
		{[]int64{99, 0}, []float64{1, 0.01}, ErrFewSamples},
		{[]int64{0, 0}, []float64{1, 1}, ErrFewSamples},
		{[]int64{9}, []float64{1}, ErrFewGroups},
		{[]int64{9, 9}, []float64{1}, ErrFewGroups},
	} {
		if _, err := Spread(c.counts, c.shares); !errors.Is(err, c.want) {
			t.Errorf("%v by %v: %v, want %v", c.counts, c.shares, err, c.want)
		}
	}
}

func TestSpreadLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const runs = 4000
	rejected := 0
	for range runs {
		counts := make([]int64, 4)
		for range 200 {
			counts[r.IntN(4)]++
		}
		if got, err := Spread(counts, []float64{1, 1, 1, 1}); err != nil {
			t.Fatal(err)
		} else if got.Rejects(0.05) {
			rejected++
		}
	}
	if rejected < runs*3/100 || rejected > runs*7/100 {
		t.Errorf("%d of %d rejected at the level .05", rejected, runs)
	}
}
