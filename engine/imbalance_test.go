package engine

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/nat"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// crowded is mode nat with live connections as they are said to be, by backend.
type crowded struct {
	*nat.App
	live map[uint32]int64
}

func (c *crowded) Connections(_ vip.ID, backend uint32) (live, total int64) {
	return c.live[backend], c.live[backend]
}

// watching is an engine, not running, whose only switch has backends b1 and b2 of a VIP at ports 1 and 2, and its clock.
func watching(t *testing.T, w apps.Watching, tune func(*vip.Spec), live map[uint32]int64) (*Engine, *time.Time) {
	t.Helper()
	now := time.Unix(1_000_000, 0)
	log := logrus.New()
	log.SetOutput(io.Discard)
	e, err := New(Config{Store: store.Memory(), Log: log, Now: func() time.Time { return now }, Watching: w,
		Apps: []Mount{{apps.ClassNAT, &crowded{nat.New(nat.Config{}), live}}},
		Topo: topo.Config{Ports: map[topo.PortID]topo.Fixed{{DPID: 1, No: 1}: {Kind: topo.Edge}, {DPID: 1, No: 2}: {Kind: topo.Edge}}}})
	if err != nil {
		t.Fatal(err)
	}
	e.topo.SwitchUp(now, 1, []topo.Port{{No: 1, Name: "p1", Up: true}, {No: 2, Name: "p2", Up: true}})
	s := spec("web", "10.0.0.100", "b1=10.0.0.1", "b2=10.0.0.2")
	if tune != nil {
		tune(&s)
	}
	if _, err := e.createVIP(s, apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := byte(1); i <= 2; i++ {
		e.topo.Sighting(now, topo.Sighting{At: topo.PortID{DPID: 1, No: uint32(i)}, MAC: flows.MAC{2, 0, 0, 0, 0, i}, Addr: netip.AddrFrom4([4]byte{10, 0, 0, i})})
	}
	e.settle()
	x, err := e.find("web")
	if err != nil || x.Backends[0].State != vip.StateUp || x.Backends[1].State != vip.StateUp {
		t.Fatalf("backends %+v, %v", x.Backends, err)
	}
	return e, &now
}

// play lets seconds pass in which the ports carry so many bits.
func play(e *Engine, now *time.Time, seconds int, bits ...uint64) {
	all := make([]openflow.PortStats, len(bits))
	for i := range all {
		s, _ := e.stats.Port(1, uint32(i+1))
		all[i] = s
		all[i].No = uint32(i + 1)
	}
	for n := range seconds {
		*now = now.Add(time.Second)
		for i := range all {
			all[i].RxBytes += bits[i] / 8
			if n%2 == 0 {
				all[i].RxBytes += bits[i] / 80
			}
		}
		e.stats.Note(1, *now, all)
		e.sampleLoads(*now)
	}
}

func TestLoadsOfAVIPAndOfASetOfPorts(t *testing.T) {
	set := apps.PortSet{Name: "both", Ports: []apps.WatchedPort{{PortID: topo.PortID{DPID: 1, No: 1}, Capacity: 3}, {PortID: topo.PortID{DPID: 1, No: 2}, Capacity: 1}}}
	e, now := watching(t, apps.Watching{Interval: time.Second, Test: anova.Defaults(), Sets: []apps.PortSet{set}}, nil, nil)
	play(e, now, 90, 3e6, 1e6)
	r, err := e.VIPImbalance("web")
	if err != nil || r.Verdict != anova.Imbalanced || r.Top != "b1" || len(r.History) != 3 || r.Ports[0].Mean < 3e6 || r.Ports[0].Mean > 3.3e6 {
		t.Errorf("the VIP: %+v, %v", r, err)
	}
	all := e.Imbalances(false)
	if len(all) != 2 || all[0].Name != "web" || all[1].Name != "both" || all[1].Kind != apps.KindPorts || all[1].Verdict != anova.Balanced ||
		all[1].History != nil || all[0].Ports[0].Samples != nil {
		t.Errorf("all: %+v", all)
	}
	e.events.write()
	told := ""
	for _, ev := range e.Events(0, 100) {
		if ev.Kind == "imbalance" {
			told += ev.Subject + " " + ev.Message + "\n"
		}
	}
	if !strings.Contains(told, "web imbalanced: b1 is 50 % above its fair share of the load") {
		t.Errorf("told %q", told)
	}
	if _, err := e.VIPImbalance("none"); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("of no VIP: %v", err)
	}
	// A switch that goes and comes again costs the time that it is away, and no verdict of what it was not read for.
	e.stats.Pause(1)
	*now = now.Add(3 * time.Second)
	e.sampleLoads(*now)
	if r, _ := e.VIPImbalance("web"); r.Verdict != anova.Undecided || r.Ports[0].Reason != "no statistics of its port" {
		t.Errorf("while the switch is away: %s, %+v", r.Verdict, r.Ports)
	}
	play(e, now, 90, 1e6, 1e6)
	if r, _ := e.VIPImbalance("web"); r.Verdict != anova.Balanced {
		t.Errorf("when it is back: %s, %s", r.Verdict, r.Reason)
	}
	if err := e.deleteVIP("web", apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.settle()
	e.sampleLoads(*now)
	if all := e.Imbalances(false); len(all) != 1 {
		t.Errorf("after the VIP has gone: %+v", all)
	}
}

// A server that is too slow has no less traffic than the other, but its connections stay. Its weight is moved all the same.
func TestCrowdedBackendIsRelieved(t *testing.T) {
	live := map[uint32]int64{1: 20, 2: 60}
	e, now := watching(t, apps.Watching{Interval: time.Second, Test: anova.Defaults()}, func(s *vip.Spec) {
		s.OnImbalance = vip.Reweight
		s.Backends[0].Weight, s.Backends[1].Weight = new(10), new(10)
	}, live)
	work := func() (n int) {
		for ; len(e.queue.work) > 0; n++ {
			(<-e.queue.work)()
			e.settle()
		}
		return n
	}
	play(e, now, 78, 1e6, 1e6)
	if n := work(); n != 0 {
		t.Errorf("weights moved %d times before three tests", n)
	}
	play(e, now, 5, 1e6, 1e6)
	if n := work(); n != 1 {
		t.Errorf("weights moved %d times after three tests", n)
	}
	x, err := e.find("web")
	if err != nil || x.Backends[0].Weight != 15 || x.Backends[1].Weight != 8 {
		t.Errorf("weights %d and %d, %v", x.Backends[0].Weight, x.Backends[1].Weight, err)
	}
	e.events.write()
	all := e.Events(0, 100)
	const want = "live connections are uneven: b2 has 75 % of them and 50 % of the capacity, p 7.7e-06; weights moved by live connections: b1 10 → 15 (20 live), b2 10 → 8 (60 live)"
	if last := all[len(all)-1]; last.Message != want {
		t.Errorf("told %q", last.Message)
	}
	// The window begins anew: what comes of it is seen first. Then it goes on, down to half of what was declared, and no further.
	play(e, now, 70, 1e6, 1e6)
	if n := work(); n != 0 {
		t.Errorf("weights moved %d times in the next window", n)
	}
	for range 5 {
		play(e, now, 90, 1e6, 1e6)
		work()
	}
	if x, _ = e.find("web"); x.Backends[0].Weight != 20 || x.Backends[1].Weight != 5 && x.Backends[1].Weight != 6 {
		t.Errorf("weights %d and %d in the end", x.Backends[0].Weight, x.Backends[1].Weight)
	}
}

// With the detector off nothing is judged or told, but schedulers that go by loads have them.
func TestDetectorOff(t *testing.T) {
	e, now := watching(t, apps.Watching{Off: true, Interval: time.Second, Test: anova.Defaults()}, func(s *vip.Spec) { s.Scheduler = vip.Greedy }, nil)
	play(e, now, 90, 3e6, 1e6)
	if all := e.Imbalances(true); len(all) != 0 {
		t.Errorf("judged all the same: %+v", all)
	}
	if _, err := e.VIPImbalance("web"); !errors.Is(err, apps.ErrNotFound) || !strings.Contains(err.Error(), "the detector is off") {
		t.Errorf("got %v", err)
	}
	e.events.write()
	for _, ev := range e.Events(0, 100) {
		if ev.Kind == "imbalance" {
			t.Errorf("told %s", ev.Message)
		}
	}
}

// An alarm is not given again for the time of rest, though another port is compared meanwhile.
func TestRestOutlivesAChange(t *testing.T) {
	l := newLoads(t, 3)
	l.w.settings.Test.CoolDown = 300
	l.seconds(90, 30, 10, 10)
	l.ports[2].away = "down"
	l.seconds(200, 30, 10, 10)
	if l.w.verdict == anova.Imbalanced {
		t.Error("an alarm in the time of rest")
	}
	l.seconds(200, 30, 10, 10)
	if l.w.verdict != anova.Imbalanced {
		t.Error(fmt.Sprint("no alarm after it: ", l.w.state()))
	}
}
