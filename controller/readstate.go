package controller

import (
	"iter"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// switchState is what was read from a switch.
type switchState struct {
	rules  []flows.InstalledRule
	groups []flows.Group
	meters []flows.Meter
}

// stateReading are the requests for a switchState.
type stateReading struct {
	rules  reading[flows.InstalledRule]
	groups reading[flows.Group]
	meters reading[flows.Meter]
}

func readState(sw *Switch, f openflow.FlowFilter) stateReading {
	return stateReading{meters: readMeters(sw), groups: readGroups(sw), rules: readFlows(sw, f)}
}

// wait waits for all. A switch that refuses to list groups or meters has none.
func (r stateReading) wait(wait waiter) (s switchState, err error) {
	if s.meters, err = r.meters.wait(wait); err != nil && !refused(err) {
		return s, err
	}
	if s.groups, err = r.groups.wait(wait); err != nil && !refused(err) {
		return s, err
	}
	s.rules, err = r.rules.wait(wait)
	return s, err
}

// objects are the meters, groups and rules of kind Desired that can be told apart.
func (s *switchState) objects(kind func(cookie uint64) RuleKind) iter.Seq2[key, object] {
	return func(yield func(key, object) bool) {
		for i := range s.meters {
			if o := (object{meter: &s.meters[i]}); !yield(o.key(), o) {
				return
			}
		}
		for i := range s.groups {
			if o := (object{group: &s.groups[i]}); !yield(o.key(), o) {
				return
			}
		}
		for i := range s.rules {
			r := s.rules[i].Rule // a copy, not to keep the whole list
			if openflow.Foreign(r.Match) || kind(r.Cookie) != Desired {
				continue
			}
			if o := (object{rule: &r}); !yield(o.key(), o) {
				return
			}
		}
	}
}

// foreign are the cookies of others' rules.
func (s *switchState) foreign(kind func(cookie uint64) RuleKind) map[key]uint64 {
	out := map[key]uint64{}
	for i := range s.rules {
		if r := &s.rules[i].Rule; !openflow.Foreign(r.Match) && kind(r.Cookie) == Foreign {
			out[object{rule: r}.key()] = r.Cookie
		}
	}
	return out
}
