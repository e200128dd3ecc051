package health

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/topo"
)

// Probes of a thousand backends are spread evenly over the interval, keep it, and go on doing so.
func TestSpread(t *testing.T) {
	const n, parts = 1000, 20
	r := newRig(t)
	r.follow(view(network(n), connected(1), declared(t, 1, "10.0.255.1", everySecond, n)))
	r.run(2 * time.Second)
	begin := r.now
	var counts [parts]int
	sent := r.run(10 * time.Second)
	for _, at := range sent {
		counts[at.Sub(begin)%time.Second*parts/time.Second]++
	}
	if len(sent) < 10*n-n/5 || len(sent) > 10*n+n/5 {
		t.Errorf("%d probes of %d backends in 10 intervals", len(sent), n)
	}
	for i, got := range counts {
		if want := 10 * n / parts; got < want*8/10 || got > want*12/10 {
			t.Errorf("part %d of %d of the interval has %d probes, want about %d", i, parts, got, want)
		}
	}
	if down := r.verdicts(); down != "" {
		t.Error(down)
	}
}

// The jitter moves each probe, and never the ones after it.
func TestJitter(t *testing.T) {
	r := newRig(t)
	r.follow(view(network(1), connected(1), declared(t, 1, "10.0.255.1", everySecond, 1)))
	sent := r.run(100 * time.Second)
	first, moved := sent[0].Truncate(time.Second), false
	for i, at := range sent {
		off := at.Sub(first) - time.Duration(i)*time.Second
		if off < 0 || off >= 100*time.Millisecond+time.Second {
			t.Errorf("probe %d is off by %s", i, off)
		}
		moved = moved || at.Sub(sent[0]) != time.Duration(i)*time.Second
	}
	if len(sent) < 99 || len(sent) > 100 || !moved {
		t.Errorf("%d probes in 100 intervals, moved: %t", len(sent), moved)
	}
}

