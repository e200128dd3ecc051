package flows

import (
	"errors"
	"strconv"
	"strings"
)

// DefaultPriority is a rule's priority when its text says none; and it is not printed.
const DefaultPriority = 32768

var flagNames = []struct {
	name string
	flag Flags
}{
	{"send_flow_rem", SendFlowRemoved}, {"check_overlap", CheckOverlap}, {"reset_counts", ResetCounts},
	{"no_packet_counts", NoPacketCounts}, {"no_byte_counts", NoByteCounts},
}

// String is the rule in ovs-ofctl syntax, as `ovs-ofctl -O OpenFlow15 --no-stats --no-names dump-flows` of Open vSwitch
// 3.1 prints it.
func (r Rule) String() string { return string(r.AppendText(nil)) }

// AppendText appends String.
func (r Rule) AppendText(b []byte) []byte {
	if r.Cookie != 0 {
		b = append(appendHexPadded(append(b, "cookie="...), r.Cookie, 1), ", "...)
	}
	if r.Table != 0 {
		b = append(appendNum(b, "table=", r.Table), ", "...)
	}
	if r.IdleTimeout != 0 {
		b = append(appendNum(b, "idle_timeout=", r.IdleTimeout), ", "...)
	}
	if r.HardTimeout != 0 {
		b = append(appendNum(b, "hard_timeout=", r.HardTimeout), ", "...)
	}
	for _, f := range flagNames {
		if r.Flags&f.flag != 0 {
			b = append(append(b, f.name...), ' ')
		}
	}
	if r.Priority != DefaultPriority {
		b = appendNum(b, "priority=", r.Priority)
		if len(r.Match) > 0 {
			b = append(b, ',')
		}
	}
	if b = r.Match.AppendText(b); r.Priority != DefaultPriority || len(r.Match) > 0 {
		b = append(b, ' ')
	}
	return AppendActions(append(b, "actions="...), r.Actions)
}

// ParseRule reads a rule in ovs-ofctl syntax: what [Rule.String] writes, and what ovs-ofctl's add-flow reads, of what
// this package knows. Counters and ages, which dumps have, are skipped. The error, a [*SyntaxError], says where it is
// wrong and what is allowed.
func ParseRule(text string) (Rule, error) {
	s := &scanner{what: "rule", text: text, end: len(text)}
	r := Rule{Priority: DefaultPriority}
	p := matchParser{scanner: s}
	for it, ok := s.next(); ok; it, ok = s.next() {
		if it.sep == '=' && (it.key == "actions" || it.key == "action") {
			s.pos = it.pos + len(it.key) + 1
			var err error
			if r.Match, err = p.finish(); err != nil {
				return Rule{}, err
			}
			if r.Actions, err = parseActions(s); err != nil {
				return Rule{}, err
			}
			return r, nil
		}
		known, err := r.property(s, it)
		if !known && err == nil {
			known, err = p.add(it)
		}
		if err != nil {
			return Rule{}, err
		}
		if !known {
			return Rule{}, s.fail(it, "unknown; want table, priority, cookie, idle_timeout, hard_timeout, send_flow_rem, check_overlap, "+
				"reset_counts, no_packet_counts, no_byte_counts, actions, %s", allowedFields)
		}
	}
	return Rule{}, s.fail(item{pos: len(text)}, "want actions=ACTIONS or actions=drop at the end")
}

// MustParseRule is ParseRule for texts in tests; it panics on an error.
func MustParseRule(text string) Rule {
	r, err := ParseRule(text)
	if err != nil {
		panic(err)
	}
	return r
}

// property takes it if it is a rule's own and not of its match.
func (r *Rule) property(s *scanner, it item) (known bool, err error) {
	for _, f := range flagNames {
		if it.text == f.name {
			r.Flags |= f.flag
			return true, nil
		}
	}
	if it.sep != '=' {
		return false, nil
	}
	switch it.key {
	case "table":
		if err = parseInto(it.value, &r.Table); err == nil && r.Table == NoTable {
			err = errNoTable
		}
	case "priority":
		err = parseInto(it.value, &r.Priority)
	case "cookie":
		err = parseInto(it.value, &r.Cookie)
	case "idle_timeout":
		err = parseInto(it.value, &r.IdleTimeout)
	case "hard_timeout":
		err = parseInto(it.value, &r.HardTimeout)
	case "duration", "n_packets", "n_bytes", "idle_age", "hard_age":
		// counters, which ovs-ofctl skips as well
		_, err = strconv.ParseFloat(strings.TrimSuffix(it.value, "s"), 64)
		if err != nil {
			err = errors.New("want a number")
		}
	default:
		return false, nil
	}
	if err != nil {
		err = s.fail(it, "%w", err)
	}
	return true, err
}
