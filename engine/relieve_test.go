package engine

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/group"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/store"
)

// A host is asked for all connections when a change has been through for a while, once, and not before; what it has said of UDP counts for UDP alone.
func TestHostsAreAskedInTime(t *testing.T) {
	now := time.Unix(1e9, 0)
	log := logrus.New()
	log.SetOutput(t.Output())
	e, err := New(Config{Store: store.Memory(), Log: log, Now: func() time.Time { return now }, Apps: []Mount{{apps.ClassGroup, group.New(group.Config{})}}})
	if err != nil {
		t.Fatal(err)
	}
	s := spec("web", "10.0.0.100", "b1=10.0.0.1")
	s.Mode, s.Scheduler = vip.ModeGroup, ""
	if _, err := e.createVIP(s, apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.settle()
	from := now.Add(reportGrace)
	told := func(what string, want bool) {
		t.Helper()
		if got := e.toldSince(backendHost, apps.ProtoTCP, from, now); got != want {
			t.Errorf("%s: told %t", what, got)
		}
	}
	told("nobody is there", false)
	session, err := e.openAgent(apps.AgentHello{Host: backendHost, Run: "r", First: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := e.agents.by[backendHost]
	answer := func(complete apps.Protocols) {
		t.Helper()
		order := <-session.orders
		if order.Dump == 0 {
			t.Fatalf("the order is %+v", order)
		}
		session.asking, h.after, h.heard, h.complete = 0, session.asked, now, complete
	}
	answer(bothTold) // as it has connected
	told("what it said then is too old", false)
	if at := from.Add(time.Millisecond); !e.generations.due.Equal(at) || len(session.orders) != 0 {
		t.Errorf("the next look is at %s, want %s, with %d orders", e.generations.due, at, len(session.orders))
	}
	now = from.Add(time.Millisecond)
	told("it is asked", false)
	told("it is asked once", false)
	if n := len(session.orders); n != 1 {
		t.Errorf("%d orders", n)
	}
	answer(apps.Protocols{UDP: true})
	told("it has told of UDP alone", false)
	h.complete = bothTold
	told("it has told", true)
	now = now.Add(reportAge)
	told("that was long ago", false)
}

// Flows that are pinned and silent are taken for alive; a host is not asked for flows whose clients' ports it cannot know.
func TestSilentFlowsStayPinned(t *testing.T) {
	x := &apps.VIP{VIP: &vip.VIP{ID: 1, Spec: vip.Spec{Protocol: vip.UDP}, Address: netip.MustParseAddr("10.0.0.100"), Ports: vip.Ports{First: 53, Last: 53}}}
	x.Backends = []apps.Backend{{Backend: &vip.Backend{ID: 7, Address: backendHost, Port: 5353}}}
	client := func(n uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr("10.0.0.9"), n) }
	flow := func(n uint16) othello.State {
		return othello.State{Tuple: othello.Tuple{Proto: apps.ProtoUDP, Src: client(n), Dst: netip.AddrPortFrom(x.Address, 53)}, Owner: 7}
	}
	k := &vip.Generation{Pins: []vip.Pin{{Client: client(1), Port: 53, Backend: 7}, {Client: client(2), Port: 53, Backend: 7}, {Client: client(3), Port: 53, Backend: 8}}}
	if got := pinned(x, k, []othello.State{flow(1)}); !slices.Equal(got, []othello.State{flow(2)}) {
		t.Errorf("beside the one that is told: %v", got)
	}
	for what, tc := range map[string]struct {
		proto vip.Protocol
		port  uint16
		want  bool
	}{"the same port": {vip.UDP, 5353, true}, "another": {vip.UDP, 5454, false}, "of TCP": {vip.TCP, 5353, false}} {
		other := &apps.VIP{VIP: &vip.VIP{ID: 2, Spec: vip.Spec{Protocol: tc.proto}, Ports: vip.Ports{First: 54, Last: 54}}}
		other.Backends = []apps.Backend{{Backend: &vip.Backend{ID: 1, Address: backendHost, Port: tc.port}}}
		if got := sharesPort(apps.NewView(nil, nil, []*apps.VIP{x, other}), x); got != tc.want {
			t.Errorf("%s: shared %t", what, got)
		}
	}
}
