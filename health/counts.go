package health

import (
	"maps"
	"slices"

	"github.com/evenflow/evenflow/apps"
)

// counts are those of the probes of a type.
type counts struct {
	sent, answered uint64
	failed         map[failure]uint64
}

func (p *Prober) countsOf(kind string) *counts {
	c := p.counts[kind]
	if c == nil {
		c = &counts{failed: map[failure]uint64{timedOut: 0}}
		p.counts[kind] = c
	}
	return c
}

// strays are what is no probe's success or failure.
type strays struct {
	unasked   uint64 // what looks like an answer, but to no probe that is waited for
	elsewhere uint64 // the same from another port or host than the backend's
	unsent    uint64 // probes for which there was no way
	stalls    uint64 // times that we came late ourselves
}

var _ apps.Counted = (*Prober)(nil)

// Counts are what was not taken for an answer, and what was not sent.
func (p *Prober) Counts() []apps.Count {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []apps.Count{
		{Part: "health", Reason: "answer to no probe", N: p.strays.unasked},
		{Part: "health", Reason: "answer from elsewhere", N: p.strays.elsewhere},
		{Part: "health", Reason: "probe without a way to its switch", N: p.strays.unsent},
		{Part: "health", Reason: "probes late for want of time", N: p.strays.stalls},
	}
}

// Stats are the probes so far and the targets now, by type.
func (p *Prober) Stats() []apps.ProbeStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	byType := map[string]*apps.ProbeStats{}
	for kind, c := range p.counts {
		s := &apps.ProbeStats{Type: kind, Sent: c.sent, Answered: c.answered, Failed: map[string]uint64{}}
		for why, n := range c.failed {
			s.Failed[string(why)] = n
		}
		byType[kind] = s
	}
	for t, x := range p.probes {
		s := byType[t.Type]
		if s == nil {
			s = &apps.ProbeStats{Type: t.Type}
			byType[t.Type] = s
		}
		switch {
		case x.reach != here:
			s.Suspended++
		case x.down:
			s.Down++
		default:
			s.Up++
		}
	}
	out := make([]apps.ProbeStats, 0, len(byType))
	for _, kind := range slices.Sorted(maps.Keys(byType)) {
		out = append(out, *byType[kind])
	}
	return out
}
