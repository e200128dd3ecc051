package engine

import (
	"context"
	"io"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// drainRig is an engine by a clock of the test, on a switch that the topology alone knows, with a live host 10.0.0.1.
type drainRig struct {
	*Engine
	t   *testing.T
	now *atomic.Int64 // seconds
}

func newDrainRig(t *testing.T, st store.Store, now *atomic.Int64) *drainRig {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	at := topo.PortID{DPID: 1, No: 1}
	e, err := New(Config{Store: st, Log: log, Now: func() time.Time { return time.Unix(now.Load(), 0) },
		Controller: controller.Config{Listen: []string{"unix:" + t.TempDir() + "/of"}},
		Topo:       topo.Config{Ports: map[topo.PortID]topo.Fixed{at: {Kind: topo.Edge}}, Refresh: 1000 * time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, e)
	r := &drainRig{e, t, now}
	r.do(func() {
		e.topo.SwitchUp(e.cfg.Now(), 1, []topo.Port{{No: 1, Name: "p1", MAC: flows.MAC{2, 0, 0, 0, 1, 1}, Up: true}})
		e.topo.Sighting(e.cfg.Now(), topo.Sighting{At: at, MAC: flows.MAC{2, 0, 0, 0, 0, 1}, Addr: netip.MustParseAddr("10.0.0.1")})
	})
	return r
}

// do calls f in the loop, which then looks at what is due.
func (r *drainRig) do(f func()) {
	r.t.Helper()
	for _, g := range []func(){f, func() {}} { // settled after the first
		if err := r.call(context.Background(), g); err != nil {
			r.t.Fatal(err)
		}
	}
}

// at moves the clock and returns the state of b1.
func (r *drainRig) at(seconds int64) vip.BackendStatus {
	r.t.Helper()
	r.now.Store(seconds)
	r.do(func() {})
	read, err := r.VIP("web")
	if err != nil {
		r.t.Fatal(err)
	}
	return read.Status.Backends[0]
}

// A drain goes on over a restart, by the clock on the wall, and ends in time; that it has ended is told once.
func TestDrainGoesOnAfterARestart(t *testing.T) {
	var now atomic.Int64
	now.Store(1000)
	st := store.Memory()
	ctx := context.Background()
	first := newDrainRig(t, st, &now)
	s := spec("web", "10.0.0.100", "b1=10.0.0.1")
	s.Mode, s.DrainTimeout = vip.ModeGroup, vip.Duration(time.Minute)
	if _, err := first.CreateVIP(ctx, s, apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := first.at(1000); got.State != vip.StateUp || got.Drain != nil {
		t.Errorf("before: %+v", got)
	}
	now.Store(1010)
	drain := func(s *vip.Spec) error { s.Backends[0].Admin = vip.Draining; return nil }
	if _, err := first.UpdateVIP(ctx, "web", apps.WriteOptions{}, drain); err != nil {
		t.Fatal(err)
	}
	draining := func(r *drainRig, seconds int64) {
		t.Helper()
		got := r.at(seconds)
		if got.State != vip.StateDraining || got.Drain == nil || got.Drain.Since.Unix() != 1010 || got.Drain.Ends.Unix() != 1070 {
			t.Errorf("at %d: %+v, drain %+v", seconds, got, got.Drain)
		}
	}
	draining(first, 1040)
	second := newDrainRig(t, st, &now)
	draining(second, 1050)
	draining(second, 1069)
	from := second.LastEvent()
	if got := second.at(1070); got.State != vip.StateDrained || !strings.HasPrefix(got.Reason, "drain_timeout of 1m0s has passed;") {
		t.Errorf("at the end: %+v", got)
	}
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for told := false; !told; {
		changed := second.EventsChanged()
		for _, ev := range second.Events(from, 100) {
			told = told || ev.Subject == "web/b1" && strings.HasPrefix(ev.Message, "drained: drain_timeout of 1m0s")
		}
		if told {
			break
		}
		select {
		case <-changed:
		case <-wait.Done():
			t.Fatalf("not told: %+v", second.Events(from, 100))
		}
	}
	third := newDrainRig(t, st, &now)
	if got := third.at(1080); got.State != vip.StateDrained || got.Drain.Since.Unix() != 1010 {
		t.Errorf("after another restart: %+v", got)
	}
	undo := func(s *vip.Spec) error { s.Backends[0].Admin = vip.Enabled; return nil }
	if _, err := third.UpdateVIP(ctx, "web", apps.WriteOptions{}, undo); err != nil {
		t.Fatal(err)
	}
	if got := third.at(1080); got.State != vip.StateUp || got.Drain != nil {
		t.Errorf("wanted again: %+v", got)
	}
}

// Where connections are not counted a drain ends when no packet has been seen for long, and goes on if one comes after all. That
// it had ended before its time is remembered at its end.
func TestDrainEndsUnseen(t *testing.T) {
	var now atomic.Int64
	now.Store(1000)
	r := newDrainRig(t, store.Memory(), &now)
	s := spec("web", "10.0.0.100", "b1=10.0.0.1")
	s.Mode, s.DrainTimeout, s.Backends[0].Admin = vip.ModeGroup, vip.Duration(time.Hour), vip.Draining
	if _, err := r.CreateVIP(context.Background(), s, apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	x, err := r.find("web")
	if err != nil {
		t.Fatal(err)
	}
	const quiet = "no packet of its connections for 5m0s"
	for _, step := range []struct {
		at     int64
		packet bool
		state  vip.State
		reason string
	}{
		{1000, false, vip.StateDraining, "its connections live on"},
		{1299, false, vip.StateDraining, "its connections live on"},
		{1300, false, vip.StateDrained, quiet},
		{1400, true, vip.StateDraining, "its connections live on"},
		{1700, false, vip.StateDrained, quiet},
		{4600, false, vip.StateDrained, quiet},
		{9999, false, vip.StateDrained, quiet},
	} {
		if step.packet {
			r.tally.mu.Lock()
			r.tally.heard[x.Backends[0].Endpoint] = time.Unix(step.at, 0)
			r.tally.mu.Unlock()
		}
		if got := r.at(step.at); got.State != step.state || got.Reason != step.reason {
			t.Errorf("at %d: %s, %q; want %s, %q", step.at, got.State, got.Reason, step.state, step.reason)
		}
	}
}
