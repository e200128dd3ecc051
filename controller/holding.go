package controller

import (
	"iter"
	"slices"

	"github.com/evenflow/evenflow/openflow"
)

// heldObject is an object that a switch holds. Owner is nil when it was found there and nobody has claimed it yet.
type heldObject struct {
	object
	owner Owner
}

// holding is what owners want of a switch, and what is believed to be in it: its rules of kind Desired and all groups and
// meters.
//
// Most often a switch holds just what its owners have asked for. Then nothing is kept but that: of each owner a pointer to a
// state which all switches share. Only what is otherwise is kept object by object: that of owners who were refused something
// or are amid a change (they are loose), and what nobody owns.
type holding struct {
	ids     *identities
	version openflow.Version

	claims  []*claim       // by the owners' numbers; nil: none
	loose   map[Owner]bool // those of whom the switch holds not what their claim says, but what parts has
	parts   map[key]heldObject
	owned   map[Owner]map[key]struct{} // the identities in parts
	foreign map[key]uint64             // cookies of rules that are others'

	rules, groups, meters int // in all claims
}

// claim is what an owner has asked for last, also if it was refused. All switches of which the same was asked share it.
type claim struct {
	state   *State
	version uint64
}

func newHolding(ids *identities, v openflow.Version) *holding {
	return &holding{ids: ids, version: v, loose: map[Owner]bool{}, parts: map[key]heldObject{}, owned: map[Owner]map[key]struct{}{}}
}

// of is an owner's claim.
func (h *holding) of(o Owner) claim {
	if n, ok := h.ids.number(o); ok && n < len(h.claims) && h.claims[n] != nil {
		return *h.claims[n]
	}
	return claim{}
}

// owners are all that have a claim.
func (h *holding) owners() (all []Owner) {
	for n, c := range h.claims {
		if c != nil {
			all = append(all, h.ids.owner(n))
		}
	}
	return all
}

// claim notes what an owner asks for.
func (h *holding) claim(s OwnerState) {
	from, to := h.of(s.Owner), claim{s.State, s.Version}
	if to.state.size() == 0 {
		to = claim{}
	}
	if from.state == nil && to.state == nil {
		return
	}
	n, shared := h.ids.claim(s.Owner, from.state, to)
	if n >= len(h.claims) {
		h.claims = append(h.claims, make([]*claim, h.ids.seats()-len(h.claims))...)
	}
	h.claims[n] = shared
	h.count(from.state, -1)
	h.count(to.state, 1)
}

func (h *holding) count(s *State, sign int) {
	if s != nil {
		h.rules, h.groups, h.meters = h.rules+sign*s.rules, h.groups+sign*s.groups, h.meters+sign*s.meters
	}
}

// size is how many objects are kept one by one.
func (h *holding) size() int { return len(h.parts) }

// get is what the switch holds under an identity: none, if nothing.
func (h *holding) get(k key) heldObject {
	o, ok := h.parts[k]
	if !ok {
		o, _, _ = h.whole(k)
	}
	return o
}

// whole is get for what owners hold just as they have asked for it. n is the owner's number, i the object's in the claim.
func (h *holding) whole(k key) (o heldObject, n, i int) {
	h.ids.having(k, func(number int, owner Owner) bool {
		if number >= len(h.claims) || h.claims[number] == nil || h.loose[owner] {
			return true
		}
		at, place, ok := h.claims[number].state.find(k)
		if ok {
			o, n, i = heldObject{at, owner}, number, place
		}
		return !ok
	})
	return o, n, i
}

// each are all objects that an owner, or nobody, holds.
func (h *holding) each(owner Owner) iter.Seq2[key, object] {
	if owner != nil && !h.loose[owner] {
		return h.of(owner).state.all
	}
	return func(yield func(key, object) bool) {
		for k := range h.owned[owner] {
			if !yield(k, h.parts[k].object) {
				return
			}
		}
	}
}

// put notes that the switch holds o now, for an owner.
func (h *holding) put(k key, o object, owner Owner) {
	h.drop(k)
	h.loosen(owner)
	h.add(k, o, owner)
}

// drop notes that the switch does not hold k.
func (h *holding) drop(k key) {
	h.loosen(h.get(k).owner)
	h.remove(k)
}

// loosen keeps what an owner holds object by object from now on.
func (h *holding) loosen(owner Owner) {
	if owner == nil || h.loose[owner] {
		return
	}
	h.loose[owner] = true
	for k, o := range h.of(owner).state.all {
		h.add(k, o, owner)
	}
}

