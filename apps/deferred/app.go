package deferred

import (
	"net/netip"
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

// App is mode deferred. Its methods may be called from many goroutines at a time; none blocks.
type App struct {
	now     func() time.Time
	answers sync.Pool // of *[]byte
	forgets apps.Allowance
}

var (
	_ apps.App             = (*App)(nil)
	_ apps.PacketInHandler = (*App)(nil)
	_ apps.Stale           = (*App)(nil)
	_ apps.Limited         = (*App)(nil)
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

// Name is "deferred".
func (a *App) Name() string { return string(vip.ModeDeferred) }

// Desired is, on each switch that is able, what an owner wants of this mode.
func (a *App) Desired(v *apps.View, o apps.Owner) map[flows.DPID]flows.State {
	var build func(*builder)
	able := apps.SwitchInfo.Deferrable
	switch o.Kind {
	case apps.OwnerBase:
		build = (*builder).base
	case apps.OwnerVIP:
		x := v.VIP(o.VIP)
		if x == nil || !x.Deferred() {
			return nil
		}
		edges := x.EdgesOf()
		able = func(i apps.SwitchInfo) bool { return i.Able(x) }
		build = func(b *builder) {
			b.enter(x, edges[b.at.DPID])
			if edges[b.at.DPID] {
				b.edge(x)
			}
		}
	case apps.OwnerAddress:
		vips := deferredAt(v, o.Addr)
		if len(vips) == 0 {
			return nil
		}
		build = func(b *builder) { b.address(o.Addr, vips) }
	case apps.OwnerHost:
		h, ok := v.Topo.Host(o.MAC)
		if !ok {
			return nil
		}
		all := listenersOf(v, h)
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
			b := &builder{view: v, at: i}
			build(b)
			out[d] = b.state
		}
	}
	return out
}

// deferredAt are the VIPs of the mode at an address.
func deferredAt(v *apps.View, a netip.Addr) (out []*apps.VIP) {
	for _, x := range v.VIPsAt(a) {
		if x.Deferred() {
			out = append(out, x)
		}
	}
	return out
}

// builder gathers one switch's rules.
type builder struct {
	view  *apps.View
	at    apps.SwitchInfo
	state flows.State
}

func (b *builder) rule(table uint8, priority uint16, id vip.ID, m flows.Match, actions ...flows.Action) {
	cookie := apps.Cookie(apps.KindDesired, apps.ClassDeferred, id)
	if len(actions) == 0 {
		cookie = apps.Drop(cookie)
	}
	b.state.Rules = append(b.state.Rules, flows.Rule{Table: table, Priority: priority, Cookie: cookie, Match: m, Actions: actions})
}

// state matches what conntrack has said: bits set in want are set, the others of among are not.
func state(m flows.Match, want, among uint64) flows.Match {
	return m.NumMasked(flows.CTState, want|apps.CTTracked, among|want|apps.CTTracked)
}

// noMAC is in eth_dst while a walk has not found anybody to ask.
var noMAC = flows.SetMAC(flows.EthDst, flows.MAC{})

// asking matches markers of a walk.
func asking(m flows.Match) flows.Match {
	return m.Masked(flows.EthSrc, apps.MarkerAsked.Value(), apps.MarkerMask.Value())
}

// span is some bits of a field.
func span(f flows.Field, offset, bits uint16) flows.Span {
	return flows.Span{Field: f, Offset: offset, Bits: bits}
}

// bit sets a bit of RegEdges.
func bit(n uint16) flows.SetField {
	v := flows.U64(1<<n, 4)
	return flows.SetField{Field: apps.RegEdges, Masked: true, Value: v, Mask: v}
}
