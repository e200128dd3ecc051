package vip

import (
	"cmp"
	"net/netip"
	"slices"
)

// Limits of how many generations a VIP keeps: the walk over them is one level of resubmit each, and Open vSwitch allows 64.
const (
	MaxGenerations     = 48
	DefaultGenerations = 32
)

// Member is a backend in a generation, with as many buckets as it weighed.
type Member struct {
	Backend  uint32 `json:"backend"`
	Replicas int    `json:"replicas"`
}

// Generation is a set of backends between which a VIP divides new connections, or once did. Its id is given once and is
// stored before its first use.
type Generation struct {
	ID      uint32   `json:"id"`
	Members []Member `json:"members"`           // by backend
	Clients bool     `json:"clients,omitempty"` // each client, by its address, has one of them (affinity), not each connection
	Owners  Owners   `json:"owners,omitempty"`  // mode othello: whose each Dcode is
	Pins    []Pin    `json:"pins,omitempty"`    // mode othello: live connections that their Dcode's owner does not have
}

// Pin names a live connection and its backend, which keeps it whatever the owners. A fixed one is at its Dcode's owner, and named to
// stay so.
type Pin struct {
	Client  netip.AddrPort `json:"c"`
	Port    uint16         `json:"p"` // of the VIP
	Backend uint32         `json:"b"`
	Fixed   bool           `json:"f,omitempty"`
}

// Compare orders pins by connection.
func (p Pin) Compare(o Pin) int {
	return cmp.Or(p.Client.Compare(o.Client), cmp.Compare(p.Port, o.Port))
}

// Step says how far the change to the newest generation is. Each is stored before anything is done for it.
type Step string

// Steps of a change, in their order.
const (
	StepPrepare Step = "prepare" // the edges with backends learn the newest generation; nothing is chosen by it
	StepFlip    Step = "flip"    // all choose by it
	StepSettle  Step = "settle"  // all do; what caches still hold of the time before dies out
	StepSteady  Step = "steady"  // nothing is under way
)

// Generations are those that a VIP keeps and the step of its present change: what is stored, immutable; a change makes new ones.
//
// A connection that a backend's edge does not know is looked for where the older generations would have sent it.
type Generations struct {
	Step Step         `json:"step"`
	Last uint32       `json:"last"` // the last id given
	Kept []Generation `json:"kept"` // the newest first
	Drop bool         `json:"drop"` // the oldest may be dropped for the next change, whatever breaks

	Behind uint32 `json:"behind,omitempty"` // the oldest generation by which a switch that is away may still choose; 0: none is away
}

// Newest is the newest generation; nil: there is none.
func (g *Generations) Newest() *Generation {
	if g == nil || len(g.Kept) == 0 {
		return nil
	}
	return &g.Kept[0]
}

// Current is the index in Kept of the generation by which new connections are divided; -1: there is none yet.
func (g *Generations) Current() int {
	switch {
	case g == nil || len(g.Kept) == 0:
		return -1
	case g.Step != StepPrepare:
		return 0
	case len(g.Kept) == 1:
		return -1
	}
	return 1
}

// Age is the generation noted with connections made now, 0 if there is none: the one by which all switches choose, and an older
// one while some may choose by it.
func (g *Generations) Age() uint32 {
	switch {
	case g == nil || len(g.Kept) == 0:
		return 0
	case g.keeps(g.Behind):
		return g.Behind
	case g.Step == StepSteady || len(g.Kept) == 1:
		return g.Kept[0].ID
	}
	return g.Kept[1].ID
}

// keeps reports whether a generation is among those that are kept.
func (g *Generations) keeps(id uint32) bool {
	return slices.ContainsFunc(g.Kept, func(k Generation) bool { return k.ID == id })
}

// Trail notes that a switch is away, which may still choose by the generation before the newest, or by an older one as noted before; or that none is.
func (g *Generations) Trail(away bool) *Generations {
	next := *g
	switch {
	case !away:
		next.Behind = 0
	case len(g.Kept) > 1 && !g.keeps(g.Behind):
		next.Behind = g.Kept[1].ID
	}
	return &next
}

