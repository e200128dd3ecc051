package engine

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// liveTold are the numbers of connections that agents have told of, by host and port. It may be used by many goroutines at a time.
type liveTold struct {
	mu sync.RWMutex
	by map[netip.Addr]*toldHost
}

type toldHost struct {
	at, begun time.Time // when the last word came, and since when at the earliest it was being made
	complete  apps.Protocols
	ports     map[protoPort]int64
}

type protoPort struct {
	proto uint8
	port  uint16
}

// take counts anew all connections of a host.
func (t *liveTold) take(now time.Time, host netip.Addr, r *report) {
	ports := map[protoPort]int64{}
	for s := range r.states {
		ports[protoPort{s.Proto, s.Local.Port()}]++
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[netip.Addr]*toldHost{}
	}
	t.by[host] = &toldHost{now, r.after, r.complete, ports}
}

// change counts what has come and gone at a host since.
func (t *liveTold) change(now time.Time, host netip.Addr, r *report, opened, closed []apps.LiveState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.by[host]
	h.at, h.begun, h.complete = now, r.after, r.complete
	for _, s := range opened {
		h.ports[protoPort{s.Proto, s.Local.Port()}]++
	}
	for _, s := range closed {
		k := protoPort{s.Proto, s.Local.Port()}
		if h.ports[k]--; h.ports[k] == 0 {
			delete(h.ports, k)
		}
	}
}

// drop forgets a host.
func (t *liveTold) drop(host netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, host)
}

// of is how many connections a host has at some ports; false: it has not told of late what it had later than a time.
func (t *liveTold) of(now, after time.Time, host netip.Addr, proto uint8, at vip.Ports) (n int64, known bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	h := t.by[host]
	if h == nil || !h.complete.Has(proto) || now.Sub(h.at) >= reportAge || h.begun.Before(after) {
		return 0, false
	}
	for k, count := range h.ports {
		if k.proto == proto && at.Contains(k.port) {
			n += count
		}
	}
	return n, true
}

// live is how many connections a backend has, where that is known: exactly in a mode that counts them; elsewhere as its host's agent
// tells, if its ports serve this VIP alone; then connections to them that came not through the VIP are among them. It is not
// known if the agent may have looked before a time.
func (e *Engine) live(x *apps.VIP, b *apps.Backend, after time.Time) (n int64, known bool) {
	if h := e.connectionsOf(x.Spec.Mode); h != nil {
		n, _ = h.Connections(x.ID, b.ID)
		return n, true
	}
	if portShared(e.view.Load(), x, b) {
		return 0, false
	}
	return e.told.of(e.cfg.Now(), after, b.Address, x.Proto(), apps.Served{VIP: x, Backend: b}.Listens())
}

// portShared reports whether a backend's port serves another VIP as well.
func portShared(v *apps.View, x *apps.VIP, b *apps.Backend) bool {
	at := apps.Served{VIP: x, Backend: b}.Listens()
	return slices.ContainsFunc(v.ServedBy(b.Address), func(s apps.Served) bool {
		return s.VIP.Proto() == x.Proto() && s.VIP.ID != x.ID && s.Listens().Overlaps(at)
	})
}
