package anova

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// feed gives n rows of normal loads with the means given, and returns the verdicts as they change.
func feed(t *testing.T, d *Detector, r *rand.Rand, n int, means ...float64) (verdicts []Verdict) {
	t.Helper()
	last := d.State().Verdict
	for range n {
		row := make([]float64, len(means))
		for i, m := range means {
			row[i] = max(0, m*(1+0.1*r.NormFloat64()))
		}
		if _, err := d.Add(row); err != nil {
			t.Fatal(err)
		}
		if v := d.State().Verdict; v != last {
			verdicts = append(verdicts, v)
			last = v
		}
	}
	return verdicts
}

func equalCapacities(k int) []float64 {
	out := make([]float64, k)
	for i := range out {
		out[i] = 1
	}
	return out
}

func detector(t *testing.T, s Settings, capacities ...float64) *Detector {
	t.Helper()
	d, err := NewDetector(s, capacities)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDetector(t *testing.T) {
	for _, mode := range []Mode{Robust, Paper} {
		s := Defaults()
		s.Mode = mode
		for _, c := range []struct {
			name  string
			run   func(d *Detector, r *rand.Rand) []Verdict
			want  string
			top   int
			gates []float64
		}{
			{"balanced", func(d *Detector, r *rand.Rand) []Verdict { return feed(t, d, r, 500, 100, 100, 100, 100) }, "[balanced]", 0, nil},
			{"one hot", func(d *Detector, r *rand.Rand) []Verdict { return feed(t, d, r, 200, 100, 100, 150, 100) }, "[imbalanced]", 2, nil},
			{"a small difference is none", func(d *Detector, r *rand.Rand) []Verdict { return feed(t, d, r, 300, 100, 100, 110, 100) },
				"[balanced]", 0, nil},
			{"hot, then over", func(d *Detector, r *rand.Rand) []Verdict {
				return append(feed(t, d, r, 200, 100, 100, 100, 200), feed(t, d, r, 200, 100, 100, 100, 100)...)
			}, "[imbalanced balanced]", 3, nil},
			{"one dead", func(d *Detector, r *rand.Rand) []Verdict { return feed(t, d, r, 200, 100, 0, 100, 100) }, "[imbalanced]", 1, nil},
		} {
			t.Run(string(mode)+"/"+c.name, func(t *testing.T) {
				d := detector(t, s, equalCapacities(4)...)
				got := fmt.Sprint(c.run(d, rand.New(rand.NewPCG(1, 1))))
				if got != c.want || d.State().Top != c.top {
					t.Errorf("verdicts %v of port %d (%+v), want %v of %d", got, d.State().Top, d.State(), c.want, c.top)
				}
			})
		}
	}
}

// Loads are compared per capacity: a port with twice of it has twice the load.
func TestDetectorCapacity(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d := detector(t, Defaults(), 1, 2, 1)
	if got := feed(t, d, r, 200, 100, 200, 100); fmt.Sprint(got) != "[balanced]" {
		t.Errorf("by capacity: %v, %+v", got, d.State())
	}
	d = detector(t, Defaults(), 1, 2, 1, 1)
	if got := feed(t, d, r, 200, 100, 100, 100, 100); fmt.Sprint(got) != "[imbalanced]" || d.State().Top != 1 {
		t.Errorf("the same load on twice the capacity: %v, %+v", got, d.State())
	}
}

func TestDetectorWaits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d := detector(t, Defaults(), 1, 1)
	feed(t, d, r, 59, 100, 300)
	if s := d.State(); s.Verdict != Undecided || s.Reason != "59 of 60 samples" {
		t.Errorf("before the window is full: %+v", s)
	}
	if _, ok := d.Last(); ok {
		t.Error("tested before the window was full")
	}
	feed(t, d, r, 20, 100, 300)
	if s := d.State(); s.Verdict != Undecided || s.Streak != 2 || !strings.HasPrefix(s.Reason, "imbalanced in 2 of 3 tests in a row") {
		t.Errorf("before the streak is whole: %+v", s)
	}
	feed(t, d, r, 1, 100, 300)
	if s := d.State(); s.Verdict != Imbalanced || s.Streak != 3 || s.Tests != 3 {
		t.Errorf("after three tests: %+v", s)
	}
	d.Restart("a weight has changed")
	if s := d.State(); s.Verdict != Undecided || s.Reason != "a weight has changed" || len(d.Samples()[0]) != 0 {
		t.Errorf("begun anew: %+v", s)
	}
	// The window is full again after 60 samples and the streak after 80, and the cool-down of 60 is over then.
	if got := feed(t, d, r, 80, 100, 300); fmt.Sprint(got) != "[imbalanced]" {
		t.Errorf("after a restart: %v, %+v", got, d.State())
	}
}

