package controller

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evenflow/evenflow/flows"
)

// wish is an object that an owner wants, and what the switch holds in its place.
type wish struct {
	object
	owner Owner
	held  heldObject
}

// wishes are all objects that some owners want, by identity. Who wants two different things under one identity, or one that
// is another owner's, is refused.
func (d *desired) wishes(states []OwnerState) (map[key]wish, map[Owner]error) {
	all, bad := make(map[key]wish, wanted(states)), map[Owner]error{}
	asked := make(map[Owner]bool, len(states))
	for _, s := range states {
		asked[s.Owner] = true
	}
	for _, s := range states {
		for k, o := range s.State.all {
			var taken error
			held := d.held.get(k)
			if other, twice := all[k]; twice && (other.owner != s.Owner || !o.same(other.object, d.version)) {
				taken = fmt.Errorf("its identity is taken: %s wants %s", other.owner, other.object)
			} else if held.owner != nil && !asked[held.owner] {
				taken = fmt.Errorf("its identity is taken: %s has %s", held.owner, held.object)
			}
			if taken == nil {
				all[k] = wish{o, s.Owner, held}
			} else if bad[s.Owner] == nil {
				bad[s.Owner] = &RefusedError{DPID: d.dpid, Owner: s.Owner, What: o.String(), Err: taken}
			}
		}
	}
	return all, bad
}

// step is what is to be done for some owners.
type step struct {
	ops     []op
	adopted []adoption
}

// adoption is an object that is there already, as an owner wants it, and becomes that owner's.
type adoption struct {
	key   key
	owner Owner
}

// plan is the step that brings the switch from what it holds to what these owners want. Things that others own stay; of those
// that nobody owns the ones that may go do, if leftovers, but for those to spare. If someone is refused there is no plan.
func (d *desired) plan(states []OwnerState, leftovers bool, spare map[key]bool) (s *step, bad map[Owner]error) {
	want, bad := d.wishes(states)
	if len(bad) > 0 {
		return nil, bad
	}
	s = &step{}
	for i := range states {
		for k, o := range states[i].State.all {
			w := want[k]
			switch {
			case w.object != o: // wanted twice: the other one counts
			case w.held.none() || !w.same(w.held.object, d.version):
				if len(s.ops) == cap(s.ops) {
					s.ops = slices.Grow(s.ops, 16+len(s.ops)) // append grows long lists by little, and leaves much behind
				}
				s.ops = append(s.ops, op{key: k, before: w.held.object, after: o, from: w.held.owner, owner: w.owner})
			case w.held.owner != w.owner:
				s.adopted = append(s.adopted, adoption{k, w.owner})
			}
		}
	}
	remove := func(owner Owner) {
		for k, o := range d.held.each(owner) {
			if _, wanted := want[k]; !wanted && !spare[k] && (owner != nil || d.mine(k)) {
				s.ops = append(s.ops, op{key: k, before: o, from: owner, owner: owner})
			}
		}
	}
	for _, s := range states {
		remove(s.Owner)
	}
	if leftovers {
		remove(nil)
	}
	arrange(s.ops)
	return s, nil
}

// mine reports whether an object that nobody owns is one of ours, which may be deleted.
func (d *desired) mine(k key) bool {
	switch k.class {
	case aMeter:
		return d.cfg.OwnMeter(k.id)
	case aGroup:
		return d.cfg.OwnGroup(k.id)
	}
	return true // switchState.objects names no other rules
}

// stage is when an operation is done: meters, groups and rules come into being in this order and go in the reverse order,
// so that nothing ever refers to what is not there. A switch deletes a rule together with a group or meter it refers to.
func (p *op) stage() int {
	if p.deletes() {
		return 5 - int(p.key.class)
	}
	return int(p.key.class)
}

const (
	stageMeters  = 0 // added or changed
	stageDeletes = 3 // of rules; then groups
	stageLast    = 5 // meters deleted
)

// arrange sorts operations into a safe order, always the same: stages; among groups those referred to first; rules added
// from the last table to the first, so that no packet is led into a table not filled yet, and deleted the other way.
func arrange(ops []op) {
	depth := groupDepths(ops)
	order := make([]*op, len(ops)) // operations are large
	for i := range ops {
		order[i] = &ops[i]
	}
	slices.SortFunc(order, func(p, q *op) int {
		if c := cmp.Compare(p.stage(), q.stage()); c != 0 {
			return c
		}
		if p.deletes() {
			p, q = q, p
		}
		if p.key.class == aRule {
			return compareRules(p.key.rule, q.key.rule)
		}
		return cmp.Or(cmp.Compare(depth[p.key.id], depth[q.key.id]), cmp.Compare(p.key.id, q.key.id))
	})
	sorted := make([]op, len(ops))
	for i, p := range order {
		sorted[i] = *p
	}
	copy(ops, sorted)
}

func compareRules(a, b flows.RuleKey) int {
	if c := cmp.Compare(b.Table(), a.Table()); c != 0 {
		return c
	}
	if c := cmp.Compare(b.Priority(), a.Priority()); c != 0 {
		return c
	}
	return a.Compare(b)
}

// groupDepths is for each group the length of the longest chain of groups that it refers to.
func groupDepths(ops []op) map[uint32]int {
	groups := map[uint32]*flows.Group{}
	for _, p := range ops {
		if g := cmp.Or(p.after.group, p.before.group); g != nil {
			groups[g.ID] = g
		}
	}
	depth := map[uint32]int{}
	var visit func(id uint32) int
	visit = func(id uint32) int {
		if d, ok := depth[id]; ok {
			return d
		}
		depth[id] = 0 // ends a loop, which the switch will refuse
		n := 0
		if g := groups[id]; g != nil {
			for _, b := range g.Buckets {
				for _, a := range b.Actions {
					if to, ok := a.(flows.ToGroup); ok {
						n = max(n, visit(to.ID)+1)
					}
				}
			}
		}
		depth[id] = n
		return n
	}
	for id := range groups {
		visit(id)
	}
	return depth
}
