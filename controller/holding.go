package controller

import (
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// heldObject is an object that a switch holds. Owner is nil when it was found there and nobody has claimed it yet.
type heldObject struct {
	object
	owner Owner
}

// holding is what is believed to be in a switch, by identity: its rules of kind Desired and all groups and meters.
type holding struct {
	objects map[key]heldObject
	owned   map[Owner]map[key]struct{}
	foreign map[key]uint64 // cookies of rules that are others'
}

func newHolding() *holding {
	return &holding{objects: map[key]heldObject{}, owned: map[Owner]map[key]struct{}{}, foreign: map[key]uint64{}}
}

// put notes that the switch holds o now, for an owner.
func (h *holding) put(k key, o object, owner Owner) {
	h.drop(k)
	h.objects[k] = heldObject{o, owner}
	if h.owned[owner] == nil {
		h.owned[owner] = map[key]struct{}{}
	}
	h.owned[owner][k] = struct{}{}
}

// drop notes that the switch does not hold k.
func (h *holding) drop(k key) {
	old, ok := h.objects[k]
	if !ok {
		return
	}
	delete(h.objects, k)
	delete(h.owned[old.owner], k)
	if len(h.owned[old.owner]) == 0 {
		delete(h.owned, old.owner)
	}
}

// done notes that an operation has been carried out.
func (h *holding) done(p op) {
	if p.deletes() {
		h.drop(p.key)
	} else {
		h.put(p.key, p.after, p.owner)
	}
}

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

// found makes a holding of what was read. Owners are those of the same identity in known.
func found(s switchState, kind func(cookie uint64) RuleKind, known *holding) *holding {
	h := newHolding()
	add := func(o object) {
		k := o.key()
		h.put(k, o, known.objects[k].owner)
	}
	for i := range s.meters {
		add(object{meter: &s.meters[i]})
	}
	for i := range s.groups {
		add(object{group: &s.groups[i]})
	}
	for i := range s.rules {
		r := s.rules[i].Rule // a copy, not to keep the whole list
		if openflow.Foreign(r.Match) {
			continue
		}
		switch kind(r.Cookie) {
		case Desired:
			add(object{rule: &r})
		case Foreign:
			h.foreign[object{rule: &r}.key()] = r.Cookie
		}
	}
	return h
}
