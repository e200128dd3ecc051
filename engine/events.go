package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/store"
)

const (
	maxEvents      = 10000 // kept
	maxPending     = 4096  // told and not written yet
	maxTexts       = 256   // messages that are looked for among those of late
	eventPause     = 100 * time.Millisecond
	sequenceEvents = "events"
)

// eventLog keeps the last events, for people, in the order in which they were told.
//
// An event gets its id, is written to disk and only then seen. So what anybody has seen is there after a crash, ids rise over
// restarts without a gap, and who asks for what came after an id misses nothing and gets nothing twice. Events are written
// many at a time: those who tell do not wait.
type eventLog struct {
	store store.Store
	log   logrus.FieldLogger
	told  chan struct{} // has a value when something is pending
	soon  chan struct{} // has a value when it should not wait: somebody's change

	mu       sync.Mutex
	pending  []apps.Event // without ids yet
	throttle throttle
	lost     uint64            // events that were not kept for want of room
	events   []apps.Event      // the newest maxEvents, ids rising
	texts    map[string]string // messages of late: ten thousand backends that come up say the same
	last     uint64            // the last id given
	changed  chan struct{}

	// The writer's own.
	saved uint64   // what is on disk up to this id
	stale []uint64 // on disk, not kept any more
}

// loadEvents reads the events of former runs. One that cannot be read is passed over: history must not prevent a start.
func loadEvents(st store.Store, log logrus.FieldLogger) (*eventLog, error) {
	l := &eventLog{store: st, log: log, told: make(chan struct{}, 1), soon: make(chan struct{}, 1),
		texts: map[string]string{}, changed: make(chan struct{})}
	err := st.View(func(tx store.Tx) (err error) {
		if l.last, err = store.LastID(tx, sequenceEvents); err != nil {
			return err
		}
		return tx.List(store.BucketEvents, func(key string, b []byte) error {
			var e apps.Event
			if err := json.Unmarshal(b, &e); err != nil {
				log.WithError(err).WithField("event", key).Warn("a stored event cannot be read")
				return nil
			}
			l.keep(e)
			l.last = max(l.last, e.ID)
			return nil
		})
	})
	l.saved = l.last
	return l, err
}

// keep adds an event that has its id.
func (l *eventLog) keep(e apps.Event) {
	if same, ok := l.texts[e.Message]; ok {
		e.Message = same
	} else {
		if len(l.texts) == maxTexts {
			clear(l.texts)
		}
		l.texts[e.Message] = e.Message
	}
	l.events = append(l.events, e)
	if n := len(l.events) - maxEvents; n > 0 {
		for i := range n {
			l.stale = append(l.stale, l.events[i].ID)
		}
		l.events = l.events[n:]
	}
}

// add takes an event, to be seen when it has been written; not ok: it is one too many. message is what the log is to say.
func (l *eventLog) add(e apps.Event) (message string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok = l.throttle.pass(e)
	if !ok || len(l.pending) >= maxPending {
		l.lost++
		return "", false
	}
	l.pending = append(l.pending, e)
	wake(l.told)
	if e.Kind == "config" {
		wake(l.soon)
	}
	return e.Message, true
}

// wake puts a value into a channel that holds one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run writes what is told until ctx ends: at once what comes alone or is somebody's change, and together what comes fast.
func (l *eventLog) run(ctx context.Context) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.told:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		case <-l.soon:
		}
		l.write()
		pause.Reset(eventPause)
	}
}

