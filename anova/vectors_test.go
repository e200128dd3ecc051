package anova

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// number reads what JSON cannot say: NaN, Inf and -Inf as text.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	if len(b) > 1 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	f, err := strconv.ParseFloat(string(b), 64)
	*n = number(f)
	return err
}

func floats(groups [][]number) [][]float64 {
	out := make([][]float64, len(groups))
	for i, g := range groups {
		for _, x := range g {
			out[i] = append(out[i], float64(x))
		}
	}
	return out
}

type testVector struct {
	F, H     number
	DF       number
	DF1, DF2 number
	P        number
	FCrit    number  `json:"F_crit"`
	Exact    *number `json:"F_exact"`
	Reject   bool
}

type pairVector struct {
	I, J        int
	Diff, SE, T number
	LSD         number                  `json:"p_lsd"`
	Holm        number                  `json:"p_holm"`
	Bonferroni  number                  `json:"p_bonferroni"`
	Sidak       number                  `json:"p_sidak"`
	Welch       *struct{ T, DF number } `json:"gh"` // T without its sign; their p is of another test
	Reject      map[Adjustment]bool
}

type vector struct {
	Name    string
	Alpha   float64
	Groups  [][]number
	Summary struct {
		Mean, Var          []number
		Sizes              []int  `json:"n"`
		N                  int    `json:"N"`
		GrandMean          number `json:"grand_mean"`
		SSB, SSW, MSB, MSW number
	}
	Anova, Welch, Kruskal *testVector
	Pairs                 []pairVector
	Comparisons           int
	Adjusted              struct{ Bonferroni, Sidak number } `json:"alpha_adjusted"`
	Threshold             map[string]number                  `json:"lsd_threshold"`
}

type vectors struct {
	Vectors []vector
	Special []struct {
		Name   string
		Groups [][]number
		Expect struct {
			Error    string
			SSB, SSW *number
			F, P     *number
			Reject   bool
			Pairs    [][]any
			Reason   string
		}
	}
	Roulette struct {
		Cases []struct {
			Traffic, P, Cumulative []number
			Order                  []int
			Draws                  []struct {
				U     float64
				Index int
			}
		}
	}
	FCritical []struct{ Alpha, DF1, DF2, F number } `json:"f_critical"`
	Tails     []struct {
		Dist    string
		X       number
		DF      number
		DF1     number
		DF2     number
		SF, SF2 number
	}
	FamilyWise []struct {
		K, Comparisons    int
		Alpha             float64
		FamilyError       number `json:"familywise_error"`
		NoError           number `json:"no_error_probability"`
		Bonferroni, Sidak number
	}
	Shares struct {
		Cases []struct {
			Name   string
			Groups [][]number
			Expect struct {
				PhiRaw    number `json:"phi_raw"`
				Phi       number
				Effective number `json:"n_eff"`
				Inflation number
				ShareMean []number `json:"share_mean"`
				F         number
				DF1, DF2  number
				P         number
				Reject    bool
				Deviation number `json:"max_relative_deviation"`
				Gate      bool   `json:"gate_20pct"`
			}
			Plain number `json:"plain_anova_p"`
		}
	} `json:"welch_ess_shares"`
}

