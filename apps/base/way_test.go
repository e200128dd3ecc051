package base

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// What leads to a host that has settled names its switch; the way there is the switch's, with a detour if there is one.
func TestWay(t *testing.T) {
	v := view(true, 1, 2)
	v.Numbers = map[flows.DPID]uint16{1: 65530, 2: 65527, 3: 65524}
	a := New(Config{})
	for d, want := range map[flows.DPID]string{
		1: `group_id=83951610,type=ff,bucket=bucket_id:1,watch_port:3,actions=output:3,bucket=bucket_id:2,watch_port:4,actions=output:4
cookie=0xef01010000000000, table=80, priority=100,reg0=0x8000fffa actions=group:83951610
`,
		3: `group_id=83951604,type=ff,bucket=bucket_id:1,watch_port:4,actions=output:4,bucket=bucket_id:2,watch_port:3,actions=output:3
cookie=0xef01010000000000, table=80, priority=100,reg0=0x8000fff4 actions=group:83951604
`,
		2: "", 4: "",
	} {
		if diff := cmp.Diff(want, a.Desired(v, apps.Owner{Kind: apps.OwnerSwitch, DPID: d})[2].String()); diff != "" {
			t.Errorf("to %s (-want +got):\n%s", d, diff)
		}
	}
	const host = "cookie=0xef01010000000000, table=60, priority=100,dl_dst=00:00:00:00:00:03 actions=set_field:0x8000fff4->reg0,resubmit(,80)\n"
	for d, s := range a.Desired(v, apps.Owner{Kind: apps.OwnerHost, MAC: mac(3)}) {
		if diff := cmp.Diff(host, s.String()); diff != "" {
			t.Errorf("on %s (-want +got):\n%s", d, diff)
		}
	}
	if s := a.Desired(view(true, 2), apps.Owner{Kind: apps.OwnerSwitch, DPID: 1}); s != nil {
		t.Errorf("to a switch without a number: %v", s)
	}
	v = view(false, 2)
	v.Numbers = map[flows.DPID]uint16{1: 65530}
	if s := a.Desired(v, apps.Owner{Kind: apps.OwnerSwitch, DPID: 1})[2].String(); s != "" {
		t.Errorf("on a switch without registers: %s", s)
	}
}
