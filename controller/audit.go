package controller

import "github.com/sirupsen/logrus"

// auditLines bounds what one audit logs.
const auditLines = 10

// audit reads what the switch holds and mends what is not as it was left: by somebody else's hand, or by a switch that lost
// it. Owners who were refused something keep what they had.
func (sw *Switch) audit() error {
	d := &sw.desired
	should := d.held
	if err := sw.reread(); err != nil {
		if refused(err) {
			sw.log().WithError(err).Error("audit failed")
			return nil
		}
		return err
	}
	d.audits.Add(1)
	ops := d.drifted(should)
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
	d.drift.Add(uint64(len(out.made)))
	for owner, err := range out.blame(sw, ops, map[key]bool{}) {
		sw.tell(err)
		sw.c.h.Applied(sw.info.DPID, owner, d.wanted[owner].Version, err)
	}
	return nil
}

// drifted lists what restores the switch to what it held.
func (d *desired) drifted(should *holding) (ops []op) {
	for k, o := range should.objects {
		now := d.held.objects[k]
		if o.owner != nil && (now.none() || !o.same(now.object, d.version)) {
			ops = append(ops, op{key: k, before: now.object, after: o.object, from: o.owner, owner: o.owner, mends: true})
		}
	}
	for k := range d.held.owned[nil] {
		if d.mine(k) {
			ops = append(ops, op{key: k, before: d.held.objects[k].object})
		}
	}
	arrange(ops)
	return ops
}
