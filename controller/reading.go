package controller

import (
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// Reading is a port's counters at a time.
type Reading struct {
	At    time.Time
	Stats openflow.PortStats
}

// Reading is the last reading of a port; ok is false if there is none that can be compared with the next.
func (s *Stats) Reading(d flows.DPID, no uint32) (r Reading, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.switches[d][no]
	if p == nil || p.at.IsZero() {
		return Reading{}, false
	}
	return Reading{p.at, p.stats}, true
}

// Load is how many bits per second passed the port, in both directions, from an earlier reading to this one. ok is false if the
// counters have begun anew meanwhile, or the switch does not keep them.
func (r Reading) Load(earlier Reading) (bps float64, ok bool) {
	a, b := &earlier.Stats, &r.Stats
	if begunAnew(a, b) || a.RxBytes == unkept || a.TxBytes == unkept || b.RxBytes == unkept || b.TxBytes == unkept {
		return 0, false
	}
	took := elapsed(a, b, r.At.Sub(earlier.At))
	if took <= 0 {
		return 0, false
	}
	return 8 * float64(b.RxBytes-a.RxBytes+b.TxBytes-a.TxBytes) / took.Seconds(), true
}
