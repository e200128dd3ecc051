package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// Reasons for which agents are refused.
const (
	refusedHost     = "host"     // it is no backend's
	refusedReplaced = "replaced" // it has connected anew; no fault
	refusedSlow     = "slow"     // it does not read
	refusedLate     = "late"     // a dump has not come in time
	refusedAddress  = "address"  // a state of another host, or of another family
	refusedPort     = "port"     // a state of a port that was not asked for
	refusedTooMany  = "too-many"
	refusedSequence = "sequence" // a change is missing, or nobody has asked for it
)

const (
	agentOrders = 16               // that wait to be sent to an agent
	dumpTimeout = 30 * time.Second // from the request for a dump to its end
)

// agentSession is a connection of an agent. One goroutine brings what it says; the loop applies it.
type agentSession struct {
	e      *Engine
	host   netip.Addr
	run    string // of the agent
	orders chan apps.AgentOrder
	over   chan struct{}

	// The loop's own.
	asking uint64    // the id of the dump that is awaited, 0 for none
	asked  time.Time // when

	mu       sync.Mutex
	err      error                 // why it is over
	expected uint64                // as asking
	wanted   map[uint8][]vip.Ports // the ports of that dump
	late     *time.Timer

	// Its goroutine's own.
	part  []apps.LiveState
	ports map[uint8][]vip.Ports // of the last dump
}

func (s *agentSession) Orders() <-chan apps.AgentOrder { return s.orders }
func (s *agentSession) Over() <-chan struct{}          { return s.over }

func (s *agentSession) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// end ends the session, if it has not ended.
func (s *agentSession) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	if s.late != nil {
		s.late.Stop()
	}
	close(s.over)
}

// order queues something for the agent. One that does not read is not waited for.
func (s *agentSession) order(o apps.AgentOrder) {
	select {
	case s.orders <- o:
	default:
		s.end(&apps.AgentError{Reason: refusedSlow, Detail: fmt.Sprintf("%d lines wait to be read", agentOrders)})
	}
}

// expect has the session wait for a dump, for so long.
func (s *agentSession) expect(id uint64, ports map[uint8][]vip.Ports) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected, s.wanted = id, ports
	s.late = time.AfterFunc(dumpTimeout, func() {
		s.end(&apps.AgentError{Reason: refusedLate, Detail: fmt.Sprintf("dump %d has not come within %s", id, dumpTimeout)})
	})
}

// awaits are the ports of a dump, if that is awaited.
func (s *agentSession) awaits(id uint64) (map[uint8][]vip.Ports, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return nil, s.err
	case id == 0 || id != s.expected:
		return nil, &apps.AgentError{Reason: refusedSequence, Detail: fmt.Sprintf("nobody awaits dump %d", id)}
	}
	return s.wanted, nil
}

// check finds what the host cannot have, or was not asked for.
func (s *agentSession) check(states []apps.LiveState, ports map[uint8][]vip.Ports) error {
	if i, field, why := checkStates(s.host, states); why != "" {
		return &apps.AgentError{Reason: refusedAddress, Detail: fmt.Sprintf("%s of %s from %s %s", field, states[i].Local, states[i].Client, why)}
	}
	for _, t := range states {
		if !slices.ContainsFunc(ports[t.Proto], func(p vip.Ports) bool { return p.Contains(t.Local.Port()) }) {
			return &apps.AgentError{Reason: refusedPort, Detail: fmt.Sprintf("connections to %s were not asked for", t.Local)}
		}
	}
	return nil
}

func tooMany() error {
	return &apps.AgentError{Reason: refusedTooMany, Detail: fmt.Sprintf("more than %d connections", apps.MaxLiveStates)}
}

func (s *agentSession) DumpPart(id uint64, states []apps.LiveState) error {
	ports, err := s.awaits(id)
	if err == nil {
		err = s.check(states, ports)
	}
	if err == nil && len(s.part)+len(states) > apps.MaxLiveStates {
		err = tooMany()
	}
	if err != nil {
		return err
	}
	s.part = append(s.part, states...)
	return nil
}

