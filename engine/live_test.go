package engine

import (
	"net/netip"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/group"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/store"
)

// Where the switches know no connections those count that hosts' agents tell of, as long as they can only be the VIP's.
func TestLiveConnectionsAsAgentsTell(t *testing.T) {
	now := time.Unix(1e9, 0)
	log := logrus.New()
	log.SetOutput(t.Output())
	e, err := New(Config{Store: store.Memory(), Log: log, Now: func() time.Time { return now }, Apps: []Mount{{apps.ClassGroup, group.New(group.Config{})}}})
	if err != nil {
		t.Fatal(err)
	}
	create := func(s vip.Spec) {
		t.Helper()
		s.Mode, s.Scheduler = vip.ModeGroup, ""
		if _, err := e.createVIP(s, apps.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		e.settle()
	}
	create(spec("web", "10.0.0.100", "b1=10.0.0.1", "b2=10.0.0.2"))
	want := func(what string, want ...any) {
		t.Helper()
		r, err := e.VIP("web")
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range r.Status.Backends {
			var got any
			if b.Connections != nil {
				got = *b.Connections
			}
			if got != want[i] {
				t.Errorf("%s: %s has %v connections, want %v", what, b.Name, got, want[i])
			}
		}
	}
	host := netip.MustParseAddr("10.0.0.1")
	report := func(after int64, locals ...string) int64 {
		t.Helper()
		r := apps.LiveReport{Host: host, After: after}
		for i, local := range locals {
			r.States = append(r.States, apps.LiveState{Proto: apps.ProtoTCP, Client: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.9"), uint16(i+1)),
				Local: netip.MustParseAddrPort(local)})
		}
		next, err := e.reported(r)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	want("without agents", nil, nil)
	next := report(0, "10.0.0.1:8080", "10.0.0.1:8080", "10.0.0.1:22")
	want("one has told", int64(2), nil)

	now = now.Add(reportAge)
	want("its report is old", nil, nil)

	next = report(next, "10.0.0.1:8080")
	want("told again", int64(1), nil)
	drain := func(s *vip.Spec) error { s.Backends[0].Admin = vip.Draining; return nil }
	if _, err := e.updateVIP("web", apps.WriteOptions{}, drain); err != nil {
		t.Fatal(err)
	}
	e.settle()
	state := func(what string, want vip.State) {
		t.Helper()
		x, err := e.find("web")
		if err != nil {
			t.Fatal(err)
		}
		if got, why := e.drainOf(x, &x.Backends[0], now); got != want {
			t.Errorf("%s: %s, %s", what, got, why)
		}
	}
	next = report(next)
	state("what was told before the drain began counts for nothing", vip.StateDraining)
	now = now.Add(2 * reportGrace)
	next = report(next, "10.0.0.1:8080")
	now = now.Add(reportGrace)
	next = report(next, "10.0.0.1:8080")
	state("one connection is left", vip.StateDraining)
	report(next)
	state("none is left", vip.StateDrained)

	create(spec("other", "10.0.0.101", "b1=10.0.0.1"))
	want("its port serves another VIP, too", nil, nil)
}
