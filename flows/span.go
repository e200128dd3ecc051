package flows

import (
	"fmt"
	"strings"
)

// Span is a range of bits of a field: Bits bits from bit Offset on (0 is the lowest).
type Span struct {
	Field  Field
	Offset uint16
	Bits   uint16
}

// Whole is all bits of a field.
func Whole(f Field) Span { return Span{Field: f, Bits: uint16(f.Bits())} }

// Valid reports whether the span has bits, all of them within its field.
func (s Span) Valid() bool { return s.Bits > 0 && int(s.Offset)+int(s.Bits) <= s.Field.Bits() }

// AppendText is HEADER[] for a whole field, HEADER[3] for a bit, HEADER[0..15] for bits.
//
// in_port has two headers: NXM_OF_IN_PORT of 16 bits and OXM_OF_IN_PORT of 32; a span within 16 bits is written as the former.
func (s Span) AppendText(b []byte) []byte {
	header, bits := s.Field.info().header, s.Field.Bits()
	switch {
	case s.Field == InPort && s.Offset+s.Bits <= 16:
		header, bits = "NXM_OF_IN_PORT", 16
	case header == "":
		header = s.Field.String()
	}
	b = append(b, header...)
	switch {
	case s.Offset == 0 && int(s.Bits) == bits:
		return append(b, "[]"...)
	case s.Bits == 1:
		return append(appendNum(b, "[", s.Offset), ']')
	default:
		return append(appendNum(appendNum(b, "[", s.Offset), "..", s.Offset+s.Bits-1), ']')
	}
}

// parseSpan reads FIELD, FIELD[], FIELD[3] or FIELD[0..15].
func parseSpan(s string) (span Span, err error) {
	name, part, bracket := strings.Cut(s, "[")
	f, known := FieldByName(name)
	if !known || f.info().header == "" || name == "nw_tos" || name == "dl_vlan" {
		return span, fmt.Errorf("unknown field %q, want the name of a field like eth_dst, reg0, NXM_OF_ETH_DST", name)
	}
	bits := f.Bits()
	if name == "in_port" || name == "NXM_OF_IN_PORT" {
		bits = 16
	}
	span = Span{Field: f, Bits: uint16(bits)}
	part, closed := strings.CutSuffix(part, "]")
	if bracket != closed {
		return span, fmt.Errorf("%q: want %s[], %s[BIT] or %s[FIRST..LAST]", s, name, name, name)
	}
	if part == "" {
		return span, nil
	}
	one, other, both := strings.Cut(part, "..")
	first, err := parseUint(one, 16)
	last := first
	if both && err == nil {
		last, err = parseUint(other, 16)
	}
	if err != nil || first > last || last >= uint64(bits) {
		return span, fmt.Errorf("%q: want bits 0 to %d, first..last", s, bits-1)
	}
	return Span{Field: f, Offset: uint16(first), Bits: uint16(last - first + 1)}, nil
}
