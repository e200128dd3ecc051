package flows

import (
	"bytes"
	"slices"
	"strings"
)

// RuleKey is a rule's identity: table, priority and match. Comparable.
type RuleKey struct{ key string }

// Key is the rule's identity.
func (r Rule) Key() RuleKey { return RuleKey{string(r.appendKey(nil))} }

// Table is the rule's.
func (k RuleKey) Table() uint8 { return k.key[0] }

// Priority is the rule's.
func (k RuleKey) Priority() uint16 { return uint16(k.key[1])<<8 | uint16(k.key[2]) }

// Compare orders identities.
func (k RuleKey) Compare(o RuleKey) int { return strings.Compare(k.key, o.key) }

// appendKey is the identity in bytes: equal exactly for equal identities.
func (r *Rule) appendKey(b []byte) []byte {
	b = append(b, r.Table, byte(r.Priority>>8), byte(r.Priority))
	for i := range r.Match {
		c := &r.Match[i]
		w := c.Field.Width()
		if w == 0 { // not a field: see Match
			w = len(c.Value)
		}
		b = append(append(b, byte(c.Field)), c.Value[:w]...)
		if c.Masked {
			// A field's number has the high bit clear, so no exact condition begins like a mask.
			b = append(append(b, 0xff), c.Mask[:w]...)
		}
	}
	return b
}

// lasting are the flags that a rule has as long as it lives; the others tell the switch how to add it.
const lasting = SendFlowRemoved | NoPacketCounts | NoByteCounts

// Equal reports whether a switch that has o need not be told r: same identity, actions, cookie, timeouts and flags. Of
// the flags those that concern the adding alone (check_overlap, reset_counts) do not count, as not all switches keep them.
func (r Rule) Equal(o Rule) bool {
	return r.Table == o.Table && r.Priority == o.Priority && r.Match.Equal(o.Match) && r.sameSettings(&o) &&
		EqualActions(r.Actions, o.Actions)
}

// sameSettings compares what only a new add can change.
func (r *Rule) sameSettings(o *Rule) bool {
	return r.Cookie == o.Cookie && r.IdleTimeout == o.IdleTimeout && r.HardTimeout == o.HardTimeout &&
		r.Flags&lasting == o.Flags&lasting
}

// EqualActions reports whether two lists do the same in the same order.
func EqualActions(a, b []Action) bool { return slices.EqualFunc(a, b, equalAction) }

func equalAction(a, b Action) bool {
	a, b = normal(a), normal(b)
	switch a := a.(type) {
	case interface{ equal(Action) bool }:
		return a.equal(b)
	case Output:
		if a.Port != PortController { // MaxLen means nothing, and switches may report any
			other, ok := b.(Output)
			return ok && a.Port == other.Port
		}
	}
	return a == b // of different types, or of one that is comparable
}

// normal is what comes back from a switch for a.
func normal(a Action) Action {
	switch a := a.(type) {
	case ToController:
		if o, plain := a.Plain(); plain {
			return o
		}
	case WriteMetadata:
		a.Value &= a.Mask
		return a
	}
	return a
}

func (a Unknown) equal(other Action) bool {
	b, ok := other.(Unknown)
	return ok && a.Instruction == b.Instruction && bytes.Equal(a.Raw, b.Raw)
}

// Equal reports whether two groups are the same, the order of buckets included: Open vSwitch's choice depends on it.
// The order of Fields does not count.
func (g Group) Equal(o Group) bool {
	return g.ID == o.ID && g.Type == o.Type && g.Method == o.Method && g.Param == o.Param &&
		slices.Equal(sortedFields(g.Fields), sortedFields(o.Fields)) && slices.EqualFunc(g.Buckets, o.Buckets, Bucket.Equal)
}

func sortedFields(f []Field) []Field {
	if slices.IsSorted(f) {
		return f
	}
	return slices.Sorted(slices.Values(f))
}

// Equal reports whether two buckets are the same.
func (b Bucket) Equal(o Bucket) bool {
	return b.ID == o.ID && b.Weight == o.Weight && b.WatchPort == o.WatchPort && b.WatchGroup == o.WatchGroup &&
		EqualActions(b.Actions, o.Actions)
}
