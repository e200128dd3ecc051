package controller

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A ring tells what an array of all seconds tells, and has one only while there is much to tell.
func TestRing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const begin = 1_000_000
	var all [20 * HistoryLen]int
	for i := range all {
		all[i] = -1
	}
	r := NewRing(-1)
	now, before := int64(0), int64(0)
	steadily := 0
	for step := range 3000 {
		now += int64(random.IntN(3))
		v := random.IntN(3)
		if step/700%2 == 1 {
			v = 7
		}
		if random.IntN(400) == 0 {
			now += int64(random.IntN(2 * HistoryLen)) // nobody reads for a while
		}
		r.Put(time.Unix(begin+before, 0), time.Unix(begin+now, 0), v)
		from := before + 1
		if now-before > int64(maxGap/time.Second) || from > now {
			from = now
		}
		for sec := from; sec <= now; sec++ {
			all[sec] = v
		}
		before = now
		end, got := r.Last(time.Unix(begin+now, 0), HistoryLen)
		want := slices.Clone(all[max(0, now-HistoryLen+1) : now+1])
		for len(want) < HistoryLen {
			want = slices.Insert(want, 0, -1)
		}
		if end.Unix() != begin+now || !slices.Equal(got, want) {
			t.Fatalf("step %d, second %d: got\n%v, want\n%v", step, now, got, want)
		}
		if r.values == nil {
			steadily++
		}
	}
	if steadily == 0 || steadily > 2000 {
		t.Errorf("without an array in %d of 3000 steps", steadily)
	}
}

// A clock that is set anew costs what was known of the time before at most: neither the values from then on, nor work for all seconds
// between.
func TestRingWhenTheClockIsSet(t *testing.T) {
	const year = 365 * 24 * 3600
	for name, jump := range map[string]int64{"years ahead": 100 * year, "an hour ahead": 3600, "years back": -20 * year, "an hour back": -3600,
		"seconds back": -5} {
		t.Run(name, func(t *testing.T) {
			r := NewRing(-1)
			begin := int64(30 * year)
			now := begin
			for ; now < begin+60; now++ {
				r.put(now-1, now, int(now%7)) // an array
			}
			if r.values == nil {
				t.Fatal("no array")
			}
			r.put(now-1, now+jump, 8) // was read a second later
			now += jump
			for range 30 {
				r.put(now, now+1, 9)
				now++
			}
			end, got := r.Last(time.Unix(now, 0), 20)
			if end.Unix() != now || slices.ContainsFunc(got, func(v int) bool { return v != 9 }) {
				t.Errorf("at %d: %v, up to %d", now, got, end.Unix())
			}
			if r.Old(time.Unix(now, 0)) || !r.Old(time.Unix(now-2*HistoryLen, 0)) || !r.Old(time.Unix(now+2*HistoryLen, 0)) {
				t.Error("old, or not")
			}
		})
	}
}
