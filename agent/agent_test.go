package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/agent/wire"
)

// patience is when something that is awaited is given up.
const patience = time.Minute

func state(protocol string, port int) State {
	return State{Protocol: protocol, Client: netip.MustParseAddrPort(fmt.Sprint("10.0.0.9:", port)), Local: netip.MustParseAddrPort("10.0.0.1:80")}
}

// host is a kernel, and a controller's end of the conversations with its agent.
type host struct {
	t     *testing.T
	has   atomic.Pointer[Reading]
	reads atomic.Int64
	calls chan *call // of Dial
	log   *strings.Builder
	cfg   Config
}

// call is a conversation, as the controller has it.
type call struct {
	*host
	in     *wire.Reader
	out    *wire.Writer
	body   io.Reader
	answer *io.PipeWriter
}

func newHost(t *testing.T, states ...State) *host {
	h := &host{t: t, calls: make(chan *call), log: &strings.Builder{}}
	h.set(states...)
	log := logrus.New()
	log.SetOutput(h.log)
	h.cfg = Config{Host: netip.MustParseAddr("10.0.0.1"), Interval: 10 * time.Millisecond, Log: log,
		Read: func(wanted func(string, uint16) bool) (Reading, error) {
			h.reads.Add(1)
			r := *h.has.Load()
			r.States = slices.DeleteFunc(slices.Clone(r.States), func(s State) bool { return !wanted(s.Protocol, s.Local.Port()) })
			return r, nil
		},
		Dial: func(ctx context.Context, body io.Reader) (io.ReadCloser, error) {
			r, w := io.Pipe()
			select {
			case h.calls <- &call{h, wire.NewReader(body), wire.NewWriter(w, nil), body, w}:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()); body.(io.Closer).Close() })
			return r, nil
		},
		Wait: func(ctx context.Context, _ time.Duration) bool { return ctx.Err() == nil },
	}
	return h
}

func (h *host) set(states ...State) {
	h.has.Store(&Reading{States: states, Complete: []string{"tcp", "udp"}})
}

// run begins the conversations of a table, as Run does, and ends them with the test.
func (h *host) run(table *table) {
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if _, err := talk(ctx, h.cfg, table); err != nil {
				h.cfg.Log.Info(err)
			}
		}
	}()
	h.t.Cleanup(func() { cancel(); <-done })
}

func (h *host) call() *call {
	h.t.Helper()
	select {
	case c := <-h.calls:
		return c
	case <-time.After(patience):
		h.t.Fatal("the agent does not connect")
		return nil
	}
}

func (c *call) next() (line wire.FromAgent) {
	c.t.Helper()
	if err := c.in.Next(&line); err != nil {
		c.t.Fatal(err)
	}
	return line
}

// change is the next change that says something.
func (c *call) change() wire.Change {
	c.t.Helper()
	for {
		if line := c.next(); line.Change != nil && len(line.Change.Opened)+len(line.Change.Closed) > 0 {
			return *line.Change
		}
	}
}

func (c *call) say(line wire.FromController) {
	c.t.Helper()
	if err := c.out.Write(line); err != nil {
		c.t.Fatal(err)
	}
}

func (c *call) hangUp() {
	c.answer.Close()
	c.body.(io.Closer).Close()
}

var everything = map[string][]string{"tcp": {"80", "8000-8010"}, "udp": {"80"}}

func want(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("%s: -want +got\n%s", what, diff)
	}
}

// The controller asks for all, is told of what changes, and after a pause of what it has not acknowledged; whoever knows too little asks
// for all again.
func TestConversation(t *testing.T) {
	one, two, three := state("tcp", 1), state("udp", 2), state("tcp", 3)
	h := newHost(t, one)
	h.run(newTable("r"))
	c := h.call()
	want(t, "hello", wire.FromAgent{Hello: &wire.Hello{Run: "r", First: 1}}, c.next())
	c.say(wire.FromController{Dump: &wire.Request{ID: 7, Now: 100, Ports: everything}})
	want(t, "dump", wire.FromAgent{Dump: &wire.Dump{ID: 7, States: []State{one}, End: &wire.End{Seq: 1, States: 1, Complete: []string{"tcp", "udp"}}}}, c.next())
	h.set(one, two)
	first := c.change()
	want(t, "a change", wire.Change{Seq: first.Seq, After: 100, Opened: []State{two}, Complete: []string{"tcp", "udp"}}, first)
	c.say(wire.FromController{Ack: &wire.Ack{Seq: first.Seq, Now: 200}})
	h.set(three, two)
	second := c.change()
	if second.After != 100 && second.After != 200 || second.Seq <= first.Seq {
		t.Errorf("the next change is %+v", second)
	}
	want(t, "what has gone", []State{one}, second.Closed)
	c.hangUp()

	c = h.call()
	hello := c.next().Hello
	if hello == nil || hello.Run != "r" || hello.First > second.Seq || hello.Last < second.Seq {
		t.Fatalf("after change %d, of which %d was heard: %+v", second.Seq, first.Seq, hello)
	}
	c.say(wire.FromController{Resume: &wire.Ack{Seq: second.Seq - 1, Now: 300}})
	want(t, "what was not heard", wire.FromAgent{Change: &second}, c.next())
	c.say(wire.FromController{Dump: &wire.Request{ID: 8, Now: 400, Ports: map[string][]string{"udp": {"80"}}}})
	for {
		if line := c.next(); line.Dump != nil {
			want(t, "of other ports", []State{two}, line.Dump.States)
			break
		}
	}
}

