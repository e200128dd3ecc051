package nat

import (
	"testing"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// A connection that a switch has no room for ends: what is there of its pair goes, and its client is told. The switch is then left
// alone for a while, in which old connections go on.
func TestSwitchWithoutRoom(t *testing.T) {
	refuse := func(r *rig, rule string) string {
		x := flows.MustParseRule(rule)
		r.app.Refused(r.view, edge, &x, r.out)
		return r.out.take()
	}
	const old, late = "10.0.0.9:50000", "10.0.0.9:50001"
	for name, c := range map[string]struct{ refused, other string }{
		"the forward rule": {fwd + fwdActions, bare(rev)},
		"the reverse rule": {rev + revActions, bare(fwd)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newVIP(1))
			r.in(syn(old))
			same(t, "SYN", r.in(syn(client)), pairAdded+synSent)
			same(t, "refused", refuse(r, c.refused), "delete "+c.other+none)
			same(t, "refused again", refuse(r, c.refused), "")
			r.live(1)
			same(t, "its next segment", r.in(data(client)), "packet-out in_port=9 actions=IN_PORT (R 10.0.0.100:80 > 10.0.0.9:40000)")
			same(t, "its SYN again", r.in(syn(client)), refusedTo(client))
			same(t, "another", r.in(syn(late)), refusedTo(late))
			if got := chosen(r.in(data(old))); got != 1 {
				t.Errorf("an old connection goes to %d", got)
			}
			elsewhere := syn(late)
			elsewhere.at.DPID, elsewhere.at.No = second, 4
			if got := chosen(r.in(elsewhere)); got != 1 {
				t.Errorf("at another switch: to %d", got)
			}
			if n := r.app.Counters().Full; n != 2 {
				t.Errorf("%d counted", n)
			}
			r.now = r.now.Add(respite * time.Second)
			if got := chosen(r.in(syn(client))); got != 1 {
				t.Errorf("later: to %d", got)
			}
			r.live(3)
		})
	}
}
