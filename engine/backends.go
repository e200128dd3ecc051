package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// noteBackends records when backends changed state between two views, and tells of it.
func (e *Engine) noteBackends(old, v *apps.View) {
	now := e.cfg.Now()
	for _, x := range v.VIPs {
		if old != nil && old.VIP(x.ID) == x {
			continue
		}
		e.status.expectBackends(x.ID, len(x.Backends))
		for i := range x.Backends {
			b := &x.Backends[i]
			changed := e.status.backendIs(x.ID, b.ID, b.State, now)
			if b.State == vip.StateDrained { // who watches phases may have told of it, most of them end earlier
				changed = e.status.drainEnds(x.ID, b.ID, b.DrainSince)
			}
			if changed && old != nil { // at the start nothing has changed
				e.tell("backend", x.Spec.Name+"/"+b.Name, withReason(string(b.State), b.Reason))
			}
		}
	}
}

// expectBackends makes room for the backends of a VIP that is new.
func (s *status) expectBackends(id vip.ID, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backends[id] == nil {
		s.backends[id] = make([]since, 0, n)
	}
}

// backendIs notes a backend's state and reports whether it is a new one.
func (s *status) backendIs(id vip.ID, backend uint32, state vip.State, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.backends[id]
	i, known := findBackend(list, backend)
	switch {
	case !known:
		s.backends[id] = slices.Insert(list, i, since{backend, state, now})
	case list[i].state == state:
		return false
	default:
		list[i] = since{backend, state, now}
	}
	return true
}

func findBackend(list []since, backend uint32) (i int, known bool) {
	return slices.BinarySearchFunc(list, backend, func(x since, id uint32) int { return cmp.Compare(x.backend, id) })
}

// drainEnds notes that the drain of a backend, which began at a time, has ended, and reports whether that is news.
func (s *status) drainEnds(id vip.ID, backend uint32, began time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := backendKey{id, backend}
	if s.drained[k].Equal(began) {
		return false
	}
	s.drained[k] = began
	return true
}

// since is when a backend's present state began.
func (s *status) since(id vip.ID, backend uint32) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.backends[id]
	if i, known := findBackend(list, backend); known {
		return list[i].at
	}
	return time.Time{}
}
