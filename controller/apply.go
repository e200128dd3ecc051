package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/evenflow/evenflow/openflow"
	"github.com/sirupsen/logrus"
)

// apply carries out what the queue holds, and audits, until the session ends.
func (sw *Switch) apply() {
	var audit <-chan time.Time
	if every := sw.c.cfg.AuditInterval; every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		audit = ticker.C
	}
	for {
		var err error
		select {
		case <-sw.done:
			return
		case <-sw.queue.wake:
			if j, ok := sw.queue.take(); ok {
				err = sw.transact(j)
			}
		case <-audit:
			if sw.desired.begun {
				err = sw.audit()
			}
		}
		if err != nil {
			sw.end(err)
			return
		}
	}
}

// transact makes the switch equal to what a job asks for and tells the owners. The error ends the session: the switch's
// state is not known any more.
func (sw *Switch) transact(j job) error {
	d := &sw.desired
	states := j.states
	if j.all {
		asked := map[Owner]bool{}
		for _, s := range states {
			asked[s.Owner] = true
		}
		for _, owner := range d.held.owners() {
			if !asked[owner] {
				states = append(states, OwnerState{Owner: owner})
			}
		}
	}
	if j.all && d.held.size() < bigState && wanted(states) >= bigState {
		sw.endTurn = sw.c.loads.take(sw.done)
	}
	refusals, err := sw.settle(states, j.all, nil)
	sw.endTurn()
	if err != nil {
		return err
	}
	for _, s := range states {
		if refusals[s.Owner] != nil {
			d.held.refuse(s)
		}
	}
	d.begun = true
	d.publish()
	for _, s := range j.states {
		err := refusals[s.Owner]
		if err != nil {
			sw.tell(err)
		}
		sw.c.h.Applied(sw.info.DPID, s.Owner, s.Version, err)
	}
	return nil
}

// wanted is how many objects are wanted.
func wanted(states []OwnerState) (n int) {
	for _, s := range states {
		n += s.State.size()
	}
	return n
}

func (sw *Switch) tell(err error) {
	sw.desired.refusals.Add(1)
	if sw.mayLog() {
		sw.log().WithError(err).Error("desired state refused")
	}
}

// settle carries out what these owners want. When something is refused its owner's change is left out, or undone as far
// as it had been made (made is what has been so far), and the rest is tried again. refusals says who was refused and why.
func (sw *Switch) settle(states []OwnerState, leftovers bool, made []op) (refusals map[Owner]error, err error) {
	d := &sw.desired
	refusals = map[Owner]error{}
	spare := map[key]bool{} // what stays though nobody has it
	left := make([]OwnerState, 0, len(states))
	for _, s := range states {
		if d.held.unchanged(s) {
			d.held.claim(s)
		} else {
			left = append(left, s)
		}
	}
	for synced := false; ; {
		plan, bad := d.plan(left, leftovers, spare)
		if len(bad) == 0 {
			sw.notePlan(plan.ops)
			out, err := sw.carryOut(plan.ops)
			if err != nil {
				return nil, err
			}
			if out.whole == nil && len(out.failed) == 0 {
				d.held.confirm(plan, left)
				d.found(left)
				return refusals, nil
			}
			d.held.note(plan, out.made)
			made = append(made, out.made...)
			if out.whole != nil && len(left) > 1 {
				return sw.settleEach(left, leftovers, made, refusals)
			}
			if !synced && out.stale() {
				synced = true
				if err := sw.reread(); err != nil {
					return nil, err
				}
				continue
			}
			bad = out.blame(sw, plan.ops, spare)
		}
		for _, s := range left {
			if bad[s.Owner] == nil {
				continue
			}
			refusals[s.Owner] = bad[s.Owner]
			for k := range s.State.all {
				spare[k] = true
			}
			if err := sw.undo(made, s.Owner); err != nil {
				return nil, err
			}
		}
		left = slices.DeleteFunc(left, func(s OwnerState) bool { return bad[s.Owner] != nil })
	}
}

