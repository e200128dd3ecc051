package engine

import (
	"sync"
	"time"
)

// hashPatience is how long a switch may take to hand all samples back before that is told. They count all the same when they
// come later.
const hashPatience = 10 * time.Second

// question is what a switch is asked by sample packets that come back to the controller, once in a session.
type question struct {
	mu    sync.Mutex
	asked time.Time // the zero time: not yet
	left  int       // samples that have not come back
	late  bool      // that has been told
}

// begin reports whether the question is to be put, by so many samples.
func (q *question) begin(now time.Time, samples int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.asked.IsZero() {
		return false
	}
	q.asked, q.left = now, samples
	return true
}

// overdue is how many samples are wanting though their time is over, once.
func (q *question) overdue(now time.Time) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.late || q.asked.IsZero() || now.Sub(q.asked) < hashPatience {
		return 0
	}
	q.late = true
	return q.left
}
