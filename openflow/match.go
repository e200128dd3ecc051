package openflow

import (
	"fmt"
	"slices"

	"github.com/evenflow/evenflow/flows"
)

const matchTypeOXM = 1

// appendMatch appends an ofp_match with its padding (section 7.2.3).
func appendMatch(b []byte, v Version, m flows.Match) ([]byte, error) {
	start := len(b)
	b = append(b, 0, matchTypeOXM, 0, 0)
	for i := range m {
		c := &m[i]
		h := header(v, c.Field)
		if h == 0 {
			return b[:start], &ValueError{What: fmt.Sprintf("match field %s has no wire number", c.Field)}
		}
		b = appendOXM(b, h, c.Masked, &c.Value, &c.Mask)
	}
	n := len(b) - start
	if n > maxMessage {
		return b[:start], &ValueError{What: fmt.Sprintf("match of %d bytes", n)}
	}
	be.PutUint16(b[start+2:], uint16(n))
	return pad8(b, start), nil
}

// appendOXM appends one field. Copying whole Values and cutting them is faster than copying their width.
func appendOXM(b []byte, h uint32, masked bool, value, mask *flows.Value) []byte {
	width := int(h & 0xff)
	if !masked {
		b = be.AppendUint32(b, h)
		return append(b, value[:]...)[:len(b)+width]
	}
	b = be.AppendUint32(b, h|oxmHasMask+uint32(width))
	b = append(b, value[:]...)[:len(b)+width]
	return append(b, mask[:]...)[:len(b)+width]
}

// parseMatch reads an ofp_match at the start of b. It returns its list of fields, which aliases b, and what follows the
// match's padding.
func parseMatch(b []byte) (list, rest []byte, err error) {
	if len(b) < 8 {
		return nil, nil, short("match", len(b), 8)
	}
	n := int(be.Uint16(b[2:]))
	if n < 4 {
		return nil, nil, short("match", n, 4)
	}
	if round8(n) > len(b) {
		return nil, nil, long("match", round8(n), len(b))
	}
	if be.Uint16(b) != matchTypeOXM {
		return nil, nil, &ValueError{What: fmt.Sprintf("match of type %d, want OXM", be.Uint16(b))}
	}
	return b[4:n], b[round8(n):], nil
}

// decodeMatch reads a list of fields.
//
// A field that is not known here becomes a condition on [flows.FieldNone], at the front, that holds the entry's first
// bytes. No match we build has one, so a foreign rule never equals one of ours, and none can be written again.
func decodeMatch(list []byte) (flows.Match, error) {
	var m, foreign flows.Match // apart, as a message has room for very many of the latter
	for len(list) > 0 {
		o, err := parseOXM(list)
		if err != nil {
			return nil, err
		}
		c, ok := o.cond()
		if ok && c.Field != flows.VLANTCI && !has(m, c.Field) {
			m = m.With(c)
		} else {
			foreign = append(foreign, rawCond(list[:o.size]))
		}
		list = list[o.size:]
	}
	if len(foreign) == 0 {
		return m, nil
	}
	slices.Reverse(foreign)
	return append(foreign, m...), nil
}

func has(m flows.Match, f flows.Field) bool {
	_, ok := m.Get(f)
	return ok
}

// cond is the entry as a condition; false if the field is unknown.
func (o *oxm) cond() (c flows.Cond, ok bool) {
	if o.field == flows.FieldNone {
		return c, false
	}
	c.Field = o.field
	if o.narrow {
		if o.masked {
			return c, false
		}
		c.Value = flows.U64(uint64(port32(be.Uint16(o.value))), 4)
		return c, true
	}
	copy(c.Value[:], o.value)
	if o.masked && !o.full() {
		c.Masked = true
		c.Mask = o.field.FullMask()
		for i := range o.mask {
			c.Mask[i] &= o.mask[i]
			c.Value[i] &= c.Mask[i]
		}
	}
	return c, true
}

// full reports whether the mask covers the whole field, which is the same as none.
func (o *oxm) full() bool {
	ones := o.field.FullMask()
	for i, b := range o.mask {
		if b&ones[i] != ones[i] {
			return false
		}
	}
	return true
}

// rawCond keeps the first bytes of an entry not known here.
func rawCond(entry []byte) flows.Cond {
	c := flows.Cond{Masked: true}
	copy(c.Mask[:], entry[copy(c.Value[:], entry):])
	return c
}

// Foreign reports whether a match read from a switch has a field not known here, so that it cannot be written.
func Foreign(m flows.Match) bool { return len(m) > 0 && m[0].Field == flows.FieldNone }
