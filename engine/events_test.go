package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/store"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// brokenStore refuses updates while broken is set, and counts the others.
type brokenStore struct {
	store.Store
	broken bool
	writes int
}

func (s *brokenStore) Update(f func(store.Tx) error) error {
	if s.broken {
		return errors.New("disk is full")
	}
	s.writes++
	return s.Store.Update(f)
}

func opened(t *testing.T, st store.Store) *eventLog {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	l, err := loadEvents(st, log)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// told is ids and messages of events.
func told(l *eventLog, since uint64) string {
	var out []string
	for _, e := range l.since(since, maxEvents) {
		out = append(out, fmt.Sprint(e.ID, e.Message))
	}
	return strings.Join(out, " ")
}

func TestEventLog(t *testing.T) {
	st := &brokenStore{Store: store.Memory()}
	l := opened(t, st)
	add := func(messages ...string) {
		for _, m := range messages {
			l.add(apps.Event{Time: noon, Kind: "config", Message: m})
		}
	}
	check := func(step string, since uint64, want string) {
		t.Helper()
		if got := told(l, since); got != want {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
	add("a", "b")
	check("not written yet", 0, "")
	changed := l.changed
	l.write()
	select {
	case <-changed:
	default:
		t.Error("who waits is not woken")
	}
	check("written", 0, "1a 2b")
	if st.writes != 1 {
		t.Errorf("%d writes for two events", st.writes)
	}
	check("after one", 1, "2b")
	check("after the last", 2, "")

	l = opened(t, st)
	check("after a restart", 0, "1a 2b")
	add("c")
	l.write()
	check("ids go on", 1, "2b 3c")

	st.broken = true
	add("d")
	l.write()
	check("seen though not stored", 2, "3c 4d")
	st.broken = false
	add("e")
	l.write()
	l = opened(t, st)
	check("stored with the next", 0, "1a 2b 3c 4d 5e")
	if err := st.Update(func(tx store.Tx) error { return store.RaiseID(tx, sequenceEvents, 99) }); err != nil {
		t.Fatal(err)
	}
	l = opened(t, st) // as after the restore of an old backup
	add("f")
	l.write()
	check("no id is given again", 4, "5e 100f")
}

// The newest are kept, in memory and on disk.
func TestEventBound(t *testing.T) {
	st := store.Memory()
	l := opened(t, st)
	for i := range maxEvents + 5 {
		l.add(apps.Event{Time: noon, Kind: "config"})
		if i%1000 == 0 || i >= maxEvents {
			l.write()
		}
	}
	for name, l := range map[string]*eventLog{"in memory": l, "on disk": opened(t, st)} {
		if got := l.since(0, 2*maxEvents); len(got) != maxEvents || got[0].ID != 6 || got[len(got)-1].ID != maxEvents+5 {
			t.Errorf("%s: %d events from %d to %d", name, len(got), got[0].ID, got[len(got)-1].ID)
		}
	}
	for range maxPending + 7 {
		l.add(apps.Event{Time: noon, Kind: "config"})
	}
	if got := l.lostCount(); got != 7 {
		t.Errorf("%d counted as lost, want 7", got)
	}
}

// A switch that refuses without end does not wash the rest out of the log, nor the errors of others.
func TestEventThrottle(t *testing.T) {
	l := opened(t, store.Memory())
	for i := range 50 {
		l.add(apps.Event{Time: noon.Add(time.Duration(i) * time.Millisecond), Kind: "error", Subject: "1", Message: "x"})
	}
	l.add(apps.Event{Time: noon.Add(time.Second), Kind: "error", Subject: "2", Message: "y"})
	l.add(apps.Event{Time: noon.Add(throttleWindow), Kind: "error", Subject: "1", Message: "z"})
	l.write()
	got := l.since(0, 100)
	if len(got) != 22 || !strings.Contains(got[19].Message, "counted, not listed") || got[20].Message != "y" || got[21].Message != "z" {
		t.Errorf("%d events: %+v", len(got), got)
	}
	if l.lostCount() != 30 {
		t.Errorf("%d counted, want 30", l.lostCount())
	}
}

func TestPhaseNext(t *testing.T) {
	var p phase
	var out []string
	for _, s := range []struct {
		sec int
		now vip.Phase
	}{{0, vip.PhasePending}, {1, vip.PhaseUp}, {2, vip.PhasePending}, {4, vip.PhaseUp}, {5, vip.PhasePending}, {10, vip.PhasePending},
		{11, vip.PhaseDown}} {
		p = p.next(noon.Add(time.Duration(s.sec)*time.Second), s.now)
		out = append(out, string(p.told))
	}
	if want := []string{"", "up", "up", "up", "up", "pending", "down"}; !slices.Equal(out, want) {
		t.Errorf("told %q, want %q", out, want)
	}
}

func TestChanges(t *testing.T) {
	one, three := 1, 3
	a := vip.Spec{Scheduler: "two-choices", Reject: vip.RejectAnswer, HandOver: 32, HandOverIdle: vip.Duration(time.Hour),
		Backends: []vip.BackendSpec{
			{Name: "b1", Address: "10.0.0.1", Weight: &one, Admin: vip.Enabled}, {Name: "b2", Address: "10.0.0.2"}}}
	b := vip.Spec{Scheduler: "round-robin", Reject: vip.RejectDrop, Gateways: []string{"0000000000000001"}, HandOver: 4,
		HandOverIdle: vip.Duration(time.Minute), Affinity: &vip.Affinity{Timeout: vip.Duration(time.Hour)},
		Health: &vip.Health{Type: "tcp", Interval: vip.Duration(time.Second), Timeout: vip.Duration(time.Second), Rise: 2, Fall: 3},
		Backends: []vip.BackendSpec{
			{Name: "b1", Address: "10.0.0.1", Weight: &three, Admin: vip.Draining}, {Name: "b3", Address: "10.0.0.3"}}}
	want := `scheduler two-choices → round-robin; reject answer → drop; gateways none → 0000000000000001; handover 32 → 4; ` +
		`handover_idle 1h0m0s → 1m0s; affinity none → 1h0m0s; health none → tcp probes every 1s, timeout 1s, rise 2, fall 3; ` +
		`b1 weight 1 → 3; b1 enabled → draining; b3 added at 10.0.0.3; b2 removed`
	if got := changes(&a, &b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := cut(strings.Repeat("word ", 100)); len(got) > maxChanges+4 || !strings.HasSuffix(got, "word …") {
		t.Errorf("cut: %q", got)
	}
}

// What happens is told in one order, with the origin of changes, and goes on after a restart.
func TestEventsTold(t *testing.T) {
	st := store.Memory()
	fake := controllertest.NewSwitch(1, controllertest.Ports(1, 2))
	t.Run("first", func(t *testing.T) {
		e, ctx := withSwitch(t, st, fake)
		if _, err := e.CreateVIP(ctx, spec("web", "10.0.0.100", "b1=10.0.0.1"), apps.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		down := controllertest.Port(2)
		down.State = openflow.LinkDown
		fake.SetPort(down)
		fake.DeletePort(2)
		fake.SetPort(controllertest.Port(3))
		for _, want := range []string{"controller evenflow started", "switch 0000000000000001 ready",
			"config web created: tcp 10.0.0.100 port 80, mode nat, backends b1 (api)", "backend web/b1 unknown", "vip web down: no backend",
			"port 0000000000000001:2 eth2 is down", "port 0000000000000001:2 eth2 removed", "port 0000000000000001:3 eth3 added, up"} {
			awaitEvent(t, ctx, e, want)
		}
		if err := e.DeleteVIP(ctx, "web", apps.WriteOptions{Origin: vip.OriginFile}); err != nil {
			t.Fatal(err)
		}
	})
	e, ctx := withSwitch(t, st, fake)
	awaitEvent(t, ctx, e, "config web deleted (file)")
	awaitEvent(t, ctx, e, "controller evenflow stopped")
	for i, ev := range e.Events(0, maxEvents) {
		if ev.ID != uint64(i+1) {
			t.Fatalf("id %d of event %d", ev.ID, i+1)
		}
	}
}

func awaitEvent(t *testing.T, ctx context.Context, e *Engine, want string) {
	t.Helper()
	for {
		changed := e.EventsChanged()
		for _, ev := range e.Events(0, maxEvents) {
			text := ev.Kind + " " + ev.Subject + " " + ev.Message
			if ev.Origin != "" {
				text += " (" + string(ev.Origin) + ")"
			}
			if strings.HasPrefix(text, want) {
				return
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("no event %q in %+v", want, e.Events(0, maxEvents))
		}
	}
}
