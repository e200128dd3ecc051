package vip

import (
	"fmt"
	"strings"
	"time"
)

// PhaseOf is a VIP's health from the states of its backends. applied says whether every connected switch, and at least one,
// has confirmed the VIP. The reason is empty when the phase is up.
func PhaseOf(states []State, applied bool) (Phase, string) {
	counts := make(map[State]int, len(states))
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

// quiet is how long no packet may have come from a draining backend's clients for it to count as drained, where connections
// cannot be counted.
const quiet = 5 * time.Minute

// DrainedUnseen is Drained where connections are not counted: unseen is how long no packet of any has been.
func DrainedUnseen(unseen, ago, timeout time.Duration) (State, string) {
	switch {
	case unseen >= quiet:
		return StateDrained, fmt.Sprintf("no packet of its connections for %s", quiet)
	case ago >= timeout:
		return StateDrained, fmt.Sprintf("drain_timeout of %s has passed; connections may be left", timeout)
	}
	return StateDraining, "its connections live on"
}

// Drained refines StateDraining where connections are counted exactly: live are left, and draining began this long ago. It
// is over when none is left, or when timeout has passed; then the reason says that some were.
func Drained(live int64, ago, timeout time.Duration) (State, string) {
	switch {
	case live <= 0:
		return StateDrained, "no connections are left"
	case ago >= timeout:
		return StateDrained, fmt.Sprintf("drain_timeout of %s has passed with connections left: %d", timeout, live)
	}
	return StateDraining, fmt.Sprintf("connections left: %d", live)
}
