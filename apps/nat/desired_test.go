package nat

import (
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

func desiredText(t *testing.T, v *apps.View, d flows.DPID) string {
	t.Helper()
	s := New(Config{}).Desired(v, apps.Owner{Kind: apps.OwnerVIP, VIP: 7})[d]
	var lines []string
	for _, m := range s.Meters {
		lines = append(lines, m.String())
	}
	for _, r := range s.Rules {
		if k, c, id, ok := apps.SplitCookie(r.Cookie); !ok || k != apps.KindDesired || c != apps.ClassNAT || id != 7 {
			t.Errorf("cookie %#x", r.Cookie)
		}
		r.Cookie = 0
		lines = append(lines, r.String())
	}
	return strings.Join(lines, "\n")
}

func TestDesired(t *testing.T) {
	const meter = "meter=1007 pktps burst bands=type=drop rate=100 burst_size=100\n"
	const serving = meter + `
		table=30, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=resubmit(,40)
		table=40, priority=50,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=meter:3,CONTROLLER:65535
		table=40, priority=150,tcp,nw_dst=10.0.0.100,tp_dst=80,tcp_flags=+syn-ack actions=meter:3,CONTROLLER:65535`
	const refused = "\n\t\ttable=59, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=meter:5,CONTROLLER:65535"
	const refusing = meter + "table=30, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=meter:1007,resubmit(,59)" + refused
	const keeping = meter + `
		table=30, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=resubmit(,40)
		table=40, priority=50,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=meter:1007,resubmit(,59)
		table=40, priority=150,tcp,nw_dst=10.0.0.100,tp_dst=80,tcp_flags=+syn-ack actions=meter:1007,resubmit(,59)` + refused
	for _, c := range []struct {
		name string
		vip  *apps.VIP
		want string
	}{
		{"one up", newVIP(1), serving},
		{"one of two up", newVIP(2, state(1, vip.StateDown)), serving},
		{"no backend", newVIP(0), refusing},
		{"all down", newVIP(2, state(1, vip.StateDown), state(2, vip.StateDown)), refusing},
		{"all disabled", newVIP(1, state(1, vip.StateDisabled)), refusing},
		{"one drains and keeps its connections", newVIP(2, state(1, vip.StateDraining), state(2, vip.StateDown)), keeping},
		{"one not heard yet", newVIP(1, state(1, vip.StateUnknown), func(x *apps.VIP) { x.Backends[0].Host = nil }), keeping},
		{"weight 0", newVIP(1, func(x *apps.VIP) { x.Backends[0].Weight = 0 }), keeping},
		{"udp", newVIP(1, udp), meter + `
			table=30, priority=100,udp,nw_dst=10.0.0.100,tp_dst=80 actions=resubmit(,40)
			table=40, priority=50,udp,nw_dst=10.0.0.100,tp_dst=80 actions=meter:3,CONTROLLER:65535`},
		{"a range", newVIP(1, udp, at(8000, 8010)), meter + `
			table=30, priority=100,udp,nw_dst=10.0.0.100,tp_dst=0x1f40/0xfff8 actions=resubmit(,40)
			table=40, priority=50,udp,nw_dst=10.0.0.100,tp_dst=0x1f40/0xfff8 actions=meter:3,CONTROLLER:65535
			table=30, priority=100,udp,nw_dst=10.0.0.100,tp_dst=0x1f48/0xfffe actions=resubmit(,40)
			table=40, priority=50,udp,nw_dst=10.0.0.100,tp_dst=0x1f48/0xfffe actions=meter:3,CONTROLLER:65535
			table=30, priority=100,udp,nw_dst=10.0.0.100,tp_dst=8010 actions=resubmit(,40)
			table=40, priority=50,udp,nw_dst=10.0.0.100,tp_dst=8010 actions=meter:3,CONTROLLER:65535`},
		{"another mode", newVIP(1, func(x *apps.VIP) { x.Spec.Mode = vip.ModeGroup }), ""},
	} {
		same(t, c.name, desiredText(t, view(c.vip), edge), c.want)
	}
}

func TestDesiredWithoutNicira(t *testing.T) {
	v := view(newVIP(1))
	v.Switches[edge] = apps.SwitchInfo{DPID: edge}
	same(t, "rules", desiredText(t, v, edge), `
		meter=1007 pktps burst bands=type=drop rate=100 burst_size=100
		table=30, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=goto_table:40
		table=40, priority=50,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=meter:3,CONTROLLER:65535`)
	v = view(newVIP(0))
	v.Switches[edge] = apps.SwitchInfo{DPID: edge}
	same(t, "rules that refuse", desiredText(t, v, edge), `
		meter=1007 pktps burst bands=type=drop rate=100 burst_size=100
		table=30, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=meter:1007,goto_table:59
		table=59, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=meter:5,CONTROLLER:65535`)
}

func TestDesiredNamesConnectedSwitchesOnly(t *testing.T) {
	v := view(newVIP(1))
	delete(v.Switches, second)
	app := New(Config{})
	all := app.Desired(v, apps.Owner{Kind: apps.OwnerVIP, VIP: 7})
	if len(all) != 2 || len(all[second].Rules) != 0 {
		t.Errorf("%v", all)
	}
	for _, o := range []apps.Owner{{Kind: apps.OwnerVIP, VIP: 8}, {Kind: apps.OwnerBase}, {Kind: apps.OwnerAddress, Addr: newVIP(0).Address}} {
		if got := app.Desired(v, o); len(got) != 0 {
			t.Errorf("%v: %v", o, got)
		}
	}
}
