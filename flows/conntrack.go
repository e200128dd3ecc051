package flows

import (
	"errors"
	"fmt"
	"slices"
)

// NoTable is a [CT]'s Table when the packet goes nowhere after it.
const NoTable uint8 = 0xff

var errNoTable = errors.New("want a table from 0 to 254")

// Protocols with related connections that a [CT] can follow, by the port of their control connections.
const (
	ALGFTP  uint16 = 21
	ALGTFTP uint16 = 69
)

// CT hands the packet to the connection tracker (Nicira ct). The rest of the rule's actions go on with the packet as it
// was, untracked; a copy that has been tracked, and translated if a NAT says so, begins anew in Table.
type CT struct {
	Commit   bool   // remember the connection
	Force    bool   // forget one of the other direction first; with Commit only
	Table    uint8  // NoTable: none
	Zone     uint16 // connections of different zones do not know each other
	ZoneFrom Span   // 16 bits that hold the zone, instead of Zone; without a Field: not used
	ALG      uint16 // 0: none
	// Actions are done by the tracker: NAT, and with Commit SetField and Move that write to ct_mark or ct_label.
	Actions []Action
}

// CTClear makes the packet untracked.
type CTClear struct{}

// Check reports what a switch would refuse.
func (a CT) Check() error {
	switch {
	case a.Force && !a.Commit:
		return fmt.Errorf("ct: force needs commit")
	case a.ZoneFrom.Field != FieldNone && (!a.ZoneFrom.Valid() || a.ZoneFrom.Bits != 16):
		return fmt.Errorf("ct: the zone has 16 bits, not %d", a.ZoneFrom.Bits)
	case a.ZoneFrom.Field != FieldNone && a.Zone != 0:
		return fmt.Errorf("ct: zone twice")
	}
	for _, inner := range a.Actions {
		to := FieldNone
		switch x := inner.(type) {
		case NAT:
			if err := x.Check(); err != nil {
				return err
			}
			if x == (NAT{}) {
				continue
			}
			to = CTMark
		case SetField:
			to = x.Field
		case Move:
			to = x.Dst.Field
		}
		switch {
		case to != CTMark && to != CTLabel:
			return fmt.Errorf("ct: only nat, set_field and move to ct_mark or ct_label are possible in it")
		case !a.Commit:
			return fmt.Errorf("ct: all but a nat without arguments needs commit")
		}
	}
	return nil
}

func (a CT) equal(other Action) bool {
	b, ok := other.(CT)
	return ok && a.Commit == b.Commit && a.Force == b.Force && a.Table == b.Table && a.Zone == b.Zone && a.ZoneFrom == b.ZoneFrom &&
		a.ALG == b.ALG && EqualActions(a.Actions, b.Actions)
}

// AppendText is ct(commit,force,table=TABLE,zone=ZONE,nat(…),exec(ACTIONS),alg=PROTOCOL), without what is not set.
func (a CT) AppendText(b []byte) []byte {
	b = append(b, "ct("...)
	empty := len(b)
	if a.Commit {
		b = append(b, "commit,"...)
	}
	if a.Force {
		b = append(b, "force,"...)
	}
	if a.Table != NoTable {
		b = append(appendNum(b, "table=", a.Table), ',')
	}
	if a.ZoneFrom.Field != FieldNone {
		b = append(a.ZoneFrom.AppendText(append(b, "zone="...)), ',')
	} else if a.Zone != 0 {
		b = append(appendNum(b, "zone=", a.Zone), ',')
	}
	inner := a.Actions
	if len(inner) > 0 {
		if nat, ok := inner[0].(NAT); ok {
			b = append(nat.AppendText(b), ',')
			inner = inner[1:]
		}
	}
	if len(inner) > 0 {
		b = append(AppendActions(append(b, "exec("...), inner), "),"...)
	}
	switch a.ALG {
	case 0:
	case ALGFTP:
		b = append(b, "alg=ftp,"...)
	case ALGTFTP:
		b = append(b, "alg=tftp,"...)
	default:
		b = append(appendNum(b, "alg=", a.ALG), ',')
	}
	if len(b) > empty {
		b = b[:len(b)-1]
	}
	return append(b, ')')
}

// AppendText is ct_clear.
func (a CTClear) AppendText(b []byte) []byte { return append(b, "ct_clear"...) }

func (s *scanner) ct(it item) (Action, error) {
	a := CT{Table: NoTable}
	if it.sep == 0 {
		return a, nil
	}
	in, err := s.inner(it)
	if err != nil {
		return nil, err
	}
	for p, ok := in.next(); ok; p, ok = in.next() {
		var err error
		switch p.key {
		case "commit":
			a.Commit = true
		case "force":
			a.Force = true
		case "table":
			if err = parseInto(p.value, &a.Table); err == nil && a.Table == NoTable {
				err = errNoTable
			}
		case "zone":
			if from, no := parseSpan(p.value); no == nil {
				a.ZoneFrom = from
			} else if err = parseInto(p.value, &a.Zone); err != nil {
				err = errors.New("want zone=NUMBER of at most 65535, or zone=FIELD[FIRST..LAST]")
			}
		case "alg":
			switch p.value {
			case "ftp":
				a.ALG = ALGFTP
			case "tftp":
				a.ALG = ALGTFTP
			default:
				err = parseInto(p.value, &a.ALG)
			}
		case "nat":
			nat, err := s.nat(p)
			if err != nil {
				return nil, err
			}
			a.Actions = append(a.Actions, nat)
		case "exec":
			inner, err := s.exec(p)
			if err != nil {
				return nil, err
			}
			a.Actions = append(a.Actions, inner...)
		default:
			err = errors.New("want commit, force, table=TABLE, zone=ZONE, nat(…), exec(ACTIONS) or alg=PROTOCOL")
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

// exec reads the actions in exec(…), where nat may stand too.
func (s *scanner) exec(it item) (list []Action, err error) {
	in, err := s.inner(it)
	if err != nil {
		return nil, err
	}
	for p, ok := in.next(); ok; p, ok = in.next() {
		var a Action
		if p.key == "nat" {
			a, err = s.nat(p)
		} else if slices.Contains([]string{"set_field", "load", "move"}, p.key) {
			a, err = s.action(p)
		} else {
			err = s.fail(p, "want nat(…), set_field:VALUE[/MASK]->FIELD, load:NUMBER->FIELD[] or move:FIELD[]->FIELD[]")
		}
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}
