package controller

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

type someone string

func (o someone) String() string { return string(o) }

// world is a switch with its holding, and beside it what the switch holds, plainly, by identity.
type world struct {
	t      *testing.T
	d      desired
	truth  map[key]heldObject
	random *rand.Rand
}

var someones = []someone{"a", "b", "c"}

// object is one of the rules that an owner may want: each has identities of its own.
func (w *world) object(o someone, n int) object {
	r := flows.MustParseRule(fmt.Sprintf("cookie=1, table=%d, priority=%d,ip actions=output:%d", o[0]-'a', n, w.random.IntN(2)))
	return object{rule: &r}
}

// wish is a random state of an owner in two blocks.
func (w *world) wish(o someone) OwnerState {
	var parts [2]flows.State
	for n := range 6 {
		if part := w.random.IntN(3); part < 2 {
			parts[part].Rules = append(parts[part].Rules, *w.object(o, n).rule)
		}
	}
	return OwnerState{Owner: o, Version: w.random.Uint64(), State: NewState(NewBlock(parts[0], nil), NewBlock(parts[1], nil))}
}

// check compares the holding with the truth.
func (w *world) check(what string) {
	w.t.Helper()
	count := map[Owner]int{}
	for _, o := range someones {
		for n := range 6 {
			k := w.object(o, n).key()
			got, want := w.d.held.get(k), w.truth[k]
			if got.none() != want.none() || got.owner != want.owner || !got.none() && !got.same(want.object, openflow.V15) {
				w.t.Fatalf("after %s: %s holds %s of %v, want %s of %v", what, o, got, got.owner, want, want.owner)
			}
			if !want.none() {
				count[want.owner]++
			}
		}
	}
	for _, o := range []Owner{someones[0], someones[1], someones[2], nil} {
		for k, x := range w.d.held.each(o) {
			if want := w.truth[k]; want.owner != o || !x.same(want.object, openflow.V15) {
				w.t.Fatalf("after %s: %v is said to hold %s", what, o, x)
			}
			count[o]--
		}
		if count[o] != 0 {
			w.t.Fatalf("after %s: %d objects of %v are not listed", what, count[o], o)
		}
	}
}

// settle carries out a wish: wholly, or in part, or not at all.
func (w *world) settle() string {
	s := w.wish(someones[w.random.IntN(len(someones))])
	if w.d.held.unchanged(s) {
		return "nothing"
	}
	plan, bad := w.d.plan([]OwnerState{s}, false, nil)
	if len(bad) > 0 {
		w.t.Fatal(bad)
	}
	made := plan.ops
	partly := w.random.IntN(3) == 0
	if partly {
		made = made[:w.random.IntN(len(made)+1)]
	}
	for _, a := range plan.adopted {
		w.truth[a.key] = heldObject{w.truth[a.key].object, a.owner}
	}
	for _, p := range made {
		delete(w.truth, p.key)
		if !p.deletes() {
			w.truth[p.key] = heldObject{p.after, p.owner}
		}
	}
	if partly {
		w.d.held.note(plan, made)
		w.d.held.refuse(s)
		return "a refusal of " + s.Owner.String()
	}
	w.d.held.confirm(plan, []OwnerState{s})
	if got := w.d.held.of(s.Owner); s.State.size() > 0 && got.version != s.Version {
		w.t.Fatalf("%s has version %d, want %d", s.Owner, got.version, s.Version)
	}
	return "a change of " + s.Owner.String()
}

// audit reads a switch from which something has gone, in which something is otherwise, or something is new; and mends it.
func (w *world) audit() string {
	owned := map[key]heldObject{}
	var read switchState
	for k, o := range w.truth {
		owned[k] = o
		switch w.random.IntN(8) {
		case 0:
			delete(w.truth, k)
			continue
		case 1:
			r := *o.rule
			r.Actions = []flows.Action{flows.Output{Port: 9}}
			w.truth[k] = heldObject{object{rule: &r}, o.owner}
		}
		read.rules = append(read.rules, flows.InstalledRule{Rule: *w.truth[k].rule})
	}
	stray := w.object(someones[0], w.random.IntN(6))
	if w.truth[stray.key()].none() && owned[stray.key()].none() {
		w.truth[stray.key()] = heldObject{object: stray}
		read.rules = append(read.rules, flows.InstalledRule{Rule: *stray.rule})
	}
	lost := w.d.held.look(&read, func(uint64) RuleKind { return Desired })
	w.check("a look")
	ops := w.d.drifted(lost)
	mended := map[key]bool{}
	for _, p := range ops {
		mended[p.key] = true
		delete(w.truth, p.key)
		if !p.deletes() {
			w.truth[p.key] = heldObject{p.after, p.owner}
		}
	}
	for k, o := range owned {
		now := w.truth[k]
		if o.owner != nil && (now.none() || !o.same(now.object, openflow.V15)) {
			w.t.Fatalf("%s of %v is not mended", o, o.owner)
		}
		if o.owner == nil && !mended[k] && !now.none() {
			w.t.Fatalf("%s of nobody stays", o)
		}
	}
	w.d.held.note(&step{}, ops)
	for _, p := range ops {
		w.d.held.tighten(p.owner)
	}
	return "an audit"
}

// However it is kept, by owners or one by one, a holding says what the switch holds. Several switches share what is theirs alike.
func TestHolding(t *testing.T) {
	ids := newIdentities()
	cfg := Config{OwnGroup: func(uint32) bool { return false }, OwnMeter: func(uint32) bool { return false }}
	var worlds []*world
	for i := range 3 {
		w := &world{t: t, truth: map[key]heldObject{}, random: rand.New(rand.NewPCG(1, uint64(i)))}
		w.d.cfg, w.d.version, w.d.held = &cfg, openflow.V15, newHolding(ids, openflow.V15)
		worlds = append(worlds, w)
	}
	whole := 0
	for range 1000 {
		for _, w := range worlds {
			what := ""
			if w.random.IntN(4) == 0 {
				what = w.audit()
			} else {
				what = w.settle()
			}
			w.check(what)
			if w.d.held.size() == 0 {
				whole++
			}
		}
	}
	if whole < 300 || whole > 2700 {
		t.Errorf("nothing kept one by one in %d of 3000 steps", whole)
	}
	for _, w := range worlds {
		w.d.held.release()
		if w.d.held.rules != 0 {
			t.Errorf("%d rules are counted at the end", w.d.held.rules)
		}
	}
	if len(ids.numbers)+len(ids.tenants) > 0 {
		t.Errorf("after the end of all: owners %v, identities %v", ids.numbers, ids.tenants)
	}
}
