package openflow

import (
	"bytes"
	"slices"

	"github.com/evenflow/evenflow/flows"
)

// Instruction numbers (OFPIT_*, section 7.2.5).
const (
	insGotoTable    = 1
	insMetadata     = 2
	insApplyActions = 4
	insMeter        = 6 // 1.3
)

// knownInstruction says whether instructions of this number are read as actions of their own. A second one of a kind, or
// one of a wrong length, is kept raw when read; written back it could be taken for the first.
func knownInstruction(kind uint16) bool {
	switch kind {
	case insGotoTable, insMetadata, insApplyActions, insMeter:
		return true
	}
	return false
}

// appendInstructions appends a rule's actions: a meter (an instruction in 1.3), one apply-actions, write-metadata and
// instructions not known here, goto-table.
func appendInstructions(b []byte, v Version, actions []flows.Action) ([]byte, error) {
	start := len(b)
	if len(actions) > 0 && v < V15 {
		if m, ok := actions[0].(flows.ToMeter); ok {
			b = append(b, 0, insMeter, 0, 8)
			b = be.AppendUint32(b, m.ID)
			actions = actions[1:]
		}
	}
	n := 0 // actions that are not instructions
	for n < len(actions) && !flows.IsInstruction(actions[n]) {
		n++
	}
	if n > 0 {
		apply := len(b)
		b = append(b, 0, insApplyActions, 0, 0, 0, 0, 0, 0)
		for i, a := range actions[:n] {
			var err error
			if b, err = appendAction(b, v, a, i == 0 && apply == start); err != nil {
				return b[:start], err
			}
		}
		if len(b)-apply > maxMessage {
			return b[:start], &ValueError{What: "actions too long for one message"}
		}
		be.PutUint16(b[apply+2:], uint16(len(b)-apply))
	}
	for i, a := range actions[n:] {
		last := n+i == len(actions)-1
		switch a := a.(type) {
		case flows.GotoTable:
			if !last {
				return b[:start], &ValueError{What: "goto_table must be the last action of a rule"}
			}
			b = append(b, 0, insGotoTable, 0, 8, a.Table, 0, 0, 0)
		case flows.WriteMetadata:
			b = append(b, 0, insMetadata, 0, 24, 0, 0, 0, 0)
			b = be.AppendUint64(be.AppendUint64(b, a.Value), a.Mask)
		case flows.Unknown:
			if !a.Instruction {
				return b[:start], &ValueError{What: "action after an instruction"}
			}
			if len(a.Raw) > 1 && knownInstruction(be.Uint16(a.Raw)) {
				return b[:start], &ValueError{What: "raw form of an instruction that has a form of its own"}
			}
			var err error
			if b, err = appendRaw(b, a.Raw); err != nil {
				return b[:start], err
			}
		default:
			return b[:start], &ValueError{What: "action after an instruction"}
		}
	}
	return b, nil
}

// decodeInstructions reads instructions as actions in the order in which appendInstructions wants them.
func decodeInstructions(b []byte) ([]flows.Action, error) {
	var meter, apply, other, last []flows.Action
	for len(b) > 0 {
		n, err := tlvLen("instruction", b)
		if err != nil {
			return nil, err
		}
		in := b[:n]
		switch kind := be.Uint16(b); {
		case kind == insApplyActions && apply == nil:
			if apply, err = decodeActions(in[8:]); err != nil {
				return nil, err
			}
		case kind == insMeter && n == 8 && meter == nil:
			meter = append(meter, flows.ToMeter{ID: be.Uint32(in[4:])})
		case kind == insGotoTable && n == 8 && last == nil:
			last = append(last, flows.GotoTable{Table: in[4]})
		case kind == insMetadata && n == 24:
			other = append(other, flows.WriteMetadata{Value: be.Uint64(in[8:]), Mask: be.Uint64(in[16:])})
		default:
			other = append(other, flows.Unknown{Instruction: true, Raw: bytes.Clone(in)})
		}
		b = b[n:]
	}
	if meter == nil && other == nil && last == nil {
		return apply, nil
	}
	return slices.Concat(meter, apply, other, last), nil
}
