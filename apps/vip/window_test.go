package vip

import (
	"math"
	"testing"
	"time"
)

func TestNoteTime(t *testing.T) {
	for idle, want := range map[time.Duration]time.Duration{
		time.Second:                2 * time.Second,
		1500 * time.Millisecond:    3 * time.Second,
		time.Hour:                  2 * time.Hour,
		12 * time.Hour:             65535 * time.Second,
		200 * 365 * 24 * time.Hour: 65535 * time.Second, // twice as long is no duration
		math.MaxInt64:              65535 * time.Second,
	} {
		if got := (&Spec{HandOverIdle: Duration(idle)}).NoteTime(); got != want {
			t.Errorf("handover_idle %s: %s, want %s", idle, got, want)
		}
	}
}
