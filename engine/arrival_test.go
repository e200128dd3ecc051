package engine

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/store"
)

const (
	restartedOrNot = "came back without any of its rules: it was restarted, or its fail_mode is not secure"
	failedOpen     = "lost all its rules while the controller was away, without a restart: its fail_mode is not secure, or somebody deleted them"
)

// Who has deleted the rules of a switch shows in the ages of its ports.
func TestRestartToldFromFailure(t *testing.T) {
	now := time.Unix(1e6, 0)
	for _, tt := range []struct {
		name             string
		found            controller.Found
		known            bool
		away, since, age time.Duration // of the switch; of the session; of its ports
		problems, warns  []string
	}{
		{"new", controller.Found{}, false, time.Minute, 0, time.Hour, nil, nil},
		{"whole", controller.Found{Desired: 1}, true, time.Minute, 0, time.Hour, nil, nil},
		{"restarted", controller.Found{}, true, time.Minute, 0, time.Second, nil, []string{restartedOrNot}},
		{"restarted long ago", controller.Found{}, true, time.Minute, time.Hour, time.Hour, nil, []string{restartedOrNot}},
		{"restarted, and its loss noticed late", controller.Found{}, true, time.Minute, 0, 80 * time.Second, nil, []string{restartedOrNot}},
		{"failed open", controller.Found{}, true, time.Minute, 0, 2 * time.Minute, []string{failedOpen}, nil},
		{"the controller was restarted", controller.Found{}, true, 0, 0, time.Hour, nil, []string{restartedOrNot}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStatus()
			at := now.Add(-tt.since)
			if tt.away > 0 {
				s.attached(1, at.Add(-24*time.Hour), arrival{})
				s.detached(1, at.Add(-tt.away), "gone")
			}
			s.attached(1, at, newArrival(tt.found, tt.known))
			// A port that was added meanwhile, and one without a clock, say nothing.
			s.arrived(1, now, []openflow.PortStats{{No: 9}, {No: 1, DurationSec: uint32(tt.age / time.Second)}, {No: 2, DurationSec: 1<<32 - 1}})
			s.arrived(1, now, []openflow.PortStats{{No: 9}}) // what is known stays known
			var got apps.SwitchStatus
			s.known[1].arrival.tell(&got)
			if diff := cmp.Diff([][]string{tt.problems, tt.warns}, [][]string{got.Problems, got.Warnings}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForeignRules(t *testing.T) {
	for _, tt := range []struct {
		rules string
		want  []string
	}{
		{"", []string{}},
		{"table=81, ip actions=drop", []string{}},
		{"cookie=0xef03000000000000, ip actions=drop", []string{}},
		{"priority=0 actions=NORMAL", []string{"forwarded by itself before it connected (priority=0 actions=NORMAL): its fail_mode is not secure"}},
		{"priority=0 actions=NORMAL\npriority=32768 actions=NORMAL", []string{
			"a rule of somebody else hides the pipeline (priority=32768 actions=NORMAL)",
			"rules of somebody else in our tables when it connected: 2, in 0"}},
		{"ip actions=NORMAL\ntable=80, arp actions=drop\ntable=80 actions=NORMAL", []string{
			"rules of somebody else in our tables when it connected: 3, in 0, 80"}},
	} {
		t.Run(tt.rules, func(t *testing.T) {
			fake := controllertest.NewSwitch(1, controllertest.Ports(1))
			fake.Put(tt.rules)
			e, _ := withSwitch(t, store.Memory(), fake)
			if diff := cmp.Diff(tt.want, e.Switches()[0].Problems); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A switch that comes back empty is told of, and one that comes back as it was is not.
func TestLostPipeline(t *testing.T) {
	fake := controllertest.NewSwitch(1, controllertest.Ports(1))
	e, ctx := withSwitch(t, store.Memory(), fake)
	again := func() apps.SwitchStatus {
		t.Helper()
		sessions := len(switchEvents(e, "ready"))
		go fake.Dial(ctx, "unix", strings.TrimPrefix(e.cfg.Controller.Listen[0], "unix:"))
		awaitEvents(t, ctx, e, "ready", sessions+1)
		s, err := e.Switch(1)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	fake.Disconnect()
	if s := again(); len(s.Problems)+len(s.Warnings) > 0 {
		t.Errorf("it had kept its rules: %v %v", s.Problems, s.Warnings)
	}
	fake.Restart()
	if s := again(); len(s.Problems) > 0 || !cmp.Equal(s.Warnings, []string{restartedOrNot}) {
		t.Errorf("it had lost its rules: %v %v", s.Problems, s.Warnings)
	}
	if n := len(switchEvents(e, "came back without any of its rules")); n != 1 {
		t.Errorf("%d events tell of it", n)
	}
}

// What audits have to mend is told of.
func TestDriftIsTold(t *testing.T) {
	fake := controllertest.NewSwitch(1) // without ports: its rules do not change by themselves
	e, ctx := withSwitch(t, store.Memory(), fake, func(c *Config) { c.Controller.AuditInterval = 10 * time.Millisecond })
	if w := e.Switches()[0].Warnings; len(w) > 0 {
		t.Errorf("before: %v", w)
	}
	before := fake.Dump()
	fake.Remove("priority=0 actions=drop")
	if fake.Dump() == before {
		t.Fatal("nothing was removed")
	}
	if err := fake.Await(ctx, func() bool { return fake.Dump() == before }); err != nil {
		t.Fatalf("not mended: %v\n%s", err, fake.Dump())
	}
	for {
		w := e.Switches()[0].Warnings
		if len(w) == 1 && strings.HasPrefix(w[0], "1 rules, groups or meters were not as they had been left") {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("after: %v", w)
		}
		runtime.Gosched()
	}
}

func switchEvents(e *Engine, message string) (out []apps.Event) {
	for _, ev := range e.Events(0, 1000) {
		if ev.Kind == "switch" && strings.HasPrefix(ev.Message, message) {
			out = append(out, ev)
		}
	}
	return out
}

func awaitEvents(t *testing.T, ctx context.Context, e *Engine, message string, n int) {
	t.Helper()
	for {
		changed := e.EventsChanged()
		if len(switchEvents(e, message)) >= n {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("not %d times %q: %+v", n, message, e.Events(0, 1000))
		}
	}
}
