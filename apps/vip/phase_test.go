package vip

import (
	"strings"
	"testing"
)

func TestPhaseOf(t *testing.T) {
	tests := []struct {
		states  string
		applied bool
		want    Phase
		reason  string
	}{
		{"", true, PhaseDown, "no backends"},
		{"up up", true, PhaseUp, ""},
		{"up up", false, PhasePending, "not confirmed by every switch yet"},
		{"up down up unknown", true, PhaseDegraded, "2 of 4 backends up: 1 down, 1 unknown"},
		{"up draining drained disabled", true, PhaseUp, ""}, // as the operator wants it
		{"up down draining", true, PhaseDegraded, "1 of 2 backends up: 1 down, 1 draining"},
		{"down down", true, PhaseDown, "no backend takes connections: 2 down"},
		{"unknown", false, PhaseDown, "no backend takes connections: 1 unknown"},
		{"draining disabled", true, PhaseDown, "no backend takes connections: 1 draining, 1 disabled"},
	}
	for _, tt := range tests {
		var states []State
		for s := range strings.FieldsSeq(tt.states) {
			states = append(states, State(s))
		}
		if phase, reason := PhaseOf(states, tt.applied); phase != tt.want || reason != tt.reason {
			t.Errorf("%q, %v: %s %q, want %s %q", tt.states, tt.applied, phase, reason, tt.want, tt.reason)
		}
	}
}
