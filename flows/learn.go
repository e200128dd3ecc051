package flows

import (
	"fmt"
	"slices"
	"strconv"
)

// Learn adds a rule, or modifies the one that is there already, made of the packet at hand (Nicira learn).
type Learn struct {
	Table                    uint8
	Priority                 uint16
	Cookie                   uint64
	IdleTimeout, HardTimeout uint16 // seconds, 0: none
	FinIdle, FinHard         uint16 // a fin_timeout in the learned rule, if not 0
	SendFlowRemoved          bool
	DeleteLearned            bool   // learned rules go when this rule goes
	Limit                    uint32 // of learned rules in the table with the cookie, 0: none
	Result                   Span   // one bit, whether the limit allowed it; without a Field: not told
	Parts                    []LearnPart
}

// LearnKind says what a [LearnPart] adds to the learned rule.
type LearnKind uint8

// Kinds of LearnPart.
const (
	LearnMatch  LearnKind = iota // the condition that Dst is what Src is now, or Value
	LearnLoad                    // an action that sets Dst to what Src is now, or Value
	LearnOutput                  // an action that sends the packet out of the port that Src holds now
)

// LearnPart is a condition or an action of a learned rule. Src has as many bits as Dst. Without a Src.Field it is Value,
// a number in the width of Dst's field.
type LearnPart struct {
	Kind  LearnKind
	Src   Span
	Value Value
	Dst   Span // not of LearnOutput
}

// Check reports what a switch would refuse.
func (a Learn) Check() error {
	switch {
	case a.Table == 0xff:
		return fmt.Errorf("learn: want a table from 0 to 254")
	case a.Result.Field != FieldNone && (!a.Result.Valid() || a.Result.Bits != 1):
		return fmt.Errorf("learn: want one bit for the result")
	}
	for _, p := range a.Parts {
		switch {
		case p.Kind > LearnOutput:
			return fmt.Errorf("learn: unknown kind %d", p.Kind)
		case p.Src.Field != FieldNone && !p.Src.Valid():
			return fmt.Errorf("learn: no such bits in the source")
		case p.Kind == LearnOutput && (p.Src.Field == FieldNone || p.Dst != Span{}):
			return fmt.Errorf("learn: output needs a field that holds the port")
		case p.Kind == LearnOutput:
			continue
		case !p.Dst.Valid():
			return fmt.Errorf("learn: no such bits in the destination")
		case p.Src.Field != FieldNone && (p.Src.Bits != p.Dst.Bits || p.Value != Value{}):
			return fmt.Errorf("learn: source has %d bits, destination %d", p.Src.Bits, p.Dst.Bits)
		}
		for i, ones := range lowBits(int(p.Dst.Bits), p.Dst.Field.Width()) {
			if p.Value[i]&^ones != 0 {
				return fmt.Errorf("learn: value does not fit in %d bits", p.Dst.Bits)
			}
		}
	}
	return nil
}

func (a Learn) equal(other Action) bool {
	b, ok := other.(Learn)
	if !ok || !slices.Equal(a.Parts, b.Parts) {
		return false
	}
	return a.Table == b.Table && a.Priority == b.Priority && a.Cookie == b.Cookie && a.IdleTimeout == b.IdleTimeout &&
		a.HardTimeout == b.HardTimeout && a.FinIdle == b.FinIdle && a.FinHard == b.FinHard &&
		a.SendFlowRemoved == b.SendFlowRemoved && a.DeleteLearned == b.DeleteLearned && a.Limit == b.Limit && a.Result == b.Result
}

// AppendText is learn(table=TABLE,…,FIELD=VALUE,FIELD[]=FIELD[],load:VALUE->FIELD[],load:FIELD[]->FIELD[],output:FIELD[]),
// see ovs-actions(7).
func (a Learn) AppendText(b []byte) []byte {
	b = appendNum(b, "learn(table=", a.Table)
	for _, n := range [...]struct {
		name  string
		value uint16
	}{{",idle_timeout=", a.IdleTimeout}, {",hard_timeout=", a.HardTimeout}, {",fin_idle_timeout=", a.FinIdle}, {",fin_hard_timeout=", a.FinHard}} {
		if n.value != 0 {
			b = appendNum(b, n.name, n.value)
		}
	}
	if a.Priority != DefaultPriority {
		b = appendNum(b, ",priority=", a.Priority)
	}
	if a.SendFlowRemoved {
		b = append(b, ",send_flow_rem"...)
	}
	if a.DeleteLearned {
		b = append(b, ",delete_learned"...)
	}
	if a.Cookie != 0 {
		b = strconv.AppendUint(append(b, ",cookie=0x"...), a.Cookie, 16)
	}
	if a.Limit != 0 {
		b = appendNum(b, ",limit=", a.Limit)
	}
	if a.Result.Field != FieldNone {
		b = a.Result.AppendText(append(b, ",result_dst="...))
	}
	for _, p := range a.Parts {
		b = p.AppendText(append(b, ','))
	}
	return append(b, ')')
}

// AppendText appends the part as it stands in learn(…).
func (p LearnPart) AppendText(b []byte) []byte {
	fixed := p.Src.Field == FieldNone
	switch {
	case p.Kind == LearnOutput:
		return p.Src.AppendText(append(b, "output:"...))
	case p.Kind == LearnLoad && fixed:
		b = appendHex(append(b, "load:"...), p.Value, p.Dst.Field.Width())
		return p.Dst.AppendText(append(b, "->"...))
	case p.Kind == LearnLoad:
		return p.Dst.AppendText(append(p.Src.AppendText(append(b, "load:"...)), "->"...))
	case fixed && p.Dst.wholeName() != "":
		b = append(append(b, p.Dst.wholeName()...), '=')
		if n := p.Value.Uint64(4); p.Dst.Field == InPort && p.Dst.Bits == 16 && n >= uint64(PortIn)&0xffff {
			return appendPort(b, 0xffff_0000|uint32(n))
		}
		return appendValue(b, p.Dst.Field, false, p.Value, Value{})
	case fixed:
		return appendHex(append(p.Dst.AppendText(b), '='), p.Value, p.Dst.Field.Width())
	}
	b = p.Dst.AppendText(b)
	if p.Src != p.Dst {
		b = p.Src.AppendText(append(b, '='))
	}
	return b
}

// wholeName is the name of the field that the span covers, "" if only a part.
func (s Span) wholeName() string {
	switch {
	case s.Offset != 0:
	case s.Field == InPort && s.Bits == 16:
		return "in_port"
	case s.Field == InPort && s.Bits == 32:
		return "in_port_oxm"
	case int(s.Bits) == s.Field.Bits():
		return s.Field.String()
	}
	return ""
}