func (s *agentSession) DumpEnd(ctx context.Context, id, seq uint64, states int, complete apps.Protocols) error {
	ports, err := s.awaits(id)
	if err == nil && states != len(s.part) {
		err = &apps.AgentError{Reason: refusedSequence, Detail: fmt.Sprintf("dump %d says it has %d connections, and has %d", id, states, len(s.part))}
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.expected = 0
	s.late.Stop()
	s.mu.Unlock()
	all := s.part
	s.part, s.ports = nil, ports
	return s.apply(ctx, func(h *agentHost, now time.Time) error {
		h.run, h.seq, h.ports, h.after, h.complete = s.run, seq, ports, s.asked, complete
		h.put(now, all)
		h.status.Dumps++
		s.asking = 0
		s.e.told.take(now, s.host, &h.report)
		return nil
	})
}

func (s *agentSession) Change(ctx context.Context, c apps.LiveChange) error {
	err := s.Err()
	for _, states := range [][]apps.LiveState{c.Opened, c.Closed} {
		if err == nil {
			err = s.check(states, s.ports)
		}
	}
	if err != nil {
		return err
	}
	return s.apply(ctx, func(h *agentHost, now time.Time) error {
		switch {
		case s.ports == nil || c.Seq != h.seq+1:
			return &apps.AgentError{Reason: refusedSequence, Detail: fmt.Sprintf("change %d, after %d", c.Seq, h.seq)}
		case len(h.states)+len(c.Opened) > apps.MaxLiveStates:
			return tooMany()
		}
		h.seq, h.complete = c.Seq, c.Complete
		if t := begun(c.After, now); t.After(h.after) {
			h.after = t
		}
		opened, closed := h.report.change(now, &c)
		h.status.Changes++
		s.e.told.change(now, s.host, &h.report, opened, closed)
		return nil
	})
}

// apply has the loop take what the agent has said, and say so to it.
func (s *agentSession) apply(ctx context.Context, f func(h *agentHost, now time.Time) error) (err error) {
	cerr := s.e.call(ctx, func() {
		h, now := s.e.agents.by[s.host], s.e.cfg.Now()
		if h == nil || h.session != s {
			err = s.Err()
			return
		}
		if err = f(h, now); err != nil {
			return
		}
		s.order(apps.AgentOrder{Seq: h.seq, Now: now.UnixNano()})
		if slices.ContainsFunc(s.e.view.Load().ServedBy(s.host), func(x apps.Served) bool { return x.VIP.Spec.Mode == vip.ModeOthello }) {
			s.e.generations.lookAt(now.Add(agentPause))
		}
		if !reflect.DeepEqual(h.ports, portsOf(s.e.view.Load().ServedBy(s.host))) { // they have changed while it was asked
			s.e.askDump(s.host, h, now)
		}
		s.e.noteAgent(s.host)
	})
	if cerr != nil {
		return cerr
	}
	return err
}

// Close ends the session for the engine.
func (s *agentSession) Close(err error) {
	var fault *apps.AgentError
	isFault := false
	if errors.As(err, &fault) {
		s.e.agents.refused.add(fault.Reason)
		isFault = fault.Reason != refusedReplaced && fault.Reason != refusedHost
	}
	if err == nil {
		err = errHungUp
	}
	s.end(err)
	s.e.post(func() { s.e.agentGone(s, err.Error(), isFault) })
}

var errHungUp = errors.New("it has hung up")

// refusals count what agents were refused for, by reason.
type refusals struct {
	mu sync.Mutex
	by map[string]uint64
}

func (r *refusals) add(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]uint64{}
	}
	r.by[reason]++
}

func (r *refusals) counts() (out []apps.Count) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, reason := range slices.Sorted(maps.Keys(r.by)) {
		out = append(out, apps.Count{Part: "agents", Reason: reason, N: r.by[reason]})
	}
	return out
}
