package controller

import (
	"fmt"
	"iter"
	"slices"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// class is what an object is, in the order in which objects must come into being: what comes later refers to what came before.
type class uint8

const (
	aMeter class = iota
	aGroup
	aRule
)

// key is an object's identity.
type key struct {
	class class
	id    uint32        // of a meter or group
	rule  flows.RuleKey // of a rule
}

// object is a rule, a group or a meter: exactly one pointer is set. All are nil in the zero object, which means none.
type object struct {
	rule  *flows.Rule
	group *flows.Group
	meter *flows.Meter
}

func (o object) none() bool { return o == object{} }

func (o object) key() key {
	switch {
	case o.rule != nil:
		return key{class: aRule, rule: o.rule.Key()}
	case o.group != nil:
		return key{class: aGroup, id: o.group.ID}
	}
	return key{class: aMeter, id: o.meter.ID}
}

// String is the object in ovs-ofctl syntax.
func (o object) String() string {
	switch {
	case o.rule != nil:
		return o.rule.String()
	case o.group != nil:
		return o.group.String()
	case o.meter != nil:
		return o.meter.String()
	}
	return "none"
}

// same reports whether a switch that holds p in a session of version v need not be told o, which has the same key.
func (o object) same(p object, v openflow.Version) bool {
	switch {
	case o.rule != nil:
		return o.rule.Equal(*p.rule)
	case o.group != nil && v < openflow.V15:
		return numbered(o.group).Equal(*numbered(p.group))
	case o.group != nil:
		return o.group.Equal(*p.group)
	}
	return *o.meter == *p.meter
}

// equal reports whether two objects are the same, for any switch.
func (o object) equal(p object) bool {
	alike := (o.rule == nil) == (p.rule == nil) && (o.group == nil) == (p.group == nil)
	return o == p || alike && o.same(p, openflow.V15)
}

// numbered is the group with its buckets numbered in their order, as they have no ids before OpenFlow 1.5.
func numbered(g *flows.Group) *flows.Group {
	n := *g
	n.Buckets = slices.Clone(g.Buckets)
	for i := range n.Buckets {
		n.Buckets[i].ID = uint32(i)
	}
	return &n
}

// objects are all objects of a state, numbered.
func objects(s *flows.State) iter.Seq2[int, object] {
	return func(yield func(int, object) bool) {
		n := 0
		each := func(o object) bool {
			n++
			return yield(n-1, o)
		}
		for i := range s.Meters {
			if !each(object{meter: &s.Meters[i]}) {
				return
			}
		}
		for i := range s.Groups {
			if !each(object{group: &s.Groups[i]}) {
				return
			}
		}
		for i := range s.Rules {
			if !each(object{rule: &s.Rules[i]}) {
				return
			}
		}
	}
}

// op brings one object from before to after, of which one may be none.
type op struct {
	key           key
	before, after object
	from, owner   Owner // before's and after's; owner is also who is told of a failure

	mends bool   // before is not what we had left there
	part  part   // of a group; see inParts
	at    uint32 // the bucket that part is about
}

// inverse undoes the operation.
func (p op) inverse() op {
	return op{key: p.key, before: p.after, after: p.before, from: p.owner, owner: p.from}
}

// deletes reports whether the object goes.
func (p *op) deletes() bool { return p.after.none() }

// String is what is to be done, as text.
func (p op) String() string {
	if p.deletes() {
		return "delete " + p.before.String()
	}
	return p.after.String()
}

// encode appends the operation's message.
func (p op) encode(b []byte, v openflow.Version, xid uint32) ([]byte, error) {
	o := p.after
	if p.deletes() {
		o = p.before
	}
	switch p.key.class {
	case aMeter:
		cmd := openflow.MeterModify
		if p.deletes() {
			cmd = openflow.MeterDelete
		} else if p.before.none() {
			cmd = openflow.MeterAdd
		}
		return openflow.AppendMeterMod(b, v, xid, cmd, *o.meter)
	case aGroup:
		return p.encodeGroup(b, v, xid)
	case aRule:
		cmd := openflow.FlowAdd // replaces what has the same identity
		if p.deletes() {
			cmd = openflow.FlowDeleteStrict
		}
		return openflow.AppendFlowMod(b, v, xid, cmd, o.rule)
	}
	return b, fmt.Errorf("class %d", p.key.class)
}
