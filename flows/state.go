package flows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Sort puts meters and groups in the order of ids and rules in that of tables, falling priorities and matches.
func (s *State) Sort() {
	slices.SortStableFunc(s.Meters, compareMeters)
	slices.SortStableFunc(s.Groups, compareGroups)
	slices.SortStableFunc(s.Rules, compareRules)
}

func compareMeters(a, b Meter) int { return cmp.Compare(a.ID, b.ID) }
func compareGroups(a, b Group) int { return cmp.Compare(a.ID, b.ID) }

func compareRules(a, b Rule) int {
	if a.Table != b.Table {
		return cmp.Compare(a.Table, b.Table)
	}
	if a.Priority != b.Priority {
		return cmp.Compare(b.Priority, a.Priority)
	}
	return a.Match.Compare(b.Match)
}

// String is the sorted state, one meter, group or rule a line. [ParseState] reads it.
func (s State) String() string {
	s = State{Rules: slices.Clone(s.Rules), Groups: slices.Clone(s.Groups), Meters: slices.Clone(s.Meters)}
	s.Sort()
	var b []byte
	for _, m := range s.Meters {
		b = append(m.AppendText(b), '\n')
	}
	for _, g := range s.Groups {
		b = append(g.AppendText(b), '\n')
	}
	for _, r := range s.Rules {
		b = append(r.AppendText(b), '\n')
	}
	return string(b)
}

// ParseState reads meters, groups and rules, one a line, in any order. Empty lines, lines that begin with # and the
// headings of ovs-ofctl's dumps are skipped, so dumps can be pasted. All errors are reported, with their lines.
func ParseState(text string) (s State, _ error) {
	var errs []error
	number := 0
	meter, meterLine := "", 0
	flush := func() {
		if meter == "" {
			return
		}
		m, err := ParseMeter(meter)
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", meterLine, err))
		}
		s.Meters = append(s.Meters, m)
		meter = ""
	}
	for line := range strings.Lines(text) {
		var err error
		number++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "type=") && meter != "" { // a dump has a meter's band on the next line
			meter += " " + line
			continue
		}
		flush()
		switch {
		case line == "" || line[0] == '#' || strings.HasPrefix(line, "OFPST_") || strings.HasPrefix(line, "NXST_"):
			continue
		case strings.HasPrefix(line, "meter="):
			meter, meterLine = line, number
			continue
		case strings.HasPrefix(line, "group_id="):
			var g Group
			g, err = ParseGroup(line)
			s.Groups = append(s.Groups, g)
		default:
			var r Rule
			r, err = ParseRule(line)
			s.Rules = append(s.Rules, r)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", number, err))
		}
	}
	flush()
	if len(errs) > 0 {
		return State{}, errors.Join(errs...)
	}
	return s, nil
}
