package engine

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
)

// relief is what is known of VIPs whose older generations agents can make needless. Only the loop touches it.
type relief struct {
	steady  map[vip.ID]steadySince
	doubts  map[vip.ID]doubt
	failing map[vip.ID]string // why pins could not be made, as told
}

// steadySince is since when a VIP's newest generation is in effect, as far as this controller has seen.
type steadySince struct {
	generation uint32
	at         time.Time
}

func newRelief() *relief {
	return &relief{steady: map[vip.ID]steadySince{}, doubts: map[vip.ID]doubt{}, failing: map[vip.ID]string{}}
}

// forget drops what is known of a deleted VIP.
func (r *relief) forget(id vip.ID) {
	delete(r.steady, id)
	delete(r.doubts, id)
	delete(r.failing, id)
}

// relieve makes older generations of a VIP needless, once its backends' hosts have told of all connections: those that have an agent
// are asked for. A switch that is away may still choose by an older one.
func (e *Engine) relieve(v *apps.View, x *apps.VIP, g *vip.Generations, now time.Time) *vip.Generations {
	newest := g.Newest()
	if x.Spec.Mode != vip.ModeOthello || newest == nil || !g.Steady() {
		return g
	}
	since := e.relief.steady[x.ID]
	if since.generation != newest.ID {
		since = steadySince{newest.ID, now}
		e.relief.steady[x.ID] = since
	}
	datagrams := x.Proto() == apps.ProtoUDP
	if datagrams && (len(g.Kept) == 1 || sharesPort(v, x)) {
		delete(e.relief.doubts, x.ID)
		return g // which pins are over edges know better, and clients' ports as clients have them
	}
	for _, d := range v.Topo.Switches() {
		if _, here := v.Switches[d]; !here {
			return g
		}
	}
	from := since.at.Add(reportGrace)
	all := true
	for i := range x.Backends {
		if b := &x.Backends[i]; v.Serves(x, b) && !e.toldSince(b.Address, x.Proto(), from, now) {
			all = false
		}
	}
	if !all {
		return g
	}
	live, ok := othello.StatesOf(v, x, func(host netip.Addr) ([]apps.LiveState, bool) { return e.agents.by[host].all(), true })
	if !ok {
		return g
	}
	if datagrams {
		live = e.settleClaims(v, x, newest, append(live, pinned(x, newest, live)...), now)
	}
	var unsure []othello.State
	if !datagrams {
		live, unsure = e.origins.resolve(x, newest.ID, live)
	}
	next, err := g, error(nil)
	if len(unsure) == 0 || len(g.Kept) == 1 { // or there is something to do, and that is to be sure of first
		next, err = othello.Relieve(g, x.Address, live)
		if err == nil && next == g && !datagrams && slices.Equal(v.Takers(x), newest.Members) {
			next = othello.Repack(g, live)
		}
	}
	switch {
	case err != nil:
	case len(unsure) > 0 && (len(g.Kept) > 1 || next != g):
		next, err = g, e.askOrigins(v, x, unsure, now)
	case next != g:
		if err = disputed(live); err != nil {
			next = g
		}
	}
	e.tellFailing(x, e.relief.failing, err)
	switch {
	case next == g:
	case !slices.Equal(next.Newest().Owners, newest.Owners):
		e.tell("vip", x.Spec.Name, fmt.Sprintf("generation %d has its Dcodes laid out anew, for fewer rules: %d connections live", next.Last, len(live)))
	case next.Steady():
		e.tell("vip", x.Spec.Name, fmt.Sprintf("all %d connections are where generation %d has them: older ones are dropped", len(live), newest.ID))
	default:
		e.tell("vip", x.Spec.Name, fmt.Sprintf("generation %d pins %d of %d connections", next.Last, len(next.Newest().Pins), len(live)))
	}
	return next
}

// liveOf are a VIP's live connections as last told, nil if not all its backends' hosts have: good for a choice that may be wrong.
func (e *Engine) liveOf(v *apps.View, x *apps.VIP, now time.Time) []othello.State {
	live, _ := othello.StatesOf(v, x, func(host netip.Addr) ([]apps.LiveState, bool) {
		if h := e.agents.by[host]; h != nil && h.complete.Has(x.Proto()) && now.Sub(h.heard) < reportAge {
			return h.all(), true
		}
		return nil, false
	})
	return live
}

// sharesPort reports whether a backend's port serves another VIP as well. Then a client may have one port of its own for both, which
// conntrack must change for one of them: hosts do not know it as the switches do.
func sharesPort(v *apps.View, x *apps.VIP) bool {
	for i := range x.Backends {
		if portShared(v, x, &x.Backends[i]) {
			return true
		}
	}
	return false
}

// pinned are the flows that a generation pins and hosts do not tell of: they may only have been silent for long.
func pinned(x *apps.VIP, k *vip.Generation, live []othello.State) (out []othello.State) {
	told := make(map[othello.Tuple]bool, len(live))
	for _, s := range live {
		told[s.Tuple] = true
	}
	for _, p := range k.Pins {
		if s := stateOf(x, p); x.BackendByID(p.Backend) != nil && !told[s.Tuple] {
			out = append(out, s)
		}
	}
	return out
}

func stateOf(x *apps.VIP, p vip.Pin) othello.State {
	return othello.State{Tuple: othello.Tuple{Proto: x.Proto(), Src: p.Client, Dst: netip.AddrPortFrom(x.Address, p.Port)}, Owner: p.Backend}
}

// toldSince reports whether a host has told of all connections of a protocol that had begun by a time. If it has an agent that has not, it
// is asked, when that time has come.
func (e *Engine) toldSince(host netip.Addr, proto uint8, from, now time.Time) bool {
	h := e.agents.by[host]
	switch {
	case h == nil:
		return false
	case h.tells(proto, from, now):
		return true
	case h.session == nil:
		return false
	case !now.After(from):
		e.generations.lookAt(from.Add(time.Millisecond))
	case !h.after.After(from):
		e.askDump(host, h, now)
	}
	return false
}
