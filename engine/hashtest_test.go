package engine

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/ovshash"
	"github.com/evenflow/evenflow/store"
)

// choosing makes a switch in memory hand the samples back, each with the bucket that choose says; 0: it keeps the packet.
func choosing(fake *controllertest.Switch, choose func(i int, f *ovshash.Flow) uint32) {
	fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
		p, err := openflow.ParsePacketOut(m.Raw)
		if m.Type != openflow.TypePacketOut || err != nil {
			return v
		}
		i, ok := apps.HashSampleOf(p.Data)
		if !ok {
			v.Send = hashed(p.Data, func(_ int, hash uint32) uint32 { return hash })
			return v
		}
		_, f := apps.HashSample(i)
		if id := choose(i, &f); id != 0 {
			v.Send, _ = openflow.AppendPacketIn(nil, openflow.V15, 0, &openflow.PacketIn{BufferID: openflow.NoBufferID, InPort: flows.PortController,
				Cookie: ^uint64(0), Data: p.Data}, flows.Match{}.Num(apps.RegHash, uint64(id))...)
		}
		return v
	})
}

// by chooses as a build does.
func by(b ovshash.Build) func(int, *ovshash.Flow) uint32 {
	var ids []uint32
	for _, k := range apps.HashGroup().Buckets {
		ids = append(ids, k.ID)
	}
	return func(_ int, f *ovshash.Flow) uint32 {
		id, _ := b.Pick(ids, b.Basis(f, ovshash.FiveTuple))
		return id
	}
}

// awaitSwitch waits until what is told of switch 1 is as wanted.
func awaitSwitch(t *testing.T, ctx context.Context, e *Engine, want func(apps.SwitchStatus) bool) apps.SwitchStatus {
	t.Helper()
	for {
		e.status.mu.Lock()
		changed := e.status.changed
		e.status.mu.Unlock()
		s, err := e.Switch(1)
		if err == nil && want(s) {
			return s
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%+v, %v", s, err)
		}
	}
}

// A switch's hash is found by what it chooses: each build, and one that is not known. The view has it too.
func TestHashIsFound(t *testing.T) {
	for want, choose := range map[string]func(int, *ovshash.Flow) uint32{
		"murmur":  by(ovshash.Murmur),
		"crc32c":  by(ovshash.CRC32C),
		"unknown": func(i int, _ *ovshash.Flow) uint32 { return uint32(i+1) * 256 },
	} {
		t.Run(want, func(t *testing.T) {
			fake := controllertest.NewSwitch(1, controllertest.Ports(1))
			choosing(fake, choose)
			e, ctx := withSwitch(t, store.Memory(), fake)
			s := awaitSwitch(t, ctx, e, func(s apps.SwitchStatus) bool { return s.Hash != "" })
			if s.Hash != want || (want == "unknown") != (len(s.Warnings) > 0) {
				t.Errorf("hash %q, warnings %q", s.Hash, s.Warnings)
			}
			text := ""
			if want != "unknown" {
				text = want
			}
			if err := e.call(ctx, func() {}); err != nil { // the view is settled
				t.Fatal(err)
			}
			if err := e.call(ctx, func() {}); err != nil {
				t.Fatal(err)
			}
			if got := e.view.Load().Switches[1].Hash.String(); got != text {
				t.Errorf("the view has %q", got)
			}
			if n := fake.Count(openflow.TypePacketOut); n < apps.HashSamples {
				t.Errorf("%d packet-outs", n)
			}
		})
	}
}

// A switch that does not answer in time is told of; its answers count when they come at last.
func TestHashIsLate(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1e6, 0)
	fake := controllertest.NewSwitch(1, controllertest.Ports(1))
	choosing(fake, func(i int, f *ovshash.Flow) uint32 {
		if i == 3 {
			return 0
		}
		return by(ovshash.CRC32C)(i, f)
	})
	e, ctx := withSwitch(t, store.Memory(), fake, func(c *Config) {
		c.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
		c.PollInterval = time.Millisecond
	})
	awaitEvent := func(text string) {
		t.Helper()
		for {
			changed := e.EventsChanged()
			for _, ev := range e.Events(0, 1000) {
				if strings.Contains(ev.Message, text) {
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatalf("no event %q", text)
			}
		}
	}
	mu.Lock()
	now = now.Add(hashPatience + time.Second)
	mu.Unlock()
	awaitEvent("packets that show its hash have not come back in 10s")
	if s, err := e.Switch(1); err != nil || s.Hash != "" || len(s.Warnings) != 1 {
		t.Errorf("hash %q, warnings %q, %v", s.Hash, s.Warnings, err)
	}
	frame, f := apps.HashSample(3)
	answer := &openflow.PacketIn{BufferID: openflow.NoBufferID, InPort: flows.PortController, Data: frame}
	fake.PacketInOf(answer) // without a choice, as nobody should
	fake.PacketInOf(answer, flows.Match{}.Num(apps.RegHash, uint64(by(ovshash.CRC32C)(3, &f)))...)
	if s := awaitSwitch(t, ctx, e, func(s apps.SwitchStatus) bool { return s.Hash != "" }); s.Hash != "crc32c" || len(s.Warnings) != 0 {
		t.Errorf("hash %q, warnings %q", s.Hash, s.Warnings)
	}
}

// A switch that comes back is asked again, and it is told when its hash is another.
func TestHashChanges(t *testing.T) {
	fake := controllertest.NewSwitch(1, controllertest.Ports(1))
	choosing(fake, by(ovshash.Murmur))
	e, ctx := withSwitch(t, store.Memory(), fake)
	awaitSwitch(t, ctx, e, func(s apps.SwitchStatus) bool { return s.Hash == "murmur" })
	choosing(fake, by(ovshash.CRC32C))
	fake.Disconnect()
	awaitSwitch(t, ctx, e, func(s apps.SwitchStatus) bool { return !s.Connected && s.Hash == "" })
	go fake.Dial(ctx, "unix", strings.TrimPrefix(e.cfg.Controller.Listen[0], "unix:"))
	awaitSwitch(t, ctx, e, func(s apps.SwitchStatus) bool { return s.Hash == "crc32c" })
}

// A switch without bucket ids is not asked.
func TestHashOfOpenFlow13(t *testing.T) {
	fake := controllertest.NewSwitch(1, controllertest.Ports(1), controllertest.Versions(openflow.V13))
	choosing(fake, by(ovshash.Murmur))
	e, _ := withSwitch(t, store.Memory(), fake)
	if s, err := e.Switch(1); err != nil || s.Hash != "" || s.Groups != 1 {
		t.Errorf("hash %q, %d groups, %v", s.Hash, s.Groups, err)
	}
	for _, m := range fake.Received(openflow.TypePacketOut) {
		if p, err := openflow.ParsePacketOut(m.Raw); err != nil || strings.Contains(string(flows.AppendActions(nil, p.Actions)), "group") {
			t.Errorf("%s, %v", m, err)
		}
	}
}
