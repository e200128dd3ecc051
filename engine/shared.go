package engine

import (
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
)

// shared keeps one copy of what owners want, which is most often the same on every switch: a thousand VIPs on many switches
// would else be held a thousand times each. Only the loop uses it.
type shared map[apps.Owner]*sharedOwner

// sharedOwner is an owner as the controller keeps it, and what it wants: of all switches, but of the base, which differs from
// switch to switch, of each.
type sharedOwner struct {
	owner controller.Owner
	wants
	each map[flows.DPID]*wants
	last map[int]*controller.Block // by app: of the base, what was made last; the next has most rules in common with it
}

// wants are the different things that each app wants for an owner now, and the different states made of them.
type wants struct {
	blocks []sharedBlock
	states []*controller.State
}

type sharedBlock struct {
	app   int
	block *controller.Block
}

// maxShared bounds what is kept of an owner: one for each kind of switch, and those before them.
const maxShared = 4

// of is an owner's place.
func (s shared) of(o apps.Owner) *sharedOwner {
	x := s[o]
	if x == nil {
		x = &sharedOwner{owner: o}
		if o.Kind == apps.OwnerBase {
			x.each, x.last = map[flows.DPID]*wants{}, map[int]*controller.Block{}
		}
		s[o] = x
	}
	return x
}

// at is what the owner wants of a switch, and how many different things of that are kept.
func (x *sharedOwner) at(d flows.DPID) (w *wants, most int) {
	if x.each == nil {
		return &x.wants, maxShared
	}
	if x.each[d] == nil {
		x.each[d] = &wants{}
	}
	return x.each[d], 1
}

// block is what an app wants of a switch, the copy that other switches have if there is one; nil: nothing.
func (x *sharedOwner) block(d flows.DPID, app int, plain flows.State) *controller.Block {
	if len(plain.Rules)+len(plain.Groups)+len(plain.Meters) == 0 {
		return nil
	}
	w, most := x.at(d)
	n, first := 0, 0
	for i, have := range slices.Backward(w.blocks) {
		if have.app != app {
			continue
		}
		if have.block.MadeOf(plain) {
			return have.block
		}
		n, first = n+1, i
	}
	if n == most {
		w.blocks = slices.Delete(w.blocks, first, first+1)
	}
	b := controller.NewBlock(plain, x.last[app])
	if x.last != nil {
		x.last[app] = b
	}
	w.blocks = append(w.blocks, sharedBlock{app, b})
	return b
}

// state is a switch's state made of blocks, the one that other switches have if there is one.
func (x *sharedOwner) state(d flows.DPID, blocks []*controller.Block) *controller.State {
	w, most := x.at(d)
	for _, have := range w.states {
		if have.MadeOf(blocks) {
			return have
		}
	}
	if len(w.states) == most {
		w.states = slices.Delete(w.states, 0, 1)
	}
	s := controller.NewState(blocks...)
	w.states = append(w.states, s)
	return s
}
