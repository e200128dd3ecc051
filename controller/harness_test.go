package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/sirupsen/logrus"
)

// owner is an owner of desired state.
type owner string

func (o owner) String() string { return string(o) }

// Cookies of the tests' rules: the second byte is the kind.
func kind(cookie uint64) controller.RuleKind {
	if cookie>>56 != 0xef {
		return controller.Foreign
	}
	return controller.RuleKind(cookie >> 48 & 0xff)
}

// recorder is a handler that writes down what it is told.
type recorder struct {
	mu      sync.Mutex
	events  []string
	changed chan struct{}
	errs    map[owner]error
	sw      *controller.Switch // the last connected

	onPacketIn  func(sw *controller.Switch, in *openflow.PacketIn)
	onConnected func(sw *controller.Switch)
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) Connected(sw *controller.Switch, conns []flows.InstalledRule) {
	r.mu.Lock()
	r.sw = sw
	r.mu.Unlock()
	var rules []string
	for _, c := range conns {
		rules = append(rules, c.Rule.String())
	}
	r.note("connected %v", rules)
	if r.onConnected != nil {
		r.onConnected(sw)
	}
}

func (r *recorder) Disconnected(_ *controller.Switch, err error) { r.note("disconnected: %v", err) }

func (r *recorder) PortStatus(_ *controller.Switch, reason openflow.PortReason, p openflow.Port) {
	r.note("port %d %s up=%v", p.No, reason, p.Up())
}

func (r *recorder) PacketIns(sw *controller.Switch, ins []openflow.PacketIn) {
	for i := range ins {
		r.packetIn(sw, &ins[i])
	}
}

func (r *recorder) packetIn(sw *controller.Switch, in *openflow.PacketIn) {
	if r.onPacketIn != nil {
		r.onPacketIn(sw, in)
		return
	}
	r.note("packet-in %d %s", in.InPort, in.Data)
}

func (r *recorder) FlowRemoved(_ *controller.Switch, fr *openflow.FlowRemoved) {
	r.note("removed %s reason=%d packets=%d", fr.Rule.String(), fr.Reason, fr.Packets)
}

func (r *recorder) RuleStats(_ *controller.Switch, rule *flows.Rule, st flows.Stats, found bool) {
	r.note("stats %s packets=%d found=%v", rule, st.Packets, found)
}

func (r *recorder) Applied(_ flows.DPID, o controller.Owner, version uint64, err error) {
	r.mu.Lock()
	r.errs[o.(owner)] = err
	r.mu.Unlock()
	if err != nil {
		r.note("refused %s %d", o, version)
	} else {
		r.note("applied %s %d", o, version)
	}
}

func (r *recorder) RuleRefused(_ *controller.Switch, rule *flows.Rule) {
	r.note("rule refused %s", rule)
}

func (r *recorder) Refused(_ *controller.Switch, what string, err error) {
	r.note("error to %s: %v", what, err)
}

// log is what has happened so far.
func (r *recorder) log() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// until waits for an event that begins so and returns it.
func (r *recorder) until(t testing.TB, prefix string) string {
	t.Helper()
	return r.untilNth(t, prefix, 1)
}

func (r *recorder) untilNth(t testing.TB, prefix string, n int) string {
	t.Helper()
	limit := time.After(5 * time.Minute)
	for {
		r.mu.Lock()
		changed, left := r.changed, n
		for _, e := range r.events {
			if strings.HasPrefix(e, prefix) {
				if left--; left == 0 {
					r.mu.Unlock()
					return e
				}
			}
		}
		r.mu.Unlock()
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("no event %q (%d) among:\n%s", prefix, n, strings.Join(r.log(), "\n"))
		}
	}
}

func (r *recorder) session() *controller.Switch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sw
}

func (r *recorder) refusal(o owner) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errs[o]
}

// harness is a controller without sockets.
type harness struct {
	*recorder
	t    testing.TB
	ctl  *controller.Controller
	ctx  context.Context
	stop func()
	logs *logs
}

// patient waits long where a test does not say how long, since the machine may be busy.
func patient(cfg *controller.Config) {
	for _, d := range []*time.Duration{&cfg.HelloTimeout, &cfg.EchoTimeout, &cfg.RequestTimeout} {
		if *d == 0 {
			*d = time.Minute
		}
	}
}

func start(t testing.TB, cfg controller.Config) *harness {
	t.Helper()
	h := &harness{t: t, recorder: &recorder{changed: make(chan struct{}), errs: map[owner]error{}}, logs: &logs{}}
	cfg.Kind = kind
	cfg.OwnGroup = func(id uint32) bool { return id >= 100 }
	cfg.OwnMeter = func(id uint32) bool { return id >= 100 }
	log := logrus.New()
	log.SetOutput(h.logs)
	log.SetLevel(logrus.DebugLevel)
	cfg.Log = log
	if cfg.AuditInterval == 0 {
		cfg.AuditInterval = -1
	}
	h.ctl = controller.New(cfg, h.recorder)
	ctx, cancel := context.WithCancel(context.Background())
	var sessions sync.WaitGroup
	h.ctx = context.WithValue(ctx, sessionsKey{}, &sessions)
	h.stop = func() { cancel(); sessions.Wait() }
	t.Cleanup(h.stop)
	return h
}

type sessionsKey struct{}

// serve runs a session; what it ends with comes through the channel.
func (h *harness) serve(conn net.Conn) <-chan error {
	end := make(chan error, 1)
	h.ctx.Value(sessionsKey{}).(*sync.WaitGroup).Go(func() { end <- h.ctl.Serve(h.ctx, conn) })
	return end
}

// connect connects a switch and waits until it is there.
func (h *harness) connect(fake *controllertest.Switch) <-chan error {
	h.t.Helper()
	n := 0
	for _, e := range h.log() {
		if strings.HasPrefix(e, "connected") {
			n++
		}
	}
	end := h.serve(fake.Connect())
	h.untilNth(h.t, "connected", n+1)
	return end
}

// await waits for something in a switch.
func (h *harness) await(fake *controllertest.Switch, what string, ok func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.ctx, 5*time.Minute)
	defer cancel()
	if err := fake.Await(ctx, ok); err != nil {
		h.t.Fatalf("%s: %v; the switch has received\n%s\nand has\n%s", what, err, messages(fake), fake.Dump())
	}
}

func messages(fake *controllertest.Switch) string {
	var b strings.Builder
	for _, m := range fake.Received() {
		fmt.Fprintln(&b, m)
	}
	return b.String()
}

// logs keeps log lines.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// state reads a state from text.
func state(t testing.TB, text string) flows.State {
	t.Helper()
	s, err := flows.ParseState(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// want is what an owner wants in a version.
func want(t testing.TB, o owner, version uint64, text string) controller.OwnerState {
	t.Helper()
	return controller.OwnerState{Owner: o, Version: version, State: made(state(t, text))}
}

// made is a state made ready.
func made(s flows.State) *controller.State { return controller.NewState(controller.NewBlock(s, nil)) }

func mustBe(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("got error %v, want %v", err, target)
	}
}

func flowsStats(packets uint64) flows.Stats { return flows.Stats{Packets: packets} }

func last(list []string) string { return list[len(list)-1] }

func text(n uint64) string { return strconv.FormatUint(n, 10) }
