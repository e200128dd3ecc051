package anova

import (
	"errors"
	"fmt"
	"math"
)

// Verdict is one of three answers.
type Verdict string

// Verdicts. Undecided is no Balanced: there are too few samples, too few that are independent, too little load, or a difference
// that would matter but may be chance.
const (
	Balanced   Verdict = "balanced"
	Imbalanced Verdict = "imbalanced"
	Undecided  Verdict = "undecided"
)

// Result is one test of a window.
type Result struct {
	Test                 // NaN where none was possible
	Verdict    Verdict   // of this test alone
	Reason     string    // in words
	Samples    int       // of each port
	Effective  float64   // of these, independent ones
	Phi        float64   // lag-1 autocorrelation; 0 in mode paper, which does not look
	Means      []float64 // loads
	Deviations []float64 // of each port from its fair share
	Top        int       // the port farthest from its fair share
	Effect     float64   // how far, absolute
	Pairs      []Pair    // of loads per capacity; nil with more than 64 ports
	Matrix     [][]Mark  // the same as marks
	idle       bool      // too little load
}

// judge tests a window: one group of loads for each port, and what each has of capacity.
func (s Settings) judge(loads [][]float64, capacities []float64) Result {
	k := len(loads)
	r := Result{Test: Test{Statistic: math.NaN(), P: math.NaN()}, Samples: len(loads[0]), Means: make([]float64, k)}
	scaled := make([][]float64, k)
	total := 0.0
	for i, g := range loads {
		scaled[i] = make([]float64, len(g))
		for j, x := range g {
			r.Means[i] += x / float64(len(g))
			scaled[i][j] = x / capacities[i]
		}
		total += r.Means[i]
	}
	r.Effective = float64(r.Samples)
	r.Deviations = Deviations(r.Means, capacities)
	r.Top, r.Effect = Farthest(r.Deviations)
	if total < s.MinLoad || total == 0 {
		r.idle = true
		return r.answer(Undecided, "the load, %.3g, is below %.3g", total, s.MinLoad)
	}
	if err := s.test(&r, scaled); err != nil {
		return r.answer(Undecided, "%v", err)
	}
	return s.answer(r)
}

// test sets what the mode's test says.
func (s Settings) test(r *Result, scaled [][]float64) (err error) {
	var pairs func() ([]Pair, error)
	switch s.Mode {
	case Paper:
		var t Table
		if t, err = OneWay(scaled); err == nil {
			r.Test = t.Test
			pairs = func() ([]Pair, error) { return t.Pairs(Sidak, s.Alpha) }
		}
	default:
		var t ShareTest
		if t, err = Shares(scaled); err == nil {
			r.Test, r.Effective, r.Phi = t.Test, t.Effective, t.Phi
			pairs = func() ([]Pair, error) { return t.Pairs(Holm, s.Alpha) }
		}
	}
	if err != nil || len(scaled) > maxMatrix {
		return err
	}
	if r.Pairs, err = pairs(); err == nil {
		r.Matrix = Matrix(len(scaled), r.Pairs, s.Alpha)
	}
	return err
}

// answer decides on what the test has said.
func (s Settings) answer(r Result) Result {
	gate := s.GateOf(len(r.Means))
	far := r.Effect > gate
	switch significant := r.Rejects(s.Alpha); {
	case math.IsNaN(r.Statistic):
		return r.answer(Balanced, "nothing varies")
	case significant && far:
		return r.answer(Imbalanced, "%.0f %% from its fair share, p %.2g", 100*r.Effect, r.P)
	case significant:
		return r.answer(Balanced, "the ports differ, but by %.0f %% at most (gate %.0f %%)", 100*r.Effect, 100*gate)
	case r.Effective < leastEffective:
		return r.answer(Undecided, "%d samples depend on each other, and are worth %.1f independent ones", r.Samples, r.Effective)
	case far && gate > 0: // without a gate every window is far
		return r.answer(Undecided, "%.0f %% from its fair share, which may be chance: p %.2g", 100*r.Effect, r.P)
	}
	return r.answer(Balanced, "no difference beyond chance: p %.2g", r.P)
}

func (r Result) answer(v Verdict, format string, args ...any) Result {
	r.Verdict, r.Reason = v, fmt.Sprintf(format, args...)
	return r
}

// calm reports whether nothing is left of an imbalance.
func (s Settings) calm(r Result) bool {
	gate := s.GateOf(len(r.Means))
	return r.idle || r.Verdict != Imbalanced && (gate == 0 || r.Effect < gate/2)
}

// errWidth is a row of loads that is not one for each port.
var errWidth = errors.New("not one load for each port")