// tighten undoes loosen if the owner holds just what it has asked for.
func (h *holding) tighten(owner Owner) {
	state := h.of(owner).state
	if !h.loose[owner] || len(h.owned[owner]) != state.size() {
		return
	}
	for k, o := range state.all {
		if p := h.parts[k]; p.owner != owner || !o.same(p.object, h.version) {
			return
		}
	}
	h.forget(owner)
	h.shrink()
}

// forget ends what is kept of an owner object by object.
func (h *holding) forget(owner Owner) {
	for k := range h.owned[owner] {
		delete(h.parts, k)
	}
	delete(h.owned, owner)
	delete(h.loose, owner)
}

// shrink gives back the room that empty maps once had.
func (h *holding) shrink() {
	if len(h.parts) == 0 {
		h.parts, h.owned = map[key]heldObject{}, map[Owner]map[key]struct{}{}
	}
}

func (h *holding) add(k key, o object, owner Owner) {
	h.parts[k] = heldObject{o, owner}
	if h.owned[owner] == nil {
		h.owned[owner] = map[key]struct{}{}
	}
	h.owned[owner][k] = struct{}{}
}

func (h *holding) remove(k key) {
	p, ok := h.parts[k]
	if !ok {
		return
	}
	delete(h.parts, k)
	delete(h.owned[p.owner], k)
	if len(h.owned[p.owner]) == 0 {
		delete(h.owned, p.owner)
	}
}

// note follows a step that was carried out in part.
func (h *holding) note(s *step, made []op) {
	for _, a := range s.adopted {
		h.put(a.key, h.get(a.key).object, a.owner)
	}
	for _, p := range made {
		if p.deletes() {
			h.drop(p.key)
		} else {
			h.put(p.key, p.after, p.owner)
		}
	}
}

// confirm follows a step that was carried out: its owners hold what they have asked for, and no more.
func (h *holding) confirm(s *step, owners []OwnerState) {
	for _, p := range s.ops {
		h.remove(p.key)
	}
	for _, a := range s.adopted {
		h.remove(a.key)
	}
	for _, o := range owners {
		h.claim(o)
		h.forget(o.Owner)
	}
	h.shrink()
}

// refuse follows an owner's being refused: it holds what it held.
func (h *holding) refuse(o OwnerState) {
	h.loosen(o.Owner)
	h.claim(o)
}

// unchanged reports whether the switch holds just what an owner asks for, as it has done before.
func (h *holding) unchanged(o OwnerState) bool {
	return !h.loose[o.Owner] && (h.of(o.Owner).state == o.State || h.of(o.Owner).state.size() == 0 && o.State.size() == 0)
}

// release ends all claims.
func (h *holding) release() {
	for n, c := range h.claims {
		if c != nil {
			h.claim(OwnerState{Owner: h.ids.owner(n)})
		}
	}
}

// look replaces what is believed to be in the switch by what was read, and says what is lost: what an owner held and the switch
// has not, or has otherwise.
func (h *holding) look(s *switchState, kind func(cookie uint64) RuleKind) (lost map[key]heldObject) {
	lost = map[key]heldObject{}
	seen := make([][]bool, len(h.claims)) // of the claims that are held as a whole
	before, now := h.parts, map[key]heldObject{}
	for k, o := range s.objects(kind) {
		was, n, i := h.whole(k)
		if was.none() {
			was = before[k]
		} else if was.same(o, h.version) {
			if seen[n] == nil {
				seen[n] = make([]bool, h.claims[n].state.size())
			}
			seen[n][i] = true
			continue
		}
		now[k] = heldObject{o, was.owner}
	}
	h.foreign = s.foreign(kind)
	h.parts, h.owned = map[key]heldObject{}, map[Owner]map[key]struct{}{}
	for k, o := range now {
		h.add(k, o.object, o.owner)
	}
	for k, o := range before {
		if is, ok := now[k]; o.owner != nil && !(ok && o.same(is.object, h.version)) {
			lost[k] = o
		}
	}
	for n, c := range h.claims {
		if c == nil || seen[n] != nil && !slices.Contains(seen[n], false) {
			continue
		}
		owner := h.ids.owner(n)
		if h.loose[owner] {
			continue
		}
		h.loose[owner] = true
		i := 0
		for k, o := range c.state.all {
			if seen[n] != nil && seen[n][i] {
				h.add(k, o, owner)
			} else {
				lost[k] = heldObject{o, owner}
			}
			i++
		}
	}
	return lost
}
