package controller

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	flushAt   = 64 << 10  // bytes gathered that are written though the reader has more to do
	keepBytes = 256 << 10 // a buffer grown beyond is not kept
)

// writer gathers messages and writes them in order, as many as there are at a time.
//
// Whoever appends locks, takes xids and appends to buf. While the reader works off what it has read, nobody wakes the
// writing goroutine: the reader does when it is through, so that answers to many packets leave together.
type writer struct {
	conn  net.Conn
	max   int
	fail  func(error) // ends the session
	spare *sync.Pool  // of buffers, *[]byte: those of all sessions, which have one only while there is something to write

	wake chan struct{} // of capacity 1

	written atomic.Uint64 // bytes

	mu     sync.Mutex
	buf    []byte
	xid    uint32 // the last one used
	held   bool   // the reader will flush
	closed bool
	count  sentCount

	sent history
}

// sentCount counts messages appended.
type sentCount struct{ flowMods, packetOuts uint64 }

// take locks the writer for one message and returns its buffer and the message's xid. put must follow.
func (w *writer) take() (buf []byte, xid uint32) {
	w.mu.Lock()
	w.xid++
	if w.buf == nil {
		if b, ok := w.spare.Get().(*[]byte); ok {
			w.buf = *b
		}
	}
	return w.buf, w.xid
}

// put stores the buffer after an append and unlocks.
func (w *writer) put(buf []byte) {
	if w.closed {
		buf = nil
	}
	w.buf = buf
	wake, over := !w.held || len(buf) >= flushAt, len(buf) > w.max
	w.mu.Unlock()
	if over {
		w.fail(fmt.Errorf("%w: %d bytes wait", ErrStalled, len(buf)))
	} else if wake {
		w.signal()
	}
}

// reserve takes n xids in a row and returns the first.
func (w *writer) reserve(n int) uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.xid + 1
	w.xid += uint32(n)
	return first
}

// append appends whole messages, which are the writer's from then on.
func (w *writer) append(msgs []byte) {
	w.mu.Lock()
	if len(w.buf) > 0 {
		msgs = append(w.buf, msgs...)
	}
	w.put(msgs)
}

// hold makes what is appended wait for release.
func (w *writer) hold() {
	w.mu.Lock()
	w.held = true
	w.mu.Unlock()
}

// release ends hold.
func (w *writer) release() {
	w.mu.Lock()
	w.held = false
	some := len(w.buf) > 0
	w.mu.Unlock()
	if some {
		w.signal()
	}
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// grace is how long a session that ends may take to write what has gathered.
const grace = 200 * time.Millisecond

// run writes until done is closed, then what is left if the peer takes it, and closes the connection.
func (w *writer) run(done <-chan struct{}) {
	defer w.conn.Close()
	for open := true; open; {
		select {
		case <-w.wake:
		case <-done:
			open = false
		}
		w.mu.Lock()
		out := w.buf
		w.buf, w.closed = nil, !open
		w.mu.Unlock()
		if len(out) > 0 {
			w.sent.add(out) // before an error can answer it
			n, err := w.conn.Write(out)
			w.written.Add(uint64(n))
			if err != nil {
				w.broken(err, done)
			}
		}
		if 0 < cap(out) && cap(out) <= keepBytes {
			out = out[:0]
			w.spare.Put(&out)
		}
	}
}

// broken ends the session after a failed write, unless the reader finds a better reason first: an error message of the
// peer's, say, before it closed.
func (w *writer) broken(err error, done <-chan struct{}) {
	select {
	case <-done:
	case <-time.After(grace):
		w.fail(fmt.Errorf("write: %w", err))
	}
}

// counted returns what has been appended so far.
func (w *writer) counted() sentCount {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}
