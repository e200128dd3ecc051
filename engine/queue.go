package engine

import (
	"context"
	"sync/atomic"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/topo"
)

// queue holds what waits for the loop. Work (events of sessions, writes of users) is never dropped: who brings it waits
// when the queue is full, and so slows down nobody but itself. Sightings are dropped and counted, since hosts and neighbours
// repeat themselves.
type queue struct {
	work      chan func()
	sightings chan topo.Sighting
	dropped   atomic.Uint64
}

func newQueue() *queue {
	return &queue{work: make(chan func(), 1024), sightings: make(chan topo.Sighting, 4096)}
}

// sighted queues s, or counts it as dropped.
func (q *queue) sighted(s topo.Sighting) bool {
	select {
	case q.sightings <- s:
		return true
	default:
		q.dropped.Add(1)
		return false
	}
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
