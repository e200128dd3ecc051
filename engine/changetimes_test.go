package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// Each step of a change is told once, and how long all took; a new VIP's first set is no change, but is timed.
func TestStepsOfChangesAreTold(t *testing.T) {
	c, now := newChangeTimes(), time.Unix(1000, 0)
	var g *vip.Generations
	var got []string
	move := func(next *vip.Generations) {
		now = now.Add(200 * time.Millisecond)
		if text := c.note(7, g, next, now); text != "" {
			got = append(got, text)
		}
		g = next
	}
	move(g.Begin([]vip.Member{{Backend: 1, Replicas: 1}}))
	for !g.Steady() {
		move(g.Next(32))
	}
	if took, known := c.of(7); !known || took != 600*time.Millisecond {
		t.Errorf("the first took %s, %v", took, known)
	}
	move(g.Begin([]vip.Member{{Backend: 1, Replicas: 1}, {Backend: 2, Replicas: 3}}))
	move(g.Without(func(id uint32) bool { return id == 2 })) // a death is no step
	for !g.Steady() {
		move(g.Next(32))
	}
	move(g.Retire())
	want := []string{"generation 2: prepare, 2 backends", "generation 2: flip", "generation 2: settle", "generation 2: steady after 0.8 s, 2 generations kept"}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	g = g.Begin(nil).Next(32) // of another controller, killed in the midst
	c.forget(7)
	move(g.Next(32))
	move(g.Next(32))
	if _, known := c.of(7); known || got[len(got)-1] != "generation 3: steady" {
		t.Errorf("of a change that began before the start: %v, %q", known, got[len(got)-1])
	}
}
