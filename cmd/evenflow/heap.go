package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// heapInterval is between two looks. The heap is given room for what is allocated in the last two of them, so that what is done
	// every other second is not taken for more than it is.
	heapInterval = time.Second
	// heapRelease is how long little must have happened before what is free is given back to the system, and again then.
	heapRelease = 10 * time.Second

	leastPercent, mostPercent = 5, 100 // of GOGC
	stepPercent               = 5      // smaller changes are not made
	quietPercent              = 20     // what little is
)

// keepHeapSmall follows the work with the garbage collector's percentage until ctx ends. Go lets the heap grow to twice what is
// in use, whether anything happens or not; here it may only when there is so much to do that it would else be collected more
// often than every two seconds. While little happens what is free goes back to the system. Who sets GOGC has the percentage
// left alone.
func keepHeapSmall(ctx context.Context) {
	_, fixed := os.LookupEnv("GOGC")
	tick := time.NewTicker(heapInterval)
	defer tick.Stop()
	old, h := readHeap(), readHeap()
	percent, quiet := mostPercent, time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := old
		old, h = h, readHeap()
		next := heapPercent(h.allocated-before.allocated, h.live)
		if !fixed && (next-percent >= stepPercent || percent-next >= stepPercent) {
			percent = next
			debug.SetGCPercent(percent)
		}
		if quiet += heapInterval; next > quietPercent {
			quiet = 0
		}
		if quiet >= heapRelease {
			quiet = 0
			debug.FreeOSMemory()
		}
	}
}

// heapPercent is the percentage for a heap with live bytes in use, to which as many as allocated come between two collections.
func heapPercent(allocated, live uint64) int {
	if live == 0 {
		return mostPercent
	}
	return int(min(max(100*float64(allocated)/float64(live), leastPercent), mostPercent))
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
