package vip

import (
	"fmt"
	"strings"
)

// PhaseOf is a VIP's health from the states of its backends. applied says whether every connected switch, and at least one,
// has confirmed the VIP. The reason is empty when the phase is up.
func PhaseOf(states []State, applied bool) (Phase, string) {
	counts := make(map[State]int)
	for _, s := range states {
		counts[s]++
	}
	enabled := counts[StateUp] + counts[StateDown] + counts[StateUnknown] // the others are as the operator wants them
	switch up := counts[StateUp]; {
	case len(states) == 0:
		return PhaseDown, "no backends"
	case up == 0:
		return PhaseDown, "no backend takes connections: " + tally(counts)
	case !applied:
		return PhasePending, "not confirmed by every switch yet"
	case up < enabled:
		return PhaseDegraded, fmt.Sprintf("%d of %d backends up: %s", up, enabled, tally(counts))
	}
	return PhaseUp, ""
}

// tally is "2 down, 1 draining": all but those that are up.
func tally(counts map[State]int) string {
	var out []string
	for _, s := range []State{StateDown, StateUnknown, StateDraining, StateDrained, StateDisabled} {
		if n := counts[s]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(out, ", ")
}
