package vip

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Defaults of a [Spec].
const (
	DefaultMode         = ModeGroup
	DefaultScheduler    = TwoChoices
	DefaultIdleTCP      = time.Hour
	DefaultIdleUDP      = time.Minute
	DefaultDrainTimeout = 5 * time.Minute
	DefaultHandOverIdle = time.Hour
	DefaultHandOverRate = 50_000
	DefaultWeight       = 1
)

// Clone is a copy that shares nothing with s.
func (s Spec) Clone() Spec {
	s.Gateways = slices.Clone(s.Gateways)
	s.Backends = slices.Clone(s.Backends)
	for i := range s.Backends {
		if w := s.Backends[i].Weight; w != nil {
			s.Backends[i].Weight = new(*w)
		}
	}
	if s.Affinity != nil {
		s.Affinity = new(*s.Affinity)
	}
	if s.Health != nil {
		s.Health = new(*s.Health)
	}
	return s
}

// Normalize is a copy of s with its defaults written out and its addresses and ports in canonical text. What is not valid
// is left as it is, for [Validate] to name. Two Specs that mean the same are equal once normalised.
func Normalize(s Spec) Spec {
	s = s.Clone()
	s.Address = canonicalAddress(s.Address)
	s.Port = canonicalPort(s.Port)
	fill(&s.Mode, DefaultMode)
	if s.Mode == ModeNAT { // the others have no scheduler and no idle timeout
		fill(&s.Scheduler, DefaultScheduler)
		if s.Protocol == UDP {
			fill(&s.IdleTimeout, Duration(DefaultIdleUDP))
		} else {
			fill(&s.IdleTimeout, Duration(DefaultIdleTCP))
		}
	}
	if s.Mode == ModeDeferred || s.Mode == ModeOthello {
		fill(&s.HandOver, DefaultGenerations)
		fill(&s.HandOverIdle, Duration(DefaultHandOverIdle))
		fill(&s.HandOverRate, DefaultHandOverRate)
	}
	if len(s.Gateways) == 0 {
		s.Gateways = nil
	}
	if s.Affinity != nil && s.Affinity.Timeout == 0 {
		s.Affinity = nil
	}
	if s.Health == nil {
		s.Health = &Health{}
	}
	s.Health.fill()
	fill(&s.DrainTimeout, Duration(DefaultDrainTimeout))
	fill(&s.Reject, RejectAnswer)
	fill(&s.OnImbalance, Alarm)
	if s.Backends == nil {
		s.Backends = []BackendSpec{}
	}
	for i := range s.Backends {
		b := &s.Backends[i]
		b.Address = canonicalAddress(b.Address)
		if b.Weight == nil {
			b.Weight = new(DefaultWeight)
		}
		fill(&b.Admin, Enabled)
	}
	pack(s.Backends)
	return s
}

// pack puts texts and weights of backends, of which there are many, into one piece of memory each: in objects of their own they
// would take more than twice the room.
func pack(backends []BackendSpec) {
	var all strings.Builder
	weights := make([]int, len(backends))
	for i, b := range backends {
		all.WriteString(b.Name)
		all.WriteString(b.Address)
		weights[i] = *b.Weight
	}
	text := all.String()
	for i := range backends {
		b := &backends[i]
		b.Name, text = text[:len(b.Name)], text[len(b.Name):]
		b.Address, text = text[:len(b.Address)], text[len(b.Address):]
		b.Weight = &weights[i]
	}
}

// fill writes a default over a zero value.
func fill[T comparable](p *T, def T) {
	var zero T
	if *p == zero {
		*p = def
	}
}

func canonicalAddress(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.String()
	}
	return s
}

func canonicalPort(p PortRange) PortRange {
	if r, err := p.Parse(); err == nil {
		return PortRange(r.String())
	}
	return p
}
