package nat

import (
	"math/rand/v2"
	"testing"
)

// A table beside a map, through sets and removals at random: first more of those, then more of these. Hashes are few, so that keys
// lie in each other's way, and around the end.
func TestOpen(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	const keys, steps = 3000, 200_000
	hash := func(k int) uint32 { return uint32(1 + k%1000*7919%1000) }
	var x open[int, int]
	want := map[int]int{}
	for step := range steps {
		k := random.IntN(keys)
		old, known := want[k]
		if got, found := x.get(hash(k), k); found != known || got != old {
			t.Fatalf("step %d: %d has %d (%v), want %d (%v)", step, k, got, found, old, known)
		}
		if grows := step < steps/2; (random.IntN(4) == 0) == grows {
			x.remove(hash(k), k)
			delete(want, k)
		} else {
			x.set(hash(k), k, step)
			want[k] = step
		}
		if x.used != len(want) {
			t.Fatalf("step %d: %d keys, want %d", step, x.used, len(want))
		}
	}
	if len(want) == 0 {
		t.Fatal("nothing is left to go through")
	}
	// Every other one goes while all are visited, each once.
	seen, left := map[int]bool{}, x.used
	for k, v := range x.all {
		if seen[k] || v != want[k] {
			t.Fatalf("%d with %d: seen %v, want %d", k, v, seen[k], want[k])
		}
		if seen[k] = true; len(seen)%2 == 0 {
			x.remove(hash(k), k)
			left--
		}
	}
	if len(seen) != len(want) || x.used != left {
		t.Errorf("%d seen, want %d; %d left, want %d", len(seen), len(want), x.used, left)
	}
	for k := range x.all {
		x.remove(hash(k), k)
	}
	if len(x.pages) > 1 || x.used > 0 {
		t.Errorf("%d pages left for %d keys", len(x.pages), x.used)
	}
	for _, s := range x.slots {
		if s.hash != 0 {
			t.Errorf("item %d is still there", s.item)
		}
	}
}
