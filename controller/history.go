package controller

import (
	"slices"
	"sync"

	"github.com/evenflow/evenflow/openflow"
)

const historyBytes = 128 << 10

// history keeps the last messages sent, between one and two times historyBytes, so that an error can be matched to its
// message without any work for those messages that meet none. What the switch has had time to answer goes.
type history struct {
	mu       sync.Mutex
	new, old []byte // whole messages
	asked    bool   // between begin and end
}

// add notes whole messages as sent.
func (h *history) add(msgs []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(msgs) > historyBytes {
		h.new, h.old = append(h.new[:0], tail(msgs)...), h.old[:0]
		return
	}
	if len(h.new)+len(msgs) > historyBytes {
		h.new, h.old = h.old[:0], h.new
	}
	h.new = append(h.new, msgs...)
}

// begin makes what was sent so far old, before a question; false: another one is waited for. If true, end must follow.
func (h *history) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked {
		return false
	}
	h.asked = true
	if len(h.old) == 0 {
		h.new, h.old = h.old, h.new
	} else if len(h.old)+len(h.new) <= historyBytes { // the last question had no answer
		h.new, h.old = nil, append(h.old, h.new...)
	} else {
		h.new, h.old = nil, h.new
	}
	return true
}

// end forgets what is old if the question has been answered: whatever was wrong with that has been answered before. Its room is
// for what comes next, unless it is far larger than what was in it.
func (h *history) end(answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = false
	if !answered {
		return
	}
	room := h.old
	if h.old = nil; cap(room) > cap(h.new) && len(room) > cap(room)/4 {
		h.new = append(room[:0], h.new...)
	}
}

// tail is the last whole messages that fit.
func tail(msgs []byte) []byte {
	for len(msgs) > historyBytes {
		head, err := openflow.ParseHeader(msgs)
		if err != nil || int(head.Length) >= len(msgs) {
			break
		}
		msgs = msgs[head.Length:]
	}
	return msgs
}

// find returns a copy of the latest message with xid, nil if it is not known any more.
func (h *history) find(xid uint32) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, msgs := range [][]byte{h.new, h.old} {
		for len(msgs) > 0 {
			head, err := openflow.ParseHeader(msgs)
			if err != nil || int(head.Length) > len(msgs) {
				break
			}
			if head.XID == xid {
				return slices.Clone(msgs[:head.Length])
			}
			msgs = msgs[head.Length:]
		}
	}
	return nil
}