func TestDetectorCoolsDown(t *testing.T) {
	s := Defaults()
	s.CoolDown = 500
	r := rand.New(rand.NewPCG(1, 1))
	d := detector(t, s, 1, 1, 1)
	feed(t, d, r, 100, 100, 300, 100)
	feed(t, d, r, 150, 100, 100, 100)
	if got := feed(t, d, r, 300, 100, 300, 100); slices.Contains(got, Imbalanced) || !strings.Contains(d.State().Reason, "no alarm for") {
		t.Errorf("an alarm in the time of rest: %v, %+v", got, d.State())
	}
	if got := feed(t, d, r, 300, 100, 300, 100); fmt.Sprint(got) != "[imbalanced]" {
		t.Errorf("no alarm after it: %v, %+v", got, d.State())
	}
}

func TestDetectorUndecided(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := Defaults()
	s.MinLoad = 1000
	d := detector(t, s, 1, 1)
	feed(t, d, r, 100, 100, 300)
	if st := d.State(); st.Verdict != Undecided || !strings.Contains(st.Reason, "is below 1e+03") {
		t.Errorf("too little load: %+v", st)
	}
	d = detector(t, Defaults(), 1, 1)
	x, y := 100., 100.
	for range 100 { // two slow walks: so many samples, so few independent ones
		x, y = x*math.Exp(0.05*r.NormFloat64()), y*math.Exp(0.05*r.NormFloat64())
		if _, err := d.Add([]float64{x, y}); err != nil {
			t.Fatal(err)
		}
	}
	if st := d.State(); st.Verdict != Undecided || !strings.Contains(st.Reason, "independent ones") {
		t.Errorf("samples that depend on each other: %+v", st)
	}
	d = detector(t, Defaults(), 1, 1)
	for range 70 {
		if _, err := d.Add([]float64{5, 5}); err != nil {
			t.Fatal(err)
		}
	}
	if st := d.State(); st.Verdict != Balanced || st.Reason != "nothing varies" {
		t.Errorf("equal constants: %+v", st)
	}
}

// The paper's own way: an alarm at each window that rejects, over at the first that does not.
func TestDetectorWithoutGate(t *testing.T) {
	s := Settings{Mode: Paper, Window: 5, Step: 5, Alpha: 0.05, Streak: 1, Release: 1}
	r := rand.New(rand.NewPCG(1, 1))
	d := detector(t, s, 1, 1, 1)
	if got := fmt.Sprint(feed(t, d, r, 5, 100, 100, 300), feed(t, d, r, 10, 100, 100, 100)); got != "[imbalanced] [balanced]" {
		t.Errorf("verdicts %s, %+v", got, d.State())
	}
}

func TestDetectorRefusesSamples(t *testing.T) {
	d := detector(t, Defaults(), 1, 1)
	for _, c := range []struct {
		row  []float64
		want string
	}{
		{[]float64{1}, "not one load for each port: 1, there are 2"},
		{[]float64{1, math.NaN()}, "group 1: non-finite sample"},
		{[]float64{math.Inf(1), 1}, "group 0: non-finite sample"},
		{[]float64{1, -1}, "group 1: negative sample"},
	} {
		if _, err := d.Add(c.row); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.row, err, c.want)
		}
	}
	if n := len(d.Samples()[0]); n != 0 {
		t.Errorf("%d samples were taken", n)
	}
	if _, err := NewDetector(Defaults(), []float64{1}); err == nil {
		t.Error("one port was accepted")
	}
	if _, err := NewDetector(Defaults(), []float64{1, 0}); err == nil {
		t.Error("a port without capacity was accepted")
	}
}

