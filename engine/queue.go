package engine

import (
	"context"
	"sync/atomic"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/topo"
)

// queue holds what waits for the loop. Work (events of sessions, writes of users) is never dropped: who brings it waits
// when the queue is full, and so slows down nobody but itself. Sightings are dropped and counted, since hosts and neighbours
// repeat themselves; each session has a share of the room for them, so that it loses its own alone.
type queue struct {
	work      chan func()
	sightings chan *sighting // pointers: the room for them is always there
	dropped   atomic.Uint64
}

// sighting is one of a session's.
type sighting struct {
	topo.Sighting
	from *session
}

const (
	maxSightings = 1 << 14
	hostShare    = 256           // of a session's sightings that wait, beyond which those of hosts are dropped
	lldpShare    = 2 * hostShare // beyond which those of LLDP are
)

func newQueue() *queue {
	return &queue{work: make(chan func(), 1024), sightings: make(chan *sighting, maxSightings)}
}

// sighted queues what a session has seen, or counts it as dropped.
func (q *queue) sighted(from *session, s topo.Sighting) bool {
	share := int32(hostShare)
	if s.LLDP != nil {
		share = lldpShare
	}
	if from.waiting.Add(1) <= share {
		select {
		case q.sightings <- &sighting{s, from}:
			return true
		default:
		}
	}
	from.waiting.Add(-1)
	q.dropped.Add(1)
	return false
}

// sight takes what was queued.
func (e *Engine) sight(s *sighting) {
	s.from.waiting.Add(-1)
	e.topo.Sighting(e.cfg.Now(), s.Sighting)
}

// post queues f for the loop; it waits while the queue is full and gives up when the engine has stopped.
func (e *Engine) post(f func()) {
	select {
	case e.queue.work <- f:
	case <-e.stopped:
	}
}

// call runs f in the loop and waits for it.
func (e *Engine) call(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case e.queue.work <- func() { f(); close(done) }:
	case <-e.stopped:
		return apps.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-e.stopped:
		return apps.ErrClosed
	}
}
