package topo

import (
	"net/netip"
	"time"
)

// seek is an address that is looked for while no live host has it.
type seek struct {
	due  time.Time
	wait time.Duration
}

// Seek looks for the host with an address, by ARP or ND out of every edge port, again and again until it is found, and
// again when it is lost.
func (t *Topology) Seek(now time.Time, a netip.Addr) {
	if t.seeks[a] == nil && usable(a) {
		t.seeks[a] = &seek{due: now, wait: t.cfg.SeekInterval}
		t.wake(now)
	}
}

// Unseek ends a Seek.
func (t *Topology) Unseek(a netip.Addr) { delete(t.seeks, a) }

func (t *Topology) found(a netip.Addr) bool {
	h := t.byAddr[a]
	return h != nil && h.live
}

// hurry makes a search begin anew that has found its host, which is now lost.
func (t *Topology) hurry(now time.Time, a netip.Addr) {
	if s := t.seeks[a]; s != nil {
		s.due, s.wait = now, t.cfg.SeekInterval
		t.wake(now)
	}
}

func (t *Topology) tickSeeks(now time.Time) {
	for _, a := range sortedKeys(t.seeks, netip.Addr.Compare) {
		s := t.seeks[a]
		if t.found(a) {
			s.due, s.wait = now, t.cfg.SeekInterval
			continue
		}
		if now.Before(s.due) {
			t.wake(s.due)
			continue
		}
		probe := Probe(t.cfg.MAC, broadcast, a)
		for _, sw := range t.switches {
			for _, p := range sw.ports {
				if t.inUse(p.id) {
					t.cfg.Send(p.id, probe)
				}
			}
		}
		s.due = now.Add(s.wait)
		s.wait = min(2*s.wait, t.cfg.SeekLimit)
		t.wake(s.due)
	}
}

// seekAt asks for all that is sought at a port that has come into use.
func (t *Topology) seekAt(id PortID) {
	if !t.inUse(id) {
		return
	}
	for _, a := range sortedKeys(t.seeks, netip.Addr.Compare) {
		if !t.found(a) {
			t.cfg.Send(id, Probe(t.cfg.MAC, broadcast, a))
		}
	}
}
