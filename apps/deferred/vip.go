package deferred

import (
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Priorities of a VIP's rules.
const (
	prioRefused = 105 // table 30
	prioVIP     = 100

	prioToVIP = 110 // table 70

	prioOfAsked   = 120 // table 73
	prioMarked    = 110
	prioDoubtHere = 100

	prioMirror = 110 // table 74
	prioToEnd  = 100

	prioCommit = 100 // table 75
	prioElse   = 50

	prioOfAge = 110 // table 76
	prioWalk  = 100
	prioEnd   = 50

	prioAge     = 100 // table 78
	prioAgeless = 50
)

// replicas is how far apart the bucket ids of backends are: each can have so many buckets.
const replicas = 256

// enter is where packets to a VIP enter: to the current generation's group, or to a gateway that has it. While no backend takes
// new connections those are refused, by a rule: a group without buckets would let clients hang. What may be of an old one goes
// where the last generation that had some sends it.
func (b *builder) enter(x *apps.VIP, edge bool) {
	refuse := apps.Refusal(x.ID, true)
	b.state.Meters = append(b.state.Meters, apps.RefusalMeter(x.ID))
	enter, first := refuse, refuse
	i, g := b.choice(x)
	if i >= 0 {
		enter = []flows.Action{flows.ToGroup{ID: g.ID}}
		if i == x.Generations.Current() {
			first = enter
		}
	}
	over := b.spread(x)
	if len(over.Buckets) > 0 {
		b.state.Groups = append(b.state.Groups, over)
		enter = []flows.Action{flows.ToGroup{ID: over.ID}}
		first = enter
	}
	if i >= 0 && (edge || len(over.Buckets) == 0) {
		b.state.Groups = append(b.state.Groups, g)
	}
	if i < 0 || i != x.Generations.Current() {
		b.state.Rules = append(b.state.Rules, apps.RefusalRules(x, apps.Cookie(apps.KindDesired, apps.ClassDeferred, x.ID))...)
	}
	for _, p := range x.Ports.Masks() {
		b.rule(apps.TableVIP, prioVIP, x.ID, apps.ToVIP(x, p), enter...)
		if x.Spec.Protocol == vip.TCP && !flows.EqualActions(first, enter) {
			b.rule(apps.TableVIP, prioRefused, x.ID, apps.ToVIP(x, p).NumMasked(flows.TCPFlags, apps.SYN, apps.SYN|apps.ACK), first...)
		}
	}
}

// choice is the group that a VIP's packets go to, and the index of its generation: the current one, or the last that has backends; -1:
// there is none.
func (b *builder) choice(x *apps.VIP) (int, flows.Group) {
	if i := b.view.Chooses(x); i >= 0 {
		return i, b.group(x, &x.Generations.Kept[i])
	}
	return -1, flows.Group{}
}

// group chooses among the members of a generation that are served; in mode othello by the generation's table of codes.
func (b *builder) group(x *apps.VIP, g *vip.Generation) flows.Group {
	out := flows.Group{ID: apps.GroupOfGeneration(x.ID, g.ID), Type: flows.GroupSelect, Method: "hash"}
	out.Fields, _ = selection(apps.FamilyOf(x.Address), g.Clients)
	for _, m := range g.Members {
		y := x.BackendByID(m.Backend)
		if y == nil || !b.view.Serves(x, y) {
			continue
		}
		if x.Spec.Mode == vip.ModeOthello { // a group all the same, for what it does to registers is undone after it
			return flows.Group{ID: out.ID, Type: flows.GroupIndirect, Buckets: []flows.Bucket{flows.NewBucket(1, 0, apps.ChooseByCode(x.ID, g.ID)...)}}
		}
		choose := []flows.Action{flows.SetMAC(flows.EthDst, y.Way()), flows.Go(apps.TablePick)}
		for r := range min(m.Replicas, replicas) {
			out.Buckets = append(out.Buckets, flows.NewBucket(m.Backend*replicas+uint32(r), 1, choose...))
		}
	}
	return out // members are in the order of ids, and so are the buckets
}

// edge is a switch with backends of a VIP: it keeps the connections of its own, and asks for those it does not know.
func (b *builder) edge(x *apps.VIP) {
	for _, p := range x.Ports.Masks() {
		b.rule(apps.TableEgress, prioToVIP, x.ID, apps.ToVIP(x, p), flows.SetNum(apps.RegVIP, uint64(x.ID)),
			flows.SetNum(apps.RegAge, uint64(x.Generations.Age())), apps.Known(b.at.Deferred, apps.TableArrival))
	}
	for i := range x.Backends {
		y := &x.Backends[i]
		if y.Host != nil && y.Host.At.DPID == b.at.DPID && b.view.Serves(x, y) {
			b.endpoint(x, y)
		}
	}
	if x.Generations.Newest() != nil {
		b.walk(x)
	}
}

// endpoint accepts connections for a backend here, and delivers what is of them. A backend that has been given its own connection is
// called from the VIP's address, or it would answer itself past the VIP; one behind a gateway, by whoever is behind it too.
func (b *builder) endpoint(x *apps.VIP, y *apps.Backend) {
	mac, out := flows.SetMAC(flows.EthDst, y.Host.MAC), flows.SetNum(apps.RegOutput, uint64(y.Host.At.No))
	mark := flows.Match{}.Num(flows.CTMark, uint64(y.Endpoint))
	b.rule(apps.TableDeliver, prioToEnd, x.ID, mark, mac, flows.SetMAC(flows.EthSrc, apps.VIPMAC), flows.BackToInPort(), out,
		flows.Go(apps.TableOutput))
	f := apps.FamilyOf(y.Address)
	for _, p := range b.view.Beside(y) {
		b.rule(apps.TableDeliver, prioMirror, x.ID, apps.In(f.IP(), f.Src, p).Num(flows.CTMark, uint64(y.Endpoint)), mac, out,
			flows.CT{Commit: true, Table: apps.TableSelf, Zone: b.at.Mirror, Actions: []flows.Action{flows.NATTo(flows.NATSrc, x.Address, 0)}})
	}
	m := b.accepts(x).MAC(flows.EthDst, y.Way())
	b.rule(apps.TableAccept, prioCommit, x.ID, m, flows.CT{Commit: true, Table: apps.TableDeliver, Zone: b.at.Deferred, Actions: []flows.Action{
		flows.NATTo(flows.NATDst, y.Address, y.Port), flows.SetNum(flows.CTMark, uint64(y.Endpoint)),
		flows.Move{Src: flows.Whole(apps.RegAge), Dst: span(flows.CTLabel, 0, 32)}}})
}

// accepts matches a VIP's packets in table 75.
func (b *builder) accepts(x *apps.VIP) flows.Match {
	return apps.FamilyOf(x.Address).IP().Num(apps.RegVIP, uint64(x.ID)).Num(flows.IPProto, uint64(x.Proto()))
}

// walk, at its edges, is what a packet goes through that is of no connection known there.
//
// It asks the generations one after the other, from the current one on; there is a rule for each that may have been asked last. The
// current one comes first: that edges ahead or behind of a gateway ask the right owner. At the end stands the current choice,
// which also gets what came for a backend that is not served here any more.
func (b *builder) walk(x *apps.VIP) {
	g := x.Generations
	current := g.Current()
	enters, own := b.choice(x)
	for i := range g.Kept {
		if i != enters && (i == 0 || g.Asked(i) == i) { // the current one is among the gateway's rules
			if k := b.group(x, &g.Kept[i]); len(k.Buckets) > 0 {
				b.state.Groups = append(b.state.Groups, k)
			}
		}
	}
	if current >= 0 {
		b.step(x, apps.AskedNone, current)
	}
	for i := range g.Kept {
		b.step(x, uint64(g.Kept[i].ID&0xff), i+1)
	}
	b.ages(x)
	b.doubt(x)
	b.state.Meters = append(b.state.Meters, flows.Meter{ID: apps.MeterHandOver + uint32(x.ID), Rate: uint32(x.Spec.HandOverRate), Burst: uint32(x.Spec.HandOverRate)})
	b.rule(apps.TableAsk, prioFound, x.ID, flows.Match{}.Num(apps.RegVIP, uint64(x.ID)),
		append([]flows.Action{flows.ToMeter{ID: apps.MeterHandOver + uint32(x.ID)}}, found...)...)
	if current < 0 {
		return
	}
	choose := []flows.Action{flows.SetNum(apps.RegPurpose, apps.PurposeOwn), flows.ToGroup{ID: own.ID}}
	if enters != current {
		choose = apps.Refusal(x.ID, true)
	}
	b.rule(apps.TableAsk, prioEnd, x.ID, flows.Match{}.Num(apps.RegVIP, uint64(x.ID)).MAC(flows.EthDst, flows.MAC{}), choose...)
	b.rule(apps.TableAccept, prioElse, x.ID, b.accepts(x), choose...)
}

// step asks the first generation from an index on that is worth it, when asked was the last. In doubt it comes first whether the
// connection that this edge knows has begun in the generation, and so is where that sends it: here.
func (b *builder) step(x *apps.VIP, asked uint64, from int) {
	g := x.Generations
	m := func() flows.Match {
		return make(flows.Match, 0, 8).Num(apps.RegVIP, uint64(x.ID)).Num(apps.RegAsked, asked).MAC(flows.EthDst, flows.MAC{})
	}
	for i := from; i < len(g.Kept); i++ {
		if x.Spec.Protocol == vip.TCP {
			f := apps.FamilyOf(x.Address)
			b.rule(apps.TableAsk, prioOfAge, x.ID, aged(m(), g.Kept[i].ID).Num(apps.RegPurpose, apps.PurposeDoubt).
				Num(flows.EthType, f.EthType).Num(flows.IPProto, apps.ProtoTCP), trusted(f)...)
		}
		k := b.group(x, &g.Kept[i])
		if g.Asked(i) != i || len(k.Buckets) == 0 {
			continue // a choice that chooses nothing would leave nothing on the stack
		}
		b.rule(apps.TableAsk, prioWalk, x.ID, m(), flows.SetNum(apps.RegAsked, uint64(g.Kept[i].ID&0xff)), flows.ToGroup{ID: k.ID},
			flows.StackPop{Dst: flows.Whole(flows.EthDst)}, flows.Go(apps.TableAsk))
		return
	}
}

// aged adds that a connection has begun in a generation.
func aged(m flows.Match, generation uint32) flows.Match {
	return m.NumMasked(flows.CTLabel, uint64(generation), 0xffffffff)
}

// doubt gives a packet its VIP's address and port back, for groups to choose as they did, and begins a walk, or goes on with the one
// that has brought it. The edge's own bit is not set: if the packet is rightly here it comes back. What has been sent here by the
// generation in which the connection began is right.
func (b *builder) doubt(x *apps.VIP) {
	if x.Spec.Protocol != vip.TCP {
		return
	}
	f := apps.FamilyOf(x.Address)
	save := flows.Move{Src: flows.Whole(f.Dst), Dst: flows.Whole(apps.RegSaved)}
	if f == &apps.IPv6 {
		save.Dst = flows.Whole(apps.RegSaved6)
	}
	actions := []flows.Action{save, flows.Move{Src: flows.Whole(flows.TCPDst), Dst: span(apps.RegSavedPort, 0, 16)}, apps.SetAddr(f.Dst, x.Address)}
	if x.Ports.Single() { // several are kept
		actions = append(actions, flows.SetNum(flows.TCPDst, uint64(x.Ports.First)))
	}
	walk := []flows.Action{flows.SetNum(apps.RegPurpose, apps.PurposeDoubt), noMAC, flows.Go(apps.TableAsk)}
	b.rule(apps.TableDoubt, prioDoubtHere, x.ID, b.accepts(x),
		slices.Concat(actions, []flows.Action{flows.SetNum(apps.RegAsked, apps.AskedNone)}, walk)...)
	b.rule(apps.TableDoubt, prioMarked, x.ID, asking(b.accepts(x)), slices.Concat(actions, asked, walk)...)
	for i := range x.Generations.Kept {
		id := x.Generations.Kept[i].ID
		marker, mask := apps.MarkerAsked, apps.MarkerMask
		marker[5], mask[5] = byte(id), 0xff
		b.rule(apps.TableDoubt, prioOfAsked, x.ID, aged(b.accepts(x), id).Masked(flows.EthSrc, marker.Value(), mask.Value()),
			flows.Go(apps.TableDeliver))
	}
}
