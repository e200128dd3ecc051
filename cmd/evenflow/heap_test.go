package main

import "testing"

func TestHeapPercent(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		allocated, live uint64
		want            int
	}{
		{0, 0, 100},          // before the first collection
		{0, 20 * mb, 5},      // nothing happens
		{1 * mb, 40 * mb, 5}, // next to nothing
		{10 * mb, 20 * mb, 50},
		{50 * mb, 20 * mb, 100},
	} {
		if got := heapPercent(c.allocated, c.live); got != c.want {
			t.Errorf("%d bytes allocated, %d live: %d, want %d", c.allocated, c.live, got, c.want)
		}
	}
}

// The names of the runtime's metrics are those that it has.
func TestReadHeap(t *testing.T) {
	if h := readHeap(); h.allocated == 0 {
		t.Errorf("%+v", h)
	}
}
