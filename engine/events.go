package engine

import (
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
)

// eventLog keeps the last events, for people.
type eventLog struct {
	mu      sync.Mutex
	last    uint64
	events  []apps.Event // the newest maxEvents, ids without a gap
	changed chan struct{}
}

const maxEvents = 2000

func newEventLog() *eventLog { return &eventLog{changed: make(chan struct{})} }

// add appends an event and wakes who waits for it.
func (l *eventLog) add(now time.Time, kind, subject, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.events = append(l.events, apps.Event{ID: l.last, Time: now, Kind: kind, Subject: subject, Message: message})
	if len(l.events) > 2*maxEvents {
		l.events = append([]apps.Event(nil), l.events[len(l.events)-maxEvents:]...)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// since are at most limit events with ids above id, oldest first.
func (l *eventLog) since(id uint64, limit int) []apps.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.events
	if n := len(out); n > 0 && id >= out[0].ID {
		out = out[min(uint64(n), id+1-out[0].ID):]
	}
	return append([]apps.Event{}, out[:min(len(out), limit)]...)
}

// Events are at most limit events with ids above since, oldest first.
func (e *Engine) Events(since uint64, limit int) []apps.Event { return e.events.since(since, limit) }

// EventsChanged is closed at the next event.
func (e *Engine) EventsChanged() <-chan struct{} {
	e.events.mu.Lock()
	defer e.events.mu.Unlock()
	return e.events.changed
}

// tell records an event and logs it.
func (e *Engine) tell(kind, subject, message string) {
	e.events.add(e.cfg.Now(), kind, subject, message)
	e.log.WithField("kind", kind).WithField("subject", subject).Info(message)
}
