package vip

import (
	"fmt"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// deferred checks them for modes deferred and othello.
func (e *FieldErrors) deferred(s Spec, ports Ports) {
	if s.Scheduler != "" {
		e.add("scheduler", s.Scheduler, "means nothing in mode %s, where the switch chooses by weight; leave it out, or take mode nat", s.Mode)
	}
	if s.IdleTimeout != 0 {
		e.add("idle_timeout", s.IdleTimeout, "means nothing in mode %s, whose connections conntrack keeps; leave it out, or take mode nat", s.Mode)
	}
	e.gateways(s.Gateways)
	if s.Affinity != nil && s.Mode == ModeOthello {
		e.add("affinity.timeout", s.Affinity.Timeout, "mode othello hashes whole connections; leave it out, or take mode deferred or group")
	} else {
		e.affinity(s)
	}
	if s.HandOver < 1 || s.HandOver > MaxGenerations {
		e.add("handover", s.HandOver, "is how many generations of backends are kept; want 1 (no hand-over) to %d", MaxGenerations)
	}
	if time.Duration(s.HandOverIdle) < MinHandOver {
		e.add("handover_idle", s.HandOverIdle, "want at least 1s")
	}
	if s.HandOverRate < 1 || s.HandOverRate > MaxHandOverRate {
		e.add("handover_rate", s.HandOverRate, "is packets a second; want 1 to %d", MaxHandOverRate)
	}
	for i, b := range s.Backends {
		if !ports.Single() && b.Port != 0 {
			e.add(fmt.Sprintf("backends[%d].port", i), b.Port, "a VIP of mode %s with several ports keeps them; leave it out", s.Mode)
		}
	}
	if s.Mode == ModeDeferred { // mode othello has no buckets
		e.weight(s)
	}
}

// maxGateways bounds how many gateways a VIP has: each is a bucket of a group.
const maxGateways = 64

// gateways checks the names of switches.
func (e *FieldErrors) gateways(list []string) {
	if len(list) > maxGateways {
		e.add("gateways", len(list), "at most %d", maxGateways)
	}
	seen := map[string]bool{}
	for i, g := range list {
		field := fmt.Sprintf("gateways[%d]", i)
		if d, err := flows.ParseDPID(g); err != nil || d.String() != g {
			e.add(field, g, "want the datapath id of a switch, 16 hexadecimal digits")
		} else if seen[g] {
			e.add(field, g, "is named twice")
		}
		seen[g] = true
	}
}

// handOver refuses what modes deferred and othello alone have.
func (e *FieldErrors) handOver(s Spec) {
	if s.HandOver != 0 {
		e.add("handover", s.HandOver, "means nothing in mode %s; leave it out", s.Mode)
	}
	if s.HandOverIdle != 0 {
		e.add("handover_idle", s.HandOverIdle, "means nothing in mode %s; leave it out", s.Mode)
	}
	if s.HandOverRate != 0 {
		e.add("handover_rate", s.HandOverRate, "means nothing in mode %s; leave it out", s.Mode)
	}
}
