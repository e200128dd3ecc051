package controller

import "testing"

// Nobody has a turn too many, and who keeps one keeps nobody waiting for ever.
func TestTurns(t *testing.T) {
	ts := newTurns()
	var ends []func()
	for range maxTurns {
		ends = append(ends, ts.take(nil))
	}
	gone := make(chan struct{})
	close(gone)
	ts.take(gone)()
	if len(ts) != maxTurns {
		t.Fatalf("%d turns", len(ts))
	}
	ends[0]()
	ends[0]()
	if len(ts) != maxTurns-1 {
		t.Fatalf("%d turns after one has ended", len(ts))
	}
	ends = append(ends, ts.take(gone))
	for range 2 { // these wait: for those who do not end, or for nothing
		ends = append(ends, ts.take(nil))
	}
	for _, end := range ends {
		end()
	}
	if len(ts) != 0 {
		t.Errorf("%d turns are left", len(ts))
	}
}
