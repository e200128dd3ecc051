package engine

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// report is the connections of a host, as its agent has told of them. Only the loop touches it.
type report struct {
	after    time.Time // it has all that had begun by then, and what was told since
	heard    time.Time // the last word of the agent
	complete apps.Protocols
	states   map[apps.LiveState]struct{}
	list     []apps.LiveState // the same; nil: to be made
	counts   map[uint8]int    // by protocol
}

// reportGrace is how long after a change a report must have begun to tell of all that began before: caches have forgotten the
// older choice, and SYNs under way have come.
const reportGrace = time.Second

// reportAge is how old the last word of an agent may be: its host may have gone.
const reportAge = time.Minute

// put makes states all there are.
func (r *report) put(now time.Time, states []apps.LiveState) {
	r.heard, r.list = now, nil
	r.states, r.counts = make(map[apps.LiveState]struct{}, len(states)), map[uint8]int{}
	for _, s := range states {
		r.open(s)
	}
}

// open adds a state, if it is new.
func (r *report) open(s apps.LiveState) bool {
	n := len(r.states)
	r.states[s] = struct{}{}
	if len(r.states) == n {
		return false
	}
	r.counts[s.Proto]++
	return true
}

// change adds and removes states, and returns those that were not there, and those that were.
func (r *report) change(now time.Time, c *apps.LiveChange) (opened, closed []apps.LiveState) {
	r.heard = now
	for _, s := range c.Closed {
		if _, has := r.states[s]; has {
			delete(r.states, s)
			r.counts[s.Proto]--
			closed = append(closed, s)
		}
	}
	for _, s := range c.Opened {
		if r.open(s) {
			opened = append(opened, s)
		}
	}
	if len(opened)+len(closed) > 0 {
		r.list = nil
	}
	return opened, closed
}

// all are the states in a list.
func (r *report) all() []apps.LiveState {
	if r.list == nil {
		r.list = make([]apps.LiveState, 0, len(r.states))
		for s := range r.states {
			r.list = append(r.list, s)
		}
	}
	return r.list
}

// tells reports whether the host has told of all connections of a protocol that had begun by a time.
func (r *report) tells(proto uint8, at, now time.Time) bool {
	return r.complete.Has(proto) && r.after.After(at) && now.Sub(r.heard) < reportAge
}

// begun is the time that an agent repeats of what it was told; one that is yet to come is none.
func begun(after int64, now time.Time) time.Time {
	if t := time.Unix(0, after); !t.After(now) {
		return t
	}
	return time.Time{}
}

// checkStates finds the first state that a host cannot have.
func checkStates(host netip.Addr, states []apps.LiveState) (at int, field, why string) {
	for i, s := range states {
		switch {
		case s.Local.Addr() != host:
			return i, "local", "is no address of the reporting host"
		case s.Client.Addr().Is4() != host.Is4():
			return i, "client", "is of another address family"
		}
	}
	return 0, "", ""
}

// ReportStates takes all TCP connections of a host at once. It returns what the next report is to say in After: by that it is known when a
// report was begun, whatever the host's clock says. A report for a host that is no backend is apps.ErrNotFound; one that
// names what the host cannot have is refused whole.
func (e *Engine) ReportStates(ctx context.Context, r apps.LiveReport) (after int64, err error) {
	if len(r.States) > apps.MaxLiveStates {
		e.agents.refused.add(refusedTooMany)
		return 0, vip.FieldErrors{{Field: "states", Value: len(r.States), Message: fmt.Sprintf("at most %d", apps.MaxLiveStates)}}
	}
	if i, field, why := checkStates(r.Host, r.States); why != "" {
		e.agents.refused.add(refusedAddress)
		value := r.States[i].Local
		if field == "client" {
			value = r.States[i].Client
		}
		return 0, vip.FieldErrors{{Field: fmt.Sprintf("states[%d].%s", i, field), Value: value.String(), Message: why}}
	}
	if cerr := e.call(ctx, func() { after, err = e.reported(r) }); cerr != nil {
		return 0, cerr
	}
	return after, err
}

func (e *Engine) reported(r apps.LiveReport) (int64, error) {
	h, err := e.agentHost(r.Host)
	if err != nil {
		return 0, err
	}
	if h.session != nil {
		return 0, fmt.Errorf("an agent of %s is connected: %w", r.Host, apps.ErrConflict)
	}
	now := e.cfg.Now()
	h.run = "" // its numbers of changes are of another conversation
	h.after, h.complete = begun(r.After, now), apps.Protocols{TCP: true}
	h.put(now, r.States)
	e.told.take(now, r.Host, &h.report)
	e.generations.lookAt(now)
	e.noteAgent(r.Host)
	return now.UnixNano(), nil
}