func load(t *testing.T) (v vectors) {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// near compares to 1e-9, relative; of what is exactly 0 to 1e-12.
func near(t *testing.T, what string, got float64, want number) {
	t.Helper()
	w := float64(want)
	if math.IsNaN(w) != math.IsNaN(got) || math.Abs(got-w) > 1e-9*math.Abs(w) && !(w == 0 && math.Abs(got) < 1e-12) {
		t.Errorf("%s: got %v, want %v", what, got, w)
	}
}

// probable compares probabilities as the file says: to 1e-8, relative, or below 1e-10 to 1e-12, absolute. Small ones are held to a
// millionth of their value besides, or a tail that is always 0 would pass.
func probable(t *testing.T, what string, got float64, want number) {
	t.Helper()
	w := float64(want)
	d := math.Abs(got - w)
	if math.IsNaN(w) != math.IsNaN(got) || d > 1e-8*w && !(w < 1e-10 && d < 1e-12) || w < 1e-10 && d > 1e-6*w {
		t.Errorf("%s: got %v, want %v", what, got, w)
	}
}

func TestVectors(t *testing.T) {
	for _, v := range load(t).Vectors {
		t.Run(v.Name, func(t *testing.T) {
			groups := floats(v.Groups)
			table, err := OneWay(groups)
			if err != nil {
				t.Fatal(err)
			}
			if table.N != v.Summary.N {
				t.Errorf("N %d, want %d", table.N, v.Summary.N)
			}
			near(t, "mean", table.Mean, v.Summary.GrandMean)
			for i, g := range table.Groups {
				near(t, "mean of a group", g.Mean, v.Summary.Mean[i])
				near(t, "variance", g.Variance, v.Summary.Var[i])
			}
			near(t, "SSB", table.SSB, v.Summary.SSB)
			near(t, "SSW", table.SSW, v.Summary.SSW)
			near(t, "MSB", table.MSB, v.Summary.MSB)
			near(t, "MSW", table.MSW, v.Summary.MSW)
			near(t, "F", table.Statistic, v.Anova.F)
			if v.Anova.Exact != nil {
				near(t, "F", table.Statistic, *v.Anova.Exact)
			}
			near(t, "critical F", CriticalF(v.Alpha, table.DF1, table.DF2), v.Anova.FCrit)
			same(t, "anova", table.Test, *v.Anova, v.Alpha)
			if v.Kruskal != nil {
				h, err := KruskalWallis(groups)
				if err != nil {
					t.Fatal(err)
				}
				near(t, "H", h.Statistic, v.Kruskal.H)
				near(t, "df of H", h.DF1, v.Kruskal.DF)
				probable(t, "p of H", h.P, v.Kruskal.P)
				if h.Rejects(v.Alpha) != v.Kruskal.Reject {
					t.Errorf("Kruskal-Wallis rejects: %v", !v.Kruskal.Reject)
				}
			}
			if w, err := Welch(groups); v.Welch == nil {
				var at *SampleError
				if !errors.As(err, &at) || !errors.Is(err, ErrConstant) {
					t.Errorf("Welch: %v", err)
				}
			} else if err != nil {
				t.Error(err)
			} else {
				near(t, "F of Welch", w.Statistic, v.Welch.F)
				same(t, "Welch", w, *v.Welch, v.Alpha)
			}
			comparePairs(t, table, v)
		})
	}
}

func same(t *testing.T, what string, got Test, want testVector, alpha float64) {
	t.Helper()
	near(t, what+": df1", got.DF1, want.DF1)
	near(t, what+": df2", got.DF2, want.DF2)
	probable(t, what+": p", got.P, want.P)
	if got.Rejects(alpha) != want.Reject {
		t.Errorf("%s rejects: %v", what, !want.Reject)
	}
}

func comparePairs(t *testing.T, table Table, v vector) {
	t.Helper()
	if n := len(v.Pairs); n != v.Comparisons {
		t.Fatalf("%d pairs, want %d", n, v.Comparisons)
	}
	near(t, "level of Sidak", SidakLevel(v.Alpha, v.Comparisons), v.Adjusted.Sidak)
	for _, a := range []struct {
		how  Adjustment
		want func(pairVector) number
	}{
		{LSD, func(p pairVector) number { return p.LSD }},
		{Sidak, func(p pairVector) number { return p.Sidak }},
		{Bonferroni, func(p pairVector) number { return p.Bonferroni }},
		{Holm, func(p pairVector) number { return p.Holm }},
	} {
		pairs, err := table.Pairs(a.how, v.Alpha)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range pairs {
			w := v.Pairs[i]
			if p.I != w.I || p.J != w.J {
				t.Fatalf("pair %d is %d, %d", i, p.I, p.J)
			}
			near(t, "difference", p.Diff, w.Diff)
			near(t, "standard error", p.SE, w.SE)
			near(t, "t", p.T, w.T)
			probable(t, "p", p.Raw, w.LSD)
			probable(t, "p of "+string(a.how), p.P, a.want(w))
			if got := p.P < v.Alpha; got != w.Reject[a.how] {
				t.Errorf("pair %d by %s: differs %v, want %v", i, a.how, got, !got)
			}
			if got := math.Abs(p.Diff) >= p.Bound; a.how != Holm && got != w.Reject[a.how] {
				t.Errorf("pair %d by %s: %v reaches %v: %v", i, a.how, p.Diff, p.Bound, got)
			}
		}
	}
	if v.Threshold != nil {
		for name, want := range v.Threshold {
			how, alpha := LSD, v.Alpha
			switch name {
			case "alpha_0.01":
				alpha = 0.01
			case "sidak":
				how = Sidak
			}
			pairs, err := table.Pairs(how, alpha)
			if err != nil {
				t.Fatal(err)
			}
			// scipy's quantile of t is 2e-9 off here: of the first of these, 30 digits give 12.648134920093505.
			if got := pairs[0].Bound; math.Abs(got-float64(want)) > 3e-9*got {
				t.Errorf("least significant difference, %s: got %v, want %v", name, got, want)
			}
		}
	}
	if pairs, err := WelchPairs(floats(v.Groups), Holm, v.Alpha); err == nil {
		for i, p := range pairs {
			near(t, "t of Welch", math.Abs(p.T), v.Pairs[i].Welch.T)
			near(t, "df of Welch", p.DF, v.Pairs[i].Welch.DF)
		}
	} else if v.Welch != nil {
		t.Error(err)
	}
}

func TestSpecial(t *testing.T) {
	for _, v := range load(t).Special {
		t.Run(v.Name, func(t *testing.T) {
			groups := floats(v.Groups)
			table, err := OneWay(groups)
			if want := v.Expect.Error; want != "" {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, want)
				}
				for name, f := range map[string]func([][]float64) (Test, error){"Welch": Welch, "Kruskal-Wallis": KruskalWallis} {
					if _, err := f(groups); err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: error %v, want %s", name, err, want)
					}
				}
				if _, err := Shares(groups); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("shares: error %v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v.Expect.SSB != nil {
				near(t, "SSB", table.SSB, *v.Expect.SSB)
			}
			near(t, "SSW", table.SSW, *v.Expect.SSW)
			if f := float64(*v.Expect.F); math.IsInf(f, 1) != math.IsInf(table.Statistic, 1) || math.IsNaN(f) != math.IsNaN(table.Statistic) {
				t.Errorf("F %v, want %v", table.Statistic, f)
			}
			near(t, "p", table.P, *v.Expect.P)
			if table.Rejects(0.05) != v.Expect.Reject {
				t.Errorf("rejects: %v", !v.Expect.Reject)
			}
			pairs, err := table.Pairs(Sidak, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range v.Expect.Pairs {
				if got := pairs[i].P < 0.05; got != w[2].(bool) {
					t.Errorf("pair %v differs: %v", w, got)
				}
			}
		})
	}
}

