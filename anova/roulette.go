package anova

import (
	"math"
	"slices"
	"sort"
)

// idle is the least traffic of a port on a [Wheel], as a part of the mean.
const idle = 0.001

// Wheel is the paper's roulette: the less traffic a port has, the more likely it is drawn.
type Wheel struct {
	P          []float64 // of each port: (1/x)/Σ(1/x)
	Order      []int     // ports from the likeliest on, equals by index
	Cumulative []float64 // of P in that order; the last is 1
}

// NewWheel makes the wheel of the traffic of ports, in any unit. Less than a thousandth of the mean counts as that, for 1/x has no bound;
// without any traffic all are equally likely.
func NewWheel(traffic []float64) Wheel {
	n := len(traffic)
	w := Wheel{P: make([]float64, n), Order: make([]int, n), Cumulative: make([]float64, n)}
	mean := 0.0
	for _, x := range traffic {
		if x > 0 {
			mean += x / float64(n)
		}
	}
	if mean == 0 || math.IsInf(mean, 0) {
		mean, traffic = 1, make([]float64, n)
	}
	total := 0.0
	for i, x := range traffic {
		if !(x > idle*mean) {
			x = idle * mean
		}
		w.P[i] = 1 / x
		total += w.P[i]
	}
	for i := range w.P {
		w.P[i] /= total
		w.Order[i] = i
	}
	slices.SortStableFunc(w.Order, func(a, b int) int {
		switch {
		case w.P[a] > w.P[b]:
			return -1
		case w.P[a] < w.P[b]:
			return 1
		}
		return 0
	})
	sum := 0.0
	for i, port := range w.Order {
		sum += w.P[port]
		w.Cumulative[i] = sum
	}
	if n > 0 {
		w.Cumulative[n-1] = 1
	}
	return w
}

// Draw is the port at u, uniform in [0,1): the first whose cumulative probability is greater. The wheel must have a port.
func (w Wheel) Draw(u float64) int {
	i := sort.Search(len(w.Cumulative), func(i int) bool { return w.Cumulative[i] > u })
	return w.Order[min(i, len(w.Order)-1)]
}
