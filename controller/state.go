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
	uses    int // by claims; of [identities]
}

// NewBlock makes a block of a state, which must not be changed any more.
func NewBlock(s flows.State) *Block {
	type entry struct {
		key
		object
	}
	all := make([]entry, 0, len(s.Meters)+len(s.Groups)+len(s.Rules))
	for _, o := range objects(&s) {
		all = append(all, entry{o.key(), o})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.key.compare(b.key) })
	b := &Block{objects: make([]object, len(all)), keys: make([]key, len(all))}
	for i, e := range all {
		b.keys[i], b.objects[i] = e.key, e.object
	}
	return b
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
