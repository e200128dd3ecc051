package main

import (
	"math"
	"math/rand/v2"
)

// traffic makes the loads of k ports, n samples each, with equal means in the long run, 100 or so, and a coefficient of variation of .2
// unless its name says otherwise.
type traffic struct {
	name string
	make func(r *rand.Rand, k, n int) [][]float64
}

const (
	mean = 100
	sd   = 20
)

// traffics are those of the table, in its order.
func traffics() []traffic {
	return []traffic{
		{"normal iid", each(func(r *rand.Rand) float64 { return mean + sd*r.NormFloat64() })},
		{"normal, one sd x4", oneWild},
		{"AR(1) .3", autoregressive(.3)},
		{"AR(1) .6", autoregressive(.6)},
		{"AR(1) .9", autoregressive(.9)},
		{"Pareto 1.5 sums", each(paretoSum)},
		{"M/G/inf Pareto 1.4", ports(longFlows)},
		{"on/off bursts", ports(bursts)},
		{"shared load swing", sharedSwing},
	}
}

// ports makes each port by itself.
func ports(one func(r *rand.Rand, n int) []float64) func(*rand.Rand, int, int) [][]float64 {
	return func(r *rand.Rand, k, n int) [][]float64 {
		out := make([][]float64, k)
		for i := range out {
			out[i] = one(r, n)
		}
		return out
	}
}

// each makes each sample by itself.
func each(sample func(r *rand.Rand) float64) func(*rand.Rand, int, int) [][]float64 {
	return ports(func(r *rand.Rand, n int) []float64 {
		out := make([]float64, n)
		for j := range out {
			out[j] = max(0, sample(r))
		}
		return out
	})
}

// oneWild has one port whose standard deviation is four times that of the others, 40 and 10.
func oneWild(r *rand.Rand, k, n int) [][]float64 {
	out := each(func(r *rand.Rand) float64 { return mean + 10*r.NormFloat64() })(r, k, n)
	for j := range out[k-1] {
		out[k-1][j] = max(0, mean+4*(out[k-1][j]-mean))
	}
	return out
}

func autoregressive(phi float64) func(*rand.Rand, int, int) [][]float64 {
	return ports(func(r *rand.Rand, n int) []float64 {
		out := make([]float64, n)
		x := r.NormFloat64()
		for j := range out {
			out[j] = max(0, mean+sd*x)
			x = phi*x + math.Sqrt(1-phi*phi)*r.NormFloat64()
		}
		return out
	})
}

// pareto is a truncated Pareto variable of least value 1.
func pareto(r *rand.Rand, shape, most float64) float64 {
	return math.Pow(1-r.Float64()*(1-math.Pow(most, -shape)), -1/shape)
}

// paretoSum is 20 flows of a sample.
func paretoSum(r *rand.Rand) float64 {
	sum := 0.0
	for range 20 {
		sum += pareto(r, 1.5, 1000)
	}
	return sum * mean / 60
}

// longFlows are how many flows are there, which come at random and last for a Pareto time: long-range dependent.
func longFlows(r *rand.Rand, n int) []float64 {
	const shape, longest, least, concurrent = 1.4, 1000, 1.0, 25
	// Mean duration of the truncated distribution, and with it the rate of arrivals.
	ratio := math.Pow(longest, -shape)
	duration := shape / (shape - 1) * least * (1 - math.Pow(longest, 1-shape)) / (1 - ratio)
	rate := concurrent / duration
	out := make([]float64, n)
	const warm = longest
	for at := -float64(warm); ; {
		at += r.ExpFloat64() / rate
		if at >= float64(n) {
			return out
		}
		end := at + least*pareto(r, shape, longest)
		for j := max(0, int(math.Ceil(at))); j < n && float64(j) < end; j++ {
			out[j] += mean / concurrent
		}
	}
}

// bursts are 8 sources that are on for a quarter of the time, 6 samples at a time.
func bursts(r *rand.Rand, n int) []float64 {
	const sources, duty, burst = 8, 0.25, 6.0
	out := make([]float64, n)
	for range sources {
		on := r.Float64() < duty
		for j := range out {
			if on {
				out[j] += mean / (sources * duty)
			}
			stop := 1 / burst
			if !on {
				stop *= duty / (1 - duty)
			}
			if r.Float64() < stop {
				on = !on
			}
		}
	}
	return out
}

// sharedSwing is all ports moving together, by a factor with a coefficient of variation of .3.
func sharedSwing(r *rand.Rand, k, n int) [][]float64 {
	out := each(func(r *rand.Rand) float64 { return mean + sd*r.NormFloat64() })(r, k, n)
	x := r.NormFloat64()
	for j := range n {
		for i := range out {
			out[i][j] *= max(0.05, 1+0.3*x)
		}
		x = 0.9*x + math.Sqrt(1-0.81)*r.NormFloat64()
	}
	return out
}

// hot makes the first port's load that many times what it was.
func hot(groups [][]float64, factor float64) [][]float64 {
	for j := range groups[0] {
		groups[0][j] *= factor
	}
	return groups
}