// Each type of probe, of both families, is answered, fails when it is not, and is not taken in by what is not its answer.
func TestTypes(t *testing.T) {
	for _, kind := range []string{vip.HealthARP, vip.HealthICMP, vip.HealthTCP} {
		t.Run(kind, func(t *testing.T) {
			h := everySecond
			h.Type = kind
			r := newRig(t)
			r.follow(view(network(2), connected(1), declared(t, 1, "10.0.255.1", h, 2)))
			r.run(10 * time.Second)
			if down := r.verdicts(); down != "" {
				t.Fatal(down)
			}
			answered := r.p.Stats()[0].Answered
			if answered < 18 {
				t.Errorf("%d probes answered", answered)
			}
			good := r.answer
			r.answer = mute
			r.run(5 * time.Second)
			if down := r.verdicts(); strings.Count(down, kind+" probe: no answer") != 2 {
				t.Error(down)
			}
			r.answer = good
			r.run(5 * time.Second)
			if down := r.verdicts(); down != "" {
				t.Error(down)
			}
			if s := r.p.Stats()[0]; s.Type != kind || s.Up != 2 || s.Failed["timeout"] == 0 || s.Sent < s.Answered+s.Failed["timeout"] {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A port that refuses connections is told from one that is silent, and a connection that is made is ended.
func TestRefused(t *testing.T) {
	r := newRig(t)
	r.follow(view(network(1), connected(1), declared(t, 1, "10.0.255.1", everySecond, 1)))
	r.run(3 * time.Second)
	if len(r.out.sent) == 0 {
		t.Error("connections are left half open")
	}
	for i, f := range r.out.sent {
		if f.TCPFlags != apps.RST || f.Dst != ten(1) || f.DstPort != 8080 {
			t.Errorf("answer %d: %+v", i, f)
		}
	}
	r.out.sent = nil
	r.answer = func(f *apps.Frame) []byte { return refusal(f) }
	r.run(5 * time.Second)
	if down := r.verdicts(); down != "b1: tcp probe: port 8080 refuses connections" {
		t.Error(down)
	}
	if len(r.out.sent) != 0 {
		t.Errorf("refusals are answered: %+v", r.out.sent)
	}
}

// Nobody but the backend itself, at its port, can answer, and it only what it was asked.
func TestHostileAnswers(t *testing.T) {
	for _, kind := range []string{vip.HealthARP, vip.HealthICMP, vip.HealthTCP} {
		h := everySecond
		h.Type = kind
		for name, forge := range map[string]func(f *apps.Frame, at *topo.PortID, b []byte) []byte{
			"another port":       func(_ *apps.Frame, at *topo.PortID, b []byte) []byte { at.No = 2; return b },
			"another host":       func(_ *apps.Frame, _ *topo.PortID, b []byte) []byte { b[11] ^= 1; return b },
			"a secret made up":   func(f *apps.Frame, _ *topo.PortID, _ []byte) []byte { return answerTo(forged(f)) },
			"the one before":     nil,
			"cut off by a layer": func(_ *apps.Frame, _ *topo.PortID, b []byte) []byte { return vlan(b) },
		} {
			if kind == vip.HealthARP && (name == "a secret made up" || name == "the one before") {
				continue // it has none
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				r := newRig(t)
				r.follow(view(network(2), connected(1), declared(t, 1, "10.0.255.1", h, 1)))
				var before []byte
				r.answer = func(f *apps.Frame) []byte {
					at, b := topo.PortID{DPID: 1, No: 1}, answerTo(f)
					if forge == nil {
						b, before = before, b
					} else {
						b = forge(f, &at, b)
					}
					if b != nil {
						r.hear(at, b)
					}
					return nil
				}
				r.run(6 * time.Second)
				if down := r.verdicts(); down == "" {
					t.Error("taken for an answer")
				}
				n := uint64(0)
				for _, c := range r.p.Counts() {
					n += c.N
				}
				if n == 0 {
					t.Error("not counted")
				}
			})
		}
	}
}

// VIPs that want a backend probed alike share its probes; one that wants other times does not, but begins with what is known.
func TestShared(t *testing.T) {
	r := newRig(t)
	snap := network(1)
	r.follow(view(snap, connected(1), declared(t, 1, "10.0.255.1", everySecond, 1), declared(t, 2, "10.0.255.2", everySecond, 1)))
	if n := len(r.run(10 * time.Second)); n < 9 || n > 11 {
		t.Errorf("%d probes in 10 intervals", n)
	}
	r.answer = mute
	r.run(5 * time.Second)
	other := everySecond
	other.Rise = 3
	r.follow(view(snap, connected(1), declared(t, 1, "10.0.255.1", other, 1)))
	if down := r.verdicts(); down == "" {
		t.Error("up by being probed otherwise")
	}
	r.follow(view(snap, connected(1), declared(t, 1, "10.0.255.1", vip.Health{}, 1)))
	if down := r.verdicts(); down != "" {
		t.Errorf("not probed: %s", down)
	}
	if n := len(r.run(10 * time.Second)); n != 0 {
		t.Errorf("%d probes for nobody", n)
	}
}

// While a switch has no session nothing is probed, and states stay; a port that goes down is a loss, after which the backend must
// answer before it is up.
func TestReach(t *testing.T) {
	r := newRig(t)
	x := declared(t, 1, "10.0.255.1", everySecond, 2)
	r.follow(view(network(2), connected(1), x))
	r.answer = func(f *apps.Frame) []byte {
		if f.Dst == ten(2) {
			return nil
		}
		return answerTo(f)
	}
	r.run(5 * time.Second)
	const dead = "b2: tcp probe: no answer from port 8080 within 500ms"
	if down := r.verdicts(); down != dead {
		t.Fatal(down)
	}
	r.follow(view(network(2), connected(), x))
	if n := len(r.run(time.Minute)); n != 0 {
		t.Errorf("%d probes without a session", n)
	}
	if down := r.verdicts(); down != dead {
		t.Errorf("while the switch is away: %s", down)
	}
	r.follow(view(network(2, 1), connected(1), x))
	if down := r.verdicts(); !strings.HasPrefix(down, "b1: was gone, and has not answered 2 probes since; b2: tcp") {
		t.Errorf("with port 1 down: %s", down)
	}
	if n := len(r.run(10 * time.Second)); n < 9 || n > 11 {
		t.Errorf("%d probes of one backend in 10 intervals", n)
	}
	r.follow(view(network(2), connected(1), x))
	r.run(900 * time.Millisecond)
	if down := r.verdicts(); !strings.HasPrefix(down, "b1: was gone") {
		t.Errorf("with port 1 up again: %s", down)
	}
	r.run(2 * time.Second)
	if down := r.verdicts(); down != dead {
		t.Errorf("when it has answered: %s", down)
	}
}

// A host that nobody could hear while its switch had no session is no loss when it is not heard at once; one that falls silent is.
func TestSilent(t *testing.T) {
	r := newRig(t)
	x := declared(t, 1, "10.0.255.1", everySecond, 1)
	r.follow(view(network(1), connected(1), x))
	r.run(3 * time.Second)
	quiet := networkOf(1, false, nil)
	for _, v := range []*apps.View{view(quiet, connected(), x), view(quiet, connected(1), x), view(network(1), connected(1), x)} {
		r.follow(v)
		if down := r.verdicts(); down != "" {
			t.Error(down)
		}
	}
	r.follow(view(quiet, connected(1), x))
	if down := r.verdicts(); down != "b1: was gone, and has not answered 2 probes since" {
		t.Errorf("when it has fallen silent: %q", down)
	}
}

// Of a switch of which nothing at all is heard nobody is known to be down, until it speaks again.
func TestSwitchHung(t *testing.T) {
	r := newRig(t)
	r.follow(view(network(2), connected(1), declared(t, 1, "10.0.255.1", everySecond, 2)))
	r.run(5 * time.Second)
	r.mute, r.answer = true, mute
	r.run(time.Minute)
	if down, s := r.verdicts(), r.p.Stats()[0]; down != "" || s.Failed["timeout"] != 0 {
		t.Errorf("while nothing is heard: %q, %+v", down, s)
	}
	r.line.mute = false
	r.run(5 * time.Second)
	if down := r.verdicts(); down == "" {
		t.Error("heard again, but not its backends: nobody is down")
	}
}

// A switch that is kept busy, and takes longer to pass a probe and its answer than a backend may take, has nobody marked down.
// That it is slow hides no backend that does not answer at all.
func TestSwitchSlow(t *testing.T) {
	r := newRig(t)
	r.follow(view(network(1), connected(1), declared(t, 1, "10.0.255.1", everySecond, 1)))
	r.run(5 * time.Second)
	var frame []byte
	var asked time.Time
	r.answer = func(f *apps.Frame) []byte { frame, asked = answerTo(f), r.now; return nil }
	for _, r.lag = range []time.Duration{0, time.Second} {
		for range 200 {
			r.run(100 * time.Millisecond)
			if frame != nil && r.now.Sub(asked) > 600*time.Millisecond { // the timeout is 500 ms
				r.hear(r.view.VIPs[0].Backends[0].Host.At, frame)
				frame = nil
			}
		}
		if down := r.verdicts(); (down == "") != (r.lag > 0) {
			t.Errorf("lag %v: %q", r.lag, down)
		}
	}
	r.answer = mute
	r.run(20 * time.Second)
	if down := r.verdicts(); down == "" {
		t.Error("no answer from behind a slow switch, and nobody is down")
	}
}

// The first probe at a place may be lost, since what brings its answer may not be there yet.
func TestFirstProbeForgiven(t *testing.T) {
	r := newRig(t)
	h := everySecond
	h.Fall = 1
	r.answer = mute
	r.follow(view(network(1), connected(1), declared(t, 1, "10.0.255.1", h, 1)))
	r.run(1600 * time.Millisecond)
	if down, s := r.verdicts(), r.p.Stats()[0]; down != "" || s.Failed["timeout"] != 1 {
		t.Errorf("after one probe: %q, %+v", down, s)
	}
	r.run(time.Second)
	if down := r.verdicts(); down == "" {
		t.Error("the second is forgiven too")
	}
}

// Who is back is asked soon and again, however long the interval, and as seldom as before when it has answered.
func TestBack(t *testing.T) {
	r := newRig(t)
	h := everySecond
	h.Interval = vip.Duration(time.Hour)
	x := declared(t, 1, "10.0.255.1", h, 1)
	r.follow(view(network(1), connected(1), x))
	r.run(90 * time.Minute)
	r.follow(view(network(1, 1), connected(1), x))
	r.run(time.Minute)
	r.follow(view(network(1), connected(1), x))
	if down := r.verdicts(); down != "b1: was gone, and has not answered 2 probes since" {
		t.Error(down)
	}
	r.run(2200 * time.Millisecond)
	if down := r.verdicts(); down != "" {
		t.Error(down)
	}
	if n := len(r.run(10 * time.Hour)); n < 9 || n > 11 {
		t.Errorf("%d probes in 10 intervals", n)
	}
}

// A restart marks nobody down; who was down before stays so until it answers.
func TestSaved(t *testing.T) {
	r := newRig(t)
	v := view(network(2), connected(1), declared(t, 1, "10.0.255.1", everySecond, 2))
	r.follow(v)
	r.answer = func(f *apps.Frame) []byte {
		if f.Dst == ten(2) {
			return nil
		}
		return answerTo(f)
	}
	r.run(5 * time.Second)
	before := r.verdicts()
	again := newRig(t)
	again.p.Restore(r.p.Saved())
	again.view = v
	if down := again.verdicts(); down != before || down == "" {
		t.Errorf("before the first view: %q, want %q", down, before)
	}
	again.follow(v)
	if down := again.verdicts(); down != before {
		t.Errorf("after a restart: %q, want %q", down, before)
	}
	again.answer = mute
	again.run(1900 * time.Millisecond)
	if down := again.verdicts(); down != before {
		t.Errorf("before enough probes have failed: %q, want %q", down, before)
	}
	again.answer = r.answer
	again.run(10 * time.Second)
	again.answer = func(f *apps.Frame) []byte { return answerTo(f) }
	again.run(10 * time.Second)
	if down := again.verdicts(); down != "" {
		t.Errorf("when all answer: %s", down)
	}
}

// If we are late ourselves, nobody's probe has failed for that.
func TestStall(t *testing.T) {
	r := newRig(t)
	r.follow(view(network(50), connected(1), declared(t, 1, "10.0.255.1", everySecond, 50)))
	r.run(5 * time.Second)
	for range 10 {
		var waiting []packet
		for len(waiting) < 10 {
			packets, next := r.p.tick(r.now)
			waiting = append(waiting, packets...)
			r.now = next
		}
		r.now = r.now.Add(5 * time.Second) // stopped; the answers are in the socket
		packets, _ := r.p.tick(r.now)
		for _, x := range append(waiting, packets...) {
			var f apps.Frame
			if err := apps.ParseFrame(x.frame, &f); err != nil {
				t.Fatal(err)
			}
			r.hear(x.at, answerTo(&f))
		}
	}
	if down, s := r.verdicts(), r.p.Stats()[0]; down != "" || s.Failed["timeout"] > 50 {
		t.Errorf("%s; %+v", down, s)
	}
}

// Run sends, and a probe that cannot be sent has not failed.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way := &line{}
		p := New(Config{Switches: way})
		x := declared(t, 1, "10.0.255.1", everySecond, 3)
		p.Follow(view(network(3), connected(1), x))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for i := range x.Backends {
			if down, reason := p.Verdict(x, &x.Backends[i]); down {
				t.Errorf("down: %s", reason)
			}
		}
		if way.sent < 28 || way.sent > 32 {
			t.Errorf("%d probes of 3 backends in 10 intervals", way.sent)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}
