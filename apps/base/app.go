// Package base is the app that makes switches forward: what comes by which port, where hosts are, the spanning tree, and
// what of all that the controller is told. Its rules are the pipeline's frame, into which the other apps put theirs.
package base

import (
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Config is how an App works; the zero Config works.
type Config struct {
	Rates map[uint32]uint32 // of meters, packets per second, by meter id; the defaults of package apps for what is missing
}

// App is the base. It has no state.
type App struct {
	meters []flows.Meter
	port   flows.Meter // of each edge port, but for its id
}

var (
	_ apps.App             = (*App)(nil)
	_ apps.PacketInHandler = (*App)(nil)
)

// New makes the app.
func New(cfg Config) *App {
	a := &App{meters: []flows.Meter{
		{ID: apps.MeterLLDP, Rate: apps.RateLLDP},
		{ID: apps.MeterNeighbour, Rate: apps.RateNeighbour},
		{ID: apps.MeterVIP, Rate: apps.RateVIP},
		{ID: apps.MeterOther, Rate: apps.RateOther},
		{ID: apps.MeterReject, Rate: apps.RateReject},
		{ID: apps.MeterForbidden, Rate: apps.RateForbidden},
		{ID: apps.MeterProbe, Rate: apps.RateProbe},
	}}
	for i := range a.meters {
		m := &a.meters[i]
		if r := cfg.Rates[m.ID]; r > 0 {
			m.Rate = r
		}
		m.Burst = m.Rate
	}
	lldp := a.meters[0]
	lldp.ID = apps.MeterEdgeLLDP
	a.meters, a.port = append(a.meters, lldp), a.meters[1]
	return a
}

// Name is "base".
func (a *App) Name() string { return "base" }

// Desired is the base of every connected switch, or what one host wants on each, or the way to one switch, or an address for
// its being routed.
func (a *App) Desired(v *apps.View, o apps.Owner) map[flows.DPID]flows.State {
	switch o.Kind {
	case apps.OwnerBase:
		return each(v, func(b *builder) {
			b.meters(a)
			b.hash()
			b.classify()
			b.source()
			b.neighbour()
			b.pass()
			b.route(v)
			b.forward()
			b.output()
			b.state.Rules = slices.Clone(b.state.Rules) // kept for long: without the room that it was built with
		})
	case apps.OwnerHost:
		if h, ok := v.Topo.Host(o.MAC); ok {
			to := make(flows.Match, 0, 1).MAC(flows.EthDst, h.MAC)
			return each(v, func(b *builder) {
				b.host(h, to)
				b.routeHost(v, h)
			})
		}
	case apps.OwnerSwitch:
		if n, ok := v.Numbers[o.DPID]; ok {
			return each(v, func(b *builder) { b.way(o.DPID, n) })
		}
	case apps.OwnerAddress:
		if v.HasRouter(o.Addr) {
			return each(v, func(b *builder) { b.routeAddress(v, o.Addr) })
		}
	}
	return nil
}

// each builds a state for every connected switch.
func each(v *apps.View, build func(*builder)) map[flows.DPID]flows.State {
	out := make(map[flows.DPID]flows.State, len(v.Switches))
	for d, info := range v.Switches {
		b := &builder{topo: v.Topo, numbers: v.Numbers, dpid: d, nicira: info.Nicira, ids: info.Nicira && info.OF15}
		build(b)
		out[d] = b.state
	}
	return out
}

// builder gathers one switch's rules.
type builder struct {
	topo    *topo.Snapshot
	numbers map[flows.DPID]uint16
	dpid    flows.DPID
	nicira  bool
	ids     bool // has bucket ids and selection methods
	state   flows.State
}

func (b *builder) rule(table uint8, priority uint16, m flows.Match, actions ...flows.Action) {
	cookie := apps.Cookie(apps.KindDesired, apps.ClassBase, 0)
	if len(actions) == 0 {
		cookie = apps.Drop(cookie)
	}
	b.state.Rules = append(b.state.Rules, flows.Rule{Table: table, Priority: priority, Cookie: cookie, Match: m, Actions: actions})
}

// forbid drops, and tells the controller of a few of what it drops.
func (b *builder) forbid(table uint8, priority uint16, m flows.Match) {
	b.state.Rules = append(b.state.Rules, flows.Rule{Table: table, Priority: priority, Match: m,
		Cookie:  apps.Drop(apps.Cookie(apps.KindDesired, apps.ClassBase, 0)),
		Actions: []flows.Action{flows.ToMeter{ID: apps.MeterForbidden}, flows.Controller()}})
}

// meters are those of all classes and, where the switch is Open vSwitch, which has many, of the edge ports.
func (b *builder) meters(a *App) {
	b.state.Meters = slices.Clip(a.meters)
	if !b.nicira {
		return
	}
	for _, no := range b.topo.EdgePorts(b.dpid) {
		if id, ok := apps.MeterOfPort(no); ok {
			m := a.port
			m.ID = id
			b.state.Meters = append(b.state.Meters, m)
		}
	}
}

// hash is the group that shows how the switch chooses.
func (b *builder) hash() {
	if b.ids {
		b.state.Groups = append(b.state.Groups, apps.HashGroup())
	}
}

// next continues in a table.
func (b *builder) next(table uint8) flows.Action {
	if b.nicira {
		return flows.Go(table)
	}
	return flows.GotoTable{Table: table}
}

func inPort(no uint32) flows.Match { return make(flows.Match, 0, 2).Port(no) }

func ethType(t uint16) flows.Match { return make(flows.Match, 0, 2).Num(flows.EthType, uint64(t)) }
