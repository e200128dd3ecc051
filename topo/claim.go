package topo

import (
	"net/netip"
	"slices"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// claimKey is what is claimed: a MAC's place, or an address.
type claimKey struct {
	mac  flows.MAC
	addr netip.Addr
}

// claim is a sighting that contradicts what is known: a MAC heard at another port than its own, an address heard of another
// host than its own. The owner is asked. If it answers, the claim is refused, and repetitions are not looked at for a
// while; if it does not, the claim holds. There is one claim on a thing at a time.
type claim struct {
	seen    Sighting
	until   time.Time // of waiting for an answer; if refused: of not looking at repetitions
	again   time.Time // when the owner is asked once more
	refused bool
}

// claimPlace decides on a host heard elsewhere: true if it has moved there. Else that is refused, or being found out.
func (t *Topology) claimPlace(now time.Time, h *host, s Sighting) bool {
	if !h.live || !t.inUse(h.at) {
		if !t.room(now, s.At, 0) {
			return false
		}
		delete(t.claims, claimKey{mac: h.mac})
		t.move(now, h, s.At)
		return true
	}
	t.open(now, claimKey{mac: h.mac}, s, h)
	return false
}

// claimAddress decides on another host's address heard of h: true if it is free.
func (t *Topology) claimAddress(now time.Time, owner, h *host, a netip.Addr) bool {
	if !owner.live || !t.inUse(owner.at) {
		return true
	}
	t.open(now, claimKey{addr: a}, Sighting{At: h.at, MAC: h.mac, Addr: a}, owner)
	return false
}

func (t *Topology) open(now time.Time, k claimKey, s Sighting, owner *host) {
	if c := t.claims[k]; c != nil {
		same := c.seen.At == s.At && c.seen.MAC == s.MAC
		if same && !c.seen.Addr.IsValid() {
			c.seen.Addr = s.Addr
		}
		if !c.refused || same && now.Before(c.until) {
			if c.refused {
				t.counters.RefusedClaims++
			}
			return
		}
	}
	c := &claim{seen: s, until: now.Add(t.cfg.ProbeInterval), again: now.Add(t.cfg.ProbeInterval / 2)}
	t.claims[k] = c
	t.askOwner(k, owner)
	t.wake(c.again)
}

// askOwner probes the host that has what is claimed.
func (t *Topology) askOwner(k claimKey, owner *host) {
	for _, a := range owner.addrs {
		if !k.addr.IsValid() || k.addr == a.Addr {
			t.cfg.Send(owner.at, Probe(t.cfg.MAC, owner.mac, a.Addr))
		}
	}
}

func (t *Topology) owner(k claimKey) *host {
	if k.addr.IsValid() {
		return t.byAddr[k.addr]
	}
	return t.byMAC[k.mac]
}

// refuse ends a claim whose owner was heard.
func (t *Topology) refuse(now time.Time, k claimKey, owner *host) {
	c := t.claims[k]
	if c == nil || c.refused {
		return
	}
	c.refused, c.until = true, now.Add(t.cfg.Hold)
	t.counters.RefusedClaims++
	t.wake(c.until)
	if k.addr.IsValid() {
		t.tell("host", c.seen.MAC.String(), "address %s refused at %s: %s answers for it at %s", k.addr, c.seen.At, owner.mac, owner.at)
	} else {
		t.tell("host", owner.mac.String(), "move to %s refused: still answers at %s", c.seen.At, owner.at)
	}
}

// refuseReserved tells, once in a while, of a host that claims an address which is no host's.
func (t *Topology) refuseReserved(now time.Time, h *host, a netip.Addr) {
	k := claimKey{addr: a}
	t.counters.RefusedClaims++
	if t.claims[k] != nil {
		return
	}
	until := now.Add(t.cfg.Hold)
	t.claims[k] = &claim{seen: Sighting{At: h.at, MAC: h.mac, Addr: a}, until: until, refused: true}
	t.tell("host", h.mac.String(), "address %s refused at %s: it is a VIP's or a router's", a, h.at)
	t.wake(until)
}

// Usurpers are the hosts that have lately used an address which is no host's, by address.
func (t *Topology) Usurpers() (out []Sighting) {
	for k, c := range t.claims {
		if c.refused && k.addr.IsValid() && t.reserved[k.addr] {
			out = append(out, c.seen)
		}
	}
	slices.SortFunc(out, func(a, b Sighting) int { return a.Addr.Compare(b.Addr) })
	return out
}

// SetReserved names the addresses that no host may have, beside the one that probes come from: those of VIPs and routers. A
// host that has one already loses it.
func (t *Topology) SetReserved(addrs []netip.Addr) {
	t.reserved = map[netip.Addr]bool{LinkLocal(t.cfg.MAC): true}
	for _, a := range addrs {
		t.reserved[a] = true
		if h := t.byAddr[a]; h != nil {
			t.unbind(h, a)
			t.tell("host", h.mac.String(), "loses address %s, which is a VIP's or a router's", a)
		}
	}
}

func (t *Topology) tickClaims(now time.Time) {
	for _, k := range t.sortedClaims() {
		c := t.claims[k]
		switch {
		case c == nil: // ended by the one before
		case !now.Before(c.until) && now.Before(t.claimEnd(k, c)):
			t.wake(t.claimEnd(k, c))
		case !now.Before(c.until):
			delete(t.claims, k)
			if !c.refused {
				t.accept(now, k, c)
			}
		case !c.refused && !now.Before(c.again):
			c.again = c.until
			if o := t.owner(k); o != nil {
				t.askOwner(k, o)
			}
			t.wake(c.until)
		case c.refused:
			t.wake(c.until)
		default:
			t.wake(c.again)
		}
	}
}

// claimEnd is until when a claim's owner may answer, or repetitions of one refused are not looked at.
func (t *Topology) claimEnd(k claimKey, c *claim) time.Time {
	if o := t.owner(k); o != nil && !c.refused {
		return c.until.Add(t.lag(o.at))
	}
	return c.until
}

// accept gives what is claimed to the claimant.
func (t *Topology) accept(now time.Time, k claimKey, c *claim) {
	h := t.byMAC[c.seen.MAC]
	if h == nil || !t.inUse(c.seen.At) {
		return
	}
	if !k.addr.IsValid() {
		if t.room(now, c.seen.At, 0) {
			t.move(now, h, c.seen.At)
			t.bind(now, h, c.seen.Addr)
		}
		return
	}
	if h.at != c.seen.At {
		return
	}
	if o := t.byAddr[k.addr]; o != nil {
		t.unbind(o, k.addr)
	}
	t.bind(now, h, k.addr)
}
