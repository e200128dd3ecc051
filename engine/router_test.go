package engine

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// An address is a router's or a VIP's, whichever was there first.
// A backend at a VIP's address, or a VIP at a backend's, is refused by the field's name.
func TestVIPsAreNoBackends(t *testing.T) {
	e := start(t, store.Memory(), nil)
	ctx := context.Background()
	if _, err := e.CreateVIP(ctx, spec("web", "10.0.0.100", "b1=10.0.0.1"), apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]vip.Spec{
		`backends[1].address: 10.0.0.100: is the address of VIP "web"; want a host's`:               spec("a", "10.0.0.101", "b1=10.0.0.1", "b2=10.0.0.100"),
		`address: 10.0.0.1: is the address of backend "b1" of VIP "web"; want one that no host has`: spec("b", "10.0.0.1"),
	} {
		_, err := e.CreateVIP(ctx, s, apps.WriteOptions{})
		if fields := (vip.FieldErrors{}); !errors.As(err, &fields) || fields.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if _, err := e.CreateVIP(ctx, spec("c", "10.0.0.101"), apps.WriteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := e.UpdateVIP(ctx, "web", apps.WriteOptions{}, func(s *vip.Spec) error {
		s.Backends = append(s.Backends, vip.BackendSpec{Name: "b2", Address: "10.0.0.101"})
		return nil
	}); !errors.As(err, new(vip.FieldErrors)) {
		t.Errorf("a backend added: %v", err)
	}
}

// A host that uses a VIP's address is a problem of its switch, until it has not for a while.
func TestHostWithAVIPsAddress(t *testing.T) {
	fake := controllertest.NewSwitch(1, controllertest.Ports(1, 2))
	e, ctx := withSwitch(t, store.Memory(), fake, func(cfg *Config) {
		cfg.Topo.Ports = map[topo.PortID]topo.Fixed{{DPID: 1, No: 1}: {Kind: topo.Edge}}
	})
	r, err := e.CreateVIP(ctx, spec("web", "10.0.0.100"), apps.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.WaitVIP(ctx, "web", r.Version); err != nil {
		t.Fatal(err)
	}
	if p := e.Switches()[0].Problems; len(p) != 0 {
		t.Errorf("problems %v", p)
	}
	changed := e.EventsChanged()
	fake.PacketIn(1, apps.Cookie(apps.KindDesired, apps.ClassBase, 0), announcement(100))
	for want := "host 02:00:00:00:00:64 at port 1 uses 10.0.0.100"; ; changed = e.EventsChanged() {
		if p := e.Switches()[0].Problems; len(p) == 1 && strings.HasPrefix(p[0], want) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("problems %v, want %s", e.Switches()[0].Problems, want)
		}
	}
}

func TestRouterIsNoVIP(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	st := store.Memory()
	cfg := Config{Store: st, Log: log, Routers: []apps.Router{{Address: netip.MustParsePrefix("10.0.0.254/24"), Gateway: netip.MustParseAddr("10.0.0.1")}},
		Routes: apps.Routes{{Network: netip.MustParsePrefix("10.8.0.0/16"), Via: netip.MustParseAddr("10.0.0.2")}}}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.createVIP(spec("web", "10.0.0.254"), apps.WriteOptions{}); !errors.Is(err, apps.ErrConflict) {
		t.Errorf("a VIP with a router's address: %v", err)
	}
	for _, gateway := range []string{"10.0.0.1", "10.0.0.2"} {
		if _, err := e.createVIP(spec("web", gateway), apps.WriteOptions{}); !errors.Is(err, apps.ErrConflict) {
			t.Errorf("a VIP with the address of gateway %s: %v", gateway, err)
		}
	}
	if v := e.view.Load(); !v.Ours(netip.MustParseAddr("10.0.0.254")) || v.Ours(netip.MustParseAddr("10.0.0.1")) {
		t.Error("the view does not know the router")
	}
	if !e.sought[netip.MustParseAddr("10.0.0.1")] {
		t.Error("the gateway is not looked for")
	}
	other := start(t, st, nil)
	if _, err := other.CreateVIP(context.Background(), spec("web", "10.0.0.254"), apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg); !errors.Is(err, apps.ErrConflict) {
		t.Errorf("a router with a VIP's address: %v", err)
	}
}

// One configuration may take an address from a VIP of the last one, and give it to a router.
func TestRouterInPlaceOfAFileVIP(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	cfg := Config{Store: store.Memory(), Log: log, FileVIPs: []vip.Spec{spec("web", "10.0.0.254")}}
	if _, err := New(cfg); err != nil {
		t.Fatal(err)
	}
	cfg.Routers = []apps.Router{{Address: netip.MustParsePrefix("10.0.0.254/24")}}
	if _, err := New(cfg); !errors.Is(err, apps.ErrConflict) {
		t.Errorf("both in one file: %v", err)
	}
	cfg.FileVIPs = []vip.Spec{}
	if _, err := New(cfg); err != nil {
		t.Error(err)
	}
}

// A VIP that asks its backends by ARP and is older than the route that puts them behind a gateway goes on without probes, which is told.
func TestRouteEndsProbes(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	st := store.Memory()
	asks := spec("web", "10.0.0.100", "b1=10.8.0.1")
	asks.Health = &vip.Health{Type: vip.HealthARP}
	before, err := New(Config{Store: st, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := before.createVIP(asks, apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	routes := apps.NewRoutes([]apps.Route{{Network: netip.MustParsePrefix("10.8.0.0/16"), Via: netip.MustParseAddr("10.0.0.2")}})
	e, err := New(Config{Store: st, Log: log, Routes: routes})
	if err != nil {
		t.Fatal(err)
	}
	const want = `is not probed: health.type: arp: reaches nobody behind a gateway, as backend "b1" is behind 10.0.0.2; want icmp, tcp or none`
	changed := e.EventsChanged()
	run(t, e)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ; ; changed = e.EventsChanged() {
		events := e.Events(0, 100)
		if slices.ContainsFunc(events, func(v apps.Event) bool { return v.Kind == "vip" && v.Subject == "web" && v.Message == want }) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("got  %v\nwant %s", events, want)
		}
	}
}
