package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/group"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/store"
)

var (
	backendHost = netip.MustParseAddr("10.0.0.1")
	bothTold    = apps.Protocols{TCP: true, UDP: true}
)

// agentEngine has a VIP at port 80 whose first backend, 10.0.0.1, listens at 8080. Its loop runs until the test ends.
func agentEngine(t *testing.T) *Engine {
	t.Helper()
	log := logrus.New()
	log.SetOutput(t.Output())
	e, err := New(Config{Store: store.Memory(), Log: log, Apps: []Mount{{apps.ClassGroup, group.New(group.Config{})}}})
	if err != nil {
		t.Fatal(err)
	}
	s := spec("web", "10.0.0.100", "b1=10.0.0.1", "b2=10.0.0.2")
	s.Mode, s.Scheduler = vip.ModeGroup, ""
	if _, err := e.createVIP(s, apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.settle()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(e.stopped)
		_ = e.loop(ctx)
	}()
	t.Cleanup(func() { cancel(); <-e.stopped })
	return e
}

func openAgent(t *testing.T, e *Engine, hello apps.AgentHello) (apps.AgentSession, apps.AgentOrder) {
	t.Helper()
	hello.Host = backendHost
	s, err := e.OpenAgent(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	return s, <-s.Orders()
}

// dumped has an agent told of a dump that was asked for, and returns what it hears.
func dumped(t *testing.T, s apps.AgentSession, id, seq uint64, states ...apps.LiveState) apps.AgentOrder {
	t.Helper()
	if err := errors.Join(s.DumpPart(id, states), s.DumpEnd(t.Context(), id, seq, len(states), bothTold)); err != nil {
		t.Fatal(err)
	}
	return <-s.Orders()
}

func live(proto uint8, client, local string) apps.LiveState {
	return apps.LiveState{Proto: proto, Client: netip.MustParseAddrPort(client), Local: netip.MustParseAddrPort(local)}
}

func reasonOf(err error) string {
	var fault *apps.AgentError
	if errors.As(err, &fault) {
		return fault.Reason
	}
	return fmt.Sprint(err)
}

// A host is asked for all at first, and then tells what changes; after a pause it goes on where it was, unless one of both has forgotten, or
// other ports are wanted.
func TestAgentsConversation(t *testing.T) {
	e := agentEngine(t)
	one, two := live(apps.ProtoTCP, "10.0.0.9:1", "10.0.0.1:8080"), live(apps.ProtoTCP, "10.0.0.9:2", "10.0.0.1:8080")
	s, order := openAgent(t, e, apps.AgentHello{Run: "r", First: 1})
	if p := order.Ports[apps.ProtoTCP]; order.Dump == 0 || len(p) != 1 || p[0] != (vip.Ports{First: 8080, Last: 8080}) {
		t.Fatalf("the first order is %+v", order)
	}
	if order = dumped(t, s, order.Dump, 5, one); order.Seq != 5 || order.Dump != 0 {
		t.Errorf("after a dump: %+v", order)
	}
	shows := func(what string, tcp int, connected bool) {
		t.Helper()
		r, err := e.VIP("web")
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Status.Backends[0].Connections; n == nil || *n != int64(tcp) {
			t.Errorf("%s: %v connections, want %d", what, n, tcp)
		}
		if a := e.Agents()[0]; a.Host != backendHost || a.TCP != tcp || a.UDP == nil || a.Connected != connected {
			t.Errorf("%s: shown as %+v", what, a)
		}
	}
	shows("after a dump", 1, true)
	for range 2 { // what is told twice counts once
		seq := order.Seq + 1
		if err := s.Change(t.Context(), apps.LiveChange{Seq: seq, Opened: []apps.LiveState{two}, Complete: bothTold}); err != nil {
			t.Fatal(err)
		}
		if order = <-s.Orders(); order.Seq != seq {
			t.Errorf("after change %d: %+v", seq, order)
		}
	}
	shows("after a change", 2, true)
	if _, err := e.ReportStates(t.Context(), apps.LiveReport{Host: backendHost}); !errors.Is(err, apps.ErrConflict) {
		t.Errorf("another says all at once: %v", err)
	}
	s.Close(nil)
	if err := e.call(t.Context(), func() {}); err != nil {
		t.Fatal(err)
	}
	shows("when it has gone", 2, false)

	again, order := openAgent(t, e, apps.AgentHello{Run: "r", First: 7, Last: 9})
	if !order.Resume || order.Seq != 7 {
		t.Errorf("it is back: %+v", order)
	}
	if err := again.Change(t.Context(), apps.LiveChange{Seq: 8, Closed: []apps.LiveState{one, two}, Complete: bothTold}); err != nil {
		t.Error(err)
	}
	shows("it has gone on", 0, true)
	for what, hello := range map[string]apps.AgentHello{
		"it has begun anew":     {Run: "other", First: 1},
		"it has forgotten some": {Run: "r", First: 10, Last: 12},
		"it is behind":          {Run: "r", First: 3, Last: 4},
	} {
		s, order := openAgent(t, e, apps.AgentHello{Run: "r", First: 9, Last: 8}) // nothing has happened
		if order.Dump != 0 {
			dumped(t, s, order.Dump, 8)
		}
		if _, order := openAgent(t, e, hello); order.Dump == 0 {
			t.Errorf("%s: %+v", what, order)
		}
		<-s.Over()
		if got := reasonOf(s.Err()); got != refusedReplaced {
			t.Errorf("the former conversation ended by %s", got)
		}
		s.Close(s.Err())
	}

	s, order = openAgent(t, e, apps.AgentHello{Run: "yet another", First: 1})
	dumped(t, s, order.Dump, 8)
	other := spec("other", "10.0.0.101", "b1=10.0.0.1")
	other.Mode, other.Scheduler = vip.ModeGroup, ""
	other.Backends[0].Port = 9090
	if _, err := e.CreateVIP(t.Context(), other, apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if order := <-s.Orders(); order.Dump == 0 || len(order.Ports[apps.ProtoTCP]) != 2 {
		t.Errorf("it serves another port: %+v", order)
	}
	for _, name := range []string{"web", "other"} {
		if err := e.DeleteVIP(t.Context(), name, apps.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	<-s.Over()
	if got := reasonOf(s.Err()); got != refusedHost {
		t.Errorf("it is a backend no more: %s", got)
	}
	if _, err := e.OpenAgent(t.Context(), apps.AgentHello{Host: backendHost, Run: "r"}); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("then it is told %v", err)
	}
}

// What a host cannot have, or nobody has asked for, is refused by name, counted and told; what it has said before is believed no more.
func TestAgentsFaults(t *testing.T) {
	e := agentEngine(t)
	good := live(apps.ProtoTCP, "10.0.0.9:1", "10.0.0.1:8080")
	change := func(s apps.AgentSession, seq uint64, states ...apps.LiveState) error {
		return s.Change(context.Background(), apps.LiveChange{Seq: seq, Opened: states, Complete: bothTold})
	}
	flood := func(n int) (out []apps.LiveState) {
		for i := range n {
			s := good
			s.Client = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 16), byte(i >> 8)}), uint16(i&255+1))
			out = append(out, s)
		}
		return out
	}
	for _, tc := range []struct {
		name, reason string
		do           func(s apps.AgentSession, dump uint64) error
	}{
		{"a foreign backend's", refusedAddress, func(s apps.AgentSession, _ uint64) error {
			return change(s, 6, live(apps.ProtoTCP, "10.0.0.9:1", "10.0.0.2:8080"))
		}},
		{"of another family", refusedAddress, func(s apps.AgentSession, _ uint64) error {
			return change(s, 6, live(apps.ProtoTCP, "[fd00::9]:1", "10.0.0.1:8080"))
		}},
		{"another port", refusedPort, func(s apps.AgentSession, _ uint64) error {
			return change(s, 6, good, live(apps.ProtoTCP, "10.0.0.9:1", "10.0.0.1:22"))
		}},
		{"another protocol", refusedPort, func(s apps.AgentSession, _ uint64) error {
			return change(s, 6, live(apps.ProtoUDP, "10.0.0.9:1", "10.0.0.1:8080"))
		}},
		{"a change is missing", refusedSequence, func(s apps.AgentSession, _ uint64) error { return change(s, 7, good) }},
		{"a dump again", refusedSequence, func(s apps.AgentSession, dump uint64) error { return s.DumpPart(dump, nil) }},
		{"a dump of nobody's", refusedSequence, func(s apps.AgentSession, dump uint64) error {
			return s.DumpEnd(context.Background(), dump+1, 6, 0, bothTold)
		}},
		{"too many", refusedTooMany, func(s apps.AgentSession, _ uint64) error {
			return errors.Join(change(s, 6, flood(apps.MaxLiveStates-1)...), change(s, 7, good, good))
		}},
	} {
		s, order := openAgent(t, e, apps.AgentHello{Run: tc.name, First: 1})
		dumped(t, s, order.Dump, 5, good)
		err := tc.do(s, order.Dump)
		if got := reasonOf(err); got != tc.reason {
			t.Errorf("%s: %s", tc.name, got)
		}
		s.Close(err)
		if err := e.call(t.Context(), func() {}); err != nil {
			t.Fatal(err)
		}
		if r, err := e.VIP("web"); err != nil || r.Status.Backends[0].Connections != nil {
			t.Errorf("%s: it is believed, %v", tc.name, err)
		}
		if a := e.Agents()[0]; a.Connected || !strings.HasPrefix(a.Reason, tc.reason) {
			t.Errorf("%s: %+v", tc.name, a)
		}
	}
	for name, do := range map[string]func(s apps.AgentSession, dump uint64) error{
		"a dump of fewer": func(s apps.AgentSession, dump uint64) error {
			return errors.Join(s.DumpPart(dump, []apps.LiveState{good}), s.DumpEnd(context.Background(), dump, 6, 2, bothTold))
		},
		"a change before a dump": func(s apps.AgentSession, _ uint64) error { return change(s, 1) },
	} {
		s, order := openAgent(t, e, apps.AgentHello{Run: name, First: 1})
		err := do(s, order.Dump)
		if got := reasonOf(err); got != refusedSequence {
			t.Errorf("%s: %s", name, got)
		}
		s.Close(err)
	}
	s, order := openAgent(t, e, apps.AgentHello{Run: "large", First: 1})
	err := s.DumpPart(order.Dump, flood(apps.MaxLiveStates))
	if err != nil {
		t.Error(err)
	}
	if got := reasonOf(s.DumpPart(order.Dump, flood(1))); got != refusedTooMany {
		t.Errorf("a large dump: %s", got)
	}
	s.Close(err)
	counts := map[string]uint64{}
	for _, c := range e.Counts() {
		if c.Part == "agents" {
			counts[c.Reason] = c.N
		}
	}
	if fmt.Sprint(counts) != fmt.Sprint(map[string]uint64{refusedAddress: 2, refusedPort: 2, refusedSequence: 5, refusedTooMany: 1}) {
		t.Errorf("counted %v", counts)
	}
}

