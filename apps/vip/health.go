package vip

import (
	"fmt"
	"time"
)

// How backends are probed.
const (
	HealthNone = "none" // not at all
	HealthARP  = "arp"  // an ARP request; over IPv6 a neighbour solicitation
	HealthICMP = "icmp" // an echo request
	HealthTCP  = "tcp"  // a connection to the backend's port, ended as soon as it is accepted
)

// Health is how backends are probed, and when they are taken for down and up.
type Health struct {
	Type     string   `json:"type"`
	Interval Duration `json:"interval,omitempty"` // between two probes of a backend
	Timeout  Duration `json:"timeout,omitempty"`  // after which a probe has failed
	Rise     int      `json:"rise,omitempty"`     // answers in a row that make a backend up
	Fall     int      `json:"fall,omitempty"`     // failures in a row that make it down
}

// Defaults and limits of a [Health].
const (
	DefaultHealthInterval = 2 * time.Second
	DefaultHealthTimeout  = time.Second // or the interval, if that is shorter
	DefaultHealthRise     = 2
	DefaultHealthFall     = 3

	MinHealthInterval = 200 * time.Millisecond
	MaxHealthInterval = time.Hour
	MinHealthTimeout  = 50 * time.Millisecond
	MaxHealthCount    = 100
)

// Probes reports whether backends are probed.
func (h *Health) Probes() bool { return h != nil && h.Type != HealthNone }

// String says how backends are probed, such as "tcp probes every 2s, timeout 1s, rise 2, fall 3", or "none".
func (h *Health) String() string {
	if !h.Probes() {
		return HealthNone
	}
	return fmt.Sprintf("%s probes every %s, timeout %s, rise %d, fall %d", h.Type, h.Interval, h.Timeout, h.Rise, h.Fall)
}

// fill writes defaults over what is left out, unless nothing is probed: then it means nothing.
func (h *Health) fill() {
	fill(&h.Type, HealthNone)
	if !h.Probes() {
		return
	}
	fill(&h.Interval, Duration(DefaultHealthInterval))
	fill(&h.Timeout, min(Duration(DefaultHealthTimeout), h.Interval))
	fill(&h.Rise, DefaultHealthRise)
	fill(&h.Fall, DefaultHealthFall)
}

func (e *FieldErrors) health(s Spec) {
	h := s.Health
	switch {
	case h == nil:
		return
	case h.Type == HealthNone:
		if *h != (Health{Type: HealthNone}) {
			e.add("health", h.Type, "interval, timeout, rise and fall mean nothing with type none; leave them out, in a patch by \"health\": null")
		}
		return
	case h.Type == HealthTCP && s.Protocol == UDP:
		e.add("health.type", h.Type, "a VIP of UDP has no port to connect to; want none, arp or icmp")
	case h.Type != HealthARP && h.Type != HealthICMP && h.Type != HealthTCP:
		e.add("health.type", h.Type, "want one of none, arp, icmp, tcp")
	}
	interval, timeout := time.Duration(h.Interval), time.Duration(h.Timeout)
	if interval < MinHealthInterval || interval > MaxHealthInterval {
		e.add("health.interval", h.Interval, "want %s to %s", MinHealthInterval, MaxHealthInterval)
	} else if timeout < MinHealthTimeout || timeout > interval {
		e.add("health.timeout", h.Timeout, "want %s to the interval, %s", MinHealthTimeout, h.Interval)
	}
	for _, count := range []struct {
		field string
		n     int
	}{{"health.rise", h.Rise}, {"health.fall", h.Fall}} {
		if count.n < 1 || count.n > MaxHealthCount {
			e.add(count.field, count.n, "want 1 to %d", MaxHealthCount)
		}
	}
}
