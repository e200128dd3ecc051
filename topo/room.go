package topo

import "time"

const lookAgain = time.Second // after a look for room that has found none

// room makes sure that there is room for a host more at a port: more is 1 if it is one more in all, 0 if it moves there. If
// there is none, the host there that has been idle for longest goes. When the whole table is full, that is one of the port
// which has most, so that a flood displaces its own.
func (t *Topology) room(now time.Time, at PortID, more int) bool {
	full := t.atPort[at] >= t.cfg.MaxHostsPerPort
	if !full && len(t.hosts)+more <= t.cfg.MaxHosts {
		return true
	}
	p := t.port(at)
	if p != nil && !now.Before(p.full) {
		if h := t.dispensable(now, at, full); h != nil {
			t.counters.Displaced++
			t.warn(now, t.port(h.at), "no room for more hosts: those that are idle for longest are forgotten")
			t.forget(h)
			return true
		}
		p.full = now.Add(lookAgain)
	}
	t.counters.TableFull++
	t.warn(now, p, "no room for more hosts: %d in all, %d at this port, none of them idle", len(t.hosts), t.atPort[at])
	return false
}

// dispensable is the host that goes for another at a port, nil if none may.
func (t *Topology) dispensable(now time.Time, at PortID, portFull bool) *host {
	from := at
	if !portFull {
		for id, n := range t.atPort {
			if n > t.atPort[from] || n == t.atPort[from] && id.Compare(from) < 0 && from != at {
				from = id
			}
		}
	}
	var idlest, oldest *host
	for _, h := range t.hostsAt(from) {
		if oldest == nil || h.heard.Before(oldest.heard) {
			oldest = h
		}
		if h.idle(now) >= t.cfg.Refresh && (idlest == nil || h.idler(idlest)) {
			idlest = h
		}
	}
	switch {
	case idlest != nil:
		return idlest
	case t.atPort[from] > t.atPort[at]+1: // it has more than its share
		return oldest
	}
	return nil
}

// idle is how long nothing has been heard of a host that nothing can be asked of, or that does not answer. A live host with
// an address is not idle: it is asked.
func (h *host) idle(now time.Time) time.Duration {
	if h.live && len(h.addrs) > 0 {
		return 0
	}
	return now.Sub(h.heard)
}

// idler reports whether h is to go before o: what does not answer first.
func (h *host) idler(o *host) bool {
	if h.live != o.live {
		return o.live
	}
	return h.heard.Before(o.heard)
}
