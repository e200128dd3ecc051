package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	heapInterval = time.Second
	// heapCycle is the time between two collections that the heap is given room for.
	heapCycle = 2 * time.Second
	// heapRelease is how long little must have happened before what is free is given back to the system, and again then.
	heapRelease = 10 * time.Second

	leastPercent, mostPercent = 5, 100 // of GOGC
	stepPercent               = 5      // smaller changes are not made
)

// keepHeapSmall follows the work with the garbage collector's percentage until ctx ends. Go lets the heap grow to twice what is
// in use, whether anything happens or not; here it may only when there is so much to do that it would else be collected more
// often than every two seconds. While little happens what is free goes back to the system. Who sets GOGC has the percentage
// left alone.
func keepHeapSmall(ctx context.Context) {
	_, fixed := os.LookupEnv("GOGC")
	tick := time.NewTicker(heapInterval)
	defer tick.Stop()
	h := readHeap()
	percent, quiet := mostPercent, time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		old := h
		h = readHeap()
		next := heapPercent(h.allocated-old.allocated, h.live)
		if !fixed && (next-percent >= stepPercent || percent-next >= stepPercent) {
			percent = next
			debug.SetGCPercent(percent)
		}
		if quiet += heapInterval; next > 2*leastPercent {
			quiet = 0
		}
		if quiet >= heapRelease {
			quiet = 0
			debug.FreeOSMemory()
		}
	}
}

// heapPercent is the percentage for a heap with live bytes in use, in which as many as allocated are in heapInterval.
func heapPercent(allocated, live uint64) int {
	if live == 0 {
		return mostPercent
	}
	room := float64(allocated) * heapCycle.Seconds() / heapInterval.Seconds()
	return int(min(max(100*room/float64(live), leastPercent), mostPercent))
}

// heap is what the runtime says of the heap.
type heap struct {
	allocated uint64 // bytes ever
	live      uint64 // bytes that the last collection has found in use
}

func readHeap() heap {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return heap{s[0].Value.Uint64(), s[1].Value.Uint64()}
}
