package othello

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/othello"
	"github.com/evenflow/evenflow/ovshash"
)

const (
	// exactPins is up to how many pins each has a rule of its own: beyond it cells take fewer.
	exactPins = 1000

	cellBits   = 12
	cellsInRow = 30 // three registers of 128 bits, ten cells each
	maxRows    = 1 << 16

	// maxPinned is how many backends can have a pin value each: of so many of all 4,096 values a new connection of a
	// consulted Dcode finds one by chance.
	maxPinned = 512

	// Cells of each array per 100 keys: 1.33, as the papers have it, and two of three graphs are forests.
	cellsPer100 = 133

	triesPerSize = 20
)

// Errors of Pin.
var (
	ErrTooManyPins = errors.New("othello: more displaced connections than rows of cells can hold")
	ErrPinned      = errors.New("othello: more backends with displaced connections than pin values")
)

// State is a live connection and the backend that has it.
type State struct {
	Tuple
	Owner uint32
}

// Pins keep the displaced connections of a VIP at their backends. Without any, the zero Pins, the table of codes says all.
type Pins struct {
	Named   []vip.Pin         // what they are made of, in the order of connections
	Consult []CodeRule        // which Dcodes ask: those whose rule has Owner 1
	Exact   []State           // with rules of their own, sorted
	Values  map[uint16]uint32 // pin value to backend, of the packed ones
	Bases   [4]uint16         // of the hashes to A's row and cell, and to B's
	Rows    int               // of each array; 0: none are packed
	A, B    []uint32          // cells, cellsInRow for each row

	asks map[uint16]bool // Dcodes
}

// Pin makes the pins of a VIP: of the live connections those whose backend does not own their Dcode are displaced. The same
// arguments give the same pins, and so does [Restore] of their names. A connection is named once; of two that the switch cannot
// tell apart (of IPv4, from the same client port to two ports of the VIP) those with two backends get rules of their own.
func Pin(codes *Codes, live []State, seed uint64) (*Pins, error) {
	var named []vip.Pin
	listed := map[Tuple]bool{}
	for _, s := range live {
		if codes.Owner(s.Code()) != s.Owner && !listed[s.Tuple] {
			listed[s.Tuple] = true
			named = append(named, s.named(false))
		}
	}
	for len(named) > 0 {
		p, err := Restore(named, live[0].Dst.Addr(), live[0].Proto, seed)
		if err != nil || p.Rows == 0 {
			return p, err
		}
		// A connection that is where it should be, in a Dcode that asks, must not find a pin value of another backend. If it does it
		// is named too, with the value 0, which is no pin's. The new cells may hit others, but seldom: a cell that no key decides
		// keeps its value from one round to the next.
		before := len(named)
		for _, s := range live {
			if o, _ := p.Owner(codes, s.Tuple); o != s.Owner && !listed[s.Tuple] {
				listed[s.Tuple] = true
				named = append(named, s.named(true))
			}
		}
		if len(named) == before {
			return p, nil
		}
	}
	return &Pins{}, nil
}

func (s State) named(fixed bool) vip.Pin {
	return vip.Pin{Client: s.Src, Port: s.Dst.Port(), Backend: s.Owner, Fixed: fixed}
}

func stateOf(n vip.Pin, to netip.Addr, proto uint8) State {
	return State{Tuple{Proto: proto, Src: n.Client, Dst: netip.AddrPortFrom(to, n.Port)}, n.Backend}
}

// Restore makes pins of names: of connections of a protocol to a VIP's address.
func Restore(named []vip.Pin, to netip.Addr, proto uint8, seed uint64) (*Pins, error) {
	p := &Pins{Named: slices.Clone(named), asks: map[uint16]bool{}}
	slices.SortFunc(p.Named, vip.Pin.Compare)
	all, displaced := make([]State, len(p.Named)), 0
	for i, n := range p.Named {
		all[i] = stateOf(n, to, proto)
		if !n.Fixed {
			displaced++
			p.asks[all[i].Code()] = true
		}
	}
	p.Consult = p.consult()
	if displaced <= exactPins {
		p.Exact = all
		return p, nil
	}
	return p, p.pack(all, displaced, rand.New(rand.NewPCG(seed, 1)))
}

func compareStates(a, b State) int {
	return cmp.Or(a.Src.Compare(b.Src), a.Dst.Compare(b.Dst), cmp.Compare(a.Proto, b.Proto), cmp.Compare(a.Owner, b.Owner))
}

// Owner is whose a packet is, as the switch decides. pinned says that it is not by the table of codes.
func (p *Pins) Owner(codes *Codes, t Tuple) (owner uint32, pinned bool) {
	owner = codes.Owner(t.Code())
	if !p.asks[t.Code()] {
		return owner, false
	}
	if i, ok := slices.BinarySearchFunc(p.Exact, t, func(s State, t Tuple) int { return compareStates(State{s.Tuple, 0}, State{t, 0}) }); ok {
		return p.Exact[i].Owner, true
	}
	if p.Rows > 0 {
		if o, ok := p.Values[p.value(t)]; ok {
			return o, true
		}
	}
	return owner, false
}

