package nat

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// A backend's host has a rule for each port that it answers from, once however many VIPs lead there; other hosts have none.
func TestApart(t *testing.T) {
	b1, b2 := flows.MAC{2, 0, 0, 0, 1, 1}, flows.MAC{2, 0, 0, 0, 1, 2}
	v := view(newVIP(1), newVIP(1, id(8), at(81, 81)), newVIP(1, id(9), at(8000, 8010), listen(0)), newVIP(1, id(10), udp))
	v.Switches[second] = apps.SwitchInfo{DPID: second}
	const look = " actions=move:NXM_OF_TCP_DST[]->NXM_NX_REG1[0..15],resubmit(,80)\n"
	const want = "table=70, priority=50,tcp,nw_src=10.0.1.1,tp_src=8080" + look +
		"table=70, priority=50,tcp,nw_src=10.0.1.1,tp_src=0x1f40/0xfff8" + look +
		"table=70, priority=50,tcp,nw_src=10.0.1.1,tp_src=0x1f48/0xfffe" + look +
		"table=70, priority=50,tcp,nw_src=10.0.1.1,tp_src=8010" + look +
		"table=70, priority=50,udp,nw_src=10.0.1.1,tp_src=8080 actions=move:NXM_OF_UDP_DST[]->NXM_NX_REG1[0..15],resubmit(,80)\n"
	states := New(Config{}).Desired(v, apps.Owner{Kind: apps.OwnerHost, MAC: b1})
	if _, there := states[second]; there || len(states) != 2 {
		t.Errorf("switches without extensions have %v", states)
	}
	for d, s := range states {
		got := ""
		for _, r := range s.Rules {
			if r.Cookie != apps.Cookie(apps.KindDesired, apps.ClassNAT, 0) {
				t.Errorf("cookie %#x", r.Cookie)
			}
			r.Cookie = 0
			got += r.String() + "\n"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d, diff)
		}
	}
	if s := New(Config{}).Desired(v, apps.Owner{Kind: apps.OwnerHost, MAC: b2}); s != nil {
		t.Errorf("another host wants %v", s)
	}
}