// An agent that does not answer, or does not read, is given up after a bounded time, and so much.
func TestAgentsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &agentSession{host: backendHost, orders: make(chan apps.AgentOrder, agentOrders), over: make(chan struct{})}
		begun := time.Now()
		s.expect(7, nil)
		<-s.Over()
		if got := reasonOf(s.Err()); got != refusedLate || time.Since(begun) != dumpTimeout {
			t.Errorf("a dump does not come: %s after %s", got, time.Since(begun))
		}
		if err := s.DumpPart(7, nil); reasonOf(err) != refusedLate {
			t.Errorf("then it comes: %v", err)
		}
	})
	s := &agentSession{orders: make(chan apps.AgentOrder, agentOrders), over: make(chan struct{})}
	for range agentOrders {
		s.order(apps.AgentOrder{})
	}
	if s.Err() != nil {
		t.Errorf("%d orders: %v", agentOrders, s.Err())
	}
	s.order(apps.AgentOrder{})
	if got := reasonOf(s.Err()); got != refusedSlow {
		t.Errorf("it does not read: %s", got)
	}
}

// Tokens are of a host and of this controller alone, and the same after a restart.
func TestAgentToken(t *testing.T) {
	log := logrus.New()
	log.SetOutput(t.Output())
	st := store.Memory()
	token := func(st store.Store, host string) string {
		e, err := New(Config{Store: st, Log: log, Apps: []Mount{{apps.ClassGroup, group.New(group.Config{})}}})
		if err != nil {
			t.Fatal(err)
		}
		return e.AgentToken(netip.MustParseAddr(host))
	}
	one := token(st, "10.0.0.1")
	if len(one) < 40 || token(st, "10.0.0.1") != one || token(st, "::ffff:10.0.0.1") != one {
		t.Errorf("%q after a restart %q", one, token(st, "10.0.0.1"))
	}
	if token(st, "10.0.0.2") == one || token(store.Memory(), "10.0.0.1") == one {
		t.Error("another has the same")
	}
}

