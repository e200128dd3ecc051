package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// changeTimes are how long changes of VIPs' sets of backends take, from the decision to the last step. It may be used by many goroutines
// at a time.
type changeTimes struct {
	mu    sync.Mutex
	begun map[vip.ID]time.Time     // of those under way that have begun in this run
	took  map[vip.ID]time.Duration // the last one
}

func newChangeTimes() *changeTimes {
	return &changeTimes{begun: map[vip.ID]time.Time{}, took: map[vip.ID]time.Duration{}}
}

// note takes a step of a VIP's change. It returns what is to be told of it, "" for nothing.
func (c *changeTimes) note(id vip.ID, old, next *vip.Generations, now time.Time) (text string) {
	newest := next.Newest()
	if newest == nil || old.Newest() != nil && old.Step == next.Step && old.Newest().ID == newest.ID {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	text = fmt.Sprintf("generation %d: %s", newest.ID, next.Step)
	switch begun, known := c.begun[id]; {
	case next.Step == vip.StepPrepare:
		c.begun[id] = now
		text += fmt.Sprintf(", %d backends", len(newest.Members))
	case next.Step == vip.StepSteady && known:
		c.took[id] = now.Sub(begun)
		delete(c.begun, id)
		text += fmt.Sprintf(" after %.1f s, %d generations kept", c.took[id].Seconds(), len(next.Kept))
	}
	if newest.ID == 1 { // a new VIP's first set is no change
		return ""
	}
	return text
}

// of is how long a VIP's last change took; not known: there was none in this run.
func (c *changeTimes) of(id vip.ID) (took time.Duration, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	took, known = c.took[id]
	return took, known
}

// forget drops what is known of a deleted VIP.
func (c *changeTimes) forget(id vip.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.begun, id)
	delete(c.took, id)
}

// noteStep tells of a step of a VIP's change.
func (e *Engine) noteStep(x *apps.VIP, next *vip.Generations, now time.Time) {
	if text := e.generations.times.note(x.ID, x.Generations, next, now); text != "" {
		e.tell("change", x.Spec.Name, text)
	}
}
