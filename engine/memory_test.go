package engine

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/arp"
	"github.com/evenflow/evenflow/apps/base"
	"github.com/evenflow/evenflow/apps/nat"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
)

// heapWith is the heap in use with so many switches and VIPs of ten backends when all is confirmed.
func heapWith(t *testing.T, switches, vips int) int64 {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	path := t.TempDir() + "/of"
	cfg := Config{Store: store.Memory(), Log: log, PollInterval: time.Hour,
		Controller: controller.Config{Listen: []string{"unix:" + path}, AuditInterval: -1, EchoInterval: 5 * time.Millisecond},
		Apps:       []Mount{{apps.ClassBase, base.New(base.Config{})}, {apps.ClassARP, arp.New()}, {apps.ClassNAT, nat.New(nat.Config{})}}}
	for i := range vips {
		s := spec(fmt.Sprintf("v%d", i), fmt.Sprintf("10.99.%d.%d", i/250, i%250+1))
		for j := range 10 {
			s.Backends = append(s.Backends, vip.BackendSpec{Name: fmt.Sprintf("b%d", j), Address: fmt.Sprintf("10.0.0.%d", j+1), Port: 8080})
		}
		cfg.FileVIPs = append(cfg.FileVIPs, s)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg = Config{}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	done := make(chan error)
	go func() { done <- e.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	<-e.ctl.Listening()
	fakes := make([]*controllertest.Switch, switches)
	for i := range fakes {
		fakes[i] = controllertest.NewSwitch(flows.DPID(i+1), controllertest.Ports(1, 2))
		fakes[i].Intercept(func(m controllertest.Message) controllertest.Verdict { // keeps nothing of what it is told
			return controllertest.Verdict{Ignore: strings.HasSuffix(m.Type.String(), "_MOD")}
		})
		go fakes[i].Dial(ctx, "unix", path)
	}
	for v := 0; v < vips; {
		changed := e.EventsChanged()
		applied, all := e.status.appliedTo(e.view.Load().VIPs[v], e.connected(), 1, nil)
		if all && len(applied) == switches {
			v++
			continue
		}
		select {
		case <-changed:
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("not all confirmed: %+v", applied)
		}
	}
	for _, fake := range fakes {
		fake.Forget()
	}
	defer runtime.KeepAlive(fakes)
	heap := int64(0)
	for range 200 { // buffers shrink with the next signs of life
		time.Sleep(10 * time.Millisecond)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		before := heap
		if heap = int64(m.HeapAlloc); before > 0 && heap > before-heap/500 {
			break
		}
	}
	return heap
}

// What a switch holds of a VIP as all others do costs no more than a note that it does: the heap grows with the number of
// switches and with that of VIPs, and hardly with their product.
func TestMemory(t *testing.T) {
	const few, many, less, more = 8, 24, 100, 400
	heapWith(t, few, less) // what is made once
	a, b, c, d := heapWith(t, few, less), heapWith(t, few, more), heapWith(t, many, less), heapWith(t, many, more)
	each := float64(d-c-b+a) / ((many - few) * (more - less))
	perVIP, perSwitch := float64(b-a)/(more-less), float64(c-a)/(many-few)
	t.Logf("%.0f bytes a VIP, %.0f a switch, %.0f more for each VIP at each switch", perVIP, perSwitch, each)
	if each > 500 { // ten thousand when each switch had a copy; what is measured is uneven by a hundred
		t.Errorf("%.0f bytes for each VIP at each switch", each)
	}
	if perVIP > 30_000 { // seen: 21,000
		t.Errorf("%.0f bytes for each VIP", perVIP)
	}
}
