package anova

import (
	"fmt"
	"math"
)

// Mode is the test that a [Detector] runs.
type Mode string

// Modes.
const (
	Robust Mode = "robust" // Shares, pairs by Holm
	Paper  Mode = "paper"  // OneWay, pairs by Sidak: Zhong et al.
)

const (
	manyPorts = 8 // from so many on, GateMany holds
	maxMatrix = 64
	maxWindow = 3600
	// leastEffective is how many independent samples a port needs for its balance to be called seen.
	leastEffective = 4
)

// Settings of a Detector. Times are in samples.
type Settings struct {
	Mode     Mode
	Window   int     // samples that are tested
	Step     int     // samples between two tests
	Alpha    float64 // level of the test
	Gate     float64 // a difference counts from here on: deviation of a port from its fair share, as a part of that
	GateMany float64 // the same from 8 ports on, of which one is more often far off by chance
	Streak   int     // tests in a row that must find the same port before the verdict is imbalanced
	Release  int     // calm tests in a row, below half the gate, before it is not any more
	CoolDown int     // samples after a release before it may be again
	MinLoad  float64 // below this load of all ports together nothing is judged
}

// Defaults were found on synthetic traffic: they keep false alarms rare where samples depend on each other.
func Defaults() Settings {
	return Settings{Mode: Robust, Window: 60, Step: 10, Alpha: 0.05, Gate: 0.2, GateMany: 0.5, Streak: 3, Release: 3, CoolDown: 60}
}

// LeastWindow is the shortest window that a mode can use: an analysis of variance needs two samples of a port, an autocorrelation more.
func LeastWindow(m Mode) int {
	if m == Paper {
		return 2
	}
	return 8
}

// SettingError is a setting that means nothing.
type SettingError struct {
	Field string // as in configuration files: gate_many
	Value any
	Want  string
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("%s: %v: want %s", e.Field, e.Value, e.Want)
}

// Check is all that is wrong with the settings.
func (s Settings) Check() (errs []*SettingError) {
	fail := func(field string, value any, want string, args ...any) {
		errs = append(errs, &SettingError{field, value, fmt.Sprintf(want, args...)})
	}
	if s.Mode != Robust && s.Mode != Paper {
		fail("mode", fmt.Sprintf("%q", s.Mode), "one of %s, %s", Robust, Paper)
	}
	if least := LeastWindow(s.Mode); s.Window < least || s.Window > maxWindow {
		fail("window", s.Window, "%d to %d samples in mode %s", least, maxWindow, s.Mode)
	}
	if s.Step < 1 || s.Step > maxWindow {
		fail("step", s.Step, "1 to %d samples", maxWindow)
	}
	if !(s.Alpha > 0 && s.Alpha < 1) {
		fail("alpha", s.Alpha, "more than 0 and less than 1")
	}
	for _, g := range []struct {
		field string
		value float64
	}{{"gate", s.Gate}, {"gate_many", s.GateMany}} {
		if !(g.value >= 0 && g.value <= 10) {
			fail(g.field, g.value, "0 to 10: a part of a port's fair share, such as 0.2")
		}
	}
	for _, c := range []struct {
		field      string
		value, min int
	}{{"streak", s.Streak, 1}, {"release", s.Release, 1}, {"cool_down", s.CoolDown, 0}} {
		if c.value < c.min || c.value > maxWindow {
			fail(c.field, c.value, "%d to %d", c.min, maxWindow)
		}
	}
	if !(s.MinLoad >= 0) || math.IsInf(s.MinLoad, 0) {
		fail("min_load", s.MinLoad, "0 or more")
	}
	return errs
}

// GateOf is the gate for k ports.
func (s Settings) GateOf(k int) float64 {
	if k >= manyPorts {
		return s.GateMany
	}
	return s.Gate
}
