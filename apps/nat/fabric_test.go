package nat

import (
	"fmt"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// fakeSwitch keeps rules of connections as Open vSwitch does: idle ones end, and FINs lower timeouts. What it tells the
// controller waits in queue. It is a Reply.
type fakeSwitch struct {
	dpid  flows.DPID
	now   *uint32
	idles bool // tells idle times
	rules map[string]*installed
	queue []func(app *App, v *apps.View)
	out   []flows.Action // of the last packet-out
}

type installed struct {
	flows.Rule
	used, since uint32
	packets     uint64
}

func identity(r *flows.Rule) string { return fmt.Sprint(r.Table, r.Priority, r.Match) }

func (s *fakeSwitch) Add(r *flows.Rule) {
	x := &installed{Rule: clone(r), used: *s.now, since: *s.now}
	s.rules[identity(r)] = x
}

func (s *fakeSwitch) Delete(r *flows.Rule) {
	if x := s.rules[identity(r)]; x != nil {
		s.remove(x, apps.RemovedDelete)
	}
}

func (s *fakeSwitch) remove(x *installed, why apps.RemovedReason) {
	delete(s.rules, identity(&x.Rule))
	if x.Flags&flows.SendFlowRemoved == 0 {
		panic("nobody would hear of " + x.String())
	}
	s.queue = append(s.queue, func(app *App, v *apps.View) {
		r := x.Rule
		r.Actions = nil
		app.FlowRemoved(v, s.dpid, &r, why, flows.Stats{}, s)
	})
}

func (s *fakeSwitch) AskRule(r *flows.Rule) {
	ask := clone(r)
	x := s.rules[identity(r)]
	var st flows.Stats
	if x != nil {
		st = flows.Stats{Packets: x.packets, DurationSec: *s.now - x.since, IdleSec: *s.now - x.used, HasIdle: s.idles}
	}
	s.queue = append(s.queue, func(app *App, v *apps.View) { app.RuleStats(v, s.dpid, &ask, st, x != nil, s) })
}

func (s *fakeSwitch) PacketOut(_ uint32, actions []flows.Action, _ []byte) { s.out = actions }
func (s *fakeSwitch) Sighted(topo.Sighting) bool                           { return false }

// use sends a packet by the rule, if it is there.
func (s *fakeSwitch) use(r *flows.Rule, fin bool) *installed {
	x := s.rules[identity(r)]
	if x != nil {
		x.used = *s.now
		x.packets++
		if f, is := x.Actions[0].(flows.FinTimeout); is && fin {
			x.IdleTimeout = min(x.IdleTimeout, f.Idle)
		}
	}
	return x
}

// expire ends the rules that have been idle for long enough.
func (s *fakeSwitch) expire() {
	for _, x := range s.sorted() {
		if *s.now-x.used >= uint32(x.IdleTimeout) {
			s.remove(x, apps.RemovedIdle)
		}
	}
}

// sorted are the rules in an order that is the same in every run.
func (s *fakeSwitch) sorted() []*installed {
	keys := make([]string, 0, len(s.rules))
	for k := range s.rules {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]*installed, len(keys))
	for i, k := range keys {
		out[i] = s.rules[k]
	}
	return out
}

// held is what the switch tells of its rules on connecting.
func (s *fakeSwitch) held() (out []flows.InstalledRule) {
	for _, x := range s.sorted() {
		out = append(out, flows.InstalledRule{Rule: x.Rule, Stats: flows.Stats{DurationSec: *s.now - x.since}})
	}
	return out
}
