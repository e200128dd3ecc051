package controller

import (
	"math"
	"sync"
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

const (
	// maxHistories bounds the ports whose history is kept: 14 KiB each, 56 MiB in all. Further ones have rates alone.
	maxHistories = 4096
	// unkept is a counter that the switch does not keep (section 7.3.5.7).
	unkept = math.MaxUint64
)

// Rates are a port's per second: NaN where the switch does not count, or nothing is known.
type Rates struct{ RxBits, TxBits, RxPackets, TxPackets float32 }

var unknownRates = Rates{float32(math.NaN()), float32(math.NaN()), float32(math.NaN()), float32(math.NaN())}

// PortHistory is a port's rates in the seconds before End, the latest last.
type PortHistory struct {
	End   time.Time
	Rates []Rates
}

// Stats keeps the counters of ports, their rates, and the rates of the last 15 minutes. It is safe from any goroutine.
type Stats struct {
	mu        sync.Mutex
	switches  map[flows.DPID]map[uint32]*portCounters
	histories int
}

// NewStats keeps nothing yet.
func NewStats() *Stats { return &Stats{switches: map[flows.DPID]map[uint32]*portCounters{}} }

// portCounters is a port as last read.
type portCounters struct {
	at    time.Time // zero: no reading that the next can be compared with
	stats openflow.PortStats
	rates Rates
	ring  *Ring[Rates] // nil: too many ports
}

// Note adds what a switch has answered at a time. Rates are over the time since the last answer as the switch measured it,
// or as we did. A counter that has fallen, or a port that is younger than it was, has begun anew: there is no rate then.
// Ports that are not in the answer any more are forgotten when their history has run out. Of more ports than a switch may have the
// rest is passed over.
func (s *Stats) Note(d flows.DPID, at time.Time, all []openflow.PortStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ports := s.switches[d]
	if ports == nil {
		ports = make(map[uint32]*portCounters, len(all))
		s.switches[d] = ports
	}
	for i := range all {
		s.note(ports, at, &all[i])
	}
	for no, p := range ports {
		if p.at == at {
			continue // it is in the answer
		}
		p.at, p.rates = time.Time{}, Rates{}
		if p.ring.Old(at) {
			s.drop(ports, no)
		}
	}
}

func (s *Stats) note(ports map[uint32]*portCounters, at time.Time, st *openflow.PortStats) {
	p := ports[st.No]
	if p == nil {
		if len(ports) >= portsMax {
			return
		}
		p = &portCounters{}
		ports[st.No] = p
	}
	if p.ring == nil && s.histories < maxHistories {
		p.ring = NewRing(unknownRates)
		s.histories++
	}
	prev, since := p.stats, p.at
	p.stats, p.at, p.rates = *st, at, Rates{}
	if since.IsZero() || begunAnew(&prev, st) {
		return
	}
	took := elapsed(&prev, st, at.Sub(since))
	if took <= 0 {
		return
	}
	rate := func(before, now uint64, per float64) float32 {
		if now == unkept || before == unkept {
			return float32(math.NaN())
		}
		return float32(per * float64(now-before) / took.Seconds())
	}
	p.rates = Rates{rate(prev.RxBytes, st.RxBytes, 8), rate(prev.TxBytes, st.TxBytes, 8),
		rate(prev.RxPackets, st.RxPackets, 1), rate(prev.TxPackets, st.TxPackets, 1)}
	if p.ring != nil {
		p.ring.Put(since, at, p.rates)
	}
}

// begunAnew reports whether the counters of now do not go on from those of before.
func begunAnew(before, now *openflow.PortStats) bool {
	return now.RxBytes < before.RxBytes || now.TxBytes < before.TxBytes || now.RxPackets < before.RxPackets ||
		now.TxPackets < before.TxPackets || keepsAge(before) && keepsAge(now) && age(now) < age(before)
}

func age(s *openflow.PortStats) time.Duration {
	return time.Duration(s.DurationSec)*time.Second + time.Duration(s.DurationNsec)
}

func keepsAge(s *openflow.PortStats) bool { return s.DurationSec != math.MaxUint32 }

// elapsed is the time between two readings. The switch's own is exact, since it knows when it read its counters; but some
// give whole seconds only, or nothing, and then ours counts.
func elapsed(before, now *openflow.PortStats, ours time.Duration) time.Duration {
	if !keepsAge(before) || !keepsAge(now) || before.DurationNsec == 0 && now.DurationNsec == 0 {
		return ours
	}
	if theirs := age(now) - age(before); theirs > 0 && theirs > ours/2 && theirs < 2*ours {
		return theirs
	}
	return ours
}

// Pause tells that a switch is not read any more. What passes until it is read again is unknown.
func (s *Stats) Pause(d flows.DPID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.switches[d] {
		p.at, p.rates = time.Time{}, Rates{}
	}
}

// Expire forgets the ports of switches that have not been read for as long as histories reach back.
func (s *Stats) Expire(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d, ports := range s.switches {
		for no, p := range ports {
			if p.at.IsZero() && p.ring.Old(now) {
				s.drop(ports, no)
			}
		}
		if len(ports) == 0 {
			delete(s.switches, d)
		}
	}
}

func (s *Stats) drop(ports map[uint32]*portCounters, no uint32) {
	if ports[no].ring != nil {
		s.histories--
	}
	delete(ports, no)
}

// Port is a port's counters as last read, and its rates now: 0 where nothing is known.
func (s *Stats) Port(d flows.DPID, no uint32) (openflow.PortStats, Rates) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.switches[d][no]
	if p == nil {
		return openflow.PortStats{}, Rates{}
	}
	return p.stats, p.rates
}

// History is the rates of a port in the last n seconds up to the present one, or up to the last second known if that is the
// present or the one before it.
func (s *Stats) History(d flows.DPID, no uint32, now time.Time, n int) PortHistory {
	s.mu.Lock()
	defer s.mu.Unlock()
	ring := NewRing(unknownRates)
	if p := s.switches[d][no]; p != nil && p.ring != nil {
		ring = p.ring
	}
	end, rates := ring.Last(now, n)
	return PortHistory{end, rates}
}
