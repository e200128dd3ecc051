package engine

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
)

// reports are the live connections that agents on backends' hosts have told of, the last of each host. Only the loop touches them.
type reports struct {
	by      map[netip.Addr]report
	steady  map[vip.ID]steadySince
	failing map[vip.ID]string // why pins could not be made, as told
}

type report struct {
	after  time.Time // the report was begun later than this
	states []apps.LiveState
}

// steadySince is since when a VIP's newest generation is in effect, as far as this controller has seen.
type steadySince struct {
	generation uint32
	at         time.Time
}

// reportGrace is how long after a change a report must have begun to tell of all that began before: caches have forgotten the
// older choice, and SYNs under way have come.
const reportGrace = time.Second

// reportAge is how old a report may be: its host may have gone.
const reportAge = time.Minute

func newReports() *reports {
	return &reports{by: map[netip.Addr]report{}, steady: map[vip.ID]steadySince{}, failing: map[vip.ID]string{}}
}

// ReportStates takes a report of a host's connections. It returns what the next one is to say in After: by that it is known when a
// report was begun, whatever the host's clock says. A report for a host that is no backend is apps.ErrNotFound; one that
// names what the host cannot have is refused whole.
func (e *Engine) ReportStates(ctx context.Context, r apps.LiveReport) (after int64, err error) {
	if len(r.States) > apps.MaxLiveStates {
		return 0, vip.FieldErrors{{Field: "states", Value: len(r.States), Message: fmt.Sprintf("at most %d", apps.MaxLiveStates)}}
	}
	for i, s := range r.States {
		if s.Local.Addr() != r.Host {
			return 0, vip.FieldErrors{{Field: fmt.Sprintf("states[%d].local", i), Value: s.Local.String(), Message: "is no address of the reporting host"}}
		}
		if s.Client.Addr().Is4() != r.Host.Is4() {
			return 0, vip.FieldErrors{{Field: fmt.Sprintf("states[%d].client", i), Value: s.Client.String(), Message: "is of another address family"}}
		}
	}
	if cerr := e.call(ctx, func() { after, err = e.reported(r) }); cerr != nil {
		return 0, cerr
	}
	return after, err
}

func (e *Engine) reported(r apps.LiveReport) (int64, error) {
	v, now := e.view.Load(), e.cfg.Now()
	known := slices.ContainsFunc(v.VIPs, func(x *apps.VIP) bool {
		return slices.ContainsFunc(x.Backends, func(b apps.Backend) bool { return b.Address == r.Host })
	})
	if !known {
		delete(e.reports.by, r.Host)
		e.told.drop(r.Host)
		return 0, fmt.Errorf("a backend with address %s: %w", r.Host, apps.ErrNotFound)
	}
	begun := time.Unix(0, r.After)
	if begun.After(now) {
		begun = time.Time{}
	}
	e.reports.by[r.Host] = report{after: begun, states: r.States}
	e.told.take(now, begun, r.Host, r.States)
	e.generations.lookAt(now)
	return now.UnixNano(), nil
}

// relieve makes older generations of a VIP needless, once its backends' hosts have told of all connections. Of UDP they cannot
// tell. A switch that is away may still choose by an older one.
func (e *Engine) relieve(v *apps.View, x *apps.VIP, g *vip.Generations, now time.Time) *vip.Generations {
	newest := g.Newest()
	if x.Spec.Mode != vip.ModeOthello || x.Proto() != apps.ProtoTCP || newest == nil || !g.Steady() {
		return g
	}
	since := e.reports.steady[x.ID]
	if since.generation != newest.ID {
		since = steadySince{newest.ID, now}
		e.reports.steady[x.ID] = since
	}
	for _, d := range v.Topo.Switches() {
		if _, here := v.Switches[d]; !here {
			return g
		}
	}
	live, ok := othello.StatesOf(v, x, func(host netip.Addr) ([]apps.LiveState, bool) {
		r, has := e.reports.by[host]
		return r.states, has && r.after.After(since.at.Add(reportGrace)) && now.Sub(r.after) < reportAge
	})
	if !ok {
		return g
	}
	next, err := othello.Relieve(g, x.Address, live)
	if err == nil && next == g && slices.Equal(v.Takers(x), newest.Members) {
		next = othello.Repack(g, live)
	}
	why := ""
	if err != nil {
		why = err.Error()
	}
	if why != e.reports.failing[x.ID] {
		e.reports.failing[x.ID] = why
		if why != "" {
			e.tell("vip", x.Spec.Name, "no pins, older generations are kept: "+why)
		}
	}
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
		r, has := e.reports.by[host]
		return r.states, has && now.Sub(r.after) < reportAge
	})
	return live
}

// forget drops what is known of a deleted VIP.
func (r *reports) forget(id vip.ID) {
	delete(r.steady, id)
	delete(r.failing, id)
}
