package engine

import (
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
)

// shared keeps one copy of what VIPs and addresses want, which is most often the same on every switch: a thousand VIPs on
// many switches would else be held a thousand times each. Only the loop uses it.
type shared map[apps.Owner]*sharedOwner

// sharedOwner is an owner as the controller keeps it, and the different states it wants now.
type sharedOwner struct {
	owner  controller.Owner
	states []flows.State
}

// maxShared bounds the states kept of an owner: one for each kind of switch, and those before them.
const maxShared = 4

// state is an owner's state, the copy that other switches have if there is one.
func (s shared) state(o apps.Owner, st flows.State) controller.OwnerState {
	x := s[o]
	if x == nil {
		x = &sharedOwner{owner: o}
		if o.Kind != apps.OwnerVIP && o.Kind != apps.OwnerAddress {
			return controller.OwnerState{Owner: o, State: st} // differs from switch to switch
		}
		s[o] = x
	}
	for _, have := range x.states {
		if equalStates(have, st) {
			return controller.OwnerState{Owner: x.owner, State: have}
		}
	}
	if len(st.Rules)+len(st.Groups)+len(st.Meters) == 0 {
		delete(s, o)
		return controller.OwnerState{Owner: x.owner}
	}
	if len(x.states) == maxShared {
		x.states = slices.Delete(x.states, 0, 1)
	}
	x.states = append(x.states, st)
	return controller.OwnerState{Owner: x.owner, State: st}
}

// equalStates reports whether two states are the same, in the same order.
func equalStates(a, b flows.State) bool {
	return slices.EqualFunc(a.Rules, b.Rules, flows.Rule.Equal) && slices.EqualFunc(a.Groups, b.Groups, flows.Group.Equal) &&
		slices.Equal(a.Meters, b.Meters)
}
