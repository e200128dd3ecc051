package controller

import (
	"sync"
	"time"
)

const (
	bigState = 1024 // rules, groups and meters that are worth a turn

	maxLoads  = 8 // switches that are read when they connect, or filled, at a time
	loadTime  = 2 * time.Second
	maxAudits = 2
	auditTime = 20 * time.Second
)

// turns let a few sessions at a time do what takes much memory: read all rules of a switch, or send them. A switch that is
// slow over it keeps nobody waiting for long.
type turns struct {
	slots chan struct{}
	limit time.Duration // that a turn is waited for, and that it keeps others waiting
}

func newTurns(n int, limit time.Duration) turns { return turns{make(chan struct{}, n), limit} }

// take waits for a turn, until done is closed if that is earlier, and returns what ends it.
func (t turns) take(done <-chan struct{}) (end func()) {
	timer := time.NewTimer(t.limit)
	defer timer.Stop()
	select {
	case t.slots <- struct{}{}:
	case <-timer.C:
		return func() {}
	case <-done:
		return func() {}
	}
	var once sync.Once
	give := func() { once.Do(func() { <-t.slots }) }
	late := time.AfterFunc(t.limit, give)
	return func() { late.Stop(); give() }
}
