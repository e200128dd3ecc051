package engine

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
)

// Connections are known by their clients' own ports once their switch has said them, and those of another VIP are left out; the next
// generation asks anew. Only the switch that was asked is heard, and one that says nothing is told of.
func TestOriginsAreAsked(t *testing.T) {
	now := time.Unix(1e9, 0)
	log := logrus.New()
	log.SetOutput(t.Output())
	e, err := New(Config{Store: store.Memory(), Log: log, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	x := &apps.VIP{VIP: &vip.VIP{ID: 1, Spec: vip.Spec{Protocol: vip.TCP}, Address: netip.MustParseAddr("10.0.0.100"), Ports: vip.Ports{First: 80, Last: 80}}}
	x.Backends = []apps.Backend{{Backend: &vip.Backend{ID: 7, Address: backendHost, Port: 8080}}}
	v := apps.NewView(nil, nil, []*apps.VIP{x})
	client := func(n uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr("10.0.0.9"), n) }
	at := func(n uint16) othello.State {
		return othello.State{Tuple: othello.Tuple{Proto: apps.ProtoTCP, Src: client(n), Dst: netip.AddrPortFrom(x.Address, 80)}, Owner: 7}
	}
	told := []othello.State{at(40000), at(40001), at(50001), at(60000)}
	resolved := func(what string, generation uint32, want, unsure []othello.State) {
		t.Helper()
		got, left := e.origins.resolve(x, generation, told)
		if !slices.Equal(got, want) || !slices.Equal(left, unsure) {
			t.Errorf("%s: %v, %v are not known; want %v and %v", what, got, left, want, unsure)
		}
	}
	resolved("at first", 3, told, told)
	if err := e.askOrigins(v, x, told, now); err != nil {
		t.Error(err)
	}
	const edge = flows.DPID(5)
	answer := func(n uint32, from flows.DPID, c netip.AddrPort, to string) {
		e.originFound(from, n, clientSide{c, netip.MustParseAddrPort(to)})
	}
	for i, s := range told {
		e.origins.asked[uint32(i)] = originQuestion{x.ID, s, edge}
	}
	e.generations.due = time.Time{}
	answer(0, edge, client(40000), "10.0.0.101:80")
	answer(1, edge, client(40000), "10.0.0.100:80")
	answer(2, 6, client(50000), "10.0.0.100:80")
	answer(9, edge, client(50000), "10.0.0.100:80")
	if !e.generations.due.IsZero() {
		t.Error("it is looked at before all have answered")
	}
	resolved("two have answered", 3, []othello.State{at(40000), at(50001), at(60000)}, told[2:])
	answer(2, edge, client(50000), "10.0.0.100:80")
	answer(3, edge, client(60000), backendHost.String()+":8080")
	if !e.generations.due.Equal(now) {
		t.Error("all have answered, and it is not looked at")
	}
	answer(3, edge, client(1), "10.0.0.100:80") // once
	resolved("all have answered", 3, []othello.State{at(40000), at(50000), at(60000)}, nil)
	resolved("the next generation", 4, told, told)
	for range 12 {
		if err = e.askOrigins(v, x, told, now); err == nil {
			now = now.Add(time.Second)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "10.0.0.9:40000") {
		t.Errorf("nobody answers: %v", err)
	}
	e.origins.forget(x.ID)
	if len(e.origins.of)+len(e.origins.asked) != 0 {
		t.Error("what is known of a deleted VIP stays")
	}
}