// Resettle takes the last step of the last change again, since switches have come that were away.
func (g *Generations) Resettle() *Generations {
	next := *g
	next.Step = StepSettle
	return &next
}

// Steady reports whether no change is under way.
func (g *Generations) Steady() bool { return g == nil || g.Step == StepSteady }

// Begin starts the change to a set of backends.
func (g *Generations) Begin(members []Member) *Generations {
	return g.BeginAs(Generation{Members: members})
}

// BeginAs starts the change to a generation, whose id it gives.
func (g *Generations) BeginAs(newest Generation) *Generations {
	next := &Generations{Step: StepPrepare, Last: 1}
	if g != nil {
		next.Last, next.Kept, next.Behind = g.Last+1, g.Kept, g.Behind
	}
	newest.ID = next.Last
	next.Kept = append([]Generation{newest}, next.Kept...)
	return next
}

// Next is the step after the present one. A VIP without hand-over, whose limit is 1, keeps none when the
// change is over; else the oldest go by themselves, see [Generations.Retire].
func (g *Generations) Next(limit int) *Generations {
	next := *g
	switch g.Step {
	case StepPrepare:
		next.Step = StepFlip
	case StepFlip:
		next.Step = StepSettle
	default:
		next.Step = StepSteady
		if limit == 1 {
			next.Kept = slices.Clone(g.Kept[:1])
		}
	}
	return &next
}

// Retire drops the oldest generation, unless it is the only one.
func (g *Generations) Retire() *Generations {
	if len(g.Kept) < 2 {
		return g
	}
	next := *g
	next.Kept = slices.Clone(g.Kept[:len(g.Kept)-1])
	return &next
}

// Without takes backends that are gone for good, with their connections, out of all generations: those of others stay where
// they are, since the choice among the rest is the same. It is g itself if none of them is in any.
func (g *Generations) Without(gone func(backend uint32) bool) *Generations {
	if g == nil {
		return nil
	}
	is := func(m Member) bool { return gone(m.Backend) }
	if !slices.ContainsFunc(g.Kept, func(k Generation) bool { return slices.ContainsFunc(k.Members, is) }) {
		return g
	}
	next := *g
	next.Kept = slices.Clone(g.Kept)
	for i := range next.Kept {
		next.Kept[i].Members = slices.DeleteFunc(slices.Clone(next.Kept[i].Members), is)
	}
	return &next
}

// Asked is the index of the first generation at from or later whose set is worth asking: it has members, and none that a walk
// asks before it has the same. It is len(Kept) if there is none.
func (g *Generations) Asked(from int) int {
	for i := from; i < len(g.Kept); i++ {
		if len(g.Kept[i].Members) > 0 && !g.repeats(i) {
			return i
		}
	}
	return len(g.Kept)
}

// repeats reports whether a newer generation, from the current one on, chooses as this one does.
func (g *Generations) repeats(i int) bool {
	first := max(g.Current(), 0)
	return i > first && slices.ContainsFunc(g.Kept[first:i], func(k Generation) bool { return k.same(&g.Kept[i]) })
}

// Divides reports whether a generation, nil is none, divides what is new as another says: between the same backends, connections or clients.
func (k *Generation) Divides(as Generation) bool {
	return k != nil && k.Clients == as.Clients && slices.Equal(k.Members, as.Members)
}

// same reports whether two generations choose alike.
func (k *Generation) same(o *Generation) bool {
	return k.Divides(*o) && slices.Equal(k.Owners, o.Owners) && slices.Equal(k.Pins, o.Pins)
}

// Spare reports whether the oldest generation can go without a trace: its set is empty, or a newer one's too.
func (g *Generations) Spare() bool {
	last := len(g.Kept) - 1
	return last > 0 && (len(g.Kept[last].Members) == 0 || g.repeats(last))
}

// SortMembers puts members in the order of backends.
func SortMembers(all []Member) {
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.Backend, b.Backend) })
}
