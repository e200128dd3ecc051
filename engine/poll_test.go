package engine

import (
	"context"
	"io"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/store"
)

// polled runs an engine that reads counters every interval; fakes connect to the socket returned.
func polled(tb testing.TB, interval time.Duration) (*Engine, string) {
	tb.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	path := filepath.Join(tb.TempDir(), "of")
	e, err := New(Config{Store: store.Memory(), Log: log, PollInterval: interval, Controller: controller.Config{Listen: []string{"unix:" + path}}})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- e.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("Run: %v", err)
		}
	})
	<-e.ctl.Listening()
	return e, path
}

// counting is a port whose counters have gone on at every reading: 1,000 bytes in each of the switch's own seconds.
func counting(readings *atomic.Int64) controllertest.Option {
	return controllertest.Traffic(func(port uint32) openflow.PortStats {
		n := readings.Add(1)
		ms := time.Duration(time.Now().UnixMilli()) * time.Millisecond
		return openflow.PortStats{No: port, RxBytes: uint64(ms.Milliseconds()), TxPackets: uint64(n),
			DurationSec: uint32(ms / time.Second), DurationNsec: uint32(ms%time.Second) + 1}
	})
}

// A switch that does not answer delays nobody but itself, and its ports' rates come when it does.
func TestPollSlowSwitch(t *testing.T) {
	e, path := polled(t, 10*time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var fast, slow atomic.Int64
	quick := controllertest.NewSwitch(1, controllertest.Ports(1), counting(&fast))
	stuck := controllertest.NewSwitch(2, controllertest.Ports(1), counting(&slow))
	for _, s := range []*controllertest.Switch{quick, stuck} {
		if err := s.Dial(ctx, "unix", path); err != nil {
			t.Fatal(err)
		}
	}
	rate := func(d flows.DPID) float64 {
		ports, err := e.Ports(d)
		if err != nil || len(ports) == 0 {
			return -1
		}
		return ports[0].RxBPS
	}
	if err := stuck.Await(ctx, func() bool { return rate(2) > 7000 && rate(2) < 9000 }); err != nil {
		t.Fatalf("no rate of 8,000 bits per second: %v", rate(2))
	}
	stuck.Mute(true)
	asked, before := stuck.Count(openflow.TypeMultipartRequest), fast.Load()
	if err := quick.Await(ctx, func() bool { return fast.Load() >= before+20 }); err != nil {
		t.Fatal("a silent switch stops the others")
	}
	if n := stuck.Count(openflow.TypeMultipartRequest) - asked; n > 2 {
		t.Errorf("a silent switch was asked %d times more", n)
	}
	if err := quick.Await(ctx, func() bool { return rate(1) > 7000 && rate(1) < 9000 }); err != nil {
		t.Errorf("rate %v", rate(1))
	}
	history, err := e.PortHistories(1, 1, 5)
	if err != nil || len(history) != 1 || history[0].RxBPS[4] < 7000 {
		t.Errorf("history %v, %v", history, err)
	}
	if _, err := e.PortHistories(1, 9, 5); err == nil {
		t.Error("a port that is not there has a history")
	}
}

// BenchmarkPoll is what reading 1,000 ports on 50 switches costs, the switches' own work and the loop's at rest included:
// CPU time of the process for one reading of all of them.
func BenchmarkPoll(b *testing.B) {
	e, path := polled(b, time.Hour)
	ctx := b.Context()
	ports := make([]uint32, 20)
	for i := range ports {
		ports[i] = uint32(i + 1)
	}
	var n atomic.Int64
	for d := range flows.DPID(50) {
		if err := controllertest.NewSwitch(d+1, controllertest.Ports(ports...), counting(&n)).Dial(ctx, "unix", path); err != nil {
			b.Fatal(err)
		}
	}
	for since := uint64(0); len(e.ctl.Switches()) < 50; {
		changed := e.EventsChanged()
		events := e.Events(since, 1000)
		if len(events) > 0 {
			since = events[len(events)-1].ID
			continue
		}
		<-changed
	}
	b.ResetTimer()
	b.ReportAllocs()
	for b.Loop() {
		for _, sw := range e.ctl.Switches() {
			e.pollSwitch(ctx, sw, false)
		}
	}
	b.StopTimer()
	var all []apps.PortStatus
	for d := range flows.DPID(50) {
		p, err := e.Ports(d + 1)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, p...)
	}
	if len(all) != 1000 || all[999].TxPackets == 0 {
		b.Fatalf("%d ports read", len(all))
	}
}
