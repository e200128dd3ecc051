package engine

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
)

// tell has an agent of each backend's host tell of connections: of client ports of one address, at the backends by turns.
func (p *stepper) tell(connections int) {
	for i := range p.x.Backends {
		b := &p.x.Backends[i]
		var states []apps.LiveState
		for port := i; port < connections; port += len(p.x.Backends) {
			states = append(states, apps.LiveState{Proto: apps.ProtoTCP, Client: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.9"), uint16(20000+port)),
				Local: netip.AddrPortFrom(b.Address, 80)})
		}
		h := &agentHost{}
		h.put(p.now, states)
		h.after, h.complete = p.now, bothTold
		p.agents.by[b.Address] = h
	}
}

// A VIP whose Dcodes lie scattered has them laid out anew once agents have told that few connections are alive.
func TestScatteredDcodesAreLaidOutAnew(t *testing.T) {
	p := newStepper(t, 32)
	p.x.Spec.Mode = vip.ModeOthello
	p.up("abc")
	for i := range p.x.Backends {
		p.x.Backends[i].Port = 80
	}
	owners := make(vip.Owners, othello.MinCodes)
	for i := range owners {
		owners[i] = uint32(1 + i%3)
	}
	steady := &vip.Generations{Step: vip.StepSteady, Last: 4, Kept: []vip.Generation{{ID: 4, Members: p.view.Takers(p.x), Owners: owners}}}
	for _, test := range []struct {
		connections int
		want        string
	}{
		{1500, "prepare 5:abc 4:abc"}, // which are displaced, and pinned
		{30, "prepare 5:abc 4:abc"},
		{0, "prepare 5:abc 4:abc"},
	} {
		p.x.Generations = steady
		p.agents.by = map[netip.Addr]*agentHost{}
		p.after(0, true, "steady 4:abc") // nobody has told of anything
		p.now = p.now.Add(2 * reportGrace)
		p.tell(test.connections)
		p.after(time.Second, true, test.want)
		got := p.x.Generations.Newest()
		switch moved := !slices.Equal(got.Owners, owners); {
		case test.connections == 0 && (!moved || len(got.Pins) > 0):
			t.Errorf("without connections: moved %v, %d pins", moved, len(got.Pins))
		case test.connections > 0 && (moved || len(got.Pins) == 0):
			t.Errorf("%d connections at others than the owners: moved %v, %d pins", test.connections, moved, len(got.Pins))
		}
	}
	told := ""
	for _, e := range p.events.pending {
		told += e.Message + "\n"
	}
	if !strings.Contains(told, "generation 5 has its Dcodes laid out anew, for fewer rules: 0 connections live") {
		t.Errorf("told %q", told)
	}
}
