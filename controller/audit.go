package controller

import "github.com/sirupsen/logrus"

// auditLines bounds what one audit logs.
const auditLines = 10

// audit reads what the switch holds and mends what is not as it was left: by somebody else's hand, or by a switch that lost
// it. Owners who were refused something keep what they had.
func (sw *Switch) audit() error {
	d := &sw.desired
	end := sw.c.audits.take(sw.done)
	lost, err := sw.reread()
	end()
	if err != nil {
		if refused(err) {
			sw.log().WithError(err).Error("audit failed")
			return nil
		}
		return err
	}
	d.audits.Add(1)
	ops := d.drifted(lost)
	if len(ops) == 0 {
		return nil
	}
	for i, p := range ops {
		if i == auditLines {
			sw.log().WithField("more", len(ops)-i).Warn("drift")
			break
		}
		sw.log().WithFields(logrus.Fields{"found": p.before.String(), "mended": p.String()}).Warn("drift")
	}
	out, err := sw.carryOut(ops)
	if err != nil {
		return err
	}
	d.held.note(&step{}, out.made)
	for _, p := range out.made {
		d.held.tighten(p.owner)
	}
	d.drift.Add(uint64(len(out.made)))
	for owner, err := range out.blame(sw, ops, map[key]bool{}) {
		sw.tell(err)
		sw.c.h.Applied(sw.info.DPID, owner, d.held.of(owner).version, err)
	}
	return nil
}

// drifted lists what restores what is lost, and deletes what nobody owns.
func (d *desired) drifted(lost []lostObject) (ops []op) {
	for _, l := range lost {
		now := d.held.get(l.key)
		if now.none() || !l.same(now.object, d.version) {
			ops = append(ops, op{key: l.key, before: now.object, after: l.object, from: l.owner, owner: l.owner, mends: true})
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
