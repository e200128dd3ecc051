package flows

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
)

const allowedActions = "output:PORT, a port's number or name, CONTROLLER[:BYTES], set_field:VALUE[/MASK]->FIELD, load:NUMBER->FIELD[], " +
	"move:FIELD[]->FIELD[], resubmit(,TABLE), resubmit(PORT,TABLE), fin_timeout(idle_timeout=S,hard_timeout=S), group:ID, meter:ID, " +
	"goto_table:TABLE, drop, raw_action:HEX, raw_instruction:HEX"

// ParseActions reads a list of actions in ovs-ofctl syntax; "drop" is the empty one. The error, a [*SyntaxError], says
// where it is wrong and what is allowed.
func ParseActions(text string) ([]Action, error) {
	return parseActions(&scanner{what: "actions", text: text, end: len(text)})
}

// AppendActions appends a list of actions in ovs-ofctl syntax, "drop" for the empty one.
func AppendActions(b []byte, actions []Action) []byte {
	if len(actions) == 0 {
		return append(b, "drop"...)
	}
	for i, a := range actions {
		if i > 0 {
			b = append(b, ',')
		}
		b = a.AppendText(b)
	}
	return b
}

// ActionsText is AppendActions as a string.
func ActionsText(actions []Action) string { return string(AppendActions(nil, actions)) }

func parseActions(s *scanner) (list []Action, err error) {
	var first, last item // "drop" and "goto_table", after which nothing may come
	for it, ok := s.next(); ok; it, ok = s.next() {
		switch {
		case first.text != "":
			return nil, s.fail(it, "nothing goes with drop")
		case last.text != "":
			return nil, s.fail(it, "%s must be the last action", last.text)
		case it.text == "drop" && len(list) > 0:
			return nil, s.fail(it, "drop goes with no other action")
		case it.text == "drop":
			first = it
			continue
		}
		a, err := s.action(it)
		if err != nil {
			return nil, err
		}
		switch a.(type) {
		case ToMeter:
			if len(list) > 0 {
				return nil, s.fail(it, "a meter must be the first action")
			}
		case GotoTable:
			last = it
		}
		list = append(list, a)
	}
	return list, nil
}

func (s *scanner) action(it item) (a Action, err error) {
	value := it.value
	if it.sep == '(' && it.key != "resubmit" && it.key != "fin_timeout" && strings.ToLower(it.key) != "controller" {
		return nil, s.fail(it, "unknown action; want one of %s", allowedActions)
	}
	number := func(bits int) (n uint64) {
		n, err = parseUint(value, bits)
		return n
	}
	switch strings.ToLower(it.key) {
	case "output":
		a, err = parseOutput(value)
	case "controller":
		return s.controller(it)
	case "set_field":
		a, err = parseSetField(value)
	case "load":
		a, err = parseLoad(value)
	case "move":
		a, err = parseMove(value)
	case "resubmit":
		return s.resubmit(it)
	case "fin_timeout":
		return s.finTimeout(it)
	case "group":
		a = ToGroup{uint32(number(32))}
	case "meter":
		a = ToMeter{uint32(number(32))}
	case "goto_table":
		a = GotoTable{uint8(number(8))}
	case "raw_action", "raw_instruction":
		var raw []byte
		raw, err = hex.DecodeString(value)
		a = Unknown{Instruction: it.key == "raw_instruction", Raw: raw}
	default:
		var o Output
		if o, err = parseOutput(it.text); err != nil {
			err = fmt.Errorf("unknown action; want one of %s", allowedActions)
		}
		a = o
	}
	if err != nil {
		return nil, s.fail(it, "%w", err)
	}
	return a, nil
}

func parseOutput(s string) (o Output, err error) {
	if o.Port, err = parsePort(s); o.Port == PortController {
		o.MaxLen = 0xffff
	}
	return o, err
}

func (s *scanner) controller(it item) (Action, error) {
	length := it.value
	if it.sep == '(' {
		in, err := s.inner(it)
		if err != nil {
			return nil, err
		}
		length = ""
		for p, ok := in.next(); ok; p, ok = in.next() {
			if p.key != "max_len" || length != "" {
				return nil, s.fail(p, "want max_len=BYTES only")
			}
			length = p.value
		}
	}
	if it.sep == 0 || length == "" {
		return Controller(), nil
	}
	n, err := parseUint(length, 16)
	if err != nil {
		return nil, s.fail(it, "%w", err)
	}
	return Output{Port: PortController, MaxLen: uint16(n)}, nil
}

