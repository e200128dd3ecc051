package flows

import (
	"maps"
	"slices"
)

// Len is how many messages the change takes.
func (c *Change) Len() int {
	return len(c.AddMeters) + len(c.ModifyMeters) + len(c.DeleteMeters) + len(c.AddGroups) + len(c.ModifyGroups) + len(c.DeleteGroups) +
		len(c.Add) + len(c.Modify) + len(c.Delete)
}

// Empty reports whether there is nothing to do.
func (c *Change) Empty() bool { return c.Len() == 0 }

// String is one line for each meter, group and rule, in the order in which they are applied, after + (add), ~ (modify)
// or - (delete).
func (c Change) String() string {
	var b []byte
	b = lines(b, "+ ", c.AddMeters)
	b = lines(b, "~ ", c.ModifyMeters)
	b = lines(b, "+ ", c.AddGroups)
	b = lines(b, "~ ", c.ModifyGroups)
	b = lines(b, "+ ", c.Add)
	b = lines(b, "~ ", c.Modify)
	b = lines(b, "- ", c.Delete)
	for _, id := range c.DeleteGroups {
		b = append(appendNum(b, "- group_id=", id), '\n')
	}
	for _, id := range c.DeleteMeters {
		b = append(appendNum(b, "- meter=", id), '\n')
	}
	return string(b)
}

func lines[T interface{ AppendText([]byte) []byte }](b []byte, sign string, list []T) []byte {
	for _, x := range list {
		b = append(x.AppendText(append(b, sign...)), '\n')
	}
	return b
}

// Apply is the state, sorted, that a switch with state s has after the change: what Open vSwitch does, but without the
// rules that vanish with a deleted group.
func (c *Change) Apply(s State) State {
	rules := map[RuleKey]Rule{}
	for _, list := range [][]Rule{s.Rules, c.Add} {
		for _, r := range list {
			rules[r.Key()] = r
		}
	}
	for _, r := range c.Modify {
		if old, ok := rules[r.Key()]; ok { // modify-strict changes nothing else, and adds nothing
			old.Actions = r.Actions
			rules[r.Key()] = old
		}
	}
	for _, r := range c.Delete {
		delete(rules, r.Key())
	}
	groups, meters := map[uint32]Group{}, map[uint32]Meter{}
	for _, list := range [][]Group{s.Groups, c.AddGroups, c.ModifyGroups} {
		for _, g := range list {
			groups[g.ID] = g
		}
	}
	for _, id := range c.DeleteGroups {
		delete(groups, id)
	}
	for _, list := range [][]Meter{s.Meters, c.AddMeters, c.ModifyMeters} {
		for _, m := range list {
			meters[m.ID] = m
		}
	}
	for _, id := range c.DeleteMeters {
		delete(meters, id)
	}
	out := State{slices.Collect(maps.Values(rules)), slices.Collect(maps.Values(groups)), slices.Collect(maps.Values(meters))}
	out.Sort()
	return out
}
