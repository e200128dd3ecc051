package vip

import (
	"fmt"
	"slices"
	"strings"
)

// OnImbalance is what follows when the ports of a VIP's backends are found unevenly loaded.
type OnImbalance string

// Alarm tells of it. Reweight moves the weights of the backends as well, by their live connections: new connections go elsewhere, those
// that live stay.
const (
	Alarm    OnImbalance = "alarm"
	Reweight OnImbalance = "reweight"
)

// LeastReweighted is the least weight from which there are steps between the half and the double of it.
const LeastReweighted = 4

// weighted are the schedulers that go by weights.
var weighted = []string{TwoChoices, WeightedRoundRobin, LeastConnections, SourceHash}

// onImbalance checks the field.
func (e *FieldErrors) onImbalance(s Spec) {
	switch s.OnImbalance {
	case Alarm:
		return
	case Reweight:
	default:
		e.add("on_imbalance", s.OnImbalance, "want one of alarm, reweight")
		return
	}
	switch {
	case s.Mode != ModeNAT && s.Protocol != TCP:
		e.add("on_imbalance", s.OnImbalance, "goes by live connections; of %s in mode %s nobody knows them: want alarm, or mode nat", s.Protocol, s.Mode)
		return
	case s.Mode == ModeNAT && !slices.Contains(weighted, s.Scheduler):
		e.add("on_imbalance", s.OnImbalance, "scheduler %s goes by no weights; want one of %s, or alarm", s.Scheduler,
			strings.Join(weighted, ", "))
		return
	}
	for i, b := range s.Backends {
		if b.Weight != nil && *b.Weight > 0 && *b.Weight < LeastReweighted {
			e.add(fmt.Sprintf("backends[%d].weight", i), *b.Weight,
				"is too little to be moved in steps between its half and its double; with on_imbalance reweight want %d or more, such as 10, or 0",
				LeastReweighted)
		}
	}
}

// capacities checks what backends can take.
func (e *FieldErrors) capacities(list []BackendSpec) {
	for i, b := range list {
		if !(b.Capacity >= 0) || b.Capacity > MaxCapacity {
			e.add(fmt.Sprintf("backends[%d].capacity", i), b.Capacity, "want Mbit/s, more than 0 and at most %d; or leave it out", int(MaxCapacity))
		}
	}
}
