package health

import (
	"container/heap"
	"time"
)

// probe is a target with its state and its next step.
type probe struct {
	target
	place
	state
	reach reach
	slot  time.Time // when it is due, but for the jitter
	next  time.Time // when it is sent, or has failed
	index int       // in the schedule; -1: it is not in it

	waiting bool // for an answer to the probe with the secret
	secret  secret
	heard   uint64    // of its switch when it was sent
	due     time.Time // when the answer is, from a switch without lag
	sent    uint32    // probes
}

// schedule is the probes whose next step has a time, the earliest first: a heap.
type schedule []*probe

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].next.Before(s[j].next) }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

// Push is for package heap.
func (s *schedule) Push(x any) {
	p := x.(*probe)
	p.index = len(*s)
	*s = append(*s, p)
}

// Pop is for package heap.
func (s *schedule) Pop() any {
	old := *s
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*s = old[:len(old)-1]
	p.index = -1
	return p
}

// at puts a probe in its place for a time.
func (s *schedule) at(x *probe, next time.Time) {
	x.next = next
	if x.index < 0 {
		heap.Push(s, x)
	} else {
		heap.Fix(s, x.index)
	}
}

// remove takes a probe out.
func (s *schedule) remove(x *probe) {
	if x.index >= 0 {
		heap.Remove(s, x.index)
	}
}