func TestSampleErrorsSayWhere(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	for _, c := range []struct {
		groups [][]float64
		want   string
	}{
		{[][]float64{{1, 2}, {3, nan}}, "group 1, sample 1: non-finite sample"},
		{[][]float64{{inf, 2}, {3, 4}}, "group 0, sample 0: non-finite sample"},
		{[][]float64{{1}, {2}, nil}, "group 2: empty group"},
		{[][]float64{{1}}, "fewer than two groups: 1"},
		{nil, "fewer than two groups: 0"},
		{[][]float64{{1}, {2}}, "too few samples: 2 in 2 groups"},
		{[][]float64{{1e300, -1e300}, {2, 3}}, "samples too large or too far apart"},
	} {
		if _, err := OneWay(c.groups); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.groups, err, c.want)
		}
	}
	for _, c := range []struct {
		groups [][]float64
		want   string
	}{
		{[][]float64{{1, 2}, {3}}, "group 1: groups of different length: 1, the first has 2"},
		{[][]float64{{1, 2}, {3, -1}}, "group 1, sample 1: negative sample"},
		{[][]float64{{1}, {3}}, "too few samples: 1 in a group"},
		{[][]float64{{0, 0, 1}, {0, 0, 1}}, "too few samples: 1 with any load"},
	} {
		if _, err := Shares(c.groups); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.groups, err, c.want)
		}
	}
}

