package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/deferred"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// notes are what edges have noted of flows of datagrams, as read when it was of use.
type notes struct {
	since   map[vip.ID]noting // only the loop touches it
	failing map[vip.ID]string // why pins could not be made, as told; likewise

	mu  sync.Mutex
	due time.Time // what was read before is of no use
	by  map[flows.DPID]noteReading
}

// noting is since when the edges make the notes that a VIP's newest generation needs: where it is alone they are others.
type noting struct {
	generation uint32
	alone      bool
	at         time.Time
}

type noteReading struct {
	begun time.Time
	notes map[vip.ID][]deferred.Note
}

func newNotes() *notes {
	return &notes{since: map[vip.ID]noting{}, failing: map[vip.ID]string{}, by: map[flows.DPID]noteReading{}}
}

// forget drops what is known of a deleted VIP.
func (n *notes) forget(id vip.ID) {
	delete(n.since, id)
	delete(n.failing, id)
}

// of are a switch's notes of a VIP, as read later than a time; false: they have yet to be.
func (n *notes) of(d flows.DPID, id vip.ID, after time.Time) (some []deferred.Note, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if after.After(n.due) {
		n.due = after
	}
	r, has := n.by[d]
	return r.notes[id], has && r.begun.After(after)
}

// readNotes reads a switch's notes, if somebody waits for them.
func (e *Engine) readNotes(ctx context.Context, sw *controller.Switch) error {
	d, n, now := sw.Info().DPID, e.notes, e.cfg.Now()
	n.mu.Lock()
	wanted := !n.due.IsZero() && !n.by[d].begun.After(n.due)
	n.mu.Unlock()
	if !wanted {
		return nil
	}
	f := openflow.FlowFilter{Table: apps.TableNoted}
	f.Cookie, f.CookieMask = apps.Cookie(apps.KindLearned, apps.ClassOthello, 0), apps.CookieMask|0xffff<<40
	rules, err := sw.Flows(ctx, f)
	if err == nil && e.session(sw) == nil {
		err = controller.ErrLost
	}
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.by[d] = noteReading{now, deferred.Notes(now, rules)}
	return nil
}

// learn makes older generations of a VIP of datagrams needless without agents: flows that send show their edges whether they are
// where the present generation has them. Those that have sent soon after a change and are not are pinned then; when all have had
// the time to send, the rest is, or older generations go. When only pins are left of them, it is looked whether half are over.
// A switch that is away may still choose by an older one, or know of more.
func (e *Engine) learn(v *apps.View, x *apps.VIP, g *vip.Generations, now time.Time) *vip.Generations {
	newest := g.Newest()
	if x.Spec.Mode != vip.ModeOthello || x.Proto() != apps.ProtoUDP || newest == nil || !g.Steady() || len(g.Kept) == 1 && len(newest.Pins) == 0 {
		return g
	}
	first, window := x.Spec.LearnWindow()
	alone := len(g.Kept) == 1
	since := e.notes.since[x.ID]
	if since.generation != newest.ID || since.alone != alone {
		if !e.status.confirmed(vipOwner(x.VIP), v) {
			e.generations.lookAt(now.Add(stepRetry))
			return g
		}
		since = noting{newest.ID, alone, now}
		e.notes.since[x.ID] = since
	}
	if alone {
		window = max(window, time.Duration(x.Spec.HandOverIdle))
	}
	at := since.at.Add(max(1, now.Sub(since.at)/window) * window)
	early := now.Before(at)
	if early && (alone || othello.Pinned(g)) {
		e.generations.lookAt(at)
		return g
	}
	if early {
		if at = since.at.Add(first); now.Before(at) {
			e.generations.lookAt(at)
			return g
		}
	}
	noted, complete, read := e.noted(v, x, newest.ID, at)
	if !read || alone && !complete {
		e.generations.lookAt(now.Add(stepRetry))
		return g
	}
	next, err := othello.RelieveNoted(v, x, g, noted, early || !complete, alone)
	e.tellRelieved(x, g, next, len(noted), err)
	e.generations.lookAt(since.at.Add((now.Sub(since.at)/window + 1) * window))
	return next
}

// noted are a VIP's flows that all edges have noted since a generation is in effect, as read after a time. complete: none lacked room.
func (e *Engine) noted(v *apps.View, x *apps.VIP, generation uint32, after time.Time) (pins []vip.Pin, complete, read bool) {
	for _, d := range v.Topo.Switches() {
		if _, here := v.Switches[d]; !here {
			return nil, false, false
		}
	}
	var all []deferred.Note
	complete, read = true, true
	for d := range x.EdgesOf() {
		some, ok := e.notes.of(d, x.ID, after)
		read = read && ok
		complete = complete && len(some) < deferred.MaxNotes
		all = append(all, some...)
	}
	return deferred.NotedPins(v, x, generation, all), complete, read
}

// tellFailing tells why a VIP has no pins, once for each reason that is not the last, by VIP.
func (e *Engine) tellFailing(x *apps.VIP, last map[vip.ID]string, err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	if why == last[x.ID] {
		return
	}
	last[x.ID] = why
	if why != "" {
		e.tell("vip", x.Spec.Name, "no pins, older generations are kept: "+why)
	}
}

// tellRelieved tells what has become of a VIP's older generations.
func (e *Engine) tellRelieved(x *apps.VIP, g, next *vip.Generations, noted int, err error) {
	e.tellFailing(x, e.notes.failing, err)
	switch {
	case next == g:
	case next.Steady():
		e.tell("vip", x.Spec.Name, fmt.Sprintf("all flows that send are where generation %d has them: older ones are dropped", next.Newest().ID))
	default:
		e.tell("vip", x.Spec.Name, fmt.Sprintf("generation %d pins %d flows; %d were noted", next.Last, len(next.Newest().Pins), noted))
	}
}
