package controller

import (
	"sync"
	"time"
)

const (
	maxTurns = 8               // at a time
	turnTime = 2 * time.Second // that a turn is waited for, and that it keeps others waiting, at most
	bigState = 1024            // rules, groups and meters that are worth a turn
)

// turns let a few sessions at a time do what takes much memory: read all rules of a switch, or send them. A switch that is
// slow over it keeps nobody waiting for long.
type turns chan struct{}

func newTurns() turns { return make(turns, maxTurns) }

// take waits for a turn, until done is closed if that is earlier, and returns what ends it.
func (t turns) take(done <-chan struct{}) (end func()) {
	timer := time.NewTimer(turnTime)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
	case <-timer.C:
		return func() {}
	case <-done:
		return func() {}
	}
	var once sync.Once
	give := func() { once.Do(func() { <-t }) }
	late := time.AfterFunc(turnTime, give)
	return func() { late.Stop(); give() }
}
