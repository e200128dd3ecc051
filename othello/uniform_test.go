package othello

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Unknown keys are spread evenly over all values, by the tests of the paper's figures 5 to 7: the share of samples that fail a
// test at a level of 5 % is about 5 %, as if they were drawn at random. Seeds are fixed, so nothing here is left to chance.
func TestUnknownKeysAreSpreadEvenly(t *testing.T) {
	const (
		width   = 12
		samples = 100
		keys    = 16 << 10
		unknown = 64 << 10
	)
	random := rand.New(rand.NewPCG(18, 19))
	chi := distuv.ChiSquared{K: 1<<width - 1}
	var chiFailed, ksFailed int
	for range samples {
		o, err := New(width, keys, rand.NewPCG(random.Uint64(), 20))
		if err != nil {
			t.Fatal(err)
		}
		for range keys { // few values, as connections have when there are ten backends
			mustSet(t, o, random.Uint64()>>16, 400*random.Uint32N(10))
		}
		counts, values := make([]float64, 1<<width), make([]float64, unknown)
		expected := make([]float64, 1<<width)
		for i := range values {
			v := o.Lookup(random.Uint64()>>16 | 1<<60)
			counts[v]++
			values[i] = (float64(v) + random.Float64()) / (1 << width) // a value stands for its whole interval
		}
		for i := range expected {
			expected[i] = unknown / float64(len(expected))
		}
		if chi.Survival(stat.ChiSquare(counts, expected)) < 0.05 {
			chiFailed++
		}
		if ksDistance(values) > 1.358/math.Sqrt(unknown) { // the 5 % point of Kolmogorov's distribution
			ksFailed++
		}
	}
	t.Logf("of %d samples %d fail chi-square, %d Kolmogorov-Smirnov", samples, chiFailed, ksFailed)
	if chiFailed > 10 || ksFailed > 10 {
		t.Errorf("of %d samples %d fail chi-square, %d Kolmogorov-Smirnov; want some 5, at most 10", samples, chiFailed, ksFailed)
	}
}

// The paper's figure 5: 1,024 values, 1,024 unknown keys for each on average.
func TestSpreadOfValues(t *testing.T) {
	o, err := New(10, 1<<16, rand.NewPCG(21, 22))
	if err != nil {
		t.Fatal(err)
	}
	for k := range uint64(1 << 16) {
		mustSet(t, o, k, uint32(k)&1023)
	}
	counts := make([]int, 1024)
	for k := range uint64(1 << 20) {
		counts[o.Lookup(k|1<<40)]++
	}
	slices.Sort(counts)
	t.Logf("keys per value: min %d, p10 %d, p90 %d, max %d (the paper's figure 5: 925, 980, 1066, 1120)",
		counts[0], counts[102], counts[921], counts[1023])
	if counts[0] < 850 || counts[102] < 950 || counts[921] > 1100 || counts[1023] > 1200 {
		t.Errorf("keys per value: min %d, p10 %d, p90 %d, max %d", counts[0], counts[102], counts[921], counts[1023])
	}
}

// ksDistance is the greatest distance of a sample's distribution from the uniform one on 0 to 1.
func ksDistance(values []float64) (d float64) {
	slices.Sort(values)
	n := float64(len(values))
	for i, v := range values {
		d = max(d, v-float64(i)/n, float64(i+1)/n-v)
	}
	return d
}
