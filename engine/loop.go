package engine

import (
	"context"
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// maxBatch bounds how much is taken from the queue before the view is settled.
const maxBatch = 1024

// loop applies what comes and settles after each batch, until ctx ends.
func (e *Engine) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			e.save()
			e.saveTally(true)
			return ctx.Err()
		case f := <-e.queue.work:
			f()
		case s := <-e.queue.sightings:
			e.sight(s)
		case <-e.health.Changed():
			e.verdictChanged()
		case <-e.generations.wake:
			e.generations.lookAt(e.cfg.Now())
		case <-timer.C:
		}
		e.drain()
		now := e.cfg.Now()
		e.topo.Tick(now)
		e.settle()
		timer.Reset(e.nextTurn(now))
	}
}

// drain applies what else is waiting, up to maxBatch.
func (e *Engine) drain() {
	for range maxBatch {
		select {
		case f := <-e.queue.work:
			f()
		case s := <-e.queue.sightings:
			e.sight(s)
		default:
			return
		}
	}
}

// nextTurn is how long the loop may sleep: until the topology, the saver, the end of a drain, what probes have found or a step of a
// change wants a turn.
func (e *Engine) nextTurn(now time.Time) time.Duration {
	next := e.topo.Next()
	for _, due := range []time.Time{e.saved.due(), e.drains.due, e.verdicts.due, e.generations.due} {
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	if next.IsZero() {
		return time.Minute
	}
	return max(next.Sub(now), time.Millisecond)
}

// sendFrame sends a frame of the topology's.
func (e *Engine) sendFrame(at topo.PortID, frame []byte) {
	if s := e.switches[at.DPID]; s != nil {
		s.sw.PacketOut(flows.PortController, []flows.Action{flows.Output{Port: at.No}}, frame)
		s.sw.Flush()
	}
}

// settle tells what has happened, and if the topology, the model or the set of switches has changed, makes a new
// view, tells the apps, and hands the controller what the owners concerned want now.
func (e *Engine) settle() {
	e.noteCounts()
	for _, ev := range e.topo.Events() {
		e.tell(ev.Kind, ev.Subject, ev.Message)
	}
	e.saveIfDue()
	if due := e.drains.due; !due.IsZero() && !e.cfg.Now().Before(due) {
		e.settled.stale = true
	}
	if e.showVerdicts() {
		e.settled.stale = true
	}
	if snap := e.topo.Snapshot(); snap == e.settled.topo && !e.settled.stale && !e.generations.stepsDue(e.cfg.Now()) {
		return
	}
	e.giveZones(e.settled.attached)
	old := e.view.Load()
	v := e.step(e.newView())
	// Connections end before the view shows why: who reads that a backend is down must not find any left.
	for _, h := range e.connections {
		if h == nil {
			continue
		}
		for d, rules := range h.Sync(v) {
			if s := e.switches[d]; s != nil {
				for i := range rules {
					s.sw.DeleteStrict(&rules[i])
				}
				s.sw.Flush()
			}
		}
	}
	e.storePlaces(old, v)
	e.view.Store(v)
	e.settleAgents(v, e.cfg.Now())
	e.noteBackends(old, v)
	e.push(old, v, dirtyOwners(old, v, e.settled.deleted))
	e.status.pushed(v)
	e.settled = settled{topo: v.Topo, attached: map[flows.DPID]bool{}}
}
