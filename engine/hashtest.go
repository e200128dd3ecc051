package engine

import (
	"fmt"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/ovshash"
)

// hashTest is the question to a switch by which hash its select groups choose: sample packets through a group of its own, put
// once in a session, when the switch holds its base. The packets come back with the choice in a register, and pass no rule and
// no conntrack.
type hashTest struct {
	question
	picks [apps.HashSamples]uint32
}

// askHash puts the question, to a switch that has bucket ids and selection methods.
func (e *Engine) askHash(d flows.DPID) {
	sw, ok := e.ctl.Switch(d)
	if !ok {
		return
	}
	s := e.session(sw)
	if info := sw.Info(); s == nil || !info.Nicira || info.Version < openflow.V15 {
		return
	}
	if !s.hash.begin(e.cfg.Now(), apps.HashSamples) {
		return
	}
	for i := range apps.HashSamples {
		frame, _ := apps.HashSample(i)
		sw.PacketOut(flows.PortController, []flows.Action{flows.ToGroup{ID: apps.GroupHash}}, frame)
	}
	sw.Flush()
}

// hashAnswer takes a packet-in if it is a sample that comes back. It runs in the session's reader.
func (e *Engine) hashAnswer(s *session, in *openflow.PacketIn) bool {
	if in.InPort != flows.PortController {
		return false
	}
	i, ok := apps.HashSampleOf(in.Data)
	if !ok {
		return false
	}
	v, _ := in.Field(apps.RegHash)
	if picks, whole := s.hash.answer(i, uint32(v[0])<<24|uint32(v[1])<<16|uint32(v[2])<<8|uint32(v[3])); whole {
		build := apps.HashBuild(picks)
		e.post(func() { e.hashFound(s, build) })
	}
	return true
}

// answer notes a choice; whole when it was the last one wanting.
func (t *hashTest) answer(i int, bucket uint32) (picks [apps.HashSamples]uint32, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked.IsZero() || bucket == 0 || t.picks[i] != 0 {
		return picks, false
	}
	t.picks[i] = bucket
	t.left--
	return t.picks, t.left == 0
}

// hashFound notes by which hash a switch chooses; 0: by none that is known.
func (e *Engine) hashFound(s *session, build ovshash.Build) {
	if e.switches[s.dpid] != s {
		return
	}
	s.build = build
	e.settled.stale = true
	was := e.status.hashed(s.dpid, build)
	switch {
	case build == 0:
		e.tell("switch", s.dpid.String(), "chooses among buckets by a hash that is not known: its choices cannot be foretold")
	case was != 0 && was != build:
		e.tell("switch", s.dpid.String(), fmt.Sprintf("chooses among buckets by hash %s now, and did by %s: new connections go elsewhere", build, was))
	}
}

// lateHash tells of a switch that has not answered in time.
func (e *Engine) lateHash(s *session) {
	if left := s.hash.overdue(e.cfg.Now()); left > 0 {
		e.status.hashLate(s.dpid)
		e.tell("switch", s.dpid.String(), fmt.Sprintf("%d of %d packets that show its hash have not come back in %s; it is asked again when it next connects",
			left, apps.HashSamples, hashPatience))
	}
}

// hashKnown is what is known of a switch's hash. What was found in an earlier session is kept, to be compared.
type hashKnown struct {
	build ovshash.Build
	found bool // in this session; with build 0 it is one that is not known
	late  bool
}

// text is the API's word for it.
func (k hashKnown) text() string {
	switch {
	case !k.found:
		return ""
	case k.build == 0:
		return "unknown"
	}
	return k.build.String()
}

// warning is what is worth a look.
func (k hashKnown) warning() string {
	switch {
	case k.found && k.build == 0:
		return "chooses among buckets by a hash that is not known: its choices cannot be foretold"
	case !k.found && k.late:
		return "has not shown by which hash it chooses among buckets"
	}
	return ""
}

// hashed notes what was found and returns the build found before, 0 if none.
func (s *status) hashed(d flows.DPID, b ovshash.Build) (was ovshash.Build) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[d]
	if k == nil {
		return 0
	}
	was = k.hash.build
	k.hash = hashKnown{build: b, found: true}
	s.wake()
	return was
}

func (s *status) hashLate(d flows.DPID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.known[d]; k != nil {
		k.hash.late = true
	}
}
