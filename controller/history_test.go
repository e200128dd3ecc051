package controller

import (
	"slices"
	"testing"

	"github.com/evenflow/evenflow/openflow"
)

func TestHistory(t *testing.T) {
	var h history
	send := func(xid uint32) { h.add(openflow.AppendBarrier(nil, openflow.V13, xid)) }
	known := func(want ...uint32) {
		t.Helper()
		var got []uint32
		for xid := range uint32(10) {
			if h.find(xid) != nil {
				got = append(got, xid)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("known: %v, want %v", got, want)
		}
	}
	send(1)
	if !h.begin() {
		t.Fatal("no question is open")
	}
	send(2)
	if h.begin() {
		t.Error("two questions at a time")
	}
	known(1, 2)
	h.end(true)
	known(2)
	h.begin()
	send(3)
	h.end(false)
	send(4)
	known(2, 3, 4)
	h.begin()
	send(5)
	known(2, 3, 4, 5)
	h.end(true)
	known(5)
	h.begin()
	h.end(true)
	known()
}

// What is at rest keeps little room, and makes no more each second.
func TestHistoryRoom(t *testing.T) {
	var h history
	for range historyBytes / 8 {
		h.add(openflow.AppendBarrier(nil, openflow.V13, 1))
	}
	second := func() {
		h.begin()
		h.add(openflow.AppendBarrier(nil, openflow.V13, 2))
		h.end(true)
		h.add(openflow.AppendBarrier(nil, openflow.V13, 3))
	}
	second()
	second()
	second()
	if room := cap(h.new) + cap(h.old); room > 1024 {
		t.Errorf("%d bytes are kept of messages of 8", room)
	}
}
