package anova

import (
	"fmt"
	"math"
)

const sameFar = 0.75

// Detector watches the loads of some ports: it tests a window that slides over their samples, and calls them imbalanced when
// several tests in a row agree. It keeps a window of samples, 8 bytes each, and the last result; it is not safe for concurrent use.
type Detector struct {
	settings   Settings
	capacities []float64
	ring       [][]float64 // by port
	next, held int         // in the ring: where the next sample goes, how many there are
	untested   int         // samples since the last test
	last       *Result
	state      State
	cool       int // samples until an alarm may be again
	calm       int // tests in a row
	agreeing   int // tests in a row of the verdict that wanted says
	wanted     Verdict
}

// State is what a Detector makes of its tests.
type State struct {
	Verdict Verdict
	Reason  string
	Top     int // with Imbalanced: the port
	Streak  int // tests in a row, up to the last, that found Top imbalanced
	Tests   int // since the window was last begun anew
}

// NewDetector watches as many ports as there are capacities, at least two, all positive.
func NewDetector(s Settings, capacities []float64) (*Detector, error) {
	if errs := s.Check(); len(errs) > 0 {
		return nil, errs[0]
	}
	if len(capacities) < 2 {
		return nil, fmt.Errorf("%w: %d", ErrFewGroups, len(capacities))
	}
	for i, c := range capacities {
		if !(c > 0) || math.IsInf(c, 0) {
			return nil, fmt.Errorf("capacity of port %d: %v: want more than 0", i, c)
		}
	}
	d := &Detector{settings: s, capacities: append([]float64{}, capacities...), ring: make([][]float64, len(capacities))}
	flat := make([]float64, len(capacities)*s.Window)
	for i := range d.ring {
		d.ring[i] = flat[i*s.Window : (i+1)*s.Window : (i+1)*s.Window]
	}
	d.Restart("")
	return d, nil
}

// Restart begins the window anew: what comes is not to be compared with what was. A verdict does not outlive that, but the time in
// which there is no new alarm does.
func (d *Detector) Restart(reason string) {
	d.next, d.held, d.untested, d.calm, d.agreeing, d.last = 0, 0, 0, 0, 0, nil
	if d.state.Verdict == Imbalanced {
		d.cool = d.settings.CoolDown
	}
	d.state = State{Verdict: Undecided, Reason: reason}
	if reason == "" {
		d.state.Reason = d.filling()
	}
}

// Resting is how many samples there will be no alarm for.
func (d *Detector) Resting() int { return d.cool }

// Rest rules out an alarm for some samples.
func (d *Detector) Rest(samples int) { d.cool = samples }

func (d *Detector) filling() string {
	return fmt.Sprintf("%d of %d samples", d.held, d.settings.Window)
}

// Add takes one sample of each port's load, measured over the same time, and reports whether it was followed by a test. A sample that is
// no number, or negative, is an error, and none of them is taken.
func (d *Detector) Add(loads []float64) (tested bool, err error) {
	if len(loads) != len(d.ring) {
		return false, fmt.Errorf("%w: %d, there are %d", errWidth, len(loads), len(d.ring))
	}
	for i, x := range loads {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			return false, &SampleError{i, -1, ErrNotFinite}
		case x < 0:
			return false, &SampleError{i, -1, ErrNegative}
		}
	}
	for i, x := range loads {
		d.ring[i][d.next] = x
	}
	d.next = (d.next + 1) % d.settings.Window
	d.held = min(d.held+1, d.settings.Window)
	d.untested++
	d.cool = max(0, d.cool-1)
	if d.held < d.settings.Window {
		if d.state.Tests == 0 {
			d.state.Reason = d.filling()
		}
		return false, nil
	}
	if d.state.Tests > 0 && d.untested < d.settings.Step {
		return false, nil
	}
	d.untested = 0
	r := d.settings.judge(d.Samples(), d.capacities)
	d.last = &r
	d.follow(&r)
	return true, nil
}

// follow makes a test part of the state.
func (d *Detector) follow(r *Result) {
	s := &d.state
	s.Tests++
	switch {
	case r.Verdict != Imbalanced:
		s.Streak = 0
	case s.Streak > 0 && stillFar(r, s.Top):
		s.Streak++
	default:
		s.Streak, s.Top = 1, r.Top
	}
	if d.settings.calm(*r) {
		d.calm++
	} else {
		d.calm = 0
	}
	if r.Verdict != d.wanted {
		d.wanted, d.agreeing = r.Verdict, 0
	}
	d.agreeing++
	alarmed := s.Verdict == Imbalanced
	switch {
	case s.Streak >= d.settings.Streak && (alarmed || d.cool == 0):
		s.Verdict, s.Reason = Imbalanced, r.Reason
	case alarmed && d.calm >= d.settings.Release:
		s.Verdict, s.Reason = r.Verdict, r.Reason
		d.cool = d.settings.CoolDown
	case alarmed:
		s.Reason = fmt.Sprintf("not over yet: %d of %d calm tests; %s", d.calm, d.settings.Release, r.Reason)
	case r.Verdict == Imbalanced && s.Streak >= d.settings.Streak:
		s.Reason = fmt.Sprintf("imbalanced, but no alarm for %d samples after the last; %s", d.cool, r.Reason)
	case r.Verdict == Imbalanced:
		s.Reason = fmt.Sprintf("imbalanced in %d of %d tests in a row; %s", s.Streak, d.settings.Streak, r.Reason)
	case s.Tests == 1 || d.agreeing >= d.settings.Release || r.Verdict == s.Verdict:
		s.Verdict, s.Reason = r.Verdict, r.Reason
	default:
		s.Reason = fmt.Sprintf("%s in %d of %d tests in a row; %s", r.Verdict, d.agreeing, d.settings.Release, r.Reason)
	}
}

// stillFar reports whether a port found before is the one farthest from its share, or so near to it that chance decides between the two.
func stillFar(r *Result, port int) bool { return math.Abs(r.Deviations[port]) > sameFar*r.Effect }

// State is what the tests so far amount to.
func (d *Detector) State() State { return d.state }

// Last is the last test of the present window; ok is false if there was none.
func (d *Detector) Last() (r Result, ok bool) {
	if d.last == nil {
		return Result{}, false
	}
	return *d.last, true
}

// Samples are the loads of each port in the window, the oldest first.
func (d *Detector) Samples() [][]float64 {
	out := make([][]float64, len(d.ring))
	for i, g := range d.ring {
		out[i] = make([]float64, 0, d.held)
		if d.held == d.settings.Window {
			out[i] = append(out[i], g[d.next:]...)
		}
		out[i] = append(out[i], g[:d.next]...)
	}
	return out
}

// Capacities are those given.
func (d *Detector) Capacities() []float64 { return d.capacities }
