package nat

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// bound gives a VIP affinity.
func bound(t time.Duration) change {
	return func(x *apps.VIP) { x.Spec.Affinity = &vip.Affinity{Timeout: vip.Duration(t)} }
}

// from is the backend of a client's next new connection; of round robin, so that without affinity each goes to another one.
func (r *rig) from(client string, port int) int {
	r.t.Helper()
	got := chosen(r.in(syn(fmt.Sprintf("%s:%d", client, port))))
	if got == 0 {
		r.t.Fatalf("%s:%d has got no backend", client, port)
	}
	return got
}

// A client comes to the same backend until the time is over, which its new connections do not put off.
func TestAffinity(t *testing.T) {
	r := newRig(t, newVIP(3, bound(time.Minute)))
	if a, b := r.from("10.0.0.8", 1), r.from("10.0.0.9", 1); a != 1 || b != 2 {
		t.Fatalf("two clients are at %d and %d", a, b)
	}
	for i := range 12 { // at 0, 5 … 55 s
		if got := r.from("10.0.0.9", 100+i); got != 2 {
			t.Errorf("after %d s: at %d", 5*i, got)
		}
		r.now = r.now.Add(5 * time.Second)
	}
	if got := r.from("10.0.0.9", 200); got != 3 {
		t.Errorf("after the time: at %d, want the next", got)
	}
	r.now = r.now.Add(59 * time.Second)
	if got := r.from("10.0.0.9", 201); got != 3 {
		t.Errorf("in the second time: at %d", got)
	}
}

// Health goes before affinity: who is bound to a backend that takes no connections gets another one, and stays there.
func TestAffinityYieldsToHealth(t *testing.T) {
	for _, gone := range []vip.State{vip.StateDown, vip.StateDraining, vip.StateDisabled, vip.StateUnknown} {
		r := newRig(t, newVIP(3, bound(time.Hour)))
		if got := r.from("10.0.0.9", 1); got != 1 {
			t.Fatalf("at %d", got)
		}
		r.sync(newVIP(3, bound(time.Hour), state(1, gone)))
		now := r.from("10.0.0.9", 2)
		if now == 1 {
			t.Errorf("%s: still there", gone)
		}
		r.sync(newVIP(3, bound(time.Hour)))
		if got := r.from("10.0.0.9", 3); got != now {
			t.Errorf("%s: from %d on to %d when it is back", gone, now, got)
		}
	}
	r := newRig(t, newVIP(3, bound(time.Hour)))
	r.from("10.0.0.9", 1)
	r.sync(newVIP(3, bound(time.Hour), without(1)))
	if got := r.from("10.0.0.9", 2); got == 1 {
		t.Error("at a backend that is removed")
	}
}

// The table is bounded: beyond, clients are served without affinity and counted, until bonds are over.
func TestAffinityIsBounded(t *testing.T) {
	r := newRig(t)
	r.app = New(Config{Now: func() time.Time { return r.now }, MaxClients: 2 * shardCount})
	r.sync(newVIP(3, bound(time.Minute)))
	const clients = 1000
	for i := range clients {
		r.from(fmt.Sprintf("10.2.%d.%d", i/250, i%250+1), 1)
	}
	bonds := func() (n int) {
		s := (*r.app.services.Load())[7]
		if a := s.affinity.Load(); a != nil {
			for i := range a.shards {
				n += len(a.shards[i].clients)
			}
		}
		return n
	}
	if n, c := bonds(), r.app.Counters(); n != 2*shardCount || c.Unbound != clients-2*shardCount || c.Connections != clients {
		t.Errorf("%d bonds; %+v", n, c)
	}
	r.now = r.now.Add(time.Minute)
	for i := range clients {
		r.from(fmt.Sprintf("10.3.%d.%d", i/250, i%250+1), 1)
	}
	if n, c := bonds(), r.app.Counters(); n != 2*shardCount || c.Unbound != 2*(clients-2*shardCount) {
		t.Errorf("when they are over: %d bonds; %+v", n, c)
	}
	r.sync(newVIP(3))
	if n := bonds(); n != 0 {
		t.Errorf("without affinity: %d bonds", n)
	}
}