// settleEach is settle for a switch that does not say what it refuses: one owner after the other.
func (sw *Switch) settleEach(states []OwnerState, leftovers bool, made []op, refusals map[Owner]error) (map[Owner]error, error) {
	steps := make([][]OwnerState, 0, len(states)+1)
	for i := range states {
		steps = append(steps, states[i:i+1])
	}
	if leftovers {
		steps = append(steps, nil)
	}
	for i, step := range steps {
		more, err := sw.settle(step, leftovers && i == len(states), slices.Clone(made))
		if err != nil {
			return nil, err
		}
		for owner, err := range more {
			refusals[owner] = err
		}
	}
	return refusals, nil
}

// undo restores what an owner had before those operations.
func (sw *Switch) undo(made []op, owner Owner) error {
	var back []op
	at := map[key]int{} // in back
	same := func(a, b object) bool { return a == b || !a.none() && !b.none() && a.same(b, sw.info.Version) }
	for _, p := range slices.Backward(made) {
		if p.owner != owner {
			continue
		}
		if i, later := at[p.key]; later { // of several parts
			if same(back[i].after, p.after) {
				back[i].after, back[i].owner = p.before, p.from
			}
			continue
		}
		now := sw.desired.held.get(p.key).object
		if same(now, p.after) {
			at[p.key] = len(back)
			back = append(back, p.inverse())
		}
	}
	arrange(back)
	out, err := sw.carryOut(back)
	sw.desired.held.note(&step{}, out.made)
	for _, f := range out.failed {
		sw.log().WithError(f.err).WithField("what", f.op.String()).Error("not undone")
	}
	if out.whole != nil {
		sw.log().WithError(out.whole).WithField("owner", owner).Error("not undone")
	}
	return err
}

// notePlan logs what is unusual.
func (sw *Switch) notePlan(ops []op) {
	for _, p := range ops {
		if cookie, ok := sw.desired.held.foreign[p.key]; ok && !p.deletes() && sw.mayLog() {
			sw.log().WithFields(logrus.Fields{"rule": p.after.String(), "cookie": fmt.Sprintf("%#x", cookie)}).
				Warn("a foreign rule is replaced")
		}
	}
}

// outcome is what has become of operations.
type outcome struct {
	made   []op
	failed []failure
	whole  error // refused as a whole, without saying what for
}

type failure struct {
	op  op
	err error
}

// stale reports whether something failed that would not, were the switch as it is believed to be.
func (o outcome) stale() bool {
	return slices.ContainsFunc(o.failed, func(f failure) bool {
		var e *openflow.Error
		return errors.As(f.err, &e) && (e.Type == openflow.ErrGroupModFailed || e.Type == openflow.ErrMeterModFailed ||
			e.Type == openflow.ErrBadAction)
	})
}

// blame turns failures into refusals of owners. Failures of what nobody owns make that spare.
func (o outcome) blame(sw *Switch, ops []op, spare map[key]bool) map[Owner]error {
	bad := map[Owner]error{}
	note := func(p op, err error) {
		if p.owner == nil {
			spare[p.key] = true
			if sw.mayLog() {
				sw.log().WithError(err).WithField("what", p.String()).Warn("not deleted")
			}
		} else if bad[p.owner] == nil {
			bad[p.owner] = &RefusedError{DPID: sw.info.DPID, Owner: p.owner, What: p.String(), Err: err}
		}
	}
	for _, f := range o.failed {
		note(f.op, f.err)
	}
	if o.whole != nil {
		for _, p := range ops {
			note(p, o.whole)
		}
	}
	return bad
}

// found notes that the switch holds all that these owners want.
func (d *desired) found(owners []OwnerState) {
	maps.DeleteFunc(d.lost, func(_ key, o heldObject) bool {
		return slices.ContainsFunc(owners, func(s OwnerState) bool { return s.Owner == o.owner })
	})
}

// reread replaces what is believed to be in the switch by what is, and notes what is lost. What a change does not put right the
// next audit does.
func (sw *Switch) reread() error {
	d := &sw.desired
	s, err := sw.readOwn()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	for k, o := range d.held.look(&s, d.cfg.Kind) {
		if d.lost == nil {
			d.lost = map[key]heldObject{}
		}
		d.lost[k] = o
	}
	return nil
}

// readOwn reads what may be of kind Desired.
func (sw *Switch) readOwn() (switchState, error) {
	cfg := sw.c.cfg
	f := openflow.FlowFilter{Table: everything.Table, Cookie: cfg.AuditCookie, CookieMask: cfg.AuditMask}
	return readState(sw, f).wait(sw.awaits(context.Background()))
}
