package nat

import (
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

func without(backend int) change {
	return func(x *apps.VIP) { x.Backends = append(x.Backends[:backend-1:backend-1], x.Backends[backend:]...) }
}

func TestEndsOfBackends(t *testing.T) {
	gone := "1: " + bare(fwd) + none + "\n1: " + bare(rev) + none
	for _, c := range []struct {
		name string
		next *apps.VIP
		ends bool
	}{
		{"removed", newVIP(3, without(1)), true},
		{"disabled", newVIP(3, state(1, vip.StateDisabled)), true},
		{"down", newVIP(3, state(1, vip.StateDown)), true},
		{"draining", newVIP(3, state(1, vip.StateDraining)), false},
		{"drained", newVIP(3, state(1, vip.StateDrained)), true}, // its time has passed
		{"unknown", newVIP(3, state(1, vip.StateUnknown)), false},
		{"of another weight", newVIP(3, func(x *apps.VIP) { x.Backends[0].Weight = 9 }), false},
		{"beside another", newVIP(3, without(2)), false},
		{"unchanged", newVIP(3), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, newVIP(3))
			r.in(syn(client))
			want := ""
			if c.ends {
				want = gone
			}
			same(t, "to delete", r.sync(c.next), want)
			same(t, "the second time", r.sync(c.next), "")
			if !c.ends {
				r.live(1)
				if got := chosen(r.in(data(client))); got != 1 {
					t.Errorf("data goes to %d", got)
				}
				return
			}
			r.live(0)
			same(t, "the rule's end", r.removed(fwd+none, apps.RemovedDelete), "")
			same(t, "the client's next packet", r.in(data(client)), "packet-out in_port=9 actions=IN_PORT (R 10.0.0.100:80 > 10.0.0.9:40000)")
			if got := chosen(r.in(syn(client))); got == 1 || got == 0 {
				t.Errorf("a new connection goes to %d", got)
			}
			r.live(0)
		})
	}
}

func TestEndOfAVIP(t *testing.T) {
	r := newRig(t, newVIP(1), newVIP(1, id(8), at(81, 81)))
	r.in(syn(client))
	p := syn("10.0.0.9:40001")
	p.to = "10.0.0.100:81"
	r.in(p)
	same(t, "to delete", r.sync(newVIP(1, id(8), at(81, 81))), "1: "+bare(fwd)+none+"\n1: "+bare(rev)+none)
	r.live(0)
	if live, _ := r.app.Connections(8, 1); live != 1 {
		t.Errorf("the other VIP has %d", live)
	}
	if got := r.sync(); strings.Count(got, "\n") != 1 {
		t.Errorf("%s", got)
	}
	if n := len(r.app.tuples.shards); n == 0 || owned(r.app) != 0 {
		t.Errorf("%d answers are still claimed", owned(r.app))
	}
}

func owned(a *App) (n int) {
	for i := range a.tuples.shards {
		n += a.tuples.shards[i].owners.used
	}
	return n
}

func TestABackendThatReturnsHasItsCounts(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	r.sync(newVIP(1, without(1)))
	r.sync(newVIP(1))
	if live, total := r.app.Connections(7, 1); live != 0 || total != 1 {
		t.Errorf("%d of %d", live, total)
	}
}

func TestABackendBehindALostSessionIsNotDead(t *testing.T) {
	r := newRig(t, newVIP(2))
	r.in(syn(client))
	down := newVIP(2, state(1, vip.StateDown))
	v := view(down)
	delete(v.Switches, farm)
	same(t, "to delete", deletions(r.app.Sync(v)), "")
	r.live(1)
	r.view = v
	if got := chosen(r.in(syn("10.0.0.9:40001"))); got != 2 {
		t.Errorf("a new connection goes to %d", got)
	}
	same(t, "when its switch is back and it is still down", r.sync(down), "1: "+bare(fwd)+none+"\n1: "+bare(rev)+none)
	r.live(0, 1)
}

func TestABackendWithANewMAC(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	move := func(x *apps.VIP) { x.Backends[0].Host.MAC[5] = 0x99 }
	same(t, "to delete", r.sync(newVIP(1, move)), "1: "+bare(fwd)+none)
	r.live(1)
	same(t, "its end", r.removed(fwd+none, apps.RemovedDelete), "add "+fwd+strings.Replace(fwdActions, "01:01->eth_dst", "01:99->eth_dst", 1))
	r.live(1)

	r = newRig(t, newVIP(1))
	r.in(syn(client))
	same(t, "not heard", r.sync(newVIP(1, state(1, vip.StateUnknown), func(x *apps.VIP) { x.Backends[0].Host = nil })), "")
	same(t, "heard with the old one", r.sync(newVIP(1)), "")
	r.sync(newVIP(1, state(1, vip.StateUnknown), func(x *apps.VIP) { x.Backends[0].Host = nil }))
	same(t, "heard with a new one", r.sync(newVIP(1, move)), "1: "+bare(fwd)+none)
}

func TestAnotherScheduler(t *testing.T) {
	r := newRig(t, newVIP(2))
	r.in(syn(client))
	r.sync(newVIP(2, func(x *apps.VIP) { x.Spec.Scheduler = vip.LeastConnections }))
	for i := range 3 {
		r.in(syn("10.0.0.8:" + string(rune('1'+i))))
	}
	r.live(2, 2)
}