// held is a connection that a switch holds: its client's port, its backend and its age.
type held struct {
	port, backend int
	age           time.Duration
}

// rules are those of connections of 10.0.0.9.
func rules(all ...held) (out []flows.InstalledRule) {
	for _, c := range all {
		for _, text := range []string{fwd + fwdActions, rev + revActions} {
			text = strings.NewReplacer("40000", fmt.Sprint(c.port), "10.0.1.1", fmt.Sprintf("10.0.1.%d", c.backend),
				"02:00:00:00:01:01", fmt.Sprintf("02:00:00:00:01:%02d", c.backend)).Replace(text)
			st := flows.Stats{DurationSec: uint32(c.age / time.Second), DurationNsec: uint32(c.age % time.Second)}
			out = append(out, flows.InstalledRule{Rule: flows.MustParseRule(text), Stats: st})
		}
	}
	return out
}

// After a restart clients with a connection are bound as before: to the backend that they came to last, from the first of their
// connections to it on.
func TestAffinityAfterARestart(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for name, c := range map[string]struct {
		found []held
		want  int           // backend
		left  time.Duration // that the bond lasts for
	}{
		"to the last":               {[]held{{1, 1, 100 * s}, {2, 1, 58 * s}, {3, 3, 20 * s}, {4, 3, 40 * s}, {5, 3, 10 * s}}, 3, 20 * s},
		"in one second":             {[]held{{1, 1, 900 * ms}, {2, 3, 300 * ms}, {3, 2, 600 * ms}}, 3, 60 * s},
		"in one second, to another": {[]held{{1, 3, 900 * ms}, {2, 2, 300 * ms}, {3, 1, 600 * ms}}, 2, 60 * s},
		"back again":                {[]held{{1, 2, 50 * s}, {2, 1, 40 * s}, {3, 2, 30 * s}}, 2, 30 * s},
	} {
		for range 10 { // maps have no order
			r := newRig(t, newVIP(3, bound(time.Minute)))
			r.now = r.now.Add(999 * ms)
			if remove := r.app.Adopt(r.view, edge, rules(c.found...)); len(remove) != 0 {
				t.Fatalf("%s: to delete: %v", name, remove)
			}
			for i := range 3 {
				r.from("10.0.0.8", 100+i) // others take their turns
				if got := r.from("10.0.0.9", 100+i); got != c.want {
					t.Fatalf("%s: at %d, want %d", name, got, c.want)
				}
				if i == 0 {
					r.now = r.now.Add(c.left - 2*s)
				}
			}
			r.now = r.now.Add(2 * s)
			of := (*r.app.services.Load())[7]
			if b := of.bound(of.plan.Load(), netip.MustParseAddr("10.0.0.9").As16()); b != nil {
				t.Fatalf("%s: after the time: still bound to %s", name, b.name)
			}
		}
	}
}

// What has been chosen since the start is newer than what is found, though a switch tells of it late, in whole seconds.
func TestAffinityOutdoesWhatIsFound(t *testing.T) {
	r := newRig(t, newVIP(3, bound(time.Minute)))
	at := r.from("10.0.0.9", 1)
	r.now = r.now.Add(3 * time.Second)
	r.app.Adopt(r.view, second, rules(held{2, at%3 + 1, time.Second}))
	if got := r.from("10.0.0.9", 3); got != at {
		t.Errorf("from %d on to %d", at, got)
	}
}

// Connections of a client that begin at the same time, at several switches, are at one backend.
func TestAffinityAtTheSameTime(t *testing.T) {
	r := newRig(t, newVIP(8, bound(time.Minute)))
	for round := range 20 {
		var got [16]int
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				p := syn(fmt.Sprintf("10.0.2.%d:%d", round+1, 1000+i))
				p.at.DPID, p.at.No = []flows.DPID{edge, second}[i%2], 9
				out := new(recorder)
				r.app.PacketIn(r.view, p.punted(r.view.VIPs), out)
				got[i] = chosen(out.take())
			})
		}
		wg.Wait()
		for _, b := range got {
			if b == 0 || b != got[0] {
				t.Fatalf("round %d: %v", round, got)
			}
		}
	}
}
