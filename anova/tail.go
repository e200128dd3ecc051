package anova

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Tails are computed as such, by the regularised incomplete beta and gamma functions. One less the distribution function, as
// gonum's distuv has it for F and chi-squared, has no correct digit left below 1e-16.

// TailF is the probability that a variable of the F distribution exceeds f. NaN for NaN.
func TailF(f, df1, df2 float64) float64 {
	switch {
	case math.IsNaN(f):
		return f
	case f <= 0:
		return 1
	case math.IsInf(f, 1):
		return 0
	}
	return mathext.RegIncBeta(df2/2, df1/2, df2/(df2+df1*f))
}

// TailT is the probability that a variable of Student's distribution is farther from 0 than t, on either side.
func TailT(t, df float64) float64 { return TailF(t*t, 1, df) }

// TailChi2 is the probability that a variable of the chi-squared distribution exceeds x.
func TailChi2(x, df float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x <= 0:
		return 1
	}
	return mathext.GammaIncRegComp(df/2, x/2)
}

// CriticalF is what F exceeds with probability alpha.
func CriticalF(alpha, df1, df2 float64) float64 {
	y := mathext.InvRegIncBeta(df2/2, df1/2, alpha)
	f := df2 * (1 - y) / (df1 * y)
	for range 3 { // the inverse has some 8 digits: Newton's steps give the rest
		if density := (distuv.F{D1: df1, D2: df2}).Prob(f); density > 0 {
			f += (TailF(f, df1, df2) - alpha) / density
		}
	}
	return f
}

// CriticalT is what the absolute value of t exceeds with probability alpha.
func CriticalT(alpha, df float64) float64 { return math.Sqrt(CriticalF(alpha, 1, df)) }
