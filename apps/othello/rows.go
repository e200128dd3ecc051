package othello

import (
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// Parts of registers.
var (
	dcode  = flows.Span{Field: apps.RegDcode, Bits: codeBits}
	placeA = flows.Span{Field: apps.RegDcode, Offset: codeBits, Bits: placeBits}
	placeB = flows.Span{Field: apps.RegDcode, Offset: codeBits + placeBits, Bits: placeBits}
	rowA   = flows.Span{Field: apps.RegRows, Bits: 16}
	rowB   = flows.Span{Field: apps.RegRows, Offset: 16, Bits: 16}
	cellA  = flows.Span{Field: apps.RegRows, Bits: cellBits}
	cellB  = flows.Span{Field: apps.RegRows, Offset: 16, Bits: cellBits}
)

const (
	placeBits       = 5
	cellsInRegister = cellsInRow / 3
)

// rowRegisters hold a row: reg4 to reg15. What mode deferred has there is on the stack meanwhile.
var rowRegisters = [3]flows.Field{flows.XXReg1, flows.XXReg2, flows.XXReg3}

// cellRules are what all VIPs with packed pins share: a cell out of a row, and exclusive or, which is three tables of its
// results, as Open vSwitch has no such action.
func (b *builder) cellRules() {
	for place := range uint64(cellsInRow) {
		from := flows.Span{Field: rowRegisters[place/cellsInRegister], Offset: uint16(place%cellsInRegister) * cellBits, Bits: cellBits}
		b.rule(apps.TableCellA, prioFixed, 0, apps.Part(nil, placeA, place), flows.Move{Src: from, Dst: cellA})
		b.rule(apps.TableCellB, prioFixed, 0, apps.Part(nil, placeB, place), flows.Move{Src: from, Dst: cellB})
	}
	for nibble := range uint16(3) {
		a, result := cellA.Offset+4*nibble, flows.Span{Field: cellB.Field, Offset: cellB.Offset + 4*nibble, Bits: 4}
		for x := uint64(1); x < 16; x++ { // 0 changes nothing
			for y := range uint64(16) {
				m := flows.Match{}.NumMasked(apps.RegRows, x<<a|y<<result.Offset, 15<<a|15<<result.Offset)
				b.rule(apps.TableXor+uint8(nibble), prioFixed, 0, m, apps.Load(result, x^y))
			}
		}
	}
}

// row packs cells into the three registers, the first in the lowest bits.
func row(cells []uint32) (actions []flows.Action) {
	for i, r := range rowRegisters {
		var v flows.Value
		for j, c := range cells[i*cellsInRegister : (i+1)*cellsInRegister] {
			for bit := range cellBits {
				if at := j*cellBits + bit; c>>bit&1 != 0 {
					v[15-at/8] |= 1 << (at % 8)
				}
			}
		}
		actions = append(actions, flows.SetField{Field: r, Value: v})
	}
	return actions
}

// pins are a VIP's rules for its pins.
func (b *builder) pins(x *generation) {
	p := x.pins
	for _, r := range p.Consult {
		next := uint8(apps.TableChosen)
		if r.Owner == 1 {
			next = apps.TablePinned
		}
		b.rule(apps.TableConsult, prioCode+uint16(r.Bits), x.vip, x.codes(r), flows.Go(next))
	}
	next := uint8(apps.TableChosen)
	if p.Rows > 0 {
		next = apps.TableCells
	}
	if !p.Empty() {
		b.rule(apps.TablePinned, prioMiss, x.vip, x.match(), flows.Go(next))
	}
	for _, s := range p.Exact {
		b.rule(apps.TablePinned, prioPin, x.vip, x.tuple(s.Tuple), flows.SetNum(apps.RegOwner, uint64(s.Owner)), flows.Go(apps.TableChosen))
	}
	if p.Rows == 0 {
		return
	}
	lookup := []flows.Action{hashing(x.v6, p.Bases[0], p.Rows, rowA), hashing(x.v6, p.Bases[1], cellsInRow, placeA),
		hashing(x.v6, p.Bases[2], p.Rows, rowB), hashing(x.v6, p.Bases[3], cellsInRow, placeB)}
	for _, r := range rowRegisters {
		lookup = append(lookup, flows.StackPush{Src: flows.Whole(r)})
	}
	for table := uint8(apps.TableRowA); table <= apps.TablePinValue; table++ {
		lookup = append(lookup, flows.Go(table))
		if table == apps.TableCellB {
			for _, r := range slices.Backward(rowRegisters[:]) {
				lookup = append(lookup, flows.StackPop{Dst: flows.Whole(r)})
			}
		}
	}
	b.rule(apps.TableCells, prioFixed, x.vip, x.match(), append(lookup, flows.Go(apps.TableChosen))...)
	for i := range p.Rows {
		at, end := i*cellsInRow, (i+1)*cellsInRow
		b.rule(apps.TableRowA, prioFixed, x.vip, apps.Part(x.match(), rowA, uint64(i)), row(p.A[at:end])...)
		b.rule(apps.TableRowB, prioFixed, x.vip, apps.Part(x.match(), rowB, uint64(i)), row(p.B[at:end])...)
	}
	values := make([]uint16, 0, len(p.Values))
	for v := range p.Values {
		values = append(values, v)
	}
	slices.Sort(values)
	for _, v := range values {
		b.rule(apps.TablePinValue, prioFixed, x.vip, apps.Part(x.match(), cellB, uint64(v)), flows.SetNum(apps.RegOwner, uint64(p.Values[v])))
	}
}
