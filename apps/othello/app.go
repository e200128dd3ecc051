package othello

import (
	"fmt"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// App is mode othello's choice. All else of the mode, the way to table 44 and what follows table 77, is mode deferred's. Its methods
// may be called from many goroutines at a time; none blocks.
type App struct{}

var (
	_ apps.App       = (*App)(nil)
	_ apps.Explainer = (*App)(nil)
	_ apps.Detailer  = (*App)(nil)
)

// New makes the app.
func New() *App { return &App{} }

// Name is "othello".
func (a *App) Name() string { return string(vip.ModeOthello) }

// handles reports whether a VIP is of this app.
func handles(x *apps.VIP) bool { return x != nil && x.Spec.Mode == vip.ModeOthello && x.Deferred() }

// Desired is, on each switch that can have mode deferred, what an owner wants of this mode.
func (a *App) Desired(v *apps.View, o apps.Owner) map[flows.DPID]flows.State {
	var build func(b *builder, d flows.DPID)
	able := apps.SwitchInfo.Deferrable
	switch o.Kind {
	case apps.OwnerBase:
		if !slices.ContainsFunc(v.VIPs, func(x *apps.VIP) bool { return handles(x) && len(x.Backends) > 0 }) {
			return nil
		}
		build = func(b *builder, _ flows.DPID) {
			b.base()
			b.cellRules()
		}
	case apps.OwnerVIP:
		x := v.VIP(o.VIP)
		if !handles(x) {
			return nil
		}
		able = func(i apps.SwitchInfo) bool { return i.Able(x) }
		all, chooses, edges := tables(v, x), v.Chooses(x), x.EdgesOf()
		build = func(b *builder, d flows.DPID) {
			for i := range all {
				if all[i].owners != nil && (i == chooses || edges[d] && (i == 0 || x.Generations.Asked(i) == i)) {
					b.generation(&all[i])
				}
			}
			b.backends(v, x)
		}
	default:
		return nil
	}
	out := make(map[flows.DPID]flows.State, len(v.Switches))
	for d, i := range v.Switches {
		if able(i) {
			b := &builder{}
			build(b, d)
			out[d] = b.state
		}
	}
	return out
}

// tables are those of a VIP's generations, in their order. owners is nil where there is none.
func tables(v *apps.View, x *apps.VIP) []generation {
	if x.Generations == nil {
		return nil
	}
	out := make([]generation, len(x.Generations.Kept))
	for i, k := range x.Generations.Kept {
		out[i] = generation{vip: x.ID, number: k.ID, v6: x.Address.Is6(), pins: pinsOf(v, x, &k)}
		if codes, ok := FromOwners(k.Owners); ok {
			out[i].owners = codes
		}
	}
	return out
}

// pinsOf are a generation's pins of backends that are served. That they can be made was seen when they were stored.
func pinsOf(v *apps.View, x *apps.VIP, k *vip.Generation) *Pins {
	if len(k.Pins) == 0 {
		return &Pins{}
	}
	p, err := Restore(k.Pins, x.Address, x.Proto(), uint64(k.ID))
	if err != nil {
		return &Pins{}
	}
	p.drop(func(owner uint32) bool {
		y := x.BackendByID(owner)
		return y == nil || !v.Serves(x, y)
	})
	return p
}

// backends are the ways to those that are served.
func (b *builder) backends(v *apps.View, x *apps.VIP) {
	for i := range x.Backends {
		if y := &x.Backends[i]; v.Serves(x, y) {
			b.chosen(x.ID, y.ID, y.Way())
		}
	}
}

// Explain computes the choice of a switch: all make the same.
func (a *App) Explain(v *apps.View, x *apps.VIP, d flows.DPID, t apps.Tuple) (b *apps.Backend, reason string) {
	if !handles(x) {
		return nil, ""
	}
	all, current := tables(v, x), x.Generations.Current()
	switch {
	case !v.Switches[d].Able(x):
		return nil, "the switch cannot have mode othello"
	case current < 0 || all[current].owners == nil || len(x.Generations.Kept[current].Members) == 0:
		return nil, "no backend takes new connections"
	}
	g := &all[current]
	owner, _ := g.pins.Owner(g.owners, Tuple(t))
	if y := x.BackendByID(owner); y != nil {
		return y, ""
	}
	return nil, "its Dcode has no owner"
}

// Detail names the connection's Dcode, who owns it, and whether a pin says otherwise.
func (a *App) Detail(v *apps.View, x *apps.VIP, t apps.Tuple) string {
	if !handles(x) {
		return ""
	}
	all, current := tables(v, x), x.Generations.Current()
	if current < 0 || all[current].owners == nil {
		return ""
	}
	g, code := &all[current], Tuple(t).Code()
	owner, pinned := g.pins.Owner(g.owners, Tuple(t))
	text := fmt.Sprintf("Dcode %#05x of 0x1000, generation %d: %s", code, g.number, nameOf(x, g.owners.Owner(code)))
	if pinned {
		text += ", but pinned to " + nameOf(x, owner)
	}
	return text
}

func nameOf(x *apps.VIP, backend uint32) string {
	if y := x.BackendByID(backend); y != nil {
		return y.Name
	}
	return "nobody"
}

// DropReason names what a rule of this mode that drops is for; not ok for any other rule.
func DropReason(r *flows.Rule) (reason string, ok bool) {
	kind, class, _, ours := apps.SplitCookie(r.Cookie)
	if !ours || kind != apps.KindDesired || class != apps.ClassOthello || len(r.Actions) > 0 {
		return "", false
	}
	return "to a VIP's backend that is not there any more", true
}
