package openflow

import (
	"bytes"

	"github.com/evenflow/evenflow/flows"
)

// decodeActions reads a list of actions, of either version. What is not known here is kept as flows.Unknown, so that
// only impossible lengths are errors. Nothing in the result aliases b.
func decodeActions(b []byte) ([]flows.Action, error) {
	var actions []flows.Action
	for len(b) > 0 {
		n, err := tlvLen("action", b)
		if err != nil {
			return nil, err
		}
		a := decodeAction(b[:n])
		if a == nil {
			a = flows.Unknown{Raw: bytes.Clone(b[:n])}
		}
		actions = append(actions, a)
		b = b[n:]
	}
	return actions, nil
}

// tlvLen is the length of the action or instruction at the start of b: at least 8, a multiple of 8.
func tlvLen(what string, b []byte) (int, error) {
	if len(b) < 8 {
		return 0, short(what, len(b), 8)
	}
	n := int(be.Uint16(b[2:]))
	if n < 8 || n%8 != 0 {
		return 0, short(what+" (a multiple of 8 bytes)", n, round8(max(n, 8)))
	}
	if n > len(b) {
		return 0, long(what, n, len(b))
	}
	return n, nil
}

// decodeAction reads one whole action; nil if it is not known.
func decodeAction(b []byte) flows.Action {
	switch kind := be.Uint16(b); {
	case kind == actOutput && len(b) == 16:
		return flows.Output{Port: be.Uint32(b[4:]), MaxLen: be.Uint16(b[8:])}
	case kind == actGroup && len(b) == 8:
		return flows.ToGroup{ID: be.Uint32(b[4:])}
	case kind == actMeter && len(b) == 8:
		return flows.ToMeter{ID: be.Uint32(b[4:])}
	case kind == actSetField:
		return decodeSetField(b[4:])
	case kind == actCopyField && len(b) == 24:
		return decodeMove(b[4:], b[12:])
	case kind == actPushVLAN && len(b) == 8:
		return flows.PushVLAN{EthType: be.Uint16(b[4:])}
	case kind == actPopVLAN && len(b) == 8:
		return flows.PopVLAN{}
	case kind == actPushMPLS && len(b) == 8:
		return flows.PushMPLS{EthType: be.Uint16(b[4:])}
	case kind == actPopMPLS && len(b) == 8:
		return flows.PopMPLS{EthType: be.Uint16(b[4:])}
	case kind == actSetMPLSTTL && len(b) == 8:
		return flows.SetMPLSTTL{TTL: b[4]}
	case kind == actDecMPLSTTL && len(b) == 8:
		return flows.DecMPLSTTL{}
	case kind == actDecTTL && len(b) == 8:
		return flows.DecTTL{}
	case kind == actExperimenter && be.Uint32(b[4:]) == nicira && len(b) >= 16:
		return decodeNicira(be.Uint16(b[8:]), b)
	}
	return nil
}

// decodeSetField reads a field, its value and maybe its mask.
func decodeSetField(b []byte) flows.Action {
	o, err := parseOXM(b)
	if err != nil {
		return nil
	}
	c, ok := o.cond()
	if !ok {
		return nil
	}
	return settable(flows.SetField(c))
}

// settable is a if it can be said in text and written again, else nil.
func settable(a flows.SetField) flows.Action {
	if a.Masked && !a.Field.Maskable() {
		return nil
	}
	for i, ones := range a.Field.FullMask() {
		if a.Value[i]&^ones != 0 {
			return nil
		}
	}
	return a
}

// decodeMove reads bits and offsets (n, src, dst), then headers (src, dst).
func decodeMove(spans, heads []byte) flows.Action {
	n := be.Uint16(spans)
	src, okSrc := decodeSpan(heads, be.Uint16(spans[2:]), n)
	dst, okDst := decodeSpan(heads[4:], be.Uint16(spans[4:]), n)
	if !okSrc || !okDst {
		return nil
	}
	return flows.Move{Src: src, Dst: dst}
}

// decodeRegLoad makes a set-field of the bits written.
func decodeRegLoad(span uint16, head []byte, value uint64) flows.Action {
	f, narrow := fieldOf(head)
	low, n := int(span>>6), int(span&0x3f)+1
	switch {
	case f == flows.FieldNone:
		return nil
	case narrow && low == 0 && n == 16:
		return flows.SetField{Field: f, Value: flows.U64(uint64(port32(uint16(value))), 4)}
	case narrow || low+n > f.Bits():
		return nil
	}
	mask := ^uint64(0) >> (64 - n)
	value &= mask
	a := flows.SetField{Field: f, Masked: n != f.Bits()}
	hi, lo := shift(value, low)
	a.Value = value128(hi, lo, f.Width())
	if a.Masked {
		hi, lo = shift(mask, low)
		a.Mask = value128(hi, lo, f.Width())
	}
	return settable(a)
}

// shift is n<<by in 128 bits.
func shift(n uint64, by int) (hi, lo uint64) {
	if by >= 64 {
		return n << (by - 64), 0
	}
	return n >> (64 - by), n << by
}