// Of two backends that claim a connection neither is believed, unless edges have noted that one of them has it.
func TestDisputed(t *testing.T) {
	at := func(client string, owner uint32) othello.State {
		return othello.State{Tuple: othello.Tuple{Proto: apps.ProtoTCP, Src: netip.MustParseAddrPort(client), Dst: netip.MustParseAddrPort("10.0.0.100:80")}, Owner: owner}
	}
	if err := disputed([]othello.State{at("10.0.0.9:1", 1), at("10.0.0.9:2", 2), at("10.0.0.9:1", 1)}); err != nil {
		t.Error(err)
	}
	live := []othello.State{at("10.0.0.9:1", 2), at("10.0.0.9:2", 2), at("10.0.0.9:1", 1)}
	if err := disputed(live); err == nil || !strings.Contains(err.Error(), "backends 1 and 2") {
		t.Errorf("%v", err)
	}
	x := &apps.VIP{VIP: &vip.VIP{Spec: vip.Spec{Protocol: vip.TCP}, Address: netip.MustParseAddr("10.0.0.100")}}
	for _, tc := range []struct {
		what         string
		noted, owner uint32
		client       string
	}{{"one of them has it", 1, 1, "10.0.0.9:1"}, {"the other", 2, 2, "10.0.0.9:1"}, {"a third", 3, 0, "10.0.0.9:1"}, {"another connection", 1, 0, "10.0.0.9:2"}} {
		got := borneOut(x, live, claimedTwice(live), []vip.Pin{{Client: netip.MustParseAddrPort(tc.client), Port: 80, Backend: tc.noted}})
		if tc.owner == 0 {
			if disputed(got) == nil || len(got) != 3 {
				t.Errorf("%s: settled to %v", tc.what, got)
			}
		} else if disputed(got) != nil || len(got) != 2 || !slices.Contains(got, at("10.0.0.9:1", tc.owner)) || !slices.Contains(got, at("10.0.0.9:2", 2)) {
			t.Errorf("%s: %v", tc.what, got)
		}
	}
}