// An agent that cannot write does not read the kernel either, and ends when it is told to.
func TestSlowController(t *testing.T) {
	h := newHost(t, state("tcp", 1))
	h.run(newTable("r"))
	c := h.call()
	c.next()
	c.say(wire.FromController{Dump: &wire.Request{ID: 1, Ports: everything}})
	c.next()
	// The dump's reading, and the change's that now waits to be read: that wait may be on its way.
	for h.reads.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	h.set(state("tcp", 1), state("tcp", 2))
	for range 20 {
		time.Sleep(h.cfg.Interval)
	}
	if n := h.reads.Load(); n != 2 {
		t.Errorf("%d readings while nobody listens", n)
	}
	if got := c.change().Opened; len(got) != 1 {
		t.Errorf("then it tells of %v", got)
	}
}

// A large host's connections come in parts.
func TestParts(t *testing.T) {
	var states []State
	for i := range 2*wire.MaxStates + 1 {
		states = append(states, state("tcp", i+1))
	}
	h := newHost(t, states...)
	h.run(newTable("r"))
	c := h.call()
	c.next()
	c.say(wire.FromController{Dump: &wire.Request{ID: 1, Ports: everything}})
	for _, n := range []int{wire.MaxStates, wire.MaxStates, 1} {
		if d := c.next().Dump; d == nil || len(d.States) != n || (d.End != nil) != (n == 1) || d.End != nil && d.End.States != len(states) {
			t.Fatalf("a part of %d is %+v", n, d)
		}
	}
	h.set()
	gone := 0
	for gone < len(states) {
		n := len(c.change().Closed)
		if n > wire.MaxStates {
			t.Fatalf("%d in a line", n)
		}
		gone += n
	}
}

// What the controller says wrongly, or at last, is told, and tried again after ever longer pauses; a conversation makes them short again.
func TestRunTriesAgain(t *testing.T) {
	h := newHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	var pauses []time.Duration
	dial, failures := h.cfg.Dial, 3
	h.cfg.Interval = time.Second
	h.cfg.Dial = func(ctx context.Context, body io.Reader) (io.ReadCloser, error) {
		if failures--; failures >= 0 {
			return nil, errors.New("nobody is there")
		}
		return dial(ctx, body)
	}
	h.cfg.Wait = func(_ context.Context, d time.Duration) bool { pauses = append(pauses, d); return ctx.Err() == nil }
	done := make(chan error, 1)
	go func() { done <- Run(ctx, h.cfg) }()
	c := h.call()
	c.next()
	c.say(wire.FromController{Ack: &wire.Ack{}})
	c.say(wire.FromController{Error: &wire.Error{Reason: "port", Detail: "was not asked for"}})
	c = h.call()
	c.next()
	if _, err := c.answer.Write([]byte("no gzip at all")); err != nil {
		t.Fatal(err)
	}
	c = h.call()
	c.next()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]time.Duration{firstPause, 2 * firstPause, 4 * firstPause, firstPause, 2 * firstPause}, pauses); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"nobody is there", "port: was not asked for", "invalid header"} {
		if n := strings.Count(h.log.String(), text); n != 1 {
			t.Errorf("told %d times that %q:\n%s", n, text, h.log)
		}
	}
	if err := Run(t.Context(), Config{Interval: time.Second}); err == nil {
		t.Error("no address passes")
	}
}

// UDP counts for a while after the kernel has let go of it; changes are kept until they are acknowledged, or too many.
func TestTable(t *testing.T) {
	now := time.Unix(1e9, 0)
	tcp, udp := state("tcp", 1), state("udp", 1)
	tb := newTable("r")
	all := func(string, uint16) bool { return true }
	if got := tb.dump(now, Reading{States: []State{tcp, udp}}, all); len(got) != 2 {
		t.Errorf("all are %v", got)
	}
	now = now.Add(udpLinger - 1)
	want(t, "soon after", []wire.Change{{Seq: 2, Closed: []State{tcp}}}, tb.change(now, 0, Reading{}))
	if got := tb.dump(now, Reading{}, all); len(got) != 1 || got[0] != udp {
		t.Errorf("all are then %v", got)
	}
	now = now.Add(1)
	want(t, "later", []wire.Change{{Seq: 4, After: 9, Closed: []State{udp}}}, tb.change(now, 9, Reading{}))
	want(t, "hello", &wire.Hello{Run: "r", First: 4, Last: 4}, tb.hello())
	tb.heard(4)
	want(t, "when that was heard", &wire.Hello{Run: "r", First: 5, Last: 4}, tb.hello())

	var many []State
	for i := range maxLogged/2 + 1 {
		many = append(many, state("tcp", i+1))
	}
	lines := tb.change(now.Add(1), 0, Reading{States: many})
	if lines[0].Seq != 5 || len(lines) != len(many)/wire.MaxStates+1 {
		t.Errorf("%d lines, the first %d", len(lines), lines[0].Seq)
	}
	last := lines[len(lines)-1].Seq
	tb.change(now.Add(2), 0, Reading{})
	if hello := tb.hello(); hello.First <= 5 || hello.First > last || tb.logged > maxLogged {
		t.Errorf("%d states in %+v", tb.logged, hello)
	}
	tb.dump(now.Add(3), Reading{}, all)
	if hello := tb.hello(); hello.First != hello.Last+1 {
		t.Errorf("after all was told: %+v", hello)
	}
}
