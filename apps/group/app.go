package group

import (
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Config is how an App works; the zero Config works.
type Config struct {
	Now func() time.Time // nil: time.Now
}

// App is mode group. Its methods may be called from many goroutines at a time; none blocks.
type App struct {
	now      func() time.Time
	answers  sync.Pool // of *[]byte
	counters counters
	forgets  apps.Allowance
}

var (
	_ apps.App             = (*App)(nil)
	_ apps.PacketInHandler = (*App)(nil)
	_ apps.Stale           = (*App)(nil)
	_ apps.Limited         = (*App)(nil)
	_ apps.Explainer       = (*App)(nil)
	_ apps.Sharing         = (*App)(nil)
)

// New makes the app.
func New(cfg Config) *App {
	a := &App{now: cfg.Now}
	if a.now == nil {
		a.now = time.Now
	}
	a.answers.New = func() any { return new([]byte) }
	return a
}

// Name is "group".
func (a *App) Name() string { return string(vip.ModeGroup) }

// handles reports whether a VIP is of this app.
func handles(x *apps.VIP) bool { return x != nil && x.Spec.Mode == vip.ModeGroup && x.Proto() != 0 }

// able reports whether a switch can have the mode: it needs conntrack, and a zone of it.
func able(i apps.SwitchInfo) bool { return i.Nicira && i.Zone != 0 }

// takes reports whether a backend is given new connections.
func takes(b *apps.Backend) bool { return b.State == vip.StateUp && b.Weight > 0 && b.Host != nil }

// serves reports whether packets of a backend's connections are sent to it.
func serves(v *apps.View, b *apps.Backend) bool {
	return b.Host != nil && b.Endpoint != 0 && v.Keeps(b)
}

// Desired is, on each switch that is able, what an owner wants of this mode.
func (a *App) Desired(v *apps.View, o apps.Owner) map[flows.DPID]flows.State {
	var build func(*builder)
	switch o.Kind {
	case apps.OwnerBase:
		build = func(b *builder) { b.base(v) }
	case apps.OwnerVIP:
		x := v.VIP(o.VIP)
		if !handles(x) {
			return nil
		}
		build = func(b *builder) { b.vip(v, x) }
	case apps.OwnerAddress:
		if !hasGroup(v.VIPsAt(o.Addr)) {
			return nil
		}
		build = func(b *builder) { b.address(o.Addr) }
	case apps.OwnerHost:
		h, ok := v.Topo.Host(o.MAC)
		if !ok {
			return nil
		}
		all := hostOf(v, h)
		if len(all) == 0 {
			return nil
		}
		build = func(b *builder) { b.host(h, all) }
	default:
		return nil
	}
	out := make(map[flows.DPID]flows.State, len(v.Switches))
	for d, i := range v.Switches {
		if able(i) {
			b := &builder{view: v, dpid: d, zone: i.Zone, ids: i.OF15}
			build(b)
			out[d] = b.state
		}
	}
	return out
}

func hasGroup(vips []*apps.VIP) bool {
	for _, x := range vips {
		if handles(x) {
			return true
		}
	}
	return false
}

// builder gathers one switch's rules.
type builder struct {
	view  *apps.View
	dpid  flows.DPID
	zone  uint16
	ids   bool // the session knows bucket ids and selection methods
	state flows.State
}

func (b *builder) rule(table uint8, priority uint16, id vip.ID, m flows.Match, actions ...flows.Action) {
	cookie := apps.Cookie(apps.KindDesired, apps.ClassGroup, id)
	if len(actions) == 0 {
		cookie = apps.Drop(cookie)
	}
	b.state.Rules = append(b.state.Rules, flows.Rule{Table: table, Priority: priority, Cookie: cookie, Match: m, Actions: actions})
}

// noted commits a connection past the VIPs, so that its answers are known for what they are.
func noted(zone uint16, table uint8) flows.CT {
	return flows.CT{Commit: true, Table: table, Zone: zone, Actions: []flows.Action{flows.SetNum(flows.CTMark, uint64(apps.MarkDirect))}}
}
