package flows

import (
	"bytes"
	"net/netip"
	"slices"
)

// Cond is one condition of a [Match]: the field's bits under Mask equal Value. An exact condition has Masked false
// and a zero Mask; Value never has bits outside of Mask.
type Cond struct {
	Field  Field
	Masked bool
	Value  Value
	Mask   Value
}

// Match is a conjunction of conditions, one per field, in the order of the [Field] constants. The zero Match matches
// every packet. Build one with the methods below; each returns the extended match and keeps the order, so a match
// built with spare capacity allocates nothing. As with append, the extended match may use the memory of the one it was
// made from: extend a [Match.Clone] to make several from one.
//
// A match read from a switch may begin with conditions on FieldNone: fields not known here, whose Value and Mask hold the
// first bytes of the OXM entry. They compare and print, but cannot be read from text or sent.
type Match []Cond

// Clone is a copy that shares nothing with m.
func (m Match) Clone() Match { return slices.Clone(m) }

// With adds a condition, or replaces the one for its field, in normal form: one whose mask is full becomes exact, one
// whose mask is zero goes, and one on xregN or xxregN becomes those on the regN it consists of (switches that speak
// OpenFlow 1.5 tell register conditions as xregN, so that only the normal forms can be compared).
func (m Match) With(c Cond) Match {
	if XReg0 <= c.Field && c.Field <= XXReg3 {
		return m.withRegisters(c)
	}
	if c.Masked && c.Field.Width() > 0 {
		full := c.Field.FullMask()
		for i := range full {
			c.Mask[i] &= full[i]
			c.Value[i] &= c.Mask[i]
		}
		switch c.Mask {
		case full:
			c.Masked, c.Mask = false, Value{}
		case Value{}:
			return m.Without(c.Field)
		}
	}
	return m.set(c)
}

func (m Match) withRegisters(c Cond) Match {
	first, n := Reg0+2*(c.Field-XReg0), 2
	if c.Field >= XXReg0 {
		first, n = Reg0+4*(c.Field-XXReg0), 4
	}
	for i := range n {
		part := Cond{Field: first + Field(i), Masked: c.Masked}
		copy(part.Value[:], c.Value[4*i:4*i+4])
		copy(part.Mask[:], c.Mask[4*i:4*i+4])
		m = m.With(part)
	}
	return m
}

// Without removes the condition on f.
func (m Match) Without(f Field) Match {
	return slices.DeleteFunc(m, func(c Cond) bool { return c.Field == f })
}

func (m Match) set(c Cond) Match {
	i := len(m)
	for i > 0 && m[i-1].Field >= c.Field {
		i--
	}
	if i < len(m) && m[i].Field == c.Field {
		m[i] = c
		return m
	}
	return slices.Insert(m, i, c)
}

// Exact adds field = v.
func (m Match) Exact(f Field, v Value) Match { return m.With(Cond{Field: f, Value: v}) }

// Masked adds field & mask = v & mask.
func (m Match) Masked(f Field, v, mask Value) Match {
	return m.With(Cond{Field: f, Masked: true, Value: v, Mask: mask})
}

// Num adds field = n for a field of at most 8 bytes.
func (m Match) Num(f Field, n uint64) Match { return m.Exact(f, U64(n, f.Width())) }

// NumMasked adds field & mask = n for a field of at most 8 bytes.
func (m Match) NumMasked(f Field, n, mask uint64) Match {
	return m.Masked(f, U64(n, f.Width()), U64(mask, f.Width()))
}

// MAC adds field = an Ethernet address.
func (m Match) MAC(f Field, a MAC) Match { return m.Exact(f, a.Value()) }

// Addr adds field = an IP address; the field must be of the address's family.
func (m Match) Addr(f Field, a netip.Addr) Match { return m.Exact(f, AddrValue(a)) }

// Port adds in_port = p.
func (m Match) Port(p uint32) Match { return m.Num(InPort, uint64(p)) }

// Get is the condition on f. There is none on xregN and xxregN, see With.
func (m Match) Get(f Field) (Cond, bool) {
	for i := range m {
		if m[i].Field == f {
			return m[i], true
		}
	}
	return Cond{}, false
}

// Equal reports whether both match the same packets by the same conditions.
func (m Match) Equal(o Match) bool { return slices.Equal(m, o) }

// Compare orders matches, for canonical lists.
func (m Match) Compare(o Match) int {
	return slices.CompareFunc(m, o, func(a, b Cond) int {
		if a.Field != b.Field {
			return int(a.Field) - int(b.Field)
		}
		if c := bytes.Compare(a.Mask[:], b.Mask[:]); c != 0 {
			return c
		}
		return bytes.Compare(a.Value[:], b.Value[:])
	})
}

// AddrValue is an IP address as a field value.
func AddrValue(a netip.Addr) (v Value) {
	copy(v[:], a.AsSlice())
	return v
}
