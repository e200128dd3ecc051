package othello

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

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
	Consult []CodeRule        // which Dcodes ask: those whose rule has Owner 1
	Exact   []State           // with rules of their own, sorted
	Values  map[uint16]uint32 // pin value to backend, of the packed ones
	Bases   [4]uint16         // of the hashes to A's row and cell, and to B's
	Rows    int               // of each array; 0: none are packed
	A, B    []uint32          // cells, cellsInRow for each row
	Fixed   int               // connections that are no displaced ones, and would have met another's pin value by chance

	asks map[uint16]bool // Dcodes
}

// Pin makes the pins of a VIP: of the live connections those whose backend does not own their Dcode are displaced. The same
// arguments give the same pins. A connection is named once; of two that the switch cannot tell apart (of IPv4, from the same client
// port to two ports of the VIP) those with two backends get rules of their own.
func Pin(codes *Codes, live []State, seed uint64) (*Pins, error) {
	p := &Pins{asks: map[uint16]bool{}}
	var displaced []State
	for _, s := range live {
		if c := s.Code(); codes.Owner(c) != s.Owner {
			displaced = append(displaced, s)
			p.asks[c] = true
		}
	}
	if len(displaced) == 0 {
		return &Pins{}, nil
	}
	slices.SortFunc(displaced, compareStates)
	p.Consult = p.consult()
	if len(displaced) <= exactPins {
		p.Exact = displaced
		return p, nil
	}
	return p, p.pack(codes, displaced, live, rand.New(rand.NewPCG(seed, 1)))
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

// consult covers exactly the Dcodes that ask: any more would let new connections meet pin values for nothing.
func (p *Pins) consult() []CodeRule {
	ask := &Codes{owner: make([]uint32, MaxCodes)}
	for c := range p.asks {
		ask.owner[ask.place(c)] = 1
	}
	return ask.Rules()
}

// pack puts the displaced connections in cells.
func (p *Pins) pack(codes *Codes, displaced, live []State, random *rand.Rand) error {
	value, err := p.drawValues(displaced, random)
	if err != nil {
		return err
	}
	keys, isKey := p.apart(displaced, value)
	if err := p.solve(keys, random); err != nil {
		return err
	}
	// A connection that is where it should be, in a Dcode that asks, must not find a pin value of another backend. If it does
	// it becomes a key too, with the value 0, which is no pin's. The new cells may hit others, but seldom: a cell that no key decides
	// keeps its value from one round to the next.
	alone := map[Tuple]bool{}
	for {
		before := len(keys)
		for _, s := range live {
			t := s.hashed()
			o, pinned := p.Values[p.value(t)]
			switch {
			case !pinned || o == s.Owner || !p.asks[s.Code()] || codes.Owner(s.Code()) != s.Owner || alone[s.Tuple]:
			case isKey[t]: // of a displaced one that the switch cannot tell from it
				alone[s.Tuple] = true
				p.Exact = append(p.Exact, s)
			default:
				isKey[t] = true
				keys = append(keys, pin{t, 0})
			}
		}
		if len(keys) == before {
			slices.SortFunc(p.Exact, compareStates)
			return nil
		}
		p.Fixed += len(keys) - before
		if err := p.solve(keys, random); err != nil {
			return err
		}
	}
}

// pin is a key of the Othello.
type pin struct {
	Tuple
	value uint16
}

// drawValues gives each backend with displaced connections a value, never 0.
func (p *Pins) drawValues(displaced []State, random *rand.Rand) (map[uint32]uint16, error) {
	p.Values = map[uint16]uint32{}
	value := map[uint32]uint16{}
	for _, s := range displaced {
		for value[s.Owner] == 0 {
			if len(value) == maxPinned {
				return nil, fmt.Errorf("%w: more than %d", ErrPinned, maxPinned)
			}
			if v := uint16(random.UintN(1 << cellBits)); v != 0 && p.Values[v] == 0 {
				value[s.Owner], p.Values[v] = v, s.Owner
			}
		}
	}
	return value, nil
}

// apart makes keys of the displaced connections. Where the switch's hash is the same for several, the first counts, and those
// with another backend get rules of their own.
func (p *Pins) apart(displaced []State, value map[uint32]uint16) (keys []pin, isKey map[Tuple]bool) {
	keys, isKey = make([]pin, 0, len(displaced)), make(map[Tuple]bool, len(displaced))
	seen := make(map[Tuple]uint32, len(displaced))
	for _, s := range displaced {
		t := s.hashed()
		switch first, twice := seen[t]; {
		case !twice:
			seen[t], isKey[t] = s.Owner, true
			keys = append(keys, pin{t, value[s.Owner]})
		case first != s.Owner:
			p.Exact = append(p.Exact, s)
		}
	}
	return keys, isKey
}

// hashed is the connection without what the switch does not hash.
func (t Tuple) hashed() Tuple {
	if t.Src.Addr().Is4() {
		t.Dst, t.Proto = netip.AddrPort{}, 0
	}
	return t
}

// solve finds hash functions and cells for the keys.
func (p *Pins) solve(keys []pin, random *rand.Rand) error {
	if rows := rowsFor(len(keys)); rows > maxRows {
		return fmt.Errorf("%w: %d", ErrTooManyPins, len(keys))
	} else if rows > p.Rows { // else the same hashes are tried first: most connections keep the value that they have found
		p.draw(min(rowsFor(len(keys)+len(keys)/32), maxRows), random)
	}
	edges := make([]othello.Edge, len(keys))
	for {
		for i, k := range keys {
			a, b := p.cells(k.Tuple)
			edges[i] = othello.Edge{A: uint32(a), B: uint32(b), Value: uint32(k.value)}
		}
		p.A, p.B = fill(p.Bases[0], p.Rows), fill(p.Bases[2], p.Rows)
		err := othello.Assign(p.A, p.B, edges)
		if err == nil || !errors.Is(err, othello.ErrCycle) {
			return err
		}
		p.draw(p.Rows, random)
	}
}

func rowsFor(keys int) int { return keys*cellsPer100/100/cellsInRow + 1 }

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
