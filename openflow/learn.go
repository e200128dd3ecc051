package openflow

import "github.com/evenflow/evenflow/flows"

// Flags of learn (NX_LEARN_F_*).
const (
	learnSendFlowRemoved = 1 << 0
	learnDeleteLearned   = 1 << 1
	learnWriteResult     = 1 << 2
)

// A part of learn begins with a number: bits, kind, and whether its value stands there (NX_LEARN_*).
const (
	learnBits      = 0x3ff
	learnKindShift = 11
	learnImmediate = 1 << 13
	learnReserved  = 0xc400
)

func appendLearn(b []byte, v Version, a *flows.Learn) ([]byte, error) {
	if err := a.Check(); err != nil {
		return b, &ValueError{What: err.Error()}
	}
	start := len(b)
	subtype := uint8(nxLearn)
	result := a.Result.Field != flows.FieldNone
	if a.Limit != 0 || result {
		subtype = nxLearn2
	}
	b = appendNicira(b, 0, subtype)
	for _, n := range [...]uint16{a.IdleTimeout, a.HardTimeout, a.Priority} {
		b = be.AppendUint16(b, n)
	}
	b = be.AppendUint64(b, a.Cookie)
	b = be.AppendUint16(b, bit(a.SendFlowRemoved, learnSendFlowRemoved)|bit(a.DeleteLearned, learnDeleteLearned)|bit(result, learnWriteResult))
	b = be.AppendUint16(append(b, a.Table, 0), a.FinIdle)
	b = be.AppendUint16(b, a.FinHard)
	if subtype == nxLearn2 {
		b = be.AppendUint32(b, a.Limit)
		b = append(be.AppendUint16(b, a.Result.Offset), 0, 0)
	}
	if result {
		h, err := spanHeader(v, "result of learn", a.Result, 1)
		if err != nil {
			return b[:start], err
		}
		b = be.AppendUint32(b, h)
	}
	for i := range a.Parts {
		var err error
		if b, err = appendLearnPart(b, v, &a.Parts[i]); err != nil {
			return b[:start], err
		}
	}
	return endNicira(b, start)
}

func appendLearnPart(b []byte, v Version, p *flows.LearnPart) ([]byte, error) {
	span := func(s flows.Span) error {
		h, err := spanHeader(v, "learn", s, 128)
		if err == nil {
			b = be.AppendUint16(be.AppendUint32(b, h), s.Offset)
		}
		return err
	}
	head := uint16(p.Kind) << learnKindShift
	if p.Src.Field != flows.FieldNone {
		b = be.AppendUint16(b, head|p.Src.Bits)
		if err := span(p.Src); err != nil || p.Kind == flows.LearnOutput {
			return b, err
		}
		return b, span(p.Dst)
	}
	b = be.AppendUint16(b, head|learnImmediate|p.Dst.Bits)
	size, width := immediateLen(p.Dst.Bits), p.Dst.Field.Width()
	if size > width {
		b = append(b, zeros[:size-width]...)
	}
	b = append(b, p.Value[max(0, width-size):width]...)
	return b, span(p.Dst)
}

// immediateLen is how many bytes a value of so many bits takes, in whole 16-bit words.
func immediateLen(bits uint16) int { return 2 * ((int(bits) + 15) / 16) }

// decodeLearn reads a learn of at least 32 bytes, or 40 if subtype is nxLearn2.
func decodeLearn(subtype uint16, b []byte) flows.Action {
	flags := be.Uint16(b[24:])
	a := flows.Learn{IdleTimeout: be.Uint16(b[10:]), HardTimeout: be.Uint16(b[12:]), Priority: be.Uint16(b[14:]), Cookie: be.Uint64(b[16:]),
		SendFlowRemoved: flags&learnSendFlowRemoved != 0, DeleteLearned: flags&learnDeleteLearned != 0, Table: b[26],
		FinIdle: be.Uint16(b[28:]), FinHard: be.Uint16(b[30:])}
	result := flags&learnWriteResult != 0
	if flags>>3 != 0 || result && subtype != nxLearn2 {
		return nil
	}
	rest := b[32:]
	if subtype == nxLearn2 {
		a.Limit, rest = be.Uint32(b[32:]), b[40:]
	}
	if result {
		var ok bool
		if len(rest) < 4 {
			return nil
		}
		if a.Result, ok = decodeSpan(rest, be.Uint16(b[36:]), 1); !ok {
			return nil
		}
		rest = rest[4:]
	}
	for len(rest) >= 2 && be.Uint16(rest) != 0 {
		p, n := decodeLearnPart(rest)
		if n == 0 {
			return nil
		}
		a.Parts = append(a.Parts, p)
		rest = rest[n:]
	}
	if a.Check() != nil {
		return nil
	}
	return a
}

// decodeLearnPart reads the part at the start of b, at least 2 bytes, and says how many it takes; 0 if it is not known.
func decodeLearnPart(b []byte) (p flows.LearnPart, n int) {
	head := be.Uint16(b)
	bits := head & learnBits
	p.Kind = flows.LearnKind(head >> learnKindShift & 3)
	immediate := head&learnImmediate != 0
	if head&learnReserved != 0 || p.Kind > flows.LearnOutput {
		return p, 0
	}
	n = 2
	span := func(s *flows.Span) (ok bool) {
		if len(b) < n+6 {
			return false
		}
		*s, ok = decodeSpan(b[n:], be.Uint16(b[n+4:]), bits)
		n += 6
		return ok
	}
	at, size := n, immediateLen(bits)
	if immediate {
		n += size
	} else if !span(&p.Src) {
		return p, 0
	}
	if p.Kind != flows.LearnOutput && !span(&p.Dst) {
		return p, 0
	}
	if width := p.Dst.Field.Width(); immediate {
		if p.Kind == flows.LearnOutput {
			return p, 0
		}
		value := b[at : at+size]
		for ; len(value) > width; value = value[1:] {
			if value[0] != 0 {
				return p, 0
			}
		}
		copy(p.Value[width-len(value):width], value)
	}
	return p, n
}
