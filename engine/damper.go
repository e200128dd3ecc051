package engine

import (
	"slices"
	"time"

	"github.com/evenflow/evenflow/topo"
)

// damper sets aside what comes and goes, so that a host which bounces its port has the comparison of the others begun anew a few times
// only, and then more and more seldom. It is the damping of flapping routes (RFC 2439), simplified. The zero damper but for window is
// ready; it keeps a few words for each name that has moved lately.
type damper struct {
	window time.Duration // the time that a comparison needs undisturbed
	seen   map[string]*bouncer
}

// bouncer is what is known of a name's comings and goings.
type bouncer struct {
	place   topo.PortID // where it is; the zero PortID: away
	since   time.Time
	changes int       // in short succession
	level   int       // how often it has been set aside
	until   time.Time // when it may be compared again
}

const (
	maxBounces = 3 // changes that are tolerated
	maxLevel   = 5 // of the time set aside: 1, 2, 4, 8, 16 windows
)

// steady notes where a name is now, at the zero PortID if nowhere, and before that, and reports until when it is set aside: not at all if
// that is not after now. fresh is set when that has just been decided.
func (d *damper) steady(now time.Time, name string, before, place topo.PortID) (until time.Time, fresh bool) {
	b := d.seen[name]
	if b == nil {
		if place == before {
			return time.Time{}, false
		}
		b = &bouncer{place: before}
		if d.seen == nil {
			d.seen = map[string]*bouncer{}
		}
		d.seen[name] = b
	}
	calm := now.Sub(b.since)
	if calm >= 2*d.window && !now.Before(b.until) {
		b.changes = 0
		if now.Sub(b.until) >= d.hold(maxLevel) { // it has stayed as long again since it was let back
			b.level = 0
		}
	}
	if place == b.place {
		if b.changes == 0 && b.level == 0 {
			delete(d.seen, name)
		}
		return b.until, false
	}
	aside := now.Before(b.until)
	b.place, b.since = place, now
	b.changes++
	switch {
	case aside:
		b.until = now.Add(d.hold(b.level)) // the time counts from the last change
	case b.changes > maxBounces || b.level > 0:
		b.level = min(b.level+1, maxLevel)
		b.until, fresh = now.Add(d.hold(b.level)), true
	}
	return b.until, fresh
}

func (d *damper) hold(level int) time.Duration { return d.window << (level - 1) }

// keep forgets all names but those of candidates.
func (d *damper) keep(candidates []candidate) {
	for name := range d.seen {
		if !slices.ContainsFunc(candidates, func(c candidate) bool { return c.name == name }) {
			delete(d.seen, name)
		}
	}
}
