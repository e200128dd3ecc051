package controllertest

import (
	"maps"
	"slices"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// tables are a switch's rules, groups and meters. Values are replaced, never changed, so that a shallow copy is a snapshot.
type tables struct {
	rules  map[flows.RuleKey]*flows.InstalledRule
	groups map[uint32]*flows.Group
	meters map[uint32]flows.Meter
}

func newTables() tables {
	return tables{map[flows.RuleKey]*flows.InstalledRule{}, map[uint32]*flows.Group{}, map[uint32]flows.Meter{}}
}

func (t tables) clone() tables {
	return tables{maps.Clone(t.rules), maps.Clone(t.groups), maps.Clone(t.meters)}
}

func (t tables) state() (s flows.State) {
	for _, r := range t.rules {
		s.Rules = append(s.Rules, r.Rule)
	}
	for _, g := range t.groups {
		s.Groups = append(s.Groups, *g)
	}
	s.Meters = slices.Collect(maps.Values(t.meters))
	s.Sort()
	return s
}

func (t tables) put(s flows.State) {
	for _, m := range s.Meters {
		t.meters[m.ID] = m
	}
	for _, g := range s.Groups {
		t.groups[g.ID] = &g
	}
	for _, r := range s.Rules {
		t.rules[r.Key()] = &flows.InstalledRule{Rule: r}
	}
}

func (t tables) remove(s flows.State) {
	for _, m := range s.Meters {
		delete(t.meters, m.ID)
	}
	for _, g := range s.Groups {
		delete(t.groups, g.ID)
	}
	for _, r := range s.Rules {
		delete(t.rules, r.Key())
	}
}

// narrower reports whether every packet that m matches, by its conditions, is one that f selects.
func narrower(m, f flows.Match) bool {
	for _, want := range f {
		have, ok := m.Get(want.Field)
		if !ok {
			return false
		}
		mask := want.Mask
		if !want.Masked {
			mask = want.Field.FullMask()
		}
		haveMask := have.Mask
		if !have.Masked {
			haveMask = have.Field.FullMask()
		}
		for i := range mask {
			if mask[i]&^haveMask[i] != 0 || (want.Value[i]^have.Value[i])&mask[i] != 0 {
				return false
			}
		}
	}
	return true
}

// selected are the rules that a filter selects, in the order of the tables.
func (t tables) selected(f openflow.FlowFilter) []*flows.InstalledRule {
	var out []*flows.InstalledRule
	for _, r := range t.rules {
		if (f.Table == 0xff || f.Table == r.Table) && (r.Cookie^f.Cookie)&f.CookieMask == 0 && narrower(r.Match, f.Match) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *flows.InstalledRule) int {
		if a.Table != b.Table {
			return int(a.Table) - int(b.Table)
		}
		if a.Priority != b.Priority {
			return int(b.Priority) - int(a.Priority)
		}
		return a.Match.Compare(b.Match)
	})
	return out
}

// change carries out a flow-mod, group-mod or meter-mod. removed are the rules that have gone.
func (s *Switch) change(t tables, raw []byte) (removed []*flows.InstalledRule, e *openflow.Error) {
	switch openflow.Type(raw[1]) {
	case openflow.TypeFlowMod:
		m, err := openflow.ParseFlowMod(raw)
		if err != nil {
			return nil, failure(openflow.ErrBadRequest, 6) // BAD_LEN
		}
		return s.changeRule(t, m)
	case openflow.TypeGroupMod:
		m, err := openflow.ParseGroupMod(raw)
		if err != nil {
			return nil, failure(openflow.ErrBadRequest, 6)
		}
		return s.changeGroup(t, m)
	}
	cmd, m, err := openflow.ParseMeterMod(raw)
	if err != nil {
		return nil, failure(openflow.ErrBadRequest, 6)
	}
	return changeMeter(t, cmd, m)
}

func failure(kind, code uint16) *openflow.Error { return &openflow.Error{Type: kind, Code: code} }

func (s *Switch) changeRule(t tables, m openflow.FlowMod) (removed []*flows.InstalledRule, e *openflow.Error) {
	k := m.Rule.Key()
	switch m.Command {
	case openflow.FlowAdd:
		if e := s.checkRule(t, &m.Rule); e != nil {
			return nil, e
		}
		t.rules[k] = &flows.InstalledRule{Rule: m.Rule}
	case openflow.FlowModify, openflow.FlowModifyStrict:
		if e := s.checkRule(t, &m.Rule); e != nil {
			return nil, e
		}
		for key, r := range t.rules {
			if m.Command == openflow.FlowModify && r.Table == m.Table && narrower(r.Match, m.Match) || key == k {
				changed := *r
				changed.Actions = m.Actions
				t.rules[key] = &changed
			}
		}
	case openflow.FlowDeleteStrict:
		if r := t.rules[k]; r != nil {
			removed = append(removed, r)
		}
	case openflow.FlowDelete:
		removed = t.selected(openflow.FlowFilter{Table: m.Table, Cookie: m.Cookie, CookieMask: m.CookieMask, Match: m.Match})
	default:
		return nil, failure(openflow.ErrFlowModFailed, 6) // BAD_COMMAND
	}
	for _, r := range removed {
		delete(t.rules, r.Key())
	}
	return removed, nil
}

