package topo

import (
	"net/netip"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// seek is an address that is looked for while no live host has it.
type seek struct {
	due  time.Time
	wait time.Duration
}

// Seek looks for the host with an address, by ARP probes out of every edge port, again and again until it is found, and
// again when it is lost.
func (t *Topology) Seek(now time.Time, a netip.Addr) {
	if t.seeks[a] == nil && usable(a) && a.Is4() {
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
		probe := arpProbe(t.cfg.MAC, broadcast, a)
		for _, sw := range t.switches {
			for _, p := range sw.ports {
				if t.inUse(p.id) {
					t.send(p.id, probe)
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
			t.send(id, arpProbe(t.cfg.MAC, broadcast, a))
		}
	}
}

// arpProbe is an ARP request without a sender's address, which changes nobody's ARP table (RFC 5227). Its answer is
// addressed to src.
func arpProbe(src, dst flows.MAC, target netip.Addr) []byte {
	b := make([]byte, 0, 42)
	b = append(append(append(b, dst[:]...), src[:]...), 0x08, 0x06)
	b = append(b, 0, 1, 8, 0, 6, 4, 0, 1) // Ethernet, IPv4, request
	b = append(append(b, src[:]...), 0, 0, 0, 0)
	b = append(b, 0, 0, 0, 0, 0, 0)
	return append(b, target.AsSlice()...)
}

var broadcast = flows.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
