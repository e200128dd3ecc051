package controller

import (
	"slices"

	"github.com/sirupsen/logrus"
)

// auditLines bounds what one audit logs.
const auditLines = 10

// audit reads what the switch holds and mends what is not as it was left: by somebody else's hand, or by a switch that lost
// it. Owners who were refused something keep what they had.
func (sw *Switch) audit() error {
	d := &sw.desired
	end := sw.c.audits.take(sw.done)
	err := sw.reread()
	end()
	if err != nil {
		if refused(err) {
			sw.log().WithError(err).Error("audit failed")
			return nil
		}
		return err
	}
	d.audits.Add(1)
	ops := d.drifted(d.lost)
	d.lost = nil
	for i, p := range ops {
		if i == auditLines {
			sw.log().WithField("more", len(ops)-i).Warn("drift")
			break
		}
		sw.log().WithFields(logrus.Fields{"found": p.before.String(), "mended": p.String()}).Warn("drift")
	}
	return sw.mend(ops)
}

// mend carries out what an audit has found to be necessary. When something is refused its owner is told, and what else there is
// to mend for that owner is left as it is; the rest is tried again.
func (sw *Switch) mend(ops []op) error {
	d := &sw.desired
	for spare := map[key]bool{}; len(ops) > 0; {
		out, err := sw.carryOut(ops)
		if err != nil {
			return err
		}
		d.held.note(&step{}, out.made)
		for _, p := range out.made {
			d.held.tighten(p.owner)
		}
		d.drift.Add(uint64(len(out.made)))
		switch owners := byOwner(ops); {
		case out.whole == nil && len(out.failed) == 0:
			return nil
		case out.whole != nil && len(owners) > 1: // it does not say what it refuses: one owner after the other
			for _, some := range owners {
				if err := sw.mend(d.undone(some)); err != nil {
					return err
				}
			}
			return nil
		}
		bad := out.blame(sw, ops, spare)
		for owner, err := range bad {
			sw.tell(err)
			sw.c.h.Applied(sw.info.DPID, owner, d.held.of(owner).version, err)
		}
		ops = slices.DeleteFunc(d.undone(ops), func(p op) bool { return bad[p.owner] != nil || spare[p.key] })
	}
	return nil
}

// byOwner divides operations by their owners, in the order in which these first occur.
func byOwner(ops []op) (parts [][]op) {
	place := map[Owner]int{}
	for _, p := range ops {
		i, known := place[p.owner]
		if !known {
			i = len(parts)
			place[p.owner], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], p)
	}
	return parts
}

// undone are the operations that are not done yet, as they are from what the switch holds now.
func (d *desired) undone(ops []op) (left []op) {
	for _, p := range ops {
		p.before = d.held.get(p.key).object
		if done := p.before.none() == p.after.none() && (p.deletes() || p.after.same(p.before, d.version)); !done {
			left = append(left, p)
		}
	}
	return left
}

// drifted lists what restores what is lost, and deletes what nobody owns. What another owner has been given since is not lost.
func (d *desired) drifted(lost map[key]heldObject) (ops []op) {
	for k, l := range lost {
		now := d.held.get(k)
		if now.owner != nil && now.owner != l.owner {
			continue
		}
		if now.none() || !l.same(now.object, d.version) {
			ops = append(ops, op{key: k, before: now.object, after: l.object, from: l.owner, owner: l.owner, mends: true})
		}
	}
	for k, o := range d.held.each(nil) {
		if d.mine(k) {
			ops = append(ops, op{key: k, before: o})
		}
	}
	arrange(ops)
	return ops
}