// write stores what is pending and lets it be seen. If it cannot be stored it is seen all the same, and stored with what comes
// next.
func (l *eventLog) write() {
	l.mu.Lock()
	fresh, last := l.pending, l.last
	l.pending = nil
	var unsaved []apps.Event
	for i := len(l.events); i > 0 && l.events[i-1].ID > l.saved; i-- {
		unsaved = l.events[i-1:]
	}
	l.mu.Unlock()
	if len(fresh) == 0 {
		return
	}
	for i := range fresh {
		last++
		fresh[i].ID = last
	}
	err := l.store.Update(func(tx store.Tx) error {
		for _, events := range [][]apps.Event{unsaved, fresh} {
			for _, e := range events {
				b, err := json.Marshal(e)
				if err == nil {
					err = tx.Put(store.BucketEvents, store.IDKey(e.ID), b)
				}
				if err != nil {
					return err
				}
			}
		}
		for _, id := range l.stale {
			if err := tx.Delete(store.BucketEvents, store.IDKey(id)); err != nil {
				return err
			}
		}
		return store.RaiseID(tx, sequenceEvents, last)
	})
	if err != nil {
		l.log.WithError(err).Error("events not stored")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.saved, l.stale = last, nil
	}
	l.last = last
	for _, e := range fresh {
		l.keep(e)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// since are at most limit events with ids above id, oldest first.
func (l *eventLog) since(id uint64, limit int) []apps.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := len(l.events)
	for from > 0 && l.events[from-1].ID > id { // from the end: most who ask have nearly all
		from--
	}
	out := l.events[from:]
	return append([]apps.Event{}, out[:min(len(out), limit)]...)
}

func (l *eventLog) lostCount() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Events are at most limit events with ids above since, oldest first. Ids rise by one: if the first is not the one after
// since, those between are not kept any more.
func (e *Engine) Events(since uint64, limit int) []apps.Event { return e.events.since(since, limit) }

// LastEvent is the id of the newest event, 0 if there is none.
func (e *Engine) LastEvent() uint64 {
	e.events.mu.Lock()
	defer e.events.mu.Unlock()
	return e.events.last
}

// EventsChanged is closed at the next event.
func (e *Engine) EventsChanged() <-chan struct{} {
	e.events.mu.Lock()
	defer e.events.mu.Unlock()
	return e.events.changed
}

// tell records an event and logs it.
func (e *Engine) tell(kind, subject, message string) { e.tellOf("", kind, subject, message) }

// tellOf is tell of something that came from somewhere.
func (e *Engine) tellOf(origin vip.Origin, kind, subject, message string) {
	if message, ok := e.events.add(apps.Event{Time: e.cfg.Now(), Kind: kind, Subject: subject, Message: message, Origin: origin}); ok {
		e.log.WithFields(logrus.Fields{"kind": kind, "subject": subject}).Info(message)
	}
}

// throttle keeps what may come in floods from washing everything else out of the log: errors, ports and comings and goings of a
// switch, hosts, agents, changes, and verdicts on loads. The zero throttle is ready.
type throttle struct {
	window time.Time
	counts map[string]int
}

const throttleWindow = 10 * time.Second

// throttled are the kinds of events that are bounded, and how many may come in a window: of hosts and of changes in all, else
// of one switch, VIP or agent.
var throttled = map[string]int{"error": 20, "switch": 20, "port": 100, "host": 200, "imbalance": 20, "change": 200, "agent": 20}

// pass reports whether an event is to be kept. The first that is not becomes one that says so.
func (t *throttle) pass(e apps.Event) (apps.Event, bool) {
	limit, bounded := throttled[e.Kind]
	if !bounded {
		return e, true
	}
	if age := e.Time.Sub(t.window); age < 0 || age >= throttleWindow {
		t.window, t.counts = e.Time, map[string]int{}
	}
	key := e.Kind
	switch e.Kind {
	case "host", "change":
	case "agent": // an address, which may have colons
		key += " " + e.Subject
	default:
		name, _, _ := strings.Cut(e.Subject, ":") // of a port, its switch
		key += " " + name
	}
	t.counts[key]++
	switch n := t.counts[key]; {
	case n < limit:
		return e, true
	case n == limit:
		e.Message = fmt.Sprintf("more than %d events of this kind within %s: further ones are counted, not listed", limit-1, throttleWindow)
		return e, true
	}
	return e, false
}