func TestRouletteVectors(t *testing.T) {
	for _, c := range load(t).Roulette.Cases {
		traffic := floats([][]number{c.Traffic})[0]
		w := NewWheel(traffic)
		for i := range traffic {
			near(t, "p", w.P[i], c.P[i])
			near(t, "cumulative", w.Cumulative[i], c.Cumulative[i])
		}
		if !slices.Equal(w.Order, c.Order) {
			t.Errorf("order %v, want %v", w.Order, c.Order)
		}
		for _, d := range c.Draws {
			if got := w.Draw(d.U); got != d.Index {
				t.Errorf("traffic %v, u %v: port %d, want %d", traffic, d.U, got, d.Index)
			}
		}
	}
}

func TestRouletteWithoutTraffic(t *testing.T) {
	for _, c := range []struct{ traffic, want []float64 }{
		{[]float64{0, 0, 0, 0}, []float64{.25, .25, .25, .25}},
		{[]float64{1000, 0}, []float64{1. / 2001, 2000. / 2001}},
	} {
		w := NewWheel(c.traffic)
		for i := range c.want {
			near(t, "p", w.P[i], number(c.want[i]))
		}
	}
}

// The exact value of a quantile, by mpmath with 30 digits.
func TestCriticalT(t *testing.T) {
	near(t, "critical t", CriticalT(0.05, 44)*6.275845200885678, 12.6481349200935049714)
}

func TestTails(t *testing.T) {
	v := load(t)
	n := 0
	for _, c := range v.Tails {
		switch c.Dist {
		case "F":
			probable(t, "F", TailF(float64(c.X), float64(c.DF1), float64(c.DF2)), c.SF)
		case "t":
			probable(t, "t", TailT(float64(c.X), float64(c.DF)), c.SF2)
		default:
			continue // the studentized range is used nowhere here
		}
		n++
	}
	if n < 6 {
		t.Errorf("%d tails compared", n)
	}
	for _, c := range v.FCritical {
		near(t, "critical F", CriticalF(float64(c.Alpha), float64(c.DF1), float64(c.DF2)), c.F)
	}
	for _, c := range v.FamilyWise {
		near(t, "level of Sidak", SidakLevel(c.Alpha, c.Comparisons), c.Sidak)
		near(t, "family-wise error", FamilyError(c.Alpha, c.Comparisons), c.FamilyError)
	}
}

func TestShareVectors(t *testing.T) {
	for _, c := range load(t).Shares.Cases {
		t.Run(c.Name, func(t *testing.T) {
			groups := floats(c.Groups)
			s, err := Shares(groups)
			if err != nil {
				t.Fatal(err)
			}
			e := c.Expect
			near(t, "raw autocorrelation", s.Raw, e.PhiRaw)
			near(t, "autocorrelation", s.Phi, e.Phi)
			near(t, "effective samples", s.Effective, e.Effective)
			near(t, "inflation", s.Inflation, e.Inflation)
			for i, m := range s.Means {
				near(t, "share", m, e.ShareMean[i])
			}
			near(t, "F", s.Statistic, e.F)
			same(t, "shares", s.Test, testVector{DF1: e.DF1, DF2: e.DF2, P: e.P, Reject: e.Reject}, 0.05)
			plain, err := OneWay(groups)
			if err != nil {
				t.Fatal(err)
			}
			var means []float64
			for _, g := range plain.Groups {
				means = append(means, g.Mean)
			}
			_, most := Farthest(Deviations(means, nil))
			near(t, "deviation", most, e.Deviation)
			if got := most > 0.2; got != e.Gate {
				t.Errorf("more than 20%%: %v", got)
			}
			probable(t, "p of plain analysis", plain.P, c.Plain)
		})
	}
}
