package anova

import (
	"errors"
	"fmt"
	"math"
)

// Errors of samples that no test can take.
var (
	ErrFewGroups  = errors.New("fewer than two groups")
	ErrEmptyGroup = errors.New("empty group")
	ErrFewSamples = errors.New("too few samples")
	ErrNotFinite  = errors.New("non-finite sample")
	ErrConstant   = errors.New("a group does not vary")
	ErrUneven     = errors.New("groups of different length")
	ErrNegative   = errors.New("negative sample")
	ErrRange      = errors.New("samples too large or too far apart")
)

// SampleError says which group, and which sample of it where one is to blame.
type SampleError struct {
	Group, Index int // from 0; Index -1: the whole group
	Err          error
}

func (e *SampleError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("group %d: %v", e.Group, e.Err)
	}
	return fmt.Sprintf("group %d, sample %d: %v", e.Group, e.Index, e.Err)
}

func (e *SampleError) Unwrap() error { return e.Err }

// check refuses what no test can take. Nothing is dropped: who collects samples drops, and counts.
func check(groups [][]float64) error {
	if len(groups) < 2 {
		return fmt.Errorf("%w: %d", ErrFewGroups, len(groups))
	}
	for i, g := range groups {
		if len(g) == 0 {
			return &SampleError{i, -1, ErrEmptyGroup}
		}
		for j, x := range g {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return &SampleError{i, j, ErrNotFinite}
			}
		}
	}
	return nil
}

// Group is a group in short.
type Group struct {
	N        int
	Mean     float64
	Variance float64 // of the sample, n-1 in the denominator; 0 for one sample
	offset   float64 // mean less the origin, the first sample of all
	square   float64 // sum of squares about the mean
}

// summaries describes groups that have been checked. Sums are of differences from a group's own first sample, and means are
// compared as differences from the first of all: counters near 1e15 would else lose what distinguishes them.
func summaries(groups [][]float64) []Group {
	out := make([]Group, len(groups))
	origin := groups[0][0]
	for i, g := range groups {
		first, n := g[0], float64(len(g))
		sum := 0.0
		for _, x := range g {
			sum += x - first
		}
		shift := sum / n
		square := 0.0
		for _, x := range g {
			d := x - first - shift
			square += d * d
		}
		out[i] = Group{N: len(g), Mean: first + shift, offset: first - origin + shift, square: square}
		if len(g) > 1 {
			out[i].Variance = square / (n - 1)
		}
	}
	return out
}

func finite(xs ...float64) error {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return ErrRange
		}
	}
	return nil
}
