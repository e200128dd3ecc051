package controller

import (
	"cmp"
	"slices"

	"github.com/evenflow/evenflow/flows"
)

// Block is a part of a desired state with the identities of its objects, worked out once. It is immutable, and one owner's: all
// switches of which the owner wants the same share it.
type Block struct {
	objects []object // in the order of keys, which are sorted
	keys    []key
	places  []int32 // of the plain state's meters, groups and rules among them
	uses    int     // by claims; of [identities]
}

// NewBlock makes a block of a state, which must not be changed any more. What another block has as well is shared with it; like
// may be nil.
func NewBlock(s flows.State, like *Block) *Block {
	type entry struct {
		key
		object
		place int
	}
	var rules []flows.RuleKey
	if like == nil {
		s.Rules, rules = flows.Pack(s.Rules), flows.Keys(s.Rules)
	}
	others := len(s.Meters) + len(s.Groups)
	all := make([]entry, 0, others+len(s.Rules))
	for i, o := range objects(&s) {
		k := key{class: aRule}
		if o.rule == nil || rules == nil {
			k = o.key()
		} else {
			k.rule = rules[i-others]
		}
		all = append(all, entry{k, o, i})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.key.compare(b.key) })
	b := &Block{objects: make([]object, len(all)), keys: make([]key, len(all)), places: make([]int32, len(all))}
	for i, e := range all {
		b.keys[i], b.objects[i], b.places[e.place] = e.key, e.object, int32(i)
	}
	if like != nil {
		b.share(like)
	}
	return b
}

// share replaces what like has too by that, and other rules by copies, as else one of them would keep the whole list.
func (b *Block) share(like *Block) {
	for i, o := range b.objects {
		j, found := slices.BinarySearchFunc(like.keys, b.keys[i], key.compare)
		switch {
		case found && o.equal(like.objects[j]):
			b.keys[i], b.objects[i] = like.keys[j], like.objects[j]
		case o.rule != nil:
			r := *o.rule
			b.objects[i].rule = &r
		}
	}
}

// MadeOf reports whether the block is what NewBlock makes of a state.
func (b *Block) MadeOf(s flows.State) bool {
	if len(b.places) != len(s.Meters)+len(s.Groups)+len(s.Rules) {
		return false
	}
	for i, o := range objects(&s) {
		if !o.equal(b.objects[b.places[i]]) {
			return false
		}
	}
	return true
}

// compare orders identities.
func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.class, o.class), cmp.Compare(k.id, o.id), k.rule.Compare(o.rule))
}

// State is what an owner wants of a switch: some blocks. A nil State wants nothing.
type State struct {
	blocks                []*Block
	rules, groups, meters int
}

// NewState makes a state of blocks; nil blocks are left out.
func NewState(blocks ...*Block) *State {
	s := &State{}
	for _, b := range blocks {
		if b == nil || len(b.keys) == 0 {
			continue
		}
		s.blocks = append(s.blocks, b)
		for _, k := range b.keys {
			switch k.class {
			case aMeter:
				s.meters++
			case aGroup:
				s.groups++
			case aRule:
				s.rules++
			}
		}
	}
	return s
}

// MadeOf reports whether the state consists of just these blocks.
func (s *State) MadeOf(blocks []*Block) bool { return slices.Equal(s.blocks, blocks) }

// Plain is the state as plain data, in the order of identities.
func (s *State) Plain() (all flows.State) {
	for _, o := range s.all {
		switch {
		case o.rule != nil:
			all.Rules = append(all.Rules, *o.rule)
		case o.group != nil:
			all.Groups = append(all.Groups, *o.group)
		case o.meter != nil:
			all.Meters = append(all.Meters, *o.meter)
		}
	}
	return all
}

// size is how many objects there are.
func (s *State) size() int {
	if s == nil {
		return 0
	}
	return s.rules + s.groups + s.meters
}

// String is [flows.State.String] of the plain state.
func (s *State) String() string { return s.Plain().String() }

// all are the objects with their identities.
func (s *State) all(yield func(key, object) bool) {
	if s == nil {
		return
	}
	for _, b := range s.blocks {
		for i, k := range b.keys {
			if !yield(k, b.objects[i]) {
				return
			}
		}
	}
}

// find is the object of an identity, and its place in all.
func (s *State) find(k key) (o object, i int, ok bool) {
	if s == nil {
		return object{}, 0, false
	}
	for _, b := range s.blocks {
		if j, ok := slices.BinarySearchFunc(b.keys, k, key.compare); ok {
			return b.objects[j], i + j, true
		}
		i += len(b.keys)
	}
	return object{}, 0, false
}