func TestSettings(t *testing.T) {
	if errs := Defaults().Check(); len(errs) > 0 {
		t.Errorf("the defaults: %v", errs)
	}
	for _, c := range []struct {
		set  func(*Settings)
		want string
	}{
		{func(s *Settings) { s.Mode = "best" }, `mode: "best": want one of robust, paper`},
		{func(s *Settings) { s.Window = 7 }, "window: 7: want 8 to 3600 samples in mode robust"},
		{func(s *Settings) { s.Mode, s.Window = Paper, 1 }, "window: 1: want 2 to 3600 samples in mode paper"},
		{func(s *Settings) { s.Window = 1 << 40 }, "window: 1099511627776: want 8 to 3600 samples in mode robust"},
		{func(s *Settings) { s.Step = 0 }, "step: 0: want 1 to 3600 samples"},
		{func(s *Settings) { s.Alpha = 0 }, "alpha: 0: want more than 0 and less than 1"},
		{func(s *Settings) { s.Alpha = 1 }, "alpha: 1: want more than 0 and less than 1"},
		{func(s *Settings) { s.Alpha = math.NaN() }, "alpha: NaN: want more than 0 and less than 1"},
		{func(s *Settings) { s.Gate = -0.1 }, "gate: -0.1: want 0 to 10: a part of a port's fair share, such as 0.2"},
		{func(s *Settings) { s.GateMany = math.NaN() }, "gate_many: NaN: want 0 to 10: a part of a port's fair share, such as 0.2"},
		{func(s *Settings) { s.Streak = 0 }, "streak: 0: want 1 to 3600"},
		{func(s *Settings) { s.Release = 0 }, "release: 0: want 1 to 3600"},
		{func(s *Settings) { s.CoolDown = -1 }, "cool_down: -1: want 0 to 3600"},
		{func(s *Settings) { s.MinLoad = math.Inf(1) }, "min_load: +Inf: want 0 or more"},
	} {
		s := Defaults()
		c.set(&s)
		if errs := s.Check(); len(errs) != 1 || errs[0].Error() != c.want {
			t.Errorf("got %v, want %s", errs, c.want)
		}
	}
}

// A sample costs the same however long the window has been full, and allocates nothing but at tests.
func TestDetectorAllocates(t *testing.T) {
	s := Defaults()
	s.Step = maxWindow
	d := detector(t, s, equalCapacities(20)...)
	row := equalCapacities(20)
	for range s.Window + 1 {
		if _, err := d.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := d.Add(row); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for a sample", n)
	}
}

// A thousand ports, as 50 services of 20 each: a second of samples, with a test of a tenth of the services.
func BenchmarkDetector(b *testing.B) {
	const services, ports = 50, 20
	r := rand.New(rand.NewPCG(1, 1))
	all := make([]*Detector, services)
	for i := range all {
		var err error
		if all[i], err = NewDetector(Defaults(), equalCapacities(ports)); err != nil {
			b.Fatal(err)
		}
	}
	row := make([]float64, ports)
	second := func(n int) {
		for i, d := range all {
			if n < 60 && i%10 > n%10 {
				continue // so that not all are tested at once
			}
			for p := range row {
				row[p] = 1e6 * (1 + 0.2*r.Float64())
			}
			if _, err := d.Add(row); err != nil {
				b.Fatal(err)
			}
		}
	}
	for n := range 80 {
		second(n)
	}
	n := 80
	b.ReportAllocs()
	for b.Loop() {
		second(n)
		n++
	}
	b.ReportMetric(float64(services*ports), "ports")
}
