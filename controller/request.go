package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// request is a message that waits for its reply. It is finished once, by the reader.
type request struct {
	what string        // for errors
	want openflow.Type // of the reply
	done chan struct{} // closed when finished; nil if rule is set
	rule *flows.Rule   // Switch.AskRule: answered to the handler
	sent time.Time     // only if rule is set

	// Guarded by requests.mu until done is closed.
	pieces [][]byte // copies of the whole replies
	size   int      // of pieces
	err    error
}

// batch is a row of messages of which only errors are answered. Their xids are first, first+1 and so on.
type batch struct {
	first uint32
	n     int
	errs  map[int]error // by place in the row
}

// requests finds what replies and errors belong to.
type requests struct {
	mu    sync.Mutex
	open  map[uint32]*request
	size  int    // bytes of the replies of all that are open
	asks  int    // those with rule set
	batch *batch // the one under way, nil if none
}

// add registers a request before it is sent.
func (r *requests) add(xid uint32, q *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[uint32]*request{}
	}
	r.open[xid] = q
	if q.rule != nil {
		r.asks++
	}
}

// remove forgets a request; its reply will be ignored.
func (r *requests) remove(xid uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(xid)
}

func (r *requests) drop(xid uint32) {
	q := r.open[xid]
	if q == nil {
		return
	}
	r.size -= q.size
	if q.rule != nil {
		r.asks--
	}
	delete(r.open, xid)
}

// reply takes a reply of some type. known is false when nobody has asked; q is the request if it is finished now.
func (r *requests) reply(h openflow.Header, msg []byte, limit int) (q *request, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q = r.open[h.XID]
	if q == nil {
		return nil, r.batch.place(h.XID) >= 0
	}
	if q.want != h.Type {
		q.err = fmt.Errorf("%w: %s answers %s", ErrProtocol, h.Type, q.what)
	} else if r.size+len(msg)+perObject > limit {
		q.err = fmt.Errorf("reply to %s: %w: more than %d bytes", q.what, ErrExcess, limit)
	} else {
		q.size += len(msg) + perObject
		r.size += len(msg) + perObject
		q.pieces = append(q.pieces, slices.Clone(msg))
		if h.Type == openflow.TypeMultipartReply {
			m, err := openflow.ParseMultipart(msg)
			if err == nil && m.More {
				return nil, true
			}
			q.err = err
		}
	}
	r.finish(h.XID, q)
	return q, true
}

// fail takes an error that answers the message xid. known is false when the message is neither a request nor part of the
// batch under way.
func (r *requests) fail(xid uint32, err error) (q *request, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q = r.open[xid]; q != nil {
		q.err = err
		r.finish(xid, q)
		return q, true
	}
	i := r.batch.place(xid)
	if i >= 0 && r.batch.errs[i] == nil {
		r.batch.errs[i] = err
	}
	return nil, i >= 0
}

func (r *requests) finish(xid uint32, q *request) {
	r.drop(xid)
	if q.done != nil {
		close(q.done)
	}
}

// progress is how many pieces have come.
func (r *requests) progress(q *request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(q.pieces)
}

// asking is how many rules are being asked for.
func (r *requests) asking() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asks
}

// overdue removes the asks sent before t and returns their rules.
func (r *requests) overdue(t time.Time) (late []*flows.Rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asks == 0 {
		return nil
	}
	for xid, q := range r.open {
		if q.rule != nil && q.sent.Before(t) {
			late = append(late, q.rule)
			r.drop(xid)
		}
	}
	return late
}

// place is where in the row xid stands, -1 if it does not.
func (b *batch) place(xid uint32) int {
	if b == nil || xid-b.first >= uint32(b.n) {
		return -1
	}
	return int(xid - b.first)
}

// watch makes errors go to b until the returned function is called.
func (r *requests) watch(b *batch) (stop func()) {
	b.errs = map[int]error{}
	r.mu.Lock()
	r.batch = b
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.batch = nil
		r.mu.Unlock()
	}
}

// encoder appends one message.
type encoder func(b []byte, v openflow.Version, xid uint32) ([]byte, error)

// plain makes an encoder of one that cannot fail.
func plain(f func([]byte, openflow.Version, uint32) []byte) encoder {
	return func(b []byte, v openflow.Version, xid uint32) ([]byte, error) { return f(b, v, xid), nil }
}

// ask sends a request; wait with await or pump.
func (sw *Switch) ask(what string, want openflow.Type, encode encoder) (*request, uint32) {
	q := &request{what: what, want: want, done: make(chan struct{})}
	b, xid := sw.w.take()
	sw.requests.add(xid, q)
	b, err := encode(b, sw.info.Version, xid)
	sw.w.put(b)
	if err != nil {
		sw.requests.fail(xid, err)
	}
	return q, xid
}

// await waits until q is finished, ctx or the session ends, or nothing of the reply has come for limit.
func (sw *Switch) await(ctx context.Context, q *request, xid uint32, limit time.Duration) error {
	defer sw.requests.remove(xid)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for seen := 0; ; {
		select {
		case <-q.done:
			return q.err
		case <-sw.done:
			return fmt.Errorf("%s: %w: %w", q.what, ErrLost, sw.reason())
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", q.what, ctx.Err())
		case <-timer.C:
			n := sw.requests.progress(q)
			if n == seen {
				return timeoutError(q.what, limit)
			}
			seen = n
			timer.Reset(limit)
		}
	}
}