// Empty reports whether nothing is displaced.
func (p *Pins) Empty() bool { return len(p.Consult) == 0 }

// drop lets go the pins of backends that have gone: their connections follow the table. The cells stay, as others' lie beside them.
func (p *Pins) drop(gone func(owner uint32) bool) {
	p.Exact = slices.DeleteFunc(p.Exact, func(s State) bool { return gone(s.Owner) })
	maps.DeleteFunc(p.Values, func(_ uint16, owner uint32) bool { return gone(owner) })
}

// consult covers exactly the Dcodes that ask: any more would let new connections meet pin values for nothing.
func (p *Pins) consult() []CodeRule {
	ask := &Codes{owner: make([]uint32, MaxCodes)}
	for c := range p.asks {
		ask.owner[ask.place(c)] = 1
	}
	return ask.Rules()
}

// pin is a key of the Othello.
type pin struct {
	Tuple
	value uint16
}

// pack puts connections in cells. Where the switch's hash is the same for several, the first counts, and those
// with another backend get rules of their own.
func (p *Pins) pack(all []State, displaced int, random *rand.Rand) error {
	p.Values = map[uint16]uint32{}
	value := map[uint32]uint16{}
	keys := make([]pin, 0, len(all))
	first := make(map[Tuple]State, len(all))
	for i, s := range all {
		key := pin{Tuple: s.hashed()}
		if other, twice := first[key.Tuple]; twice {
			if other.Owner != s.Owner {
				p.Exact = append(p.Exact, s)
			}
			continue
		}
		first[key.Tuple] = s
		if !p.Named[i].Fixed {
			for value[s.Owner] == 0 {
				if len(value) == maxPinned {
					return fmt.Errorf("%w: more than %d", ErrPinned, maxPinned)
				}
				if v := uint16(random.UintN(1 << cellBits)); v != 0 && p.Values[v] == 0 {
					value[s.Owner], p.Values[v] = v, s.Owner
				}
			}
			key.value = value[s.Owner]
		}
		keys = append(keys, key)
	}
	return p.solve(keys, displaced, random)
}

// hashed is the connection without what the switch does not hash.
func (t Tuple) hashed() Tuple {
	if t.Src.Addr().Is4() {
		t.Dst, t.Proto = netip.AddrPort{}, 0
	}
	return t
}

// solve finds hash functions and cells for the keys. The number of rows follows from that of displaced connections, so that the same
// hashes are tried first when a few others are added.
func (p *Pins) solve(keys []pin, displaced int, random *rand.Rand) error {
	rows := rowsFor(displaced)
	edges := make([]othello.Edge, len(keys))
	for try := 1; ; try++ {
		if rows > maxRows {
			return fmt.Errorf("%w: %d", ErrTooManyPins, len(keys))
		}
		p.draw(rows, random)
		for i, k := range keys {
			a, b := p.cells(k.Tuple)
			edges[i] = othello.Edge{A: uint32(a), B: uint32(b), Value: uint32(k.value)}
		}
		p.A, p.B = fill(p.Bases[0], rows), fill(p.Bases[2], rows)
		if err := othello.Assign(p.A, p.B, edges); !errors.Is(err, othello.ErrCycle) {
			return err
		}
		if try%triesPerSize == 0 {
			rows += rows/16 + 1
		}
	}
}

// rowsFor is how many rows each array has.
func rowsFor(displaced int) int { return (displaced+displaced/16)*cellsPer100/100/cellsInRow + 1 }

// Cells is how many cells pins take, or 0 where each has a rule of its own. More are taken when twenty hashes in a row fail, which
// is not to be expected.
func Cells(named []vip.Pin) int {
	displaced := 0
	for _, n := range named {
		if !n.Fixed {
			displaced++
		}
	}
	if displaced <= exactPins {
		return 0
	}
	return 2 * rowsFor(displaced) * cellsInRow
}

// draw draws four different bases, none that of Dcodes.
func (p *Pins) draw(rows int, random *rand.Rand) {
	p.Rows = rows
	seen := []uint16{codeBasis}
	for i := range p.Bases {
		b := uint16(random.Uint32())
		for slices.Contains(seen, b) {
			b++
		}
		p.Bases[i], seen = b, append(seen, b)
	}
}

// fill is random and depends on the basis alone.
func fill(basis uint16, rows int) []uint32 {
	random := rand.New(rand.NewPCG(uint64(basis), 2))
	out := make([]uint32, rows*cellsInRow)
	for i := range out {
		out[i] = random.Uint32N(1 << cellBits)
	}
	return out
}

// cells are the connection's cells.
func (p *Pins) cells(t Tuple) (a, b int) {
	at := func(i, n int) int { return ovshash.Modulo(t.Hash(p.Bases[i]), n) }
	return at(0, p.Rows)*cellsInRow + at(1, cellsInRow), at(2, p.Rows)*cellsInRow + at(3, cellsInRow)
}

func (p *Pins) value(t Tuple) uint16 {
	a, b := p.cells(t)
	return uint16(p.A[a] ^ p.B[b])
}
