package deferred

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Priorities of table 57.
const (
	prioNoted  = 200 // notes
	prioSentOn = 110
	prioRight  = 100
	prioNote   = 50
)

// MaxNotes is how many flows of a VIP a switch notes: a note is a rule. Where there are as many, others may be missing.
const MaxNotes = 1 << 16

// Note is a flow of datagrams that an edge knows, in mode othello, and that had a packet while a generation was in effect: of older
// generations' flows those that the present choice would send elsewhere, or, where pins alone are left of older ones, all. Of TCP
// agents tell; of UDP there may be none, and a backend's host need not know a flow at all.
type Note struct {
	Generation uint32
	Client     netip.AddrPort
	Port       uint16 // of the VIP
	Endpoint   uint32
	Heard      time.Time // the last packet
}

// notes reports whether edges note a VIP's flows.
func notes(x *apps.VIP) bool {
	if x.Spec.Mode != vip.ModeOthello || x.Spec.Protocol != vip.UDP {
		return false
	}
	g := x.Generations
	return g != nil && (len(g.Kept) > 1 || len(g.Kept) == 1 && len(g.Kept[0].Pins) > 0)
}

// noting is what table 78 does with a packet before it is delivered, and what its rule must match for that: the flow as its client
// has it goes to registers, which need no more of a learned rule.
func noting(m flows.Match, x *apps.VIP) (flows.Match, []flows.Action) {
	f := apps.FamilyOf(x.Address)
	client := flows.Move{Src: flows.Whole(flows.CTNWSrc), Dst: flows.Whole(apps.RegSaved)}
	if f == &apps.IPv6 {
		client = flows.Move{Src: flows.Whole(flows.CTIPv6Src), Dst: flows.Whole(apps.RegSaved6)}
	}
	m = state(m, 0, apps.CTInvalid).Num(flows.EthType, f.EthType).Num(flows.IPProto, apps.ProtoUDP).Num(flows.CTNWProto, apps.ProtoUDP)
	return m, []flows.Action{client, flows.Move{Src: flows.Whole(flows.CTTPSrc), Dst: span(apps.RegSavedPort, 0, 16)},
		flows.Move{Src: flows.Whole(flows.CTTPDst), Dst: span(apps.RegSavedPort, 16, 16)}, flows.Go(apps.TableNoted)}
}

// notesOf are the rules that make notes. While older generations are asked, what comes straight to its backend's MAC is where the
// present choice has it; all else has been sent on by another edge, or was chosen for another backend here. In doubt that is noted
// too. A note is a rule that its flow's next packets meet, so that it goes when they end, and all go with the rules that make them.
func (b *builder) notesOf(x *apps.VIP) {
	saved := []flows.Field{apps.RegSaved}
	if x.Address.Is6() {
		saved = []flows.Field{apps.RegSaved6}
	}
	learn := flows.Learn{Table: apps.TableNoted, Priority: prioNoted, Cookie: apps.Cookie(apps.KindLearned, apps.ClassOthello, x.ID),
		IdleTimeout: uint16(x.Spec.NoteTime() / time.Second), DeleteLearned: true, Limit: MaxNotes}
	for _, f := range append(saved, apps.RegVIP, apps.RegAge, apps.RegSavedPort, flows.CTMark) {
		learn.Parts = append(learn.Parts, flows.LearnPart{Kind: flows.LearnMatch, Src: flows.Whole(f), Dst: flows.Whole(f)})
	}
	ours := func() flows.Match { return make(flows.Match, 0, 4).Num(apps.RegVIP, uint64(x.ID)) }
	b.rule(apps.TableNoted, prioNote, x.ID, ours(), learn)
	if len(x.Generations.Kept) == 1 {
		return
	}
	b.rule(apps.TableNoted, prioSentOn, x.ID, asking(ours()), learn)
	if x.Doubted {
		return
	}
	for i := range x.Backends {
		y := &x.Backends[i]
		if y.Host != nil && y.Host.At.DPID == b.at.DPID && b.view.Serves(x, y) {
			b.rule(apps.TableNoted, prioRight, x.ID, ours().Num(flows.CTMark, uint64(y.Endpoint)).MAC(flows.EthDst, y.Way()),
				flows.SetNum(apps.RegIgnored, 0))
		}
	}
}