// Only an agent whose dump has been taken goes on from there: one that was cut off before that is asked for all again, whatever its numbers.
func TestAgentsCutOffAmidTheirDump(t *testing.T) {
	one, two := live(apps.ProtoTCP, "10.0.0.9:1", "10.0.0.1:8080"), live(apps.ProtoTCP, "10.0.0.9:2", "10.0.0.1:8080")
	cutOff := func(t *testing.T, e *Engine, run string) {
		t.Helper()
		s, order := openAgent(t, e, apps.AgentHello{Run: run, First: 1, Last: 9})
		if order.Resume || order.Dump == 0 {
			t.Fatalf("run %s: %+v", run, order)
		}
		s.Close(nil)
	}
	t.Run("of another run", func(t *testing.T) {
		e := agentEngine(t)
		s, order := openAgent(t, e, apps.AgentHello{Run: "before", First: 1})
		dumped(t, s, order.Dump, 5, one)
		s.Close(nil)
		cutOff(t, e, "restarted")
		cutOff(t, e, "restarted")
	})
	t.Run("after a fault", func(t *testing.T) {
		e := agentEngine(t)
		s, order := openAgent(t, e, apps.AgentHello{Run: "r", First: 1})
		dumped(t, s, order.Dump, 5, one)
		s.Close(&apps.AgentError{Reason: refusedSlow})
		cutOff(t, e, "r")
		s, order = openAgent(t, e, apps.AgentHello{Run: "r", First: 1, Last: 9})
		if order.Resume {
			t.Errorf("it goes on from what is not believed: %+v", order)
			if err := s.Change(t.Context(), apps.LiveChange{Seq: 6, Opened: []apps.LiveState{two}, Complete: bothTold}); err != nil {
				t.Error(err)
			}
		}
	})
}