// checkRule refuses what a switch must refuse.
func (s *Switch) checkRule(t tables, r *flows.Rule) *openflow.Error {
	if r.Match.Check() != nil || openflow.Foreign(r.Match) {
		return failure(openflow.ErrBadMatch, 9) // BAD_PREREQ
	}
	for _, c := range r.Match {
		if s.plain && niciraField(c.Field) {
			return failure(openflow.ErrBadMatch, 6) // BAD_FIELD
		}
	}
	return s.checkActions(t, r.Actions)
}

func (s *Switch) checkActions(t tables, actions []flows.Action) *openflow.Error {
	for _, a := range actions {
		nicira := false
		switch a := a.(type) {
		case flows.ToGroup:
			if t.groups[a.ID] == nil {
				return failure(openflow.ErrBadAction, 9) // BAD_OUT_GROUP
			}
		case flows.ToMeter:
			if _, ok := t.meters[a.ID]; !ok {
				return failure(openflow.ErrMeterModFailed, openflow.CodeUnknownMeter)
			}
		case flows.Resubmit, flows.FinTimeout:
			nicira = true
		case flows.SetField:
			nicira = niciraField(a.Field)
		case flows.Move:
			nicira = niciraField(a.Src.Field) || niciraField(a.Dst.Field)
		}
		if nicira && s.plain {
			return failure(openflow.ErrBadAction, 2) // BAD_EXPERIMENTER
		}
	}
	return nil
}

func niciraField(f flows.Field) bool {
	return f < flows.Metadata && f != flows.TunnelID || f >= flows.TunSrc && f <= flows.TunDst
}

func (s *Switch) changeGroup(t tables, m openflow.GroupMod) (removed []*flows.InstalledRule, e *openflow.Error) {
	old := t.groups[m.ID]
	switch {
	case m.Command == openflow.GroupAdd && old != nil:
		return nil, failure(openflow.ErrGroupModFailed, openflow.CodeGroupExists)
	case m.Command == openflow.GroupModify && old == nil:
		return nil, failure(openflow.ErrGroupModFailed, openflow.CodeUnknownGroup)
	case m.Command == openflow.GroupDelete:
		for id := range t.groups {
			if m.ID == id || m.ID == openflow.AllGroups {
				delete(t.groups, id)
				removed = append(removed, t.dropRules(flows.ToGroup{ID: id})...)
			}
		}
		return removed, nil
	}
	for _, b := range m.Buckets {
		if e := s.checkActions(t, b.Actions); e != nil {
			return nil, e
		}
	}
	if m.Command == openflow.GroupInsertBucket || m.Command == openflow.GroupRemoveBucket {
		return nil, changeBuckets(t, old, m)
	}
	t.groups[m.ID] = &m.Group
	return nil, nil
}

// changeBuckets inserts buckets behind one, or removes one.
func changeBuckets(t tables, old *flows.Group, m openflow.GroupMod) *openflow.Error {
	if old == nil {
		return failure(openflow.ErrGroupModFailed, openflow.CodeUnknownGroup)
	}
	at := slices.IndexFunc(old.Buckets, func(b flows.Bucket) bool { return b.ID == m.BucketID })
	if at < 0 && m.BucketID != openflow.BucketFirst {
		return failure(openflow.ErrGroupModFailed, openflow.CodeUnknownBucket)
	}
	g := *old
	if m.Command == openflow.GroupRemoveBucket {
		g.Buckets = slices.Delete(slices.Clone(old.Buckets), at, at+1)
	} else {
		for _, b := range m.Buckets {
			if slices.ContainsFunc(old.Buckets, func(o flows.Bucket) bool { return o.ID == b.ID }) {
				return failure(openflow.ErrGroupModFailed, openflow.CodeBucketExists)
			}
		}
		g.Buckets = slices.Insert(slices.Clone(old.Buckets), at+1, m.Buckets...)
	}
	t.groups[m.ID] = &g
	return nil
}

func changeMeter(t tables, cmd openflow.MeterCommand, m flows.Meter) (removed []*flows.InstalledRule, e *openflow.Error) {
	_, there := t.meters[m.ID]
	switch {
	case cmd == openflow.MeterAdd && there:
		return nil, failure(openflow.ErrMeterModFailed, openflow.CodeMeterExists)
	case cmd == openflow.MeterModify && !there:
		return nil, failure(openflow.ErrMeterModFailed, openflow.CodeUnknownMeter)
	case cmd == openflow.MeterDelete:
		for id := range t.meters {
			if m.ID == id || m.ID == openflow.AllMeters {
				delete(t.meters, id)
				removed = append(removed, t.dropRules(flows.ToMeter{ID: id})...)
			}
		}
		return removed, nil
	}
	t.meters[m.ID] = m
	return nil, nil
}

// dropRules removes the rules that have an action.
func (t tables) dropRules(a flows.Action) (removed []*flows.InstalledRule) {
	for k, r := range t.rules {
		for _, b := range r.Actions {
			if _, raw := b.(flows.Unknown); !raw && a == b {
				removed = append(removed, r)
				delete(t.rules, k)
				break
			}
		}
	}
	return removed
}
