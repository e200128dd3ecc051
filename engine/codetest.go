package engine

import (
	"fmt"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// codeTest is the question to a switch whether it hashes connections as mode othello foretells: sample packets that are hashed by
// the packet-out's own actions, put once in a session. Until it is answered, or the time for that is over, the switch is
// believed.
type codeTest struct {
	question
	back  [othello.Samples]bool
	wrong string // of the first that was
}

// askCodes puts the question to a switch that may have mode othello.
func (e *Engine) askCodes(d flows.DPID) {
	sw, ok := e.ctl.Switch(d)
	if !ok {
		return
	}
	s := e.session(sw)
	if info := sw.Info(); s == nil || !info.Nicira || info.Version < openflow.V15 || !s.codes.begin(e.cfg.Now(), othello.Samples) {
		return
	}
	for i := range othello.Samples {
		frame, actions := othello.Sample(i)
		sw.PacketOut(flows.PortController, actions, frame)
	}
	sw.Flush()
}

// codeAnswer takes a packet-in if it is a sample that comes back. It runs in the session's reader.
func (e *Engine) codeAnswer(s *session, in *openflow.PacketIn) bool {
	if in.InPort != flows.PortController {
		return false
	}
	i, ok := othello.SampleOf(in.Data)
	if !ok {
		return false
	}
	v, _ := in.Field(apps.RegHash)
	if wrong, whole := s.codes.answer(i, othello.CheckSample(i, uint32(v.Uint64(4)))); whole {
		e.post(func() { e.codesFound(s, wrong) })
	}
	return true
}

// answer notes a sample; whole when it was the last one wanting.
func (t *codeTest) answer(i int, wrong string) (first string, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked.IsZero() || t.back[i] {
		return "", false
	}
	t.back[i] = true
	t.left--
	if t.wrong == "" {
		t.wrong = wrong
	}
	return t.wrong, t.left == 0
}

// codesFound notes whether a switch can have mode othello.
func (e *Engine) codesFound(s *session, wrong string) {
	if e.switches[s.dpid] != s {
		return
	}
	if wrong != "" {
		e.tell("switch", s.dpid.String(), "cannot have mode othello: "+wrong)
	} else if s.noCodes != "" {
		e.tell("switch", s.dpid.String(), "can have mode othello after all")
	}
	s.foretold, s.noCodes = wrong == "", wrong
	e.settled.stale = true
}

// lateCodes takes a switch that has not answered in time for one that cannot.
func (e *Engine) lateCodes(s *session) {
	if left := s.codes.overdue(e.cfg.Now()); left > 0 {
		e.post(func() {
			e.codesFound(s, fmt.Sprintf("%d of %d packets that show its hash have not come back in %s", left, othello.Samples, hashPatience))
		})
	}
}

// codesOf is what is known of a switch, in a word: "" before it has answered.
func codesOf(i apps.SwitchInfo) string {
	switch {
	case i.NoCodes != "":
		return "other"
	case i.Foretold:
		return "foretold"
	}
	return ""
}
