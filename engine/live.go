package engine

import (
	"net/netip"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// liveTold are the numbers of TCP connections that agents have told of, by host and port. It may be used by many goroutines at a time.
type liveTold struct {
	mu sync.RWMutex
	by map[netip.Addr]toldHost
}

type toldHost struct {
	at, begun time.Time // when the report came, and since when at the earliest it was being made
	ports     map[uint16]int64
}

// take counts the connections of a host's report.
func (t *liveTold) take(now, begun time.Time, host netip.Addr, states []apps.LiveState) {
	ports := map[uint16]int64{}
	for _, s := range states {
		if s.Proto == apps.ProtoTCP {
			ports[s.Local.Port()]++
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[netip.Addr]toldHost{}
	}
	t.by[host] = toldHost{now, begun, ports}
}

// drop forgets a host.
func (t *liveTold) drop(host netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, host)
}

// of is how many connections a host has at some ports; false: it has not told of late what it had later than a time.
func (t *liveTold) of(now, after time.Time, host netip.Addr, at vip.Ports) (n int64, known bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	h, ok := t.by[host]
	if !ok || now.Sub(h.at) >= reportAge || h.begun.Before(after) {
		return 0, false
	}
	for port, k := range h.ports {
		if at.Contains(port) {
			n += k
		}
	}
	return n, true
}

// live is how many connections a backend has, where that is known: exactly in a mode that counts them; elsewhere as its host's agent
// tells, of TCP, if its ports serve this VIP alone; then connections to them that came not through the VIP are among them. It is not
// known if the agent may have looked before a time.
func (e *Engine) live(x *apps.VIP, b *apps.Backend, after time.Time) (n int64, known bool) {
	if h := e.connectionsOf(x.Spec.Mode); h != nil {
		n, _ = h.Connections(x.ID, b.ID)
		return n, true
	}
	if x.Proto() != apps.ProtoTCP {
		return 0, false
	}
	at := apps.Served{VIP: x, Backend: b}.Listens()
	for _, s := range e.view.Load().ServedBy(b.Address) {
		if s.VIP.Proto() == apps.ProtoTCP && s.VIP.ID != x.ID && s.Listens().Overlaps(at) {
			return 0, false
		}
	}
	return e.told.of(e.cfg.Now(), after, b.Address, at)
}
