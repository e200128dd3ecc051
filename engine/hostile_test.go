package engine

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// What is told of a port between two looks is kept as far as it matters: how it is now, and that it was down.
func TestPortNews(t *testing.T) {
	for changes, want := range map[string]string{
		"u":        "u",
		"ud":       "ud",
		"udud":     "udud",
		"ududu":    "ududu",
		"ududud":   "ududd",
		"udududu":  "ududu",
		"uuuuuuud": "uuud",
		"uuuuudu":  "uuudu",
		"uuuuuxux": "uuuxx",
		"uuuuuxu":  "uuuxu",
	} {
		var n portNews
		for i, c := range changes {
			p := portChange{Port: topo.Port{No: 7, Up: c == 'u'}}
			if c == 'x' {
				p.reason = openflow.PortDeleted
			}
			if first := n.add(p); first != (i == 0) {
				t.Errorf("%s: change %d is first: %v", changes, i, first)
			}
		}
		got := ""
		for _, c := range n.take() {
			switch {
			case c.reason == openflow.PortDeleted:
				got += "x"
			case c.Up:
				got += "u"
			default:
				got += "d"
			}
		}
		if got != want || len(n.take()) != 0 {
			t.Errorf("%s: kept %s, want %s", changes, got, want)
		}
	}
}

// A session has its share of the queue, and takes nothing from another's; LLDP has room when hosts have none.
func TestQueueIsShared(t *testing.T) {
	q := newQueue()
	loud, quiet := &session{}, &session{}
	host := func(i int) topo.Sighting { return topo.Sighting{MAC: flows.MAC{2, 0, 0, 0, byte(i >> 8), byte(i)}} }
	taken := 0
	for i := range 10000 {
		if q.sighted(loud, host(i)) {
			taken++
		}
	}
	if taken != hostShare || q.dropped.Load() != 10000-hostShare {
		t.Errorf("%d taken, %d dropped", taken, q.dropped.Load())
	}
	if !q.sighted(loud, topo.Sighting{LLDP: []byte{}}) || q.sighted(loud, host(1)) {
		t.Error("LLDP has no room, or hosts have some")
	}
	for i := range hostShare {
		if !q.sighted(quiet, host(i)) {
			t.Fatalf("the other session's sighting %d is dropped", i)
		}
	}
}

// A switch with very many ports that change all the time, and refuses and complains, does not keep others' changes from being
// made, nor fill the log.
func TestFloodsOfASwitch(t *testing.T) {
	quiet := controllertest.NewSwitch(1, controllertest.Ports(1, 2))
	e, ctx := withSwitch(t, store.Memory(), quiet)
	loud := controllertest.NewSwitch(2)
	path := strings.TrimPrefix(e.cfg.Controller.Listen[0], "unix:")
	if err := loud.Dial(ctx, "unix", path); err != nil {
		t.Fatal(err)
	}
	if err := loud.Await(ctx, func() bool { return len(e.ctl.Switches()) == 2 }); err != nil {
		t.Fatal(err)
	}
	var flood []byte
	for round := range uint32(3) {
		for i := range uint32(3000) {
			p := controllertest.Port(i + 1)
			if round%2 == 1 {
				p.State = openflow.LinkDown
			}
			flood = openflow.AppendPortStatus(flood, openflow.V15, 0, openflow.PortModified, p)
			flood = openflow.AppendError(flood, openflow.V15, &openflow.Error{XID: 1e6 + i, Type: openflow.ErrBadRequest})
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			loud.Write(flood)
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for i := range 5 {
		name := fmt.Sprint("web", i)
		address := netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}).String()
		if _, err := e.CreateVIP(ctx, spec(name, address, "b1=10.0.0.1"), apps.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := quiet.Await(ctx, func() bool { return strings.Contains(quiet.Dump(), "nw_dst="+address+",tp_dst=80") }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	close(stop)
	<-stopped
	events := e.Events(0, maxEvents)
	kinds := map[string]int{}
	for _, ev := range events {
		kinds[ev.Kind]++
	}
	if kinds["port"] > 1000 || kinds["error"] > 200 {
		t.Errorf("%d events: %v", len(events), kinds)
	}
	if _, err := e.Flows(ctx, 1); err != nil {
		t.Error(err)
	}
}
