package engine

import (
	"fmt"
	"strings"

	"github.com/evenflow/evenflow/apps/vip"
)

// maxChanges bounds the text of changes, in bytes.
const maxChanges = 400

// created says what a new VIP is, for the log of events.
func created(s *vip.Spec) string {
	names := make([]string, len(s.Backends))
	for i, b := range s.Backends {
		names[i] = b.Name
	}
	text := fmt.Sprintf("created: %s %s port %s, mode %s", s.Protocol, s.Address, s.Port, s.Mode)
	if len(names) > 0 {
		text += ", backends " + strings.Join(names, ", ")
	}
	return cut(text)
}

// changes says what differs between two specs of a VIP, both normalised.
func changes(old, now *vip.Spec) string {
	var out []string
	differ := func(what string, a, b any) {
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
			out = append(out, fmt.Sprintf("%s %s → %s", what, x, y))
		}
	}
	differ("scheduler", old.Scheduler, now.Scheduler)
	differ("idle_timeout", old.IdleTimeout, now.IdleTimeout)
	differ("on_imbalance", old.OnImbalance, now.OnImbalance)
	differ("drain_timeout", old.DrainTimeout, now.DrainTimeout)
	differ("reject", old.Reject, now.Reject)
	differ("gateways", list(old.Gateways), list(now.Gateways))
	differ("handover", old.HandOver, now.HandOver)
	differ("handover_idle", old.HandOverIdle, now.HandOverIdle)
	differ("handover_rate", old.HandOverRate, now.HandOverRate)
	differ("affinity", affinity(old.Affinity), affinity(now.Affinity))
	differ("health", old.Health, now.Health)
	before := make(map[string]*vip.BackendSpec, len(old.Backends))
	for i := range old.Backends {
		before[old.Backends[i].Name] = &old.Backends[i]
	}
	for i := range now.Backends {
		b := &now.Backends[i]
		a := before[b.Name]
		delete(before, b.Name)
		if a == nil {
			out = append(out, fmt.Sprintf("%s added at %s", b.Name, b.Address))
			continue
		}
		differ(b.Name+" address", a.Address, b.Address)
		differ(b.Name+" port", a.Port, b.Port)
		differ(b.Name+" weight", weight(a), weight(b))
		differ(b.Name+" capacity", a.Capacity, b.Capacity)
		differ(b.Name, a.Admin, b.Admin)
	}
	for i := range old.Backends {
		if name := old.Backends[i].Name; before[name] != nil {
			out = append(out, name+" removed")
		}
	}
	return cut(strings.Join(out, "; "))
}

func weight(b *vip.BackendSpec) int {
	if b.Weight == nil {
		return 1
	}
	return *b.Weight
}

func affinity(a *vip.Affinity) string {
	if a == nil {
		return "none"
	}
	return a.Timeout.String()
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// cut shortens a text at the end of a word.
func cut(s string) string {
	if len(s) <= maxChanges {
		return s
	}
	s = s[:maxChanges]
	return s[:max(strings.LastIndexByte(s, ' '), 0)] + " …"
}
