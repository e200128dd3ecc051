package controller

import (
	"slices"
	"time"
)

// HistoryLen is how many seconds a [Ring] holds.
const HistoryLen = 900

// maxGap is the longest time between two readings whose mean is put into all seconds of it: a slow switch is a mean over some
// seconds, but what happened in minutes without a reading is not known.
const maxGap = 10 * time.Second

// Ring holds a value for each of the last 15 minutes' seconds. It has one user at a time.
//
// While that are few different values, as of the many ports and backends that are at rest, it takes little room.
type Ring[T comparable] struct {
	none      T            // the value of seconds of which nothing is known
	stretches []stretch[T] // in the order of seconds; nil if there are values
	values    []T          // by second; nil if there are stretches
	latest    stretch[T]
	last      int64 // the latest second with a value, as Unix time; 0: there is none
}

// stretch is a value from a second on, until the next begins.
type stretch[T any] struct {
	from  int64
	value T
}

// maxStretches are cheaper than an array of all seconds.
const maxStretches = 32

// NewRing is a ring in which every second has the value none.
func NewRing[T comparable](none T) *Ring[T] { return &Ring[T]{none: none} }

// Put puts what was the mean since a time into the seconds after that up to at. A second reading within a second goes before
// the first. When the clock was set, what lies a little before the latest second is passed over, and all begins anew at what lies
// far before it.
func (r *Ring[T]) Put(since, at time.Time, v T) {
	from := since.Unix()
	if at.Sub(since) > maxGap {
		from = at.Unix()
	}
	r.put(from, at.Unix(), v)
}

// put is Put in Unix time, which runs otherwise than time.Time's own when the clock is set.
func (r *Ring[T]) put(since, to int64, v T) {
	const gap = int64(maxGap / time.Second)
	from := since + 1
	if to-since > gap || from > to {
		from = to
	}
	if to < r.last && r.last-to <= gap {
		return
	}
	if to < r.last || from-r.last > HistoryLen {
		r.stretches, r.values, r.last = nil, nil, 0
	} else if from > r.last+1 {
		r.set(r.last+1, from-1, r.none)
	}
	r.set(from, to, v)
}

// set sets seconds that do not begin later than the one after the last.
func (r *Ring[T]) set(from, to int64, v T) {
	if r.last == 0 || v != r.latest.value || from < r.latest.from {
		r.latest = stretch[T]{from, v}
		r.begin()
	}
	for sec := from; sec <= to && r.values != nil; sec++ {
		r.values[sec%HistoryLen] = v
	}
	r.last = to
	if r.values != nil && to-r.latest.from >= HistoryLen-1 {
		r.stretches, r.values = []stretch[T]{r.latest}, nil
	}
}

// begin begins the latest stretch.
func (r *Ring[T]) begin() {
	if r.values != nil {
		return
	}
	keep := r.stretches
	for len(keep) > 0 && keep[len(keep)-1].from >= r.latest.from {
		keep = keep[:len(keep)-1]
	}
	for len(keep) > 1 && keep[1].from <= r.last-HistoryLen {
		keep = keep[1:]
	}
	if len(keep) < maxStretches {
		r.stretches = append(slices.Clone(keep), r.latest)
		return
	}
	values := make([]T, HistoryLen)
	for i := range values {
		values[i] = r.none
	}
	for sec := max(r.last-HistoryLen+1, 0); sec <= r.last; sec++ {
		values[sec%HistoryLen] = r.at(sec)
	}
	r.stretches, r.values = nil, values
}

// at is the value of a second.
func (r *Ring[T]) at(sec int64) T {
	if sec > r.last || sec <= r.last-HistoryLen {
		return r.none
	}
	if r.values != nil {
		return r.values[sec%HistoryLen]
	}
	for _, x := range slices.Backward(r.stretches) {
		if x.from <= sec {
			return x.value
		}
	}
	return r.none
}

// Last is the values of n seconds up to the present one, or up to the last one known if that is the present or the one before.
func (r *Ring[T]) Last(now time.Time, n int) (end time.Time, values []T) {
	sec := now.Unix()
	if r.last >= sec-1 && r.last > 0 {
		sec = r.last
	}
	values = make([]T, min(max(n, 0), HistoryLen))
	for i := range values {
		values[i] = r.at(sec - int64(len(values)) + 1 + int64(i))
	}
	return time.Unix(sec, 0).UTC(), values
}

// Old reports whether nothing in it is of the last 15 minutes, or all of it of a time that the clock has been set back from; so it is
// of no ring.
func (r *Ring[T]) Old(now time.Time) bool {
	return r == nil || now.Unix()-r.last >= HistoryLen || r.last-now.Unix() >= HistoryLen
}
