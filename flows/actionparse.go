package flows

import (
	"encoding/hex"
	"fmt"
	"strings"
)

const allowedActions = "output:PORT, output:FIELD[FIRST..LAST], a port's number or name, CONTROLLER[:BYTES], controller(…), " +
	"set_field:VALUE[/MASK]->FIELD, load:NUMBER->FIELD[], move:FIELD[]->FIELD[], push:FIELD[], pop:FIELD[], resubmit(,TABLE), " +
	"resubmit(PORT,TABLE), ct(…), ct_clear, multipath(…), learn(…), fin_timeout(idle_timeout=S,hard_timeout=S), group:ID, meter:ID, " +
	"dec_ttl, push_vlan:TYPE, pop_vlan, push_mpls:TYPE, pop_mpls:TYPE, set_mpls_ttl(TTL), dec_mpls_ttl, " +
	"check_pkt_larger(BYTES)->FIELD[BIT], exit, write_metadata:VALUE[/MASK], goto_table:TABLE, drop, raw_action:HEX, raw_instruction:HEX"

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
	// "drop" and "goto_table", after which nothing may come, and an instruction, after which only others may.
	var first, last, late item
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
		if IsInstruction(a) {
			late = it
		} else if late.text != "" {
			return nil, s.fail(late, "only instructions may follow %s", late.text)
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

func (s *scanner) action(it item) (Action, error) {
	key := strings.ToLower(it.key)
	switch key {
	case "controller":
		return s.controller(it)
	case "resubmit":
		return s.resubmit(it)
	case "fin_timeout":
		return s.finTimeout(it)
	case "ct":
		return s.ct(it)
	case "multipath":
		return s.multipath(it)
	case "learn":
		return s.learn(it)
	case "dec_ttl":
		return s.decTTL(it)
	}
	var a Action
	err := fmt.Errorf("unknown action; want one of %s", allowedActions)
	switch it.sep {
	case 0:
		a, err = parseWord(key, it.text, err)
	case '(':
		a, err = parseCalled(key, it.value, err)
	default:
		a, err = parseKeyed(key, it.value, err)
	}
	if err != nil {
		return nil, s.fail(it, "%w", err)
	}
	return a, nil
}

// parseWord reads an action without arguments. The error is unknown if there is none of that name.
func parseWord(key, text string, unknown error) (Action, error) {
	switch key {
	case "ct_clear":
		return CTClear{}, nil
	case "exit":
		return Exit{}, nil
	case "pop_vlan", "strip_vlan":
		return PopVLAN{}, nil
	case "dec_mpls_ttl":
		return DecMPLSTTL{}, nil
	}
	o, err := parseOutput(text)
	if err != nil {
		return nil, unknown
	}
	return o, nil
}

// parseCalled reads an action with its arguments in parentheses; value is what follows the first.
func parseCalled(key, value string, unknown error) (Action, error) {
	switch key {
	case "set_mpls_ttl":
		ttl, err := parseUint(strings.TrimSuffix(value, ")"), 8)
		return SetMPLSTTL{uint8(ttl)}, err
	case "check_pkt_larger":
		return parseCheckPacketLarger(value)
	}
	return nil, unknown
}

// parseKeyed reads an action of the form KEY:VALUE.
func parseKeyed(key, value string, unknown error) (a Action, err error) {
	number := func(bits int) (n uint64) {
		n, err = parseUint(value, bits)
		return n
	}
	span := func() (s Span) {
		s, err = parseSpan(value)
		return s
	}
	switch key {
	case "output":
		return parseOutputTo(value)
	case "set_field":
		return parseSetField(value)
	case "load":
		return parseLoad(value)
	case "move":
		return parseMove(value)
	case "push":
		a = StackPush{span()}
	case "pop":
		a = StackPop{span()}
	case "push_vlan":
		a = PushVLAN{uint16(number(16))}
	case "push_mpls":
		a = PushMPLS{uint16(number(16))}
	case "pop_mpls":
		a = PopMPLS{uint16(number(16))}
	case "write_metadata":
		return parseWriteMetadata(value)
	case "group":
		a = ToGroup{uint32(number(32))}
	case "meter":
		a = ToMeter{uint32(number(32))}
	case "goto_table":
		a = GotoTable{uint8(number(8))}
	case "raw_action", "raw_instruction":
		raw, err := hex.DecodeString(value)
		return Unknown{Instruction: key == "raw_instruction", Raw: raw}, err
	default:
		return nil, unknown
	}
	return a, err
}

// parseOutputTo reads a port, or a field that holds one.
func parseOutputTo(s string) (Action, error) {
	o, err := parseOutput(s)
	if err == nil {
		return o, nil
	}
	if src, no := parseSpan(s); no == nil {
		return OutputReg{src}, nil
	}
	return nil, err
}

func parseOutput(s string) (o Output, err error) {
	if o.Port, err = parsePort(s); o.Port == PortController {
		o.MaxLen = 0xffff
	}
	return o, err
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
	if port == "" && table == "" {
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
