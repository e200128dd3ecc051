package flows

import (
	"fmt"
	"strings"
)

func (s *scanner) learn(it item) (Action, error) {
	in, err := s.inner(it)
	if err != nil {
		return nil, err
	}
	a := Learn{Table: 1, Priority: DefaultPriority}
	for p, ok := in.next(); ok; p, ok = in.next() {
		known, err := a.property(p)
		if !known && err == nil {
			var part LearnPart
			part, err = parseLearnPart(p)
			a.Parts = append(a.Parts, part)
		}
		if err != nil {
			return nil, s.fail(p, "%w", err)
		}
	}
	if err := a.Check(); err != nil {
		return nil, s.fail(it, "%w", err)
	}
	return a, nil
}

// property takes it if it is the learned rule's own and no part.
func (a *Learn) property(it item) (known bool, err error) {
	switch it.key {
	case "table":
		err = parseInto(it.value, &a.Table)
	case "priority":
		err = parseInto(it.value, &a.Priority)
	case "cookie":
		err = parseInto(it.value, &a.Cookie)
	case "idle_timeout":
		err = parseInto(it.value, &a.IdleTimeout)
	case "hard_timeout":
		err = parseInto(it.value, &a.HardTimeout)
	case "fin_idle_timeout":
		err = parseInto(it.value, &a.FinIdle)
	case "fin_hard_timeout":
		err = parseInto(it.value, &a.FinHard)
	case "send_flow_rem":
		a.SendFlowRemoved = true
	case "delete_learned":
		a.DeleteLearned = true
	case "limit":
		err = parseInto(it.value, &a.Limit)
	case "result_dst":
		a.Result, err = parseSpan(it.value)
	default:
		return false, nil
	}
	return true, err
}

func parseLearnPart(it item) (p LearnPart, err error) {
	const allowed = "want table, priority, cookie, idle_timeout, hard_timeout, fin_idle_timeout, fin_hard_timeout, send_flow_rem, " +
		"delete_learned, limit, result_dst, FIELD=VALUE, FIELD[]=FIELD[], FIELD[], load:VALUE->FIELD[], load:FIELD[]->FIELD[] or output:FIELD[]"
	switch {
	case it.key == "output" && it.sep != 0:
		p.Kind = LearnOutput
		p.Src, err = parseSpan(it.value)
		return p, err
	case it.key == "load" && it.sep != 0:
		p.Kind = LearnLoad
		from, to, ok := strings.Cut(it.value, "->")
		if !ok {
			return p, fmt.Errorf("want load:VALUE->FIELD[] or load:FIELD[]->FIELD[]")
		}
		if p.Dst, err = parseSpan(to); err != nil {
			return p, err
		}
		if p.Src, err = parseSpan(from); err != nil {
			p.Src = Span{}
			p.Value, err = parseBits(from, p.Dst)
		}
		return p, err
	case it.sep != 0 && it.sep != '=':
		return p, fmt.Errorf("%s", allowed)
	}
	if p.Dst, err = parseSpan(it.key); err != nil {
		return p, fmt.Errorf("%s: %w", allowed, err)
	}
	if it.value == "" {
		p.Src = p.Dst
		return p, nil
	}
	if p.Src, err = parseSpan(it.value); err == nil {
		return p, nil
	}
	if p.Src = (Span{}); p.Dst.wholeName() == "" {
		p.Value, err = parseBits(it.value, p.Dst)
		return p, err
	}
	p.Value, err = parsePlain(p.Dst.Field, it.value)
	if p.Dst.Field == InPort && p.Dst.Bits == 16 { // the reserved ports have numbers of 16 bits there
		p.Value = U64(p.Value.Uint64(4)&0xffff, 4)
	}
	return p, err
}

// parseBits reads a number of as many bits as the span has.
func parseBits(text string, s Span) (Value, error) {
	w := s.Field.Width()
	return parseNumber(text, lowBits(int(s.Bits), w), w)
}
