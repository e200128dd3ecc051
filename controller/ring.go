package controller

import "time"

// HistoryLen is how many seconds a [Ring] holds.
const HistoryLen = 900

// maxGap is the longest time between two readings whose mean is put into all seconds of it: a slow switch is a mean over some
// seconds, but what happened in minutes without a reading is not known.
const maxGap = 10 * time.Second

// Ring holds a value for each of the last 15 minutes' seconds, at a fixed cost. It has one user at a time.
type Ring[T any] struct {
	values [HistoryLen]T
	none   T
	last   int64 // the latest second with a value, as Unix time; 0: there is none
}

// NewRing is a ring in which every second has the value none.
func NewRing[T any](none T) *Ring[T] {
	r := &Ring[T]{none: none}
	r.clear()
	return r
}

func (r *Ring[T]) clear() {
	for i := range r.values {
		r.values[i] = r.none
	}
}

// Put puts what was the mean since a time into the seconds after that up to at. A second reading within a second goes before
// the first. What lies before the latest second, as when the clock was set back, is passed over.
func (r *Ring[T]) Put(since, at time.Time, v T) {
	from, to := since.Unix()+1, at.Unix()
	if at.Sub(since) > maxGap || from > to {
		from = to
	}
	if to < r.last {
		return
	}
	if from-r.last > HistoryLen {
		r.clear()
	} else {
		for sec := r.last + 1; sec < from; sec++ {
			r.values[sec%HistoryLen] = r.none
		}
	}
	for sec := from; sec <= to; sec++ {
		r.values[sec%HistoryLen] = v
	}
	r.last = to
}

// Last is the values of n seconds up to the present one, or up to the last one known if that is the present or the one before.
func (r *Ring[T]) Last(now time.Time, n int) (end time.Time, values []T) {
	sec := now.Unix()
	if r.last >= sec-1 && r.last > 0 {
		sec = r.last
	}
	values = make([]T, min(max(n, 0), HistoryLen))
	for i := range values {
		s := sec - int64(len(values)) + 1 + int64(i)
		values[i] = r.none
		if s <= r.last && s > r.last-HistoryLen {
			values[i] = r.values[s%HistoryLen]
		}
	}
	return time.Unix(sec, 0).UTC(), values
}

// Old reports whether nothing in it is of the last 15 minutes; so it is of no ring.
func (r *Ring[T]) Old(now time.Time) bool { return r == nil || now.Unix()-r.last >= HistoryLen }
