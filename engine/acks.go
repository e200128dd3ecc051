package engine

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// acks are which switches have confirmed what owners want of them. What is usual takes no room: that a switch has confirmed
// all that it was sent.
type acks struct {
	seq  uint64                            // of what was sent last
	sent map[apps.Owner]*sent              // but for hosts and ways
	open map[flows.DPID]map[apps.Owner]ack // by switches that have been sent everything: what is pending or refused
}

// sent is what an owner was last said to want, to all switches.
type sent struct {
	version uint64 // the VIP's version that it was made of
	gone    bool   // the owner is no more: when this is confirmed nothing is kept of it
	open    int    // switches that have not confirmed
}

// ack is what a switch has not confirmed.
type ack struct {
	seq     uint64
	done    uint64 // the newest VIP version confirmed
	pending bool
	err     string
}

func newAcks() acks {
	return acks{sent: map[apps.Owner]*sent{}, open: map[flows.DPID]map[apps.Owner]ack{}}
}

// send notes that owners' states of the view go to its switches, and returns their sequence number. A switch that has not been
// sent anything yet must be sent everything, after those that are only sent what has changed. Nobody waits for a host, or for
// the way to a switch: of those, which may be many, nothing is noted.
func (k *acks) send(v *apps.View, owners []apps.Owner) uint64 {
	k.seq++
	fresh := map[flows.DPID]bool{}
	for d := range v.Switches {
		if k.open[d] == nil {
			k.open[d], fresh[d] = make(map[apps.Owner]ack, len(owners)), true
		}
	}
	for _, o := range owners {
		if !awaited(o) {
			continue
		}
		s, known := k.sent[o]
		if !known {
			s = &sent{}
			k.sent[o] = s
		}
		for d := range v.Switches {
			a, open := k.open[d][o]
			if !open {
				s.open++
				if !fresh[d] {
					a.done = s.version
				}
			}
			a.seq, a.pending = k.seq, true
			k.open[d][o] = a
		}
		switch o.Kind {
		case apps.OwnerVIP:
			if x := v.VIP(o.VIP); x != nil {
				s.version = x.Version
			} else {
				s.gone = true
			}
		case apps.OwnerAddress:
			s.gone = !v.Ours(o.Addr)
		}
		k.forget(o, s)
	}
	return k.seq
}

func awaited(o apps.Owner) bool { return o.Kind != apps.OwnerHost && o.Kind != apps.OwnerSwitch }

// forget drops an owner that has gone everywhere.
func (k *acks) forget(o apps.Owner, s *sent) {
	if s.gone && s.open == 0 {
		delete(k.sent, o)
	}
}

// confirm notes a confirmation or refusal; those of states sent before the last are passed over. It reports whether it counts,
// and whether the error is new.
func (k *acks) confirm(d flows.DPID, o apps.Owner, seq uint64, err error) (counts, failed bool) {
	s := k.sent[o]
	a, open := k.open[d][o]
	switch {
	case s == nil || k.open[d] == nil || open && a.seq != seq:
		return false, false
	case err == nil && !open:
		return true, false
	case err == nil:
		k.close(d, o)
		return true, false
	case !open: // refused later, when it was to be restored
		a = ack{seq: seq, done: s.version}
		s.open++
	}
	failed = a.err != err.Error()
	a.pending, a.err = false, err.Error()
	k.open[d][o] = a
	return true, failed
}

// close notes that a switch has confirmed what it was sent of an owner.
func (k *acks) close(d flows.DPID, o apps.Owner) {
	delete(k.open[d], o)
	if len(k.open[d]) == 0 {
		k.open[d] = map[apps.Owner]ack{} // a map keeps the room that it once had
	}
	s := k.sent[o]
	s.open--
	k.forget(o, s)
}

// drop forgets a switch.
func (k *acks) drop(d flows.DPID) {
	for o := range k.open[d] {
		s := k.sent[o]
		s.open--
		k.forget(o, s)
	}
	delete(k.open, d)
}

// of is what a switch has confirmed of an owner: the newest VIP version, and what is open. known is false if it has not been
// sent anything.
func (k *acks) of(d flows.DPID, o apps.Owner) (done uint64, open ack, known bool) {
	s, m := k.sent[o], k.open[d]
	if s == nil || m == nil {
		return 0, ack{}, false
	}
	if a, open := m[o]; open {
		return a.done, a, true
	}
	return s.version, ack{}, true
}

// versionOf is the VIP's version that what an owner was last said to want was made of.
func (k *acks) versionOf(o apps.Owner) uint64 {
	if s := k.sent[o]; s != nil {
		return s.version
	}
	return 0
}

// refusal is the switch's last word if it was a refusal; "" while something newer is on its way.
func (a *ack) refusal() string {
	if a.pending {
		return ""
	}
	return a.err
}
