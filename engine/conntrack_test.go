package engine

import (
	"io"
	"maps"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// Endpoints and zones keep their numbers over restarts, no two have one, and those of a deleted VIP are not given again.
func TestTrackedNumbers(t *testing.T) {
	st := store.Memory()
	log := logrus.New()
	log.SetOutput(io.Discard)
	open := func() *Engine {
		t.Helper()
		e, err := New(Config{Store: st, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	create := func(e *Engine, name, address string, mode vip.Mode, backends ...string) *vip.VIP {
		t.Helper()
		s := spec(name, address, backends...)
		s.Mode = mode
		if _, err := e.createVIP(s, apps.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		return e.model.byName[name]
	}
	e := open()
	web := create(e, "web", "10.0.0.100", vip.ModeGroup, "b1=10.0.0.1", "b2=10.0.0.2")
	create(e, "dns", "10.0.0.101", vip.ModeGroup, "b1=10.0.0.1")
	create(e, "old", "10.0.0.102", vip.ModeNAT, "b1=10.0.0.1")
	for d := flows.DPID(1); d <= 3; d++ {
		e.giveZones(map[flows.DPID]bool{d: true})
		e.giveZones(map[flows.DPID]bool{d: true})
	}
	if len(e.model.endpoints) != 3 || len(e.model.zones) != 2+3*3 {
		t.Fatalf("endpoints %v, zones %v", e.model.endpoints, e.model.zones)
	}
	distinct := func(e *Engine) {
		t.Helper()
		endpoints, zones := map[uint32]bool{0: true, apps.MarkDirect: true}, map[uint16]bool{0: true}
		for k, n := range e.model.endpoints {
			if endpoints[n] {
				t.Errorf("%+v has %d, which is no number or another's", k, n)
			}
			endpoints[n] = true
		}
		for k, n := range e.model.zones {
			if zones[n] {
				t.Errorf("%s has %d, which is no zone or another's", k, n)
			}
			zones[n] = true
		}
	}
	distinct(e)
	before, zones := maps.Clone(e.model.endpoints), maps.Clone(e.model.zones)
	e = open()
	if !maps.Equal(e.model.endpoints, before) || !maps.Equal(e.model.zones, zones) {
		t.Errorf("after a restart %v and %v, before %v and %v", e.model.endpoints, e.model.zones, before, zones)
	}
	if x := e.newView().VIP(web.ID); x.Hairpin != zones["hairpin 10.0.0.100"] || x.Backends[1].Endpoint != before[backendKey{web.ID, 2}] {
		t.Errorf("in the view: %+v", x)
	}
	// A backend that has left keeps its number, and one that is new gets another.
	if _, err := e.updateVIP("web", apps.WriteOptions{}, func(s *vip.Spec) error {
		s.Backends = append(s.Backends[:1], vip.BackendSpec{Name: "b3", Address: "10.0.0.3"})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	distinct(e)
	if n := e.model.endpoints[backendKey{web.ID, 2}]; n != before[backendKey{web.ID, 2}] || len(e.model.endpoints) != 4 {
		t.Errorf("endpoints %v", e.model.endpoints)
	}
	if err := e.deleteVIP("web", apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	e = open()
	again := create(e, "web", "10.0.0.100", vip.ModeGroup, "b1=10.0.0.1", "b2=10.0.0.2")
	distinct(e)
	for _, b := range again.Backends {
		for k, n := range before {
			if e.model.endpoints[backendKey{again.ID, b.ID}] == n {
				t.Errorf("%s has the number that %+v had", b.Name, k)
			}
		}
	}
	if z := e.model.zones["hairpin 10.0.0.100"]; z != zones["hairpin 10.0.0.100"] || len(e.model.endpoints) != 3 {
		t.Errorf("zone %d, endpoints %v", z, e.model.endpoints)
	}
}

// A backend that is down is not known to be dead while the session with its switch is lost: its VIP is looked at again then.
func TestReached(t *testing.T) {
	down := apps.Backend{Backend: &vip.Backend{ID: 1}, State: vip.StateDown, Host: &topo.Host{At: topo.PortID{DPID: 2, No: 1}}}
	x := &apps.VIP{VIP: &vip.VIP{ID: 5}, Backends: []apps.Backend{down}}
	other := &apps.VIP{VIP: &vip.VIP{ID: 6}, Backends: []apps.Backend{{Backend: &vip.Backend{ID: 1}, State: vip.StateUp, Host: down.Host}}}
	view := func(ids ...flows.DPID) *apps.View {
		m := map[flows.DPID]apps.SwitchInfo{}
		for _, d := range ids {
			m[d] = apps.SwitchInfo{DPID: d}
		}
		return apps.NewView(nil, m, []*apps.VIP{x, other})
	}
	for _, tt := range []struct {
		old, now *apps.View
		want     int
	}{
		{view(1, 2), view(1, 2), 0}, {view(1, 2), view(1), 1}, {view(1), view(1, 2), 1}, {view(2), view(1, 2), 0},
	} {
		if got := appendReached(nil, tt.old, tt.now); len(got) != tt.want || len(got) > 0 && got[0].VIP != 5 {
			t.Errorf("from %v to %v: %v", tt.old.Switches, tt.now.Switches, got)
		}
	}
	// What owners want on some of the switches is computed with all of them in mind.
	if v := view(1, 2).Only(1); v.Keeps(&down) {
		t.Error("a dead backend of a switch that is connected is kept")
	}
}
