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
}

// wants are the different things that each app wants for an owner now, and the different states made of them.
type wants struct {
	blocks [][]sharedBlock // by app
	states []sharedState
	most   int // of each
}

type sharedBlock struct {
	plain flows.State
	block *controller.Block
}

type sharedState struct {
	blocks []*controller.Block
	state  *controller.State
}

// maxShared bounds what is kept of an owner: one for each kind of switch, and those before them.
const maxShared = 4

// of is an owner's place; there are n apps.
func (s shared) of(o apps.Owner, n int) *sharedOwner {
	x := s[o]
	if x == nil {
		x = &sharedOwner{owner: o, wants: newWants(n, maxShared), each: map[flows.DPID]*wants{}}
		s[o] = x
	}
	return x
}

func newWants(n, most int) wants { return wants{blocks: make([][]sharedBlock, n), most: most} }

// at is what the owner wants of a switch.
func (x *sharedOwner) at(d flows.DPID) *wants {
	if x.owner.(apps.Owner).Kind != apps.OwnerBase {
		return &x.wants
	}
	if x.each[d] == nil {
		w := newWants(len(x.blocks), 1)
		x.each[d] = &w
	}
	return x.each[d]
}

// block is what an app wants, the copy that other switches have if there is one; nil: nothing.
func (x *wants) block(app int, plain flows.State) *controller.Block {
	if empty(plain) {
		return nil
	}
	list := x.blocks[app]
	for _, have := range list {
		if sameStates(have.plain, plain) {
			return have.block
		}
	}
	if len(list) == x.most {
		list = slices.Delete(list, 0, 1)
	}
	b := controller.NewBlock(plain)
	x.blocks[app] = append(list, sharedBlock{plain, b})
	return b
}

// state is a state made of blocks, the one that other switches have if there is one.
func (x *wants) state(blocks []*controller.Block) *controller.State {
	for _, have := range x.states {
		if slices.Equal(have.blocks, blocks) {
			return have.state
		}
	}
	if len(x.states) == x.most {
		x.states = slices.Delete(x.states, 0, 1)
	}
	s := controller.NewState(blocks...)
	x.states = append(x.states, sharedState{slices.Clone(blocks), s})
	return s
}

func empty(s flows.State) bool { return len(s.Rules)+len(s.Groups)+len(s.Meters) == 0 }

// sameStates reports whether two states are the same, in the same order.
func sameStates(a, b flows.State) bool {
	return sameSlices(a.Rules, b.Rules, flows.Rule.Equal) && sameSlices(a.Groups, b.Groups, flows.Group.Equal) &&
		slices.Equal(a.Meters, b.Meters)
}

// sameSlices is slices.EqualFunc, but at once for one and the same slice.
func sameSlices[T any](a, b []T, equal func(a, b T) bool) bool {
	if len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	return slices.EqualFunc(a, b, equal)
}
