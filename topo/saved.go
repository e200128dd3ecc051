package topo

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// Saved is what a topology wants to be told after a restart, as JSON.
type Saved struct {
	Ports []SavedPort `json:"ports"`
	Hosts []SavedHost `json:"hosts"`
}

// SavedPort is a port that was in use: an edge, or a link and its other end. Switches and cables follow from them.
type SavedPort struct {
	PortID
	Kind PortKind `json:"kind"`
	Peer *PortID  `json:"peer,omitempty"`
}

// SavedHost is a host.
type SavedHost struct {
	MAC       flows.MAC    `json:"mac"`
	Addresses []netip.Addr `json:"addresses"`
	At        PortID       `json:"at"`
	Live      bool         `json:"live"`
}

// Saved is what to save now. It changes only with the [Snapshot].
func (t *Topology) Saved() Saved {
	var out Saved
	for _, s := range t.switches {
		for _, p := range s.ports {
			if !p.Up || p.Kind == Unknown {
				continue
			}
			sp := SavedPort{PortID: p.id, Kind: p.Kind}
			if p.peer != (PortID{}) {
				peer := p.peer
				sp.Peer = &peer
			}
			out.Ports = append(out.Ports, sp)
		}
	}
	for _, h := range t.hosts {
		out.Hosts = append(out.Hosts, SavedHost{h.mac, h.view().Addresses, h.at, h.live})
	}
	return out
}

// restore takes over what was saved, except where the configuration says otherwise.
func (t *Topology) restore(now time.Time, saved Saved) {
	for _, sp := range saved.Ports {
		p := t.makePort(t.makeSwitch(now, sp.DPID), sp.No)
		p.Up, p.heard = true, now
		if !p.fixed {
			p.Kind = sp.Kind
		}
		if p.Kind == Link && !p.named && sp.Peer != nil {
			p.peer = *sp.Peer
		}
	}
	for i, sh := range saved.Hosts {
		if p := t.port(sh.At); p == nil || p.Kind != Edge || t.byMAC[sh.MAC] != nil {
			continue
		}
		h := t.addHost(now, sh.MAC, sh.At)
		if h == nil {
			continue
		}
		h.live, h.since, h.settle = sh.Live, now, time.Time{}
		// They were heard at different times, and shall not all be probed at the same.
		heard := now.Add(-t.cfg.Refresh * time.Duration(i) / time.Duration(2*len(saved.Hosts)))
		h.due = heard.Add(t.cfg.Refresh)
		for _, a := range sh.Addresses {
			if j, ok := h.findAddr(a); !ok && usable(a) && t.byAddr[a] == nil && len(h.addrs) < t.cfg.MaxAddresses {
				h.addrs = slices.Insert(h.addrs, j, address{a, heard})
				t.byAddr[a] = h
			}
		}
		t.wake(h.due)
	}
	t.rewire()
	t.events = nil // nothing has happened
}

func sortedKeys[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	return slices.SortedFunc(maps.Keys(m), compare)
}

func (t *Topology) sortedClaims() []claimKey {
	return sortedKeys(t.claims, func(a, b claimKey) int { return cmp.Or(compareMAC(a.mac, b.mac), a.addr.Compare(b.addr)) })
}
