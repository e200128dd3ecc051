package engine

import (
	"testing"
	"time"
)

// What probes find is shown at once, and what they find in the next moments together.
func TestVerdictsTogether(t *testing.T) {
	now := time.Unix(1, 0)
	e := &Engine{cfg: Config{Now: func() time.Time { return now }}}
	shown := 0
	for range 100 { // in 200 ms
		e.verdictChanged()
		if e.showVerdicts() {
			shown++
		}
		now = now.Add(2 * time.Millisecond)
	}
	if shown != 4 {
		t.Errorf("shown %d times, want 4", shown)
	}
	now = e.verdicts.due
	if !e.showVerdicts() || e.showVerdicts() {
		t.Error("the last is not shown once")
	}
	if e.saved.at.IsZero() {
		t.Error("not to be stored")
	}
}
