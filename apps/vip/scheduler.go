package vip

import (
	"fmt"
	"net/netip"
	"slices"
)

// Names of the schedulers of mode nat.
const (
	RoundRobin         = "round-robin"
	WeightedRoundRobin = "weighted-round-robin"
	LeastConnections   = "least-connections"
	TwoChoices         = "two-choices"
	SourceHash         = "source-hash"
	Greedy             = "greedy"
	Roulette           = "roulette"
	StickyRoulette     = "sticky-roulette"
)

// Schedulers are the names of all schedulers, the default first.
func Schedulers() []string {
	return []string{TwoChoices, RoundRobin, WeightedRoundRobin, LeastConnections, SourceHash, Greedy, Roulette, StickyRoulette}
}

func knownScheduler(name string) bool { return slices.Contains(Schedulers(), name) }

// Flow is what a scheduler may know of a new connection.
type Flow struct {
	Client     netip.Addr
	ClientPort uint16
	VIPPort    uint16
}

// Scheduler chooses a backend for a new connection. One scheduler serves one VIP for as long as its Spec names it, over all
// changes of its backends. Pick may be called from many goroutines at a time; it neither blocks nor allocates.
type Scheduler interface {
	// Pick is the index of a candidate in the slice given to [NewCandidates]; ok is false when none can be used.
	Pick(c *Candidates, f Flow) (index int, ok bool)
}

// NewScheduler makes the scheduler of a name. With the same seed it makes the same choices; source-hash keeps them over a
// restart only when the seed is the same, so the seed should be the VIP's id.
func NewScheduler(name string, seed uint64) (Scheduler, error) {
	switch name {
	case RoundRobin:
		return &roundRobin{}, nil
	case WeightedRoundRobin:
		return &weightedRoundRobin{}, nil
	case LeastConnections:
		return &leastConnections{}, nil
	case TwoChoices:
		t := &twoChoices{}
		t.random.Store(mix(seed))
		return t, nil
	case SourceHash:
		return &sourceHash{seed: mix(seed)}, nil
	case Greedy:
		return &greedy{}, nil
	case Roulette:
		r := &roulette{}
		r.random.Store(mix(seed))
		return r, nil
	case StickyRoulette:
		s := &stickyRoulette{}
		s.random.Store(mix(seed))
		return s, nil
	}
	return nil, fmt.Errorf("scheduler %q: want one of %v", name, Schedulers())
}
