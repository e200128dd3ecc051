package vip

import "time"

// silence is how long a flow of datagrams may be silent and still be one, wherever it is known by a middlebox: a NAT keeps it for
// two minutes at least (RFC 4787, REQ-5), and its client must send for that (REQ-6). Open vSwitch's userspace datapath forgets
// it after 30 s, or 60 s if nobody has answered.
const silence = 2 * time.Minute

// firstLook is when flows that have sent since a change are first looked at.
const firstLook = 5 * time.Second

// maxNoteTime is the longest idle timeout of a rule.
const maxNoteTime = (1<<16 - 1) * time.Second

// LearnWindow is how long flows of datagrams that a change has displaced have to show themselves, in mode othello without agents:
// each sends once at least. first is when those that have are pinned already.
func (s *Spec) LearnWindow() (first, whole time.Duration) {
	whole = max(min(time.Duration(s.HandOverIdle), silence), MinHandOver)
	return min(firstLook, whole), whole
}

// NoteTime is how long such a flow is remembered after its last packet, in whole seconds: what is read at the end of a window
// or of HandOverIdle must hold what came at the beginning.
func (s *Spec) NoteTime() time.Duration {
	_, window := s.LearnWindow()
	return min(2*min(max(window, time.Duration(s.HandOverIdle)), maxNoteTime), maxNoteTime).Truncate(time.Second)
}