// ages are a VIP's rules of table 78, which count the packets of known connections by the generation in which they began.
func (b *builder) ages(x *apps.VIP) {
	type of struct {
		m        flows.Match
		priority uint16
		note     bool
	}
	begin := func() flows.Match { return make(flows.Match, 0, 8).Num(apps.RegVIP, uint64(x.ID)) }
	var all []of
	for i := range x.Generations.Kept {
		all = append(all, of{aged(begin(), x.Generations.Kept[i].ID), prioAge, notes(x) && len(x.Generations.Kept) > 1})
	}
	if x.Spec.Mode == vip.ModeOthello {
		all = append(all, of{begin(), prioAgeless, notes(x)}) // of generations that went when pins had made them needless
	}
	if notes(x) {
		b.notesOf(x)
	}
	for _, r := range all {
		actions := []flows.Action{flows.Go(apps.TableDeliver)}
		if r.note {
			var first []flows.Action
			r.m, first = noting(r.m, x)
			actions = append(first, actions...)
		}
		b.rule(apps.TableAge, r.priority, x.ID, r.m, actions...)
	}
}

// Notes are those among a switch's rules of table 57 as read at a time, by VIP.
func Notes(now time.Time, rules []flows.InstalledRule) map[vip.ID][]Note {
	out := map[vip.ID][]Note{}
	for i := range rules {
		r := &rules[i]
		kind, class, id, ours := apps.SplitCookie(r.Cookie)
		if !ours || kind != apps.KindLearned || class != apps.ClassOthello {
			continue
		}
		if n, ok := noteOf(r.Match); ok {
			n.Heard = now.Add(-time.Duration(r.IdleSec) * time.Second)
			out[id] = append(out[id], n)
		}
	}
	return out
}

func noteOf(m flows.Match) (n Note, ok bool) {
	var addr []byte
	for _, f := range []flows.Field{apps.RegSaved, flows.Reg8, flows.Reg9, flows.Reg10, flows.Reg11} {
		if c, has := m.Get(f); has {
			addr = append(addr, c.Value[:4]...)
		}
	}
	client, isAddr := netip.AddrFromSlice(addr)
	ports, hasPorts := m.Get(apps.RegSavedPort)
	mark, marked := m.Get(flows.CTMark)
	age, hasAge := m.Get(apps.RegAge)
	if !isAddr || !hasPorts || !marked || !hasAge {
		return n, false
	}
	return Note{Generation: binary.BigEndian.Uint32(age.Value[:4]), Client: netip.AddrPortFrom(client, binary.BigEndian.Uint16(ports.Value[2:4])),
		Port: binary.BigEndian.Uint16(ports.Value[:2]), Endpoint: binary.BigEndian.Uint32(mark.Value[:4])}, true
}

// NotedPins are what a VIP's notes of a generation say: each flow once, with the backend that has had its last packet. A backend that is
// not served has none.
func NotedPins(v *apps.View, x *apps.VIP, generation uint32, all []Note) (out []vip.Pin) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Note) int { return b.Heard.Compare(a.Heard) })
	by := map[uint32]uint32{}
	for i := range x.Backends {
		if y := &x.Backends[i]; v.Serves(x, y) {
			by[y.Endpoint] = y.ID
		}
	}
	for _, n := range all {
		if backend, served := by[n.Endpoint]; served && n.Generation == generation {
			out = append(out, vip.Pin{Client: n.Client, Port: n.Port, Backend: backend})
		}
	}
	slices.SortStableFunc(out, vip.Pin.Compare)
	return slices.CompactFunc(out, func(a, b vip.Pin) bool { return a.Client == b.Client && a.Port == b.Port })
}
