package controller

import "sync"

// job is what the applying goroutine does next: the newest that each owner wants, in the order in which they first asked.
type job struct {
	all    bool // owners that are not among them want nothing
	states []OwnerState
}

// queue gathers what owners want while a transaction is under way. Its length is bounded by the number of owners.
type queue struct {
	wake chan struct{} // of capacity 1

	mu    sync.Mutex
	begun bool // replace has been called
	next  job
	place map[Owner]int // in next.states
}

// replace starts afresh: what waits is overtaken.
func (q *queue) replace(all []OwnerState) {
	q.mu.Lock()
	q.begun, q.next, q.place = true, job{all: true}, map[Owner]int{}
	q.put(all)
	q.mu.Unlock()
	q.signal()
}

func (q *queue) update(changed []OwnerState) {
	q.mu.Lock()
	begun := q.begun
	if begun {
		q.put(changed)
	}
	q.mu.Unlock()
	if begun && len(changed) > 0 {
		q.signal()
	}
}

func (q *queue) put(states []OwnerState) {
	for _, s := range states {
		if i, ok := q.place[s.Owner]; ok {
			q.next.states[i] = s
			continue
		}
		q.place[s.Owner] = len(q.next.states)
		q.next.states = append(q.next.states, s)
	}
}

// take removes what has gathered.
func (q *queue) take() (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.next
	q.next, q.place = job{}, map[Owner]int{}
	return j, j.all || len(j.states) > 0
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
