package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// imbalance watches how evenly the ports of backends are loaded, by the port statistics that are read anyway.
type imbalance struct {
	settings apps.Watching
	mu       sync.Mutex
	vips     map[vip.ID]*watcher
	sets     []*watcher
	lost     uint64    // of watchers that are no more
	room     []sampled // for one VIP after the other
}

func newImbalance(s apps.Watching, now time.Time) *imbalance {
	m := &imbalance{settings: s, vips: map[vip.ID]*watcher{}}
	if s.Off || s.Interval <= 0 {
		m.settings.Off = true
		return m
	}
	for _, set := range s.Sets {
		m.sets = append(m.sets, newWatcher(set.Name, apps.KindPorts, s, now))
	}
	return m
}

// watchLoads samples once an interval until ctx ends.
func (e *Engine) watchLoads(ctx context.Context) error {
	m := e.imbalance
	if m.settings.Interval <= 0 {
		return nil
	}
	for next := time.Now(); ; {
		if next = next.Add(m.settings.Interval); !wait(ctx, time.Until(next)) {
			return ctx.Err()
		}
		if late := time.Now(); late.Sub(next) > m.settings.Interval {
			next = late
		}
		e.sampleLoads(e.cfg.Now())
	}
}

// sampleLoads takes a sample of each watcher.
func (e *Engine) sampleLoads(now time.Time) {
	type news struct{ subject, message string }
	var all []news
	var work []func()
	m, v := e.imbalance, e.view.Load()
	m.mu.Lock()
	for id, w := range m.vips {
		if v.VIP(id) == nil {
			m.lost += w.lost
			delete(m.vips, id)
		}
	}
	take := func(w *watcher, list []sampled) {
		for _, message := range w.sample(now, list) {
			all = append(all, news{w.name, message})
		}
	}
	for _, x := range v.VIPs {
		fed := vip.NeedsLoads(x.Spec.Scheduler)
		if m.settings.Off && !fed {
			delete(m.vips, x.ID)
			continue
		}
		w := m.vips[x.ID]
		if w == nil {
			w = newWatcher(x.Spec.Name, apps.KindVIP, m.settings, now)
			m.vips[x.ID] = w
		}
		m.room = e.appendPorts(m.room[:0], x)
		take(w, m.room)
		if fed {
			e.feed(x, w.takeRejection())
		}
		if w.tested.Equal(now) {
			if f := e.reaction(x, w); f != nil {
				work = append(work, f)
			}
		}
	}
	for i, w := range m.sets {
		take(w, e.setPorts(m.settings.Sets[i]))
	}
	m.mu.Unlock()
	if m.settings.Off {
		return
	}
	for _, n := range all {
		e.tell("imbalance", n.subject, n.message)
	}
	for _, f := range work {
		e.post(f)
	}
}

// feed gives a VIP's scheduler what its backends' ports carried when they were last read.
func (e *Engine) feed(x *apps.VIP, rejected bool) {
	taker, ok := e.connectionsOf(x.Spec.Mode).(apps.LoadTaker)
	if !ok {
		return
	}
	loads := make(map[uint32]float64, len(x.Backends))
	for i := range x.Backends {
		b := &x.Backends[i]
		if b.Host == nil {
			continue
		}
		if _, read := e.stats.Reading(b.Host.At.DPID, b.Host.At.No); read {
			_, r := e.stats.Port(b.Host.At.DPID, b.Host.At.No)
			loads[b.ID] = float64(r.RxBits) + float64(r.TxBits)
		}
	}
	taker.TakeLoads(x.ID, loads, rejected)
}

// appendPorts appends the edge ports of a VIP's backends. Their loads are compared by the capacities of the backends if all have one, else by
// their declared weights. A backend without new connections has no fair share of the load, and is not
// compared.
func (e *Engine) appendPorts(out []sampled, x *apps.VIP) []sampled {
	rated := !slices.ContainsFunc(x.VIP.Backends, func(b vip.Backend) bool { return b.Capacity == 0 })
	for i := range x.Backends {
		b := &x.Backends[i]
		declared := &x.VIP.Backends[i]
		c := sampled{candidate: candidate{name: b.Name, weight: b.Weight, capacity: float64(declared.Weight), limit: 1e6 * declared.Capacity}}
		if rated {
			c.capacity = declared.Capacity
		}
		switch {
		case b.State != vip.StateUp:
			c.away = withReason(string(b.State), b.Reason)
		case b.Weight == 0:
			c.away = "weight 0"
		case b.Host == nil:
			c.away = "not heard yet"
		}
		if b.Host != nil {
			c.port = b.Host.At
		}
		if c.away == "" {
			c.read(e)
		}
		out = append(out, c)
	}
	return out
}

// setPorts are the ports of a set.
func (e *Engine) setPorts(s apps.PortSet) []sampled {
	out := make([]sampled, len(s.Ports))
	t := e.view.Load().Topo
	for i, p := range s.Ports {
		c := sampled{candidate: candidate{name: p.PortID.String(), port: p.PortID, capacity: p.Capacity}}
		switch q, known := t.Port(p.PortID); {
		case !known:
			c.away = "not known"
		case !q.Up:
			c.away = "down"
		default:
			c.read(e)
		}
		out[i] = c
	}
	return out
}

func (c *sampled) read(e *Engine) {
	if r, ok := e.stats.Reading(c.port.DPID, c.port.No); ok {
		c.reading = r
	} else {
		c.away = "no statistics of its port"
	}
}
