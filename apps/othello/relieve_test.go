package othello

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// After a change pins are made, then the older generations go; connections that end let the pins go.
func TestRelieve(t *testing.T) {
	for _, n := range []int{400, 12_000} {
		random := rand.New(rand.NewPCG(31, 32))
		g := steady(t, nil, members(1, 2, 3))
		live := states(table(t, g, 0), tuples(random, n, apps.ProtoTCP, vip4))
		g = steady(t, steady(t, g, members(1, 2, 3, 4)), members(2, 3, 4))
		pinned := relieve(t, g, live)
		if len(pinned.Kept) != 4 || pinned.Steady() || len(pinned.Kept[0].Pins) < n/3 || pinned.Kept[1].ID != g.Kept[0].ID {
			t.Fatalf("%d generations, %d pins, step %s", len(pinned.Kept), len(pinned.Kept[0].Pins), pinned.Step)
		}
		for pinned.Step != vip.StepSteady {
			pinned = pinned.Next(vip.DefaultGenerations)
		}
		alone := relieve(t, pinned, live)
		if len(alone.Kept) != 1 || alone.Kept[0].ID != pinned.Kept[0].ID || !alone.Steady() {
			t.Fatalf("the older generations are kept: %d", len(alone.Kept))
		}
		if relieve(t, alone, live) != alone {
			t.Error("it does not come to rest")
		}
		for step, left := range [][]State{live[:n/4], nil} {
			fewer := relieve(t, alone, left)
			if fewer == alone || len(fewer.Kept[0].Pins) >= len(alone.Kept[0].Pins)/2 {
				t.Errorf("step %d: %d connections are left, and %d of %d pins", step, len(left), len(fewer.Kept[0].Pins), len(alone.Kept[0].Pins))
			}
		}
	}
}

func relieve(t *testing.T, g *vip.Generations, live []State) *vip.Generations {
	t.Helper()
	next, err := Relieve(g, vip4.Addr(), live)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// A connection born on a false hit, or past the report, is at another backend than foretold: it gets a pin by the next report.
func TestRelievePinsWhatItDidNotKnow(t *testing.T) {
	random := rand.New(rand.NewPCG(33, 34))
	g := steady(t, nil, members(1, 2, 3))
	live := states(table(t, g, 0), tuples(random, 300, apps.ProtoTCP, vip4))
	if relieve(t, g, live) != g {
		t.Error("pins where nobody is displaced")
	}
	live[7].Owner = live[7].Owner%3 + 1
	next := relieve(t, g, live)
	if len(next.Kept[0].Pins) != 1 || next.Kept[0].Pins[0].Client != live[7].Src {
		t.Errorf("pins %v", next.Kept[0].Pins)
	}
}

func TestStatesOfAVIP(t *testing.T) {
	v := viewOf()
	x := v.VIPs[0]
	client, own := netip.MustParseAddrPort("10.0.0.9:40000"), netip.MustParseAddrPort("10.0.0.100:40000")
	at := func(b int, port uint16) netip.AddrPort { return netip.AddrPortFrom(x.Backends[b].Address, port) }
	reports := map[netip.Addr][]apps.LiveState{}
	get := func() ([]State, bool) {
		return StatesOf(v, x, func(a netip.Addr) ([]apps.LiveState, bool) { s, ok := reports[a]; return s, ok })
	}
	reports[x.Backends[0].Address] = []apps.LiveState{{Proto: apps.ProtoTCP, Client: client, Local: at(0, 8080)}, {Proto: apps.ProtoTCP, Client: client, Local: at(0, 22)},
		{Proto: apps.ProtoUDP, Client: client, Local: at(0, 8080)}, {Proto: apps.ProtoTCP, Client: client, Local: at(1, 8080)}}
	if _, ok := get(); ok {
		t.Error("one host has not reported")
	}
	reports[x.Backends[1].Address] = nil
	all, ok := get()
	if want := (State{Tuple{Proto: apps.ProtoTCP, Src: client, Dst: vip4}, 1}); !ok || len(all) != 1 || all[0] != want {
		t.Errorf("%v %v, want %v", all, ok, want)
	}
	reports[x.Backends[1].Address] = []apps.LiveState{{Proto: apps.ProtoTCP, Client: own, Local: at(1, 8080)}}
	if _, ok := get(); ok {
		t.Error("a backend's connection to itself is not seen as its switch sees it")
	}
}

// Flows of datagrams are pinned as edges note them; pins go on into the generations of further changes, and older generations go when
// nothing more is noted.
func TestRelieveNoted(t *testing.T) {
	random := rand.New(rand.NewPCG(35, 36))
	v := viewOf()
	x := v.VIPs[0]
	x.Spec.Protocol = vip.UDP
	settle := func(g *vip.Generations) *vip.Generations {
		if len(g.Kept[0].Owners) == 0 {
			g = Carry(Settle(g, nil), vip4.Addr())
		}
		for !g.Steady() {
			g = g.Next(vip.DefaultGenerations)
		}
		return g
	}
	step := func(g *vip.Generations, noted []State, early, all bool) *vip.Generations {
		t.Helper()
		var named []vip.Pin
		for _, s := range noted {
			named = append(named, s.named(false))
		}
		next, err := RelieveNoted(v, x, g, named, early, all)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	at := func(g *vip.Generations, s State) bool {
		t.Helper()
		p, err := Restore(g.Kept[0].Pins, vip4.Addr(), apps.ProtoUDP, uint64(g.Kept[0].ID))
		if err != nil {
			t.Fatal(err)
		}
		o, _ := p.Owner(table(t, g, 0), s.Tuple)
		return o == s.Owner
	}
	g := settle((*vip.Generations)(nil).Begin(members(1, 2)))
	live := states(table(t, g, 0), tuples(random, 3000, apps.ProtoUDP, vip4))
	more := members(1, 2)
	more[0].Replicas = 3
	g = settle(g.Begin(more))
	var noted []State
	for _, s := range live {
		if !at(g, s) {
			noted = append(noted, s)
		}
	}
	if len(noted) < 100 || Pinned(g) {
		t.Fatalf("%d flows are displaced, pinned %v", len(noted), Pinned(g))
	}
	if step(g, nil, true, false) != g {
		t.Error("older generations go before all have had time to show themselves")
	}
	next := settle(step(g, noted[:len(noted)-5], true, false))
	if len(next.Kept) != 3 || len(next.Kept[0].Pins) < len(noted)-5 || !Pinned(next) {
		t.Fatalf("%d generations, %d pins of %d", len(next.Kept), len(next.Kept[0].Pins), len(noted))
	}
	next = settle(step(next, noted[len(noted)-5:], false, false))
	alone := step(next, nil, false, false)
	if len(alone.Kept) != 1 {
		t.Fatalf("%d generations are left", len(alone.Kept))
	}
	for _, s := range live {
		if !at(alone, s) {
			t.Fatal("a flow is elsewhere")
		}
	}
	// Another change carries the pins on.
	more = members(1, 2)
	more[1].Replicas = 3
	changed := settle(alone.Begin(more))
	for _, s := range noted {
		if !at(changed, s) {
			t.Fatal("a pin is forgotten by a change")
		}
	}
	// Of the flows some have ended: it is only done when half are over, and only when all that live are known.
	if step(alone, noted[:len(noted)*3/4], false, true) != alone {
		t.Error("pins are made anew for few that are over")
	}
	fewer := step(alone, noted[:len(noted)/4], false, true)
	if n := len(fewer.Kept[0].Pins); n != len(noted)/4 {
		t.Errorf("%d pins are left, want %d", n, len(noted)/4)
	}
}
