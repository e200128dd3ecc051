package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
)

// doubt is since when edges note all flows of a VIP that send, because agents claim one for two backends.
type doubt struct {
	generation uint32
	at         time.Time // zero: not all do yet
}

func (r *relief) isDoubted(id vip.ID) bool {
	_, is := r.doubts[id]
	return is
}

// claimedTwice are the connections that agents claim for two backends.
func claimedTwice(live []othello.State) map[othello.Tuple]bool {
	owner, out := make(map[othello.Tuple]uint32, len(live)), map[othello.Tuple]bool{}
	for _, s := range live {
		if o, has := owner[s.Tuple]; has && o != s.Owner {
			out[s.Tuple] = true
		}
		owner[s.Tuple] = s.Owner
	}
	return out
}

// disputed is an error if two backends claim a connection. Older generations, which ask the edges, find who has it.
func disputed(live []othello.State) error {
	twice := claimedTwice(live)
	for _, s := range live {
		if !twice[s.Tuple] {
			continue
		}
		i := slices.IndexFunc(live, func(o othello.State) bool { return o.Tuple == s.Tuple && o.Owner != s.Owner })
		return fmt.Errorf("agents of backends %d and %d both claim the connection of %s", min(live[i].Owner, s.Owner), max(live[i].Owner, s.Owner), s.Src)
	}
	return nil
}

// settleClaims decides whose a flow of datagrams is that agents claim for two backends, as a host does long after the flow has left it, or when the
// client has sent from the same port to the host itself. Which agent is right cannot be known from them: the edges are to note where they deliver
// such flows. Claims that stay are of flows that have not sent since.
func (e *Engine) settleClaims(v *apps.View, x *apps.VIP, newest *vip.Generation, live []othello.State, now time.Time) []othello.State {
	twice := claimedTwice(live)
	if len(twice) == 0 {
		delete(e.relief.doubts, x.ID)
		return live
	}
	d := e.relief.doubts[x.ID]
	if d.generation != newest.ID {
		d = doubt{generation: newest.ID}
	}
	if y := e.view.Load().VIP(x.ID); d.at.IsZero() && y != nil && y.Doubted && e.status.confirmed(vipOwner(x.VIP), v) {
		d.at = now
	}
	e.relief.doubts[x.ID] = d
	e.generations.lookAt(now.Add(stepRetry))
	window, _ := x.Spec.LearnWindow()
	if d.at.IsZero() || now.Sub(d.at) < window {
		return live
	}
	noted, _, read := e.noted(v, x, newest.ID, d.at.Add(now.Sub(d.at)/window*window))
	if !read {
		return live
	}
	return borneOut(x, live, twice, noted)
}

// borneOut are claims without those that contradict what edges have noted of a flow, if another claim says the same.
func borneOut(x *apps.VIP, live []othello.State, twice map[othello.Tuple]bool, noted []vip.Pin) []othello.State {
	claimed := make(map[othello.State]bool, len(live))
	for _, s := range live {
		claimed[s] = true
	}
	owner := map[othello.Tuple]uint32{}
	for _, n := range noted {
		if s := stateOf(x, n); twice[s.Tuple] && claimed[s] {
			owner[s.Tuple] = s.Owner
		}
	}
	return slices.DeleteFunc(slices.Clone(live), func(s othello.State) bool {
		o, known := owner[s.Tuple]
		return known && o != s.Owner
	})
}
