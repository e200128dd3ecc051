package vip

import (
	"fmt"
	"time"
)

// Drain is the progress of a backend that drains: it takes no new connections, and those it has end by themselves, or at Ends.
type Drain struct {
	Since time.Time `json:"since"`
	Ends  time.Time `json:"ends"` // then what is left is ended
}

// Drains reports whether the operator wants a backend to keep its connections and take no new ones.
func (b *Backend) Drains() bool { return b.Admin == Draining || b.Admin == Enabled && b.Weight == 0 }

// Drain is a backend's drain, nil if it is not to drain, or has no beginning: then it has no end either.
func (v *VIP) Drain(b *Backend) *Drain {
	if !b.Drains() || b.DrainSince.IsZero() {
		return nil
	}
	return &Drain{Since: b.DrainSince, Ends: b.DrainSince.Add(time.Duration(v.Spec.DrainTimeout))}
}

// BeginDrains notes when the backends that drain began to: as in old, the VIP before, or now. It belongs to the making of a VIP,
// and is by the clock on the wall, since a drain goes on over restarts.
func (v *VIP) BeginDrains(old *VIP, now time.Time) {
	began := map[uint32]time.Time{}
	if old != nil {
		for _, b := range old.Backends {
			began[b.ID] = b.DrainSince
		}
	}
	for i := range v.Backends {
		b := &v.Backends[i]
		switch was := began[b.ID]; {
		case !b.Drains():
			b.DrainSince = time.Time{}
		case !was.IsZero():
			b.DrainSince = was
		case b.DrainSince.IsZero():
			b.DrainSince = now.UTC().Round(0)
		}
	}
}

// quiet is how long no packet may have come from a draining backend's clients for it to count as drained, where connections
// cannot be counted.
const quiet = 5 * time.Minute

// Drained refines StateDraining where connections are counted exactly.
func Drained(live int64) (State, string) {
	if live <= 0 {
		return StateDrained, "no connections are left"
	}
	return StateDraining, fmt.Sprintf("connections left: %d", live)
}

// DrainedUnseen is Drained where connections are not counted: unseen is how long no packet of any has been.
func DrainedUnseen(unseen time.Duration) (State, string) {
	if unseen >= quiet {
		return StateDrained, fmt.Sprintf("no packet of its connections for %s", quiet)
	}
	return StateDraining, "its connections live on"
}

// DrainOver is the reason of a drain that has come to its end in time, or of one of which it is not known how it came there.
func DrainOver(timeout Duration) string {
	return fmt.Sprintf("drain_timeout of %s has passed", timeout)
}
