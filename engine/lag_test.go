package engine

import (
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// The topology knows how long a switch takes to answer: a host is not taken for gone, though three probes would have failed, while
// its switch answers nothing at all.
func TestTopologyKnowsOfLag(t *testing.T) {
	fake := controllertest.NewSwitch(1, controllertest.Ports(1, 2))
	e, ctx := withSwitch(t, store.Memory(), fake, func(cfg *Config) {
		cfg.Controller.EchoInterval, cfg.Controller.EchoTimeout = time.Millisecond, time.Hour
		cfg.Topo.Ports = map[topo.PortID]topo.Fixed{{DPID: 1, No: 1}: {Kind: topo.Edge}}
		cfg.Topo.Refresh, cfg.Topo.ProbeInterval, cfg.Topo.Probes, cfg.Topo.Grace = 10*time.Millisecond, 10*time.Millisecond, 3, time.Hour
	})
	sw, ok := e.ctl.Switch(1)
	if !ok {
		t.Fatal("no session")
	}
	behind := func(d time.Duration) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for sw.Lag() < d {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("lag %v", sw.Lag())
			}
		}
	}
	fake.Mute(true)
	behind(100 * time.Millisecond)
	fake.PacketIn(1, apps.Cookie(apps.KindDesired, apps.ClassBase, 0), announcement(1))
	for changed := e.EventsChanged(); len(e.Hosts()) == 0; changed = e.EventsChanged() {
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("the host is not heard")
		}
	}
	behind(sw.Lag() + 500*time.Millisecond)
	if h := e.Hosts()[0]; !h.Live {
		t.Error("the host is taken for gone")
	}
}
