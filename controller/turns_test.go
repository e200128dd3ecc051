package controller

import (
	"testing"
	"time"
)

// Nobody has a turn too many, and who keeps one keeps nobody waiting for ever.
func TestTurns(t *testing.T) {
	const n = 3
	ts := newTurns(n, time.Hour)
	var ends []func()
	for range n {
		ends = append(ends, ts.take(nil))
	}
	gone := make(chan struct{})
	close(gone)
	ts.take(gone)()
	if len(ts.slots) != n {
		t.Fatalf("%d turns", len(ts.slots))
	}
	ends[0]()
	ends[0]()
	if len(ts.slots) != n-1 {
		t.Fatalf("%d turns after one has ended", len(ts.slots))
	}
	for _, end := range ends {
		end()
	}

	ts.limit = time.Millisecond
	ends = nil
	for range 3 * n { // all but the first wait for those who do not end, or for nothing
		ends = append(ends, ts.take(nil))
	}
	for _, end := range ends {
		end()
	}
	if len(ts.slots) != 0 {
		t.Errorf("%d turns are left", len(ts.slots))
	}
}
