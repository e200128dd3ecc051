package othello

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

var _ apps.Describer = (*App)(nil)

// About says what a rule of this mode is for, in a line, by the names of a view; "" for any other rule, and for those that all VIPs
// share, whose tables say it.
func (a *App) About(v *apps.View, r *flows.Rule) string {
	_, class, id, ours := apps.SplitCookie(r.Cookie)
	if !ours || class != apps.ClassOthello {
		return ""
	}
	x := v.VIP(id)
	if !handles(x) {
		return ""
	}
	number, generation := partOf(r.Match, apps.SpanGeneration)
	where := x.Spec.Name
	if generation {
		where += fmt.Sprintf(", generation %d", numberOf(x, number))
	}
	if what := what(x, r); what != "" {
		return where + ": " + what
	}
	return ""
}

// what says what a VIP's rule does.
func what(x *apps.VIP, r *flows.Rule) string {
	switch r.Table {
	case apps.TableOwner:
		return dcodes(r) + " of " + ownerOf(x, r)
	case apps.TableConsult:
		for _, action := range r.Actions {
			if next, ok := action.(flows.Resubmit); ok && next.Table == apps.TablePinned {
				return dcodes(r) + " with pins"
			}
		}
		return dcodes(r) + " without pins"
	case apps.TablePinned:
		if r.Priority != prioPin {
			return "no pin of its own"
		}
		return "pin of " + client(r.Match) + " to " + ownerOf(x, r)
	case apps.TableCells:
		return "which cells of the pins"
	case apps.TableRowA, apps.TableRowB:
		name, span := "A", rowA
		if r.Table == apps.TableRowB {
			name, span = "B", rowB
		}
		row, _ := partOf(r.Match, span)
		return fmt.Sprintf("pins' cells %s[%d] to %s[%d]", name, row*cellsInRow, name, (row+1)*cellsInRow-1)
	case apps.TablePinValue:
		value, _ := partOf(r.Match, cellB)
		return fmt.Sprintf("pin value %#05x is %s's", value, ownerOf(x, r))
	case apps.TableChosen:
		owner, _ := partOf(r.Match, flows.Whole(apps.RegOwner))
		return "the way to " + nameOf(x, uint32(owner))
	}
	return ""
}

// dcodes names those that a rule matches by their lowest bits.
func dcodes(r *flows.Rule) string {
	n := r.Priority - prioCode
	if n == 0 || n > codeBits {
		return "all Dcodes"
	}
	code, _ := partOf(r.Match, dcode)
	return fmt.Sprintf("Dcodes that end in %0*b", n, code)
}

// ownerOf is the backend that a rule gives a packet to.
func ownerOf(x *apps.VIP, r *flows.Rule) string {
	for _, action := range r.Actions {
		if set, ok := action.(flows.SetField); ok && set.Field == apps.RegOwner {
			return nameOf(x, uint32(set.Value.Uint64(4)))
		}
	}
	return "nobody"
}

func client(m flows.Match) string {
	for _, f := range []*apps.Family{&apps.IPv4, &apps.IPv6} {
		for _, proto := range []uint8{apps.ProtoTCP, apps.ProtoUDP} {
			src, _ := apps.PortFields(proto)
			a, hasAddress := m.Get(f.Src)
			p, hasPort := m.Get(src)
			if hasAddress && hasPort {
				addr, _ := netip.AddrFromSlice(a.Value[:f.Src.Width()])
				return netip.AddrPortFrom(addr, uint16(p.Value.Uint64(2))).String()
			}
		}
	}
	return "a connection"
}

// partOf is what a match says of bits of a field; not ok: nothing.
func partOf(m flows.Match, s flows.Span) (n uint64, ok bool) {
	c, ok := m.Get(s.Field)
	if !ok {
		return 0, false
	}
	return c.Value.Uint64(s.Field.Width()) >> s.Offset & (1<<s.Bits - 1), true
}

// numberOf is the number of the generation that rules know by its lowest bits.
func numberOf(x *apps.VIP, low uint64) uint64 {
	if x.Generations != nil {
		for _, k := range x.Generations.Kept {
			if uint64(k.ID&0xff) == low {
				return uint64(k.ID)
			}
		}
	}
	return low
}

// AboutGroup says of a group by which a VIP of this mode chooses how its generation divides connections: Dcodes of each backend, and
// pins.
func (a *App) AboutGroup(v *apps.View, id uint32) string {
	x := v.VIP(apps.VIPOfGeneration(id))
	if !handles(x) || x.Generations == nil {
		return ""
	}
	for i := range x.Generations.Kept {
		if k := &x.Generations.Kept[i]; apps.GroupOfGeneration(x.ID, k.ID) == id {
			return aboutGeneration(x, k, i == x.Generations.Current())
		}
	}
	return ""
}

func aboutGeneration(x *apps.VIP, k *vip.Generation, current bool) string {
	text := fmt.Sprintf("%s, generation %d", x.Spec.Name, k.ID)
	if current {
		text += " (current)"
	}
	codes, ok := FromOwners(k.Owners)
	if !ok {
		return text
	}
	counts := codes.Counts()
	owners := slices.SortedFunc(maps.Keys(counts), func(a, b uint32) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	var shares []string
	for i, o := range owners {
		if i == mostNamed {
			shares = append(shares, fmt.Sprintf("%d more", len(owners)-i))
			break
		}
		shares = append(shares, fmt.Sprintf("%s %d", nameOf(x, o), counts[o]))
	}
	text += fmt.Sprintf(": %d Dcodes in %d rules, %s", codes.Size(), len(codes.Rules()), strings.Join(shares, ", "))
	if len(k.Pins) > 0 {
		text += fmt.Sprintf("; %d pins", len(k.Pins))
	}
	if n := Cells(k.Pins); n > 0 {
		text += fmt.Sprintf(" in %d cells", n)
	}
	return text
}

// mostNamed is how many backends a group's line names.
const mostNamed = 16
