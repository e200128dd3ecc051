package topo

import (
	"net/netip"
	"slices"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// host is a host and what its probes have told.
//
// Probing goes in cycles: one begins when an address has not been heard for the refresh interval, asks every address until
// it is heard, and ends when all have been or the probes are used up. A host none of whose addresses was heard is gone; an
// address not heard of a host that was is not its any more.
type host struct {
	mac    flows.MAC
	at     PortID
	live   bool
	addrs  []address // sorted
	heard  time.Time
	since  time.Time // of not being live
	due    time.Time // next probe, or check of what cannot be probed
	cycle  time.Time // beginning of the present cycle
	probes int       // sent in it
	asked  time.Time // when the last of them was
	settle time.Time // when it settles; zero: it has
	shown  *Host
}

type address struct {
	netip.Addr
	heard time.Time
}

func (h *host) view() *Host {
	if h.shown == nil {
		h.shown = &Host{MAC: h.mac, At: h.at, Live: h.live, Settled: h.settle.IsZero(), Addresses: make([]netip.Addr, len(h.addrs))}
		for i, a := range h.addrs {
			h.shown.Addresses[i] = a.Addr
		}
	}
	return h.shown
}

func (t *Topology) showHost(h *host) { h.shown, t.changed = nil, true }

func (t *Topology) findHost(m flows.MAC) (int, bool) {
	return slices.BinarySearchFunc(t.hosts, m, func(h *host, m flows.MAC) int { return compareMAC(h.mac, m) })
}

// hostsAt are the hosts at a port, by MAC.
func (t *Topology) hostsAt(id PortID) []*host {
	if t.atPort[id] == 0 {
		return nil
	}
	var out []*host
	for _, h := range t.hosts {
		if h.at == id {
			out = append(out, h)
		}
	}
	return out
}

// inUse reports whether hosts can be heard at a port.
func (t *Topology) inUse(id PortID) bool {
	s, p := t.sw(id.DPID), t.port(id)
	return p != nil && s.connected && p.Up && p.Kind == Edge
}

// Sighting takes what was heard.
func (t *Topology) Sighting(now time.Time, s Sighting) {
	switch {
	case s.LLDP != nil:
		t.hear(now, s.At, s.LLDP)
		return
	case s.Forbidden != "":
		t.counters.Forbidden++
		t.warn(now, t.port(s.At), "packets from %s are dropped: %s", s.MAC, s.Forbidden)
		return
	}
	if !t.inUse(s.At) || s.MAC.Multicast() || s.MAC == (flows.MAC{}) || s.MAC == t.cfg.MAC {
		t.counters.IgnoredHosts++
		return
	}
	h := t.byMAC[s.MAC]
	switch {
	case h == nil:
		if h = t.addHost(now, s.MAC, s.At); h == nil {
			return
		}
		t.tell("host", h.mac.String(), "heard at %s", h.at)
	case h.at != s.At:
		if !t.claimPlace(now, h, s) {
			return
		}
	default:
		t.alive(now, h)
	}
	t.bind(now, h, s.Addr)
}

// addHost is nil if there is no room.
func (t *Topology) addHost(now time.Time, m flows.MAC, at PortID) *host {
	if !t.room(now, at, 1) {
		return nil
	}
	h := &host{mac: m, at: at, live: true, heard: now, due: now.Add(t.cfg.Refresh)}
	i, _ := t.findHost(m)
	t.hosts = slices.Insert(t.hosts, i, h)
	t.byMAC[m] = h
	t.atPort[at]++
	t.changed = true
	t.unsettle(now, h)
	t.wake(h.due)
	return h
}

// unsettle has a host settle after a while. Without a shortcut beside the tree all is the same to it, so it is settled.
func (t *Topology) unsettle(now time.Time, h *host) {
	t.rewire()
	h.settle = time.Time{}
	if t.snap.graph.shortcuts {
		h.settle = now.Add(t.cfg.Settle)
		t.wake(h.settle)
	}
}

// alive notes that a host was heard at its place, which also answers a claim that it is elsewhere.
func (t *Topology) alive(now time.Time, h *host) {
	h.heard = now
	if !h.live {
		h.live, h.cycle, h.due = true, time.Time{}, now.Add(t.cfg.Refresh)
		t.showHost(h)
		t.tell("host", h.mac.String(), "answers again at %s", h.at)
		t.wake(h.due)
	}
	t.refuse(now, claimKey{mac: h.mac}, h)
}

// gone makes a host not live.
func (t *Topology) gone(now time.Time, h *host, why string) {
	if !h.live {
		return
	}
	h.live, h.since, h.cycle, h.due = false, now, time.Time{}, now.Add(t.cfg.Refresh)
	t.showHost(h)
	t.tell("host", h.mac.String(), "gone from %s: %s", h.at, why)
	for _, a := range h.addrs {
		t.hurry(now, a.Addr)
	}
	t.wake(h.due)
}

func (t *Topology) forget(h *host) {
	for len(h.addrs) > 0 {
		t.unbind(h, h.addrs[0].Addr)
	}
	if i, ok := t.findHost(h.mac); ok {
		t.hosts = slices.Delete(t.hosts, i, i+1)
	}
	delete(t.byMAC, h.mac)
	delete(t.claims, claimKey{mac: h.mac})
	t.leave(h.at)
	t.changed = true
}

func (t *Topology) leave(at PortID) {
	if t.atPort[at]--; t.atPort[at] == 0 {
		delete(t.atPort, at)
	}
}

// move gives a host another place.
func (t *Topology) move(now time.Time, h *host, to PortID) {
	t.tell("host", h.mac.String(), "moved from %s to %s", h.at, to)
	t.leave(h.at)
	t.atPort[to]++
	h.at, h.live, h.heard, h.cycle, h.due = to, true, now, time.Time{}, now.Add(t.cfg.Refresh)
	t.unsettle(now, h)
	t.showHost(h)
	t.wake(h.due)
}

func usable(a netip.Addr) bool {
	return a.IsValid() && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback() && !a.Is4In6() &&
		a != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// bind notes that a host was heard with an address.
func (t *Topology) bind(now time.Time, h *host, a netip.Addr) {
	if !usable(a) {
		return
	}
	if t.reserved[a] {
		t.refuseReserved(now, h, a)
		return
	}
	owner := t.byAddr[a]
	if owner == h {
		i, _ := h.findAddr(a)
		h.addrs[i].heard = now
		t.refuse(now, claimKey{addr: a}, h)
		return
	}
	if len(h.addrs) >= t.cfg.MaxAddresses {
		t.counters.TableFull++
		t.warn(now, t.port(h.at), "no room for more than %d addresses of host %s", len(h.addrs), h.mac)
		return
	}
	if owner != nil {
		if !t.claimAddress(now, owner, h, a) {
			return
		}
		t.unbind(owner, a)
	}
	i, _ := h.findAddr(a)
	h.addrs = slices.Insert(h.addrs, i, address{a, now})
	t.byAddr[a] = h
	t.showHost(h)
	t.tell("host", h.mac.String(), "has address %s", a)
}

func (t *Topology) unbind(h *host, a netip.Addr) {
	if i, ok := h.findAddr(a); ok {
		h.addrs = slices.Delete(h.addrs, i, i+1)
	}
	delete(t.byAddr, a)
	delete(t.claims, claimKey{addr: a})
	t.showHost(h)
}

func (h *host) findAddr(a netip.Addr) (int, bool) {
	return slices.BinarySearchFunc(h.addrs, a, func(x address, a netip.Addr) int { return x.Compare(a) })
}

func (t *Topology) tickHosts(now time.Time) {
	for _, h := range slices.Clone(t.hosts) {
		switch {
		case h.settle.IsZero():
		case now.Before(h.settle):
			t.wake(h.settle)
		default:
			h.settle = time.Time{}
			t.showHost(h)
		}
		if !now.Before(h.due) {
			t.check(now, h)
		}
		if t.byMAC[h.mac] == h {
			t.wake(h.due)
		}
	}
}

// unprobed is how many refresh intervals a host that has no address to ask for is believed without being heard.
const unprobed = 10

// check does what is due for a host.
func (t *Topology) check(now time.Time, h *host) {
	h.due = now.Add(t.cfg.Refresh)
	if !h.live && now.Sub(h.since) >= t.cfg.Forget {
		t.tell("host", h.mac.String(), "forgotten: not heard for %s", t.cfg.Forget)
		t.forget(h)
		return
	}
	if !t.inUse(h.at) {
		h.cycle = time.Time{}
		return
	}
	if !h.live {
		t.ask(h, now)
		return
	}
	if len(h.addrs) == 0 {
		if end := h.heard.Add(unprobed * t.cfg.Refresh); now.Before(end) {
			h.due = end
		} else {
			t.gone(now, h, "not heard")
		}
		return
	}
	if h.cycle.IsZero() {
		if oldest := h.oldest(); now.Sub(oldest) < t.cfg.Refresh {
			h.due = oldest.Add(t.cfg.Refresh)
			return
		}
		h.cycle, h.probes = now, 0
	}
	t.goOn(now, h)
}

// oldest is when the address that has been silent for longest was heard.
func (h *host) oldest() time.Time {
	var oldest time.Time
	for _, a := range h.addrs {
		if oldest.IsZero() || a.heard.Before(oldest) {
			oldest = a.heard
		}
	}
	return oldest
}

// goOn sends the next probes of a host's cycle, or ends it.
func (t *Topology) goOn(now time.Time, h *host) {
	var silent []netip.Addr
	for _, a := range h.addrs {
		if a.heard.Before(h.cycle) {
			silent = append(silent, a.Addr)
		}
	}
	end := h.asked.Add(t.cfg.ProbeInterval + t.lag(h.at)) // of waiting for an answer
	switch {
	case len(silent) == 0:
		h.cycle, h.due = time.Time{}, h.oldest().Add(t.cfg.Refresh)
	case h.probes > 0 && now.Before(end):
		h.due = end
	case h.probes < t.cfg.Probes:
		t.ask(h, h.cycle)
		h.probes++
		h.asked, h.due = now, now.Add(t.cfg.ProbeInterval)
	case h.heard.Before(h.cycle):
		t.gone(now, h, "does not answer")
	default:
		for _, a := range silent {
			t.unbind(h, a)
			t.tell("host", h.mac.String(), "does not answer for %s any more", a)
		}
		h.cycle = time.Time{}
	}
}

// ask probes a host for all its addresses not heard since a time.
func (t *Topology) ask(h *host, since time.Time) {
	for _, a := range h.addrs {
		if !h.live || a.heard.Before(since) {
			t.cfg.Send(h.at, Probe(t.cfg.MAC, h.mac, a.Addr))
		}
	}
}
