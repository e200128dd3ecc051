package nat

import (
	"fmt"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

func TestSchedulersGetLoads(t *testing.T) {
	greedy := func(x *apps.VIP) { x.Spec.Scheduler = vip.Greedy }
	r := newRig(t, newVIP(3, greedy))
	port := 41000
	next := func() int {
		port++
		return chosen(r.in(syn(fmt.Sprintf("10.0.0.9:%d", port))))
	}
	r.app.TakeLoads(7, map[uint32]float64{1: 30, 2: 20, 3: 10}, false)
	if a, b := next(), next(); a != 3 || b != 3 {
		t.Errorf("connections to %d and %d, the least loaded is 3", a, b)
	}
	r.sync(newVIP(3, greedy, state(3, vip.StateDown)))
	if b := next(); b != 2 {
		t.Errorf("after a change, to %d, the least loaded is 2", b)
	}
	r.app.TakeLoads(7, map[uint32]float64{1: 5, 2: 20, 3: 10}, false)
	if b := next(); b != 1 {
		t.Errorf("to %d, the least loaded is 1", b)
	}
	r.app.TakeLoads(8, map[uint32]float64{1: 5}, true) // of no VIP
	r.sync(newVIP(3))
	r.app.TakeLoads(7, map[uint32]float64{1: 5}, true) // to a scheduler that goes by none
	if b := next(); b == 0 {
		t.Error("refused")
	}
}

func TestStickyRouletteChangesAtRejections(t *testing.T) {
	r := newRig(t, newVIP(3, func(x *apps.VIP) { x.Spec.Scheduler = vip.StickyRoulette }))
	seen := map[int]bool{}
	for round := range 20 {
		r.app.TakeLoads(7, map[uint32]float64{1: 10, 2: 10, 3: 10}, round > 0)
		first := chosen(r.in(syn(fmt.Sprintf("10.0.0.9:%d", 41000+round))))
		if b := chosen(r.in(syn(fmt.Sprintf("10.0.0.9:%d", 42000+round)))); b != first || b == 0 {
			t.Fatalf("to %d and %d within a round", first, b)
		}
		seen[first] = true
	}
	if len(seen) != 3 {
		t.Errorf("chosen in 20 rounds: %v", seen)
	}
}
