package engine

import (
	"net/netip"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// What follows from a version later, such as a backend that has come up, is not in effect before the switches have confirmed it, nor
// before it has been sent.
func TestAppliedAlsoOfLaterStates(t *testing.T) {
	addr := netip.MustParseAddr("10.0.0.100")
	view := func() (*apps.View, *apps.VIP) {
		x := &apps.VIP{VIP: &vip.VIP{ID: 1, Version: 3, Address: addr}}
		return apps.NewView(nil, map[flows.DPID]apps.SwitchInfo{1: {DPID: 1}}, []*apps.VIP{x}), x
	}
	s := newStatus()
	send := func(v *apps.View, x *apps.VIP, n int) (seq uint64) {
		owners := []apps.Owner{vipOwner(x.VIP), addressOwner(addr)}
		seq = s.sent(v, owners[:n])
		s.pushed(v)
		return seq
	}
	confirm := func(seq uint64) {
		for _, o := range []apps.Owner{vipOwner(&vip.VIP{ID: 1}), addressOwner(addr)} {
			s.applied(1, o, seq, nil)
		}
	}
	want := func(what string, x *apps.VIP, version uint64, want bool) {
		t.Helper()
		if _, all := s.appliedTo(x, []flows.DPID{1}, version, nil); all != want {
			t.Errorf("%s: applied is %t", what, all)
		}
	}
	v, x := view()
	seq := send(v, x, 2)
	want("sent", x, 3, false)
	confirm(seq)
	want("confirmed", x, 3, true)

	later, y := view() // the same version, in another state
	want("not sent yet", y, 3, false)
	seq = send(later, y, 1)
	want("sent again", y, 3, false)
	want("an older version is", y, 2, true)
	confirm(seq)
	want("confirmed again", y, 3, true)
}
