package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// spanHeader is the header under which an extension's action names a span's field, the same as in Open vSwitch: NXM if
// it has one. what names the action.
func spanHeader(v Version, what string, s flows.Span, most int) (uint32, error) {
	h := header(v, s.Field)
	if s.Field == flows.InPort && s.Offset+s.Bits <= 16 {
		h = inPortNXM
	} else if nxm := nxmHeaders[s.Field]; nxm != 0 {
		h = nxm
	}
	if h == 0 {
		return 0, &ValueError{What: fmt.Sprintf("%s: field %s has no wire number", what, s.Field)}
	}
	if !s.Valid() || int(s.Bits) > most {
		return 0, &ValueError{What: fmt.Sprintf("%s: %s: want 1 to %d bits, all of them within the field", what, s.AppendText(nil), most)}
	}
	return h, nil
}

// packSpan is offset and bits in one number.
func packSpan(s flows.Span) uint16 { return s.Offset<<6 | (s.Bits - 1) }

// unpackSpan is the reverse; head begins with the field's header.
func unpackSpan(packed uint16, head []byte) (flows.Span, bool) {
	return decodeSpan(head, packed>>6, packed&0x3f+1)
}

// decodeSpan is the span in a field whose header head begins with; false if there is none.
func decodeSpan(head []byte, offset, bits uint16) (flows.Span, bool) {
	f, narrow := fieldOf(head)
	s := flows.Span{Field: f, Offset: offset, Bits: bits}
	if narrow && int(offset)+int(bits) > 16 {
		return s, false
	}
	return s, f != flows.FieldNone && s.Valid()
}
