package flows

import (
	"fmt"
	"slices"
)

// Change is what turns one state into another, each list in an order that depends on the two states alone.
//
// To apply it: meters to add and modify, then groups to add and modify, in the order given (a group that others hand
// packets to comes before them), then rules, then groups to delete, in the order given, then meters to delete. A group
// or meter that is deleted takes the rules that use it with it.
type Change struct {
	AddMeters, ModifyMeters []Meter
	DeleteMeters            []uint32
	AddGroups, ModifyGroups []Group
	DeleteGroups            []uint32

	// Add holds rules that are new, and rules whose cookie, timeouts or flags differ: an OpenFlow add replaces the rule
	// of the same identity, with its counters and ages (a modify would keep the old timeouts and flags).
	Add []Rule
	// Modify holds rules of which the actions alone differ: modify-strict keeps counters and ages.
	Modify []Rule
	// Delete holds rules as they are in the actual state, for delete-strict.
	Delete []Rule
}

// DuplicateError says that a state holds two rules of one identity (or two groups or meters of one id).
type DuplicateError struct {
	State         string // "actual" or "want"
	First, Second fmt.Stringer
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%s state has twice the same table, priority and match, or id: %q and %q", e.State, e.First, e.Second)
}

// Diff is the change that makes actual what want is. Neither is changed, the result shares their memory. It is meant
// for rules that are wholly ours: fin_timeout changes a rule's timeouts in the switch, so a rule with it may differ
// from what was sent.
//
// The error is a [*DuplicateError]. It takes one pass over each of the states, and sorts what differs.
func Diff(actual, want State) (c Change, err error) {
	if err = c.diffRules(actual.Rules, want.Rules); err != nil {
		return Change{}, err
	}
	groups, err := diffByID(actual.Groups, want.Groups, func(g Group) uint32 { return g.ID }, Group.Equal)
	if err != nil {
		return Change{}, err
	}
	meters, err := diffByID(actual.Meters, want.Meters, func(m Meter) uint32 { return m.ID }, func(a, b Meter) bool { return a == b })
	if err != nil {
		return Change{}, err
	}
	slices.SortFunc(meters.add, compareMeters)
	slices.SortFunc(meters.modify, compareMeters)
	slices.SortFunc(meters.remove, compareMeters)
	c.AddMeters, c.ModifyMeters = meters.add, meters.modify
	for _, m := range meters.remove {
		c.DeleteMeters = append(c.DeleteMeters, m.ID)
	}
	c.AddGroups, c.ModifyGroups = usedFirst(groups.add), usedFirst(groups.modify)
	for _, g := range slices.Backward(usedFirst(groups.remove)) {
		c.DeleteGroups = append(c.DeleteGroups, g.ID)
	}
	return c, nil
}

func (c *Change) diffRules(actual, want []Rule) error {
	var key []byte
	index := make(map[string]int, len(want))
	for i := range want {
		key = want[i].appendKey(key[:0])
		if first, ok := index[string(key)]; ok {
			return &DuplicateError{"want", want[first], want[i]}
		}
		index[string(key)] = i
	}
	found := make([]*Rule, len(want))
	for i := range actual {
		a := &actual[i]
		key = a.appendKey(key[:0])
		at, ok := index[string(key)]
		if !ok {
			c.Delete = append(c.Delete, *a)
			continue
		}
		if found[at] != nil {
			return &DuplicateError{"actual", *found[at], *a}
		}
		found[at] = a
		switch w := &want[at]; {
		case !w.sameSettings(a):
			c.Add = append(c.Add, *w)
		case !EqualActions(w.Actions, a.Actions):
			c.Modify = append(c.Modify, *w)
		}
	}
	for i, a := range found {
		if a == nil {
			c.Add = append(c.Add, want[i])
		}
	}
	slices.SortFunc(c.Add, compareRules)
	slices.SortFunc(c.Modify, compareRules)
	slices.SortFunc(c.Delete, compareRules)
	for i := 1; i < len(c.Delete); i++ { // rules that nobody wants are in no index
		if compareRules(c.Delete[i-1], c.Delete[i]) == 0 {
			return &DuplicateError{"actual", c.Delete[i-1], c.Delete[i]}
		}
	}
	return nil
}

type changes[T any] struct{ add, modify, remove []T }

func diffByID[T fmt.Stringer](actual, want []T, id func(T) uint32, equal func(a, b T) bool) (c changes[T], err error) {
	index := func(state string, list []T) map[uint32]T {
		m := make(map[uint32]T, len(list))
		for _, x := range list {
			if first, ok := m[id(x)]; ok && err == nil {
				err = &DuplicateError{state, first, x}
			}
			m[id(x)] = x
		}
		return m
	}
	have, wanted := index("actual", actual), index("want", want)
	for _, w := range want {
		if a, ok := have[id(w)]; !ok {
			c.add = append(c.add, w)
		} else if !equal(a, w) {
			c.modify = append(c.modify, w)
		}
	}
	for _, a := range actual {
		if _, ok := wanted[id(a)]; !ok {
			c.remove = append(c.remove, a)
		}
	}
	return c, err
}

// usedFirst orders groups by id, but each after those it hands packets to or watches.
func usedFirst(groups []Group) []Group {
	if len(groups) < 2 {
		return groups
	}
	slices.SortFunc(groups, compareGroups)
	byID := make(map[uint32]int, len(groups))
	for i := range groups {
		byID[groups[i].ID] = i
	}
	placed := make([]bool, len(groups))
	out := make([]Group, 0, len(groups))
	var place func(i int)
	place = func(i int) {
		if placed[i] {
			return
		}
		placed[i] = true
		use := func(id uint32) {
			if j, ok := byID[id]; ok {
				place(j)
			}
		}
		for _, k := range groups[i].Buckets {
			use(k.WatchGroup)
			for _, a := range k.Actions {
				if g, ok := a.(ToGroup); ok {
					use(g.ID)
				}
			}
		}
		out = append(out, groups[i])
	}
	for i := range groups {
		place(i)
	}
	return out
}
