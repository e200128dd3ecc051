package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/arp"
	"github.com/evenflow/evenflow/apps/base"
	"github.com/evenflow/evenflow/apps/nat"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/store"
)

// withSwitch runs an engine with the real apps, and connects a switch in memory to it.
func withSwitch(t *testing.T, st store.Store, fake *controllertest.Switch, tune ...func(*Config)) (*Engine, context.Context) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	path := "unix:" + t.TempDir() + "/of"
	cfg := Config{Store: st, Log: log, DropReason: base.DropReason, Controller: controller.Config{Listen: []string{path}}, Apps: []Mount{
		{apps.ClassBase, base.New(base.Config{})}, {apps.ClassARP, arp.New()}, {apps.ClassNAT, nat.New(nat.Config{})}}}
	for _, f := range tune {
		f(&cfg)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	former := e.LastEvent()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	done := make(chan error)
	go func() { done <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	<-e.ctl.Listening()
	go fake.Dial(ctx, "unix", strings.TrimPrefix(path, "unix:"))
	for since := former; ; {
		changed := e.EventsChanged()
		for _, ev := range e.Events(since, 100) {
			if since = ev.ID; strings.HasPrefix(ev.Message, "ready") {
				return e, ctx
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the switch does not become ready: %+v", e.Switches())
		}
	}
}

func TestWaitForSwitches(t *testing.T) {
	fake := controllertest.NewSwitch(1, controllertest.Ports(1, 2))
	e, ctx := withSwitch(t, store.Memory(), fake)
	r, err := e.CreateVIP(ctx, spec("web", "10.0.0.100", "b1=10.0.0.1"), apps.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = e.WaitVIP(ctx, "web", r.Version); err != nil || r.Status.Applied[0].Version != 1 {
		t.Fatalf("wait: %+v, %v", r.Status, err)
	}
	if dump := fake.Dump(); !strings.Contains(dump, "tcp,nw_dst=10.0.0.100,tp_dst=80") || !strings.Contains(dump, "arp_tpa=10.0.0.100") {
		t.Errorf("confirmed, but the switch holds\n%s", dump)
	}
	if err := e.DeleteVIP(ctx, "web", apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.WaitVIP(ctx, "web", r.Version+1); !errors.Is(err, apps.ErrNotFound) {
		t.Fatalf("wait for the end of a VIP: %v", err)
	}
	if dump := fake.Dump(); strings.Contains(dump, "10.0.0.100") {
		t.Errorf("the end is confirmed, but the switch holds\n%s", dump)
	}
	// Another one of its name, made before anybody waits for the end of the first, is not waited for.
	if _, err := e.CreateVIP(ctx, spec("web", "10.0.0.100", "b1=10.0.0.1"), apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.WaitVIP(ctx, "web", r.Version+1); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("wait for the end of a VIP whose name was given again: %v", err)
	}
}

// A refusal reaches the VIP's status and who waits, names the rule, and is over with the write that mends it.
func TestRefusal(t *testing.T) {
	fake := controllertest.NewSwitch(1, controllertest.Ports(1, 2))
	e, ctx := withSwitch(t, store.Memory(), fake)
	fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
		if m.Type == openflow.TypeFlowMod && strings.Contains(m.String(), "10.0.0.100") {
			v.Refuse = &openflow.Error{Type: openflow.ErrFlowModFailed, Code: 1}
		}
		return v
	})
	r, err := e.CreateVIP(ctx, spec("web", "10.0.0.100", "b1=10.0.0.1"), apps.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err = e.WaitVIP(ctx, "web", r.Version)
	if !errors.Is(err, apps.ErrRefused) || !strings.Contains(r.Status.Applied[0].Error, "nw_dst=10.0.0.100") {
		t.Fatalf("refused by the switch: %v, %+v", err, r.Status)
	}
	fake.Intercept(nil)
	r, err = e.UpdateVIP(ctx, "web", apps.WriteOptions{}, func(s *vip.Spec) error { s.Scheduler = "round-robin"; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if r, err = e.WaitVIP(ctx, "web", r.Version); err != nil || r.Status.Applied[0].Error != "" {
		t.Errorf("after the refusals have ended: %v, %+v", err, r.Status)
	}
}

// A restart with nothing changed sends no modification.
func TestRestartSendsNothing(t *testing.T) {
	for name, options := range map[string][]controllertest.Option{
		"OpenFlow 1.5": nil,
		"OpenFlow 1.3": {controllertest.Versions(openflow.V13)},
		"plain":        {controllertest.Versions(openflow.V13), controllertest.Plain()},
	} {
		t.Run(name, func(t *testing.T) {
			st := store.Memory()
			fake := controllertest.NewSwitch(1, append(options, controllertest.Ports(1, 2))...)
			var before string
			t.Run("first", func(t *testing.T) {
				e, ctx := withSwitch(t, st, fake)
				r, err := e.CreateVIP(ctx, spec("web", "10.0.0.100", "b1=10.0.0.1"), apps.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := e.WaitVIP(ctx, "web", r.Version); err != nil {
					t.Fatal(err)
				}
				if err := fake.Await(ctx, func() bool { before = fake.Dump(); return strings.Contains(before, "in_port=2 actions=") }); err != nil {
					t.Fatalf("%v; the switch holds\n%s", err, before)
				}
			})
			sent := fake.Count(openflow.TypeFlowMod, openflow.TypeGroupMod, openflow.TypeMeterMod)
			if sent == 0 {
				t.Fatal("the first run sent nothing")
			}
			t.Run("second", func(t *testing.T) {
				e, ctx := withSwitch(t, st, fake)
				if _, err := e.WaitVIP(ctx, "web", 1); err != nil {
					t.Fatal(err)
				}
				if n := e.Switches()[0].Modifications; n != 0 {
					t.Errorf("%d modifications counted", n)
				}
			})
			if again := fake.Count(openflow.TypeFlowMod, openflow.TypeGroupMod, openflow.TypeMeterMod); again != sent {
				t.Errorf("an unchanged restart sent %d modifications", again-sent)
			}
			if after := fake.Dump(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// What rules made to drop have counted stands in the switch's status, by reason.
func TestDrops(t *testing.T) {
	fake := controllertest.NewSwitch(1, controllertest.Ports(1))
	e, ctx := withSwitch(t, store.Memory(), fake)
	for _, r := range fake.State().Rules {
		if r.Table == apps.TableClassify && apps.Drops(r.Cookie) && r.Priority > 0 {
			fake.Hit(&r, flows.Stats{Packets: 3})
		}
	}
	sw, _ := e.ctl.Switch(1)
	if err := e.readDrops(ctx, sw); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, d := range e.Switches()[0].Drops {
		got[d.Reason] = d.Packets
	}
	if got["marker as sender"] != 6 || got["a VIP's MAC as sender"] != 3 || len(got) < 5 {
		t.Errorf("drops %v", got)
	}
}

// What no app can take is counted.
func TestCounts(t *testing.T) {
	fake := controllertest.NewSwitch(1, controllertest.Ports(1))
	e, ctx := withSwitch(t, store.Memory(), fake)
	fake.PacketIn(1, 0, []byte("short"))
	fake.PacketIn(1, apps.Cookie(apps.KindDesired, 77, 0), make([]byte, 60))
	if _, err := e.Flows(ctx, 1); err != nil { // its reply comes after the packet-ins
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, c := range e.Counts() {
		got[c.Part+" "+c.Reason] = c.N
	}
	if got["engine malformed frame"] != 1 || got["engine packet for no app"] != 1 || len(got) < 12 {
		t.Errorf("counts %v", got)
	}
}

// Groups and meters come with their counters, and without where a switch does not count.
func TestGroupAndMeterCounters(t *testing.T) {
	fake := controllertest.NewSwitch(1, controllertest.Ports(1))
	e, ctx := withSwitch(t, store.Memory(), fake)
	fake.Put("group_id=7,type=select,bucket=bucket_id:3,weight:1,actions=output:1")
	for _, counted := range []bool{true, false} {
		name := fmt.Sprintf("counted %t", counted)
		if !counted {
			fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
				if r, err := openflow.ParseMultipartRequest(m.Raw); err == nil && (r.Kind == openflow.MultipartGroupStats || r.Kind == openflow.MultipartMeterStats) {
					v.Refuse = &openflow.Error{Type: openflow.ErrBadRequest, Code: 2}
				}
				return v
			})
		}
		groups, err := e.Groups(ctx, 1)
		if err != nil || len(groups) == 0 {
			t.Fatalf("%s: groups %+v, %v", name, groups, err)
		}
		if g := groups[len(groups)-1]; g.ID != 7 || (g.Total != nil) != counted || counted && g.Each[0] != (apps.Tally{Packets: 3, Bytes: 30}) {
			t.Errorf("%s: group %+v", name, g)
		}
		meters, err := e.Meters(ctx, 1)
		if err != nil || len(meters) == 0 || (meters[0].Met != nil) != counted || counted && meters[0].Met.Packets != 10*meters[0].Dropped.Packets {
			t.Errorf("%s: meters %+v, %v", name, meters, err)
		}
	}
}
