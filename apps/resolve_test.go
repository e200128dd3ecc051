package apps

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// network is a switch 1 with edge ports 1 to 3 and a host 10.0.0.N at each port N.
func network(now time.Time) *topo.Topology {
	fixed := map[topo.PortID]topo.Fixed{}
	var ports []topo.Port
	for no := range uint32(3) {
		fixed[topo.PortID{DPID: 1, No: no + 1}] = topo.Fixed{Kind: topo.Edge}
		ports = append(ports, topo.Port{No: no + 1, Name: fmt.Sprint("p", no+1), MAC: flows.MAC{2, 0, 0, 0, 1, byte(no + 1)}, Up: true})
	}
	t := topo.New(now, topo.Config{Ports: fixed, MAC: VIPMAC, Refresh: time.Minute, Probes: 1}, topo.Saved{})
	t.SwitchUp(now, 1, ports)
	for no := range byte(3) {
		hear(t, now, no+1)
	}
	return t
}

func hear(t *topo.Topology, now time.Time, no byte) {
	t.Sighting(now, topo.Sighting{At: topo.PortID{DPID: 1, No: uint32(no)}, MAC: flows.MAC{2, 0, 0, 0, 0, no},
		Addr: netip.AddrFrom4([4]byte{10, 0, 0, no})})
}

func TestResolveBackends(t *testing.T) {
	one := 1
	zero := 0
	spec := vip.Spec{Name: "web", Address: "10.0.0.100", Protocol: vip.TCP, Port: "80", Backends: []vip.BackendSpec{
		{Name: "b1", Address: "10.0.0.1", Weight: &one},
		{Name: "b2", Address: "10.0.0.2", Weight: &zero},
		{Name: "b3", Address: "10.0.0.3", Admin: vip.Draining},
		{Name: "b4", Address: "10.0.0.4"},
		{Name: "off", Address: "10.0.0.1", Port: 81, Admin: vip.Disabled},
	}}
	x, err := vip.Create(1, spec, vip.OriginAPI)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1000, 0)
	x.BeginDrains(nil, start)
	down := topo.Port{No: 1, Name: "p1", MAC: flows.MAC{2, 0, 0, 0, 1, 1}}
	tests := []struct {
		name string
		do   func(n *topo.Topology)
		want string
	}{
		{"all hosts answer", func(*topo.Topology) {}, `b1 up
b2 draining: weight 0
b3 draining: draining by the operator
b4 unknown: host 10.0.0.4 has not been heard yet
off disabled: disabled by the operator`},
		{"a port goes down", func(n *topo.Topology) { n.PortStatus(start, 1, down, false) }, `b1 down: port 1 of switch 0000000000000001 is down
b2 draining: weight 0
b3 draining: draining by the operator
b4 unknown: host 10.0.0.4 has not been heard yet
off disabled: disabled by the operator`},
		{"hosts fall silent", func(n *topo.Topology) {
			for at := start; at.Before(start.Add(5 * time.Minute)); at = at.Add(time.Second) {
				hear(n, at, 3)
				n.Tick(at)
			}
		}, `b1 down: host 10.0.0.1 does not answer at port 1 of switch 0000000000000001
b2 down: host 10.0.0.2 does not answer at port 2 of switch 0000000000000001
b3 draining: draining by the operator
b4 unknown: host 10.0.0.4 has not been heard yet
off disabled: disabled by the operator`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := network(start)
			tt.do(n)
			var lines []string
			for i, b := range ResolveBackends(x, n.Snapshot(), nil, start) {
				if b.Backend != &x.Backends[i] || (b.Host == nil) != (b.Name == "b4") {
					t.Errorf("%s: backend %p, host %v", b.Name, b.Backend, b.Host)
				}
				line := b.Name + " " + string(b.State)
				if b.Reason != "" {
					line += ": " + b.Reason
				}
				lines = append(lines, line)
			}
			if got := strings.Join(lines, "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestResolveBackendsWithoutTopology(t *testing.T) {
	x, err := vip.Create(1, vip.Spec{Name: "web", Address: "10.0.0.100", Protocol: vip.TCP, Port: "80",
		Backends: []vip.BackendSpec{{Name: "b", Address: "10.0.0.1"}}}, vip.OriginAPI)
	if err != nil {
		t.Fatal(err)
	}
	if b := ResolveBackends(x, &topo.Snapshot{}, nil, time.Time{}); len(b) != 1 || b[0].State != vip.StateUnknown {
		t.Errorf("got %+v", b)
	}
}

// A drain is over when its time has passed, whatever the host does; what the operator has disabled stays disabled.
func TestResolveBackendsAfterDrain(t *testing.T) {
	zero := 0
	x, err := vip.Create(1, vip.Spec{Name: "web", Address: "10.0.0.100", Protocol: vip.TCP, Port: "80", DrainTimeout: vip.Duration(time.Minute),
		Backends: []vip.BackendSpec{
			{Name: "b1", Address: "10.0.0.1", Admin: vip.Draining},
			{Name: "b2", Address: "10.0.0.2", Weight: &zero},
			{Name: "b3", Address: "10.0.0.3", Weight: &zero, Admin: vip.Disabled},
			{Name: "b4", Address: "10.0.0.4", Admin: vip.Draining}}}, vip.OriginAPI)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1000, 0)
	x.BeginDrains(nil, start)
	for after, want := range map[time.Duration]string{
		time.Minute - 1: "draining draining disabled unknown",
		time.Minute:     "drained drained disabled drained",
	} {
		var got []string
		for _, b := range ResolveBackends(x, network(start).Snapshot(), nil, start.Add(after)) {
			got = append(got, string(b.State))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("after %s: %s, want %s", after, got, want)
		}
	}
}