func (s *scanner) resubmit(it item) (Action, error) {
	r := Resubmit{Port: PortIn, Table: 0xff}
	port, table, err := it.value, "", error(nil)
	if it.sep == '(' {
		if _, err := s.inner(it); err != nil {
			return nil, err
		}
		port, table, _ = strings.Cut(strings.TrimSuffix(port, ")"), ",")
	}
	if port = strings.TrimSpace(port); port != "" {
		r.Port, err = parsePort(port)
	}
	if table = strings.TrimSpace(table); table != "" && err == nil {
		var n uint64
		n, err = parseUint(table, 8)
		r.Table = uint8(n)
	}
	if err == nil && r == (Resubmit{Port: PortIn, Table: 0xff}) {
		err = fmt.Errorf("want resubmit(,TABLE), resubmit(PORT,TABLE) or resubmit:PORT")
	}
	if err != nil {
		return nil, s.fail(it, "%w", err)
	}
	return r, nil
}

func (s *scanner) finTimeout(it item) (Action, error) {
	in, err := s.inner(it)
	if err != nil {
		return nil, err
	}
	var f FinTimeout
	for p, ok := in.next(); ok; p, ok = in.next() {
		n, err := parseUint(p.value, 16)
		switch {
		case err != nil:
			return nil, s.fail(p, "%w", err)
		case p.key == "idle_timeout":
			f.Idle = uint16(n)
		case p.key == "hard_timeout":
			f.Hard = uint16(n)
		default:
			return nil, s.fail(p, "want idle_timeout=SECONDS or hard_timeout=SECONDS")
		}
	}
	return f, nil
}

func parseSetField(s string) (Action, error) {
	value, name, ok := strings.Cut(s, "->")
	f, known := FieldByName(name)
	switch {
	case !ok:
		return nil, fmt.Errorf("want VALUE[/MASK]->FIELD")
	case !known || name == "dl_vlan" || name == "vlan_tci" || name == "NXM_OF_IN_PORT":
		return nil, fmt.Errorf("unknown field %q, want the name of a field like eth_dst, ip_src, tcp_dst, reg0", name)
	case name == "nw_tos":
		n, err := parseUint(value, 8)
		if err == nil && n&3 != 0 {
			err = fmt.Errorf("nw_tos %s: want a multiple of 4", value)
		}
		return SetField{Field: IPDSCP, Value: U64(n>>2, 1)}, err
	}
	a := SetField{Field: f}
	var err error
	if a.Value, a.Mask, a.Masked, err = parseValue(f, value); err != nil {
		return nil, err
	}
	if a.Masked && !f.Maskable() {
		return nil, fmt.Errorf("%v cannot be masked", f)
	}
	if a.Masked && a.Mask == (Value{}) {
		return nil, fmt.Errorf("mask 0 sets nothing")
	}
	return a, nil
}

// parseLoad reads load:NUMBER->FIELD[..] as the set_field that does the same, as Open vSwitch does in OpenFlow 1.5.
func parseLoad(s string) (Action, error) {
	number, to, ok := strings.Cut(s, "->")
	if !ok {
		return nil, fmt.Errorf("want NUMBER->FIELD[]")
	}
	span, err := parseSpan(to)
	if err != nil {
		return nil, err
	}
	n, err := parseUint(number, min(64, int(span.Bits)))
	if err != nil {
		return nil, err
	}
	f := span.Field
	a := SetField{Field: f, Masked: true}
	shifted := new(big.Int).Lsh(new(big.Int).SetUint64(n), uint(span.Offset))
	shifted.FillBytes(a.Value[:f.Width()])
	ones := new(big.Int).Lsh(big.NewInt(1), uint(span.Bits))
	ones.Sub(ones, big.NewInt(1)).Lsh(ones, uint(span.Offset)).FillBytes(a.Mask[:f.Width()])
	switch whole := lowBits(f.Bits(), f.Width()); {
	case f == InPort && span.Offset == 0 && span.Bits == 16:
		if a = SetNum(InPort, n); n >= uint64(PortIn)&0xffff {
			a = SetNum(InPort, 0xffff_0000|n)
		}
	case a.Mask == whole && f != VLANVID: // of vlan_vid the bit that says that there is a tag stays as it is
		a.Masked, a.Mask = false, Value{}
	case !f.Maskable():
		return nil, fmt.Errorf("%v can be set as a whole only", f)
	}
	return a, nil
}

func parseMove(s string) (Action, error) {
	from, to, ok := strings.Cut(s, "->")
	if !ok {
		return nil, fmt.Errorf("want FIELD[]->FIELD[]")
	}
	src, err := parseSpan(from)
	if err != nil {
		return nil, err
	}
	dst, err := parseSpan(to)
	if err == nil && src.Bits != dst.Bits {
		err = fmt.Errorf("source has %d bits, destination %d", src.Bits, dst.Bits)
	}
	return Move{src, dst}, err
}

// parseSpan reads FIELD, FIELD[], FIELD[3] or FIELD[0..15].
func parseSpan(s string) (span Span, err error) {
	name, part, bracket := strings.Cut(s, "[")
	f, known := FieldByName(name)
	if !known || f.info().header == "" || name == "nw_tos" || name == "dl_vlan" || name == "vlan_tci" {
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
