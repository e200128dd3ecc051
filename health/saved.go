package health

import "slices"

// Saved is what must outlive the process: what is down, and why.
type Saved struct {
	Down []Down `json:"down"`
}

// Down is a target that is down.
type Down struct {
	what
	Reason string `json:"reason"`
}

// Saved is the present state, to be given to Restore at the next start. Of several targets that differ in how they are probed the
// first counts.
func (p *Prober) Saved() Saved {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Saved{Down: []Down{}}
	for w, all := range p.byWhat {
		if x := all[0]; x.down {
			s.Down = append(s.Down, Down{w, x.reason})
		}
	}
	slices.SortFunc(s.Down, func(a, b Down) int { return compareTargets(target{what: a.what}, target{what: b.what}) })
	return s
}

// Restore takes over what a former run has saved, before the first view. What is down stays so until it answers; everybody else
// is up until probes fail.
func (p *Prober) Restore(s Saved) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restored = make(map[what]string, len(s.Down))
	for _, d := range s.Down {
		p.restored[d.what] = d.Reason
	}
}
