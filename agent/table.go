package agent

import (
	"time"

	"github.com/evenflow/evenflow/agent/wire"
)

const (
	// udpLinger is how long a UDP conversation counts after the kernel has let go of it, which by default it does after 30 s if it was never
	// answered. NATs keep silent ones for two minutes at least (RFC 4787, REQ-5).
	udpLinger = 2 * time.Minute

	// maxLogged is how many states the changes may hold that are kept for a controller that has not acknowledged them.
	maxLogged = 1 << 16
)

// table is what the controller has been told, and what it may not have heard of that.
type table struct {
	run    string
	seq    uint64                                  // of the last change
	seen   map[State]time.Time                     // when each was last seen
	log    []wire.Change                           // the last changes, in order
	logged int                                     // how many states they have
	wanted func(protocol string, port uint16) bool // what the controller has asked for; nil: nothing yet
}

func newTable(run string) *table { return &table{run: run, seen: map[State]time.Time{}} }

// hello says which changes can still be sent.
func (t *table) hello() *wire.Hello {
	return &wire.Hello{Run: t.run, First: t.seq + 1 - uint64(len(t.log)), Last: t.seq}
}

// merge takes what there is now, and returns how that differs from what was.
func (t *table) merge(now time.Time, r Reading) (opened, closed []State) {
	for _, s := range r.States {
		if _, known := t.seen[s]; !known {
			opened = append(opened, s)
		}
		t.seen[s] = now
	}
	for s, at := range t.seen {
		if at.Equal(now) || s.Protocol == wire.UDP && now.Sub(at) < udpLinger {
			continue
		}
		closed = append(closed, s)
		delete(t.seen, s)
	}
	return opened, closed
}

// dump takes what there is now, and returns all. Whoever has not heard that cannot be helped by changes.
func (t *table) dump(now time.Time, r Reading, wanted func(protocol string, port uint16) bool) []State {
	t.merge(now, r)
	all := make([]State, 0, len(t.seen))
	for s := range t.seen {
		if !wanted(s.Protocol, s.Local.Port()) { // it has lingered, and was wanted before
			delete(t.seen, s)
			continue
		}
		all = append(all, s)
	}
	t.seq++
	t.log, t.logged = nil, 0
	return all
}

// change takes what there is now, and returns what has changed in lines that are not too long, one at least.
func (t *table) change(now time.Time, after int64, r Reading) []wire.Change {
	opened, closed := t.merge(now, r)
	before := len(t.log)
	for first := true; first || len(opened)+len(closed) > 0; first = false {
		t.seq++
		c := wire.Change{Seq: t.seq, Complete: r.Complete}
		c.Opened, opened = cut(opened, wire.MaxStates)
		c.Closed, closed = cut(closed, wire.MaxStates-len(c.Opened))
		t.log = append(t.log, c)
		t.logged += len(c.Opened) + len(c.Closed)
	}
	t.log[len(t.log)-1].After = after // with it all has been told that there was then
	out := append([]wire.Change(nil), t.log[before:]...)
	for t.logged > maxLogged {
		t.forget()
	}
	return out
}

func cut(s []State, n int) (head, rest []State) {
	n = min(n, len(s))
	return s[:n:n], s[n:]
}

// forget drops the oldest change.
func (t *table) forget() {
	t.logged -= len(t.log[0].Opened) + len(t.log[0].Closed)
	t.log = t.log[1:]
}

// heard drops the changes that the controller has.
func (t *table) heard(seq uint64) {
	for len(t.log) > 0 && t.log[0].Seq <= seq {
		t.forget()
	}
}
