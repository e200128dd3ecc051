package vip

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Readers of many sessions pick at the same time, over changes of the set. To be run with -race.
func TestPicksAtTheSameTime(t *testing.T) {
	for _, name := range Schedulers() {
		t.Run(name, func(t *testing.T) {
			const readers, picks = 8, 4000
			s := scheduler(t, name, 1)
			c, live := pool(1, 2, 5)
			var now atomic.Pointer[Candidates]
			now.Store(c)
			other := NewCandidates([]Candidate{{ID: 1, Weight: 1}, {ID: 2, Weight: 2, Up: true, Live: live[1]}})
			var done sync.WaitGroup
			for r := range readers {
				done.Go(func() {
					for k := range picks {
						if r == 0 && k%100 == 0 {
							now.Store([]*Candidates{c, other}[k/100%2])
						}
						i, ok := s.Pick(now.Load(), client(k))
						if !ok {
							t.Error("nothing picked")
							return
						}
						live[i].Add(1)
					}
				})
			}
			done.Wait()
			if sum := live[0].Load() + live[1].Load() + live[2].Load(); sum != readers*picks {
				t.Errorf("%d picks counted, want %d", sum, readers*picks)
			}
		})
	}
}

func TestRoundRobinIsExactAtTheSameTime(t *testing.T) {
	for _, tt := range []struct {
		name string
		want [3]int64
	}{{RoundRobin, [3]int64{8000, 8000, 8000}}, {WeightedRoundRobin, [3]int64{3000, 6000, 15000}}} {
		s := scheduler(t, tt.name, 1)
		c, live := pool(1, 2, 5)
		var done sync.WaitGroup
		for range 8 {
			done.Go(func() {
				for k := range 3000 {
					i, _ := s.Pick(c, client(k))
					live[i].Add(1)
				}
			})
		}
		done.Wait()
		if got := [3]int64{live[0].Load(), live[1].Load(), live[2].Load()}; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestPickDoesNotAllocate(t *testing.T) {
	c, _ := pool(1, 2, 3, 4)
	for _, name := range Schedulers() {
		s := scheduler(t, name, 1)
		if n := testing.AllocsPerRun(100, func() { s.Pick(c, client(3)) }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkPick(b *testing.B) {
	weights := make([]int, 32)
	for i := range weights {
		weights[i] = i + 1
	}
	c, _ := pool(weights...)
	for _, name := range Schedulers() {
		b.Run(name, func(b *testing.B) {
			s := scheduler(b, name, 1)
			for b.Loop() {
				s.Pick(c, client(3))
			}
		})
	}
}
