package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// Action numbers (OFPAT_*, section 7.2.6).
const (
	actOutput       = 0
	actSetMPLSTTL   = 15 // deprecated from 1.2 on, but there is no other name for it
	actDecMPLSTTL   = 16
	actPushVLAN     = 17
	actPopVLAN      = 18
	actPushMPLS     = 19
	actPopMPLS      = 20
	actGroup        = 22
	actDecTTL       = 24
	actSetField     = 25
	actCopyField    = 28 // 1.5
	actMeter        = 29 // 1.5
	actExperimenter = 0xffff
)

// appendActions appends actions of a list: no goto_table, no meter in 1.3, both of which are instructions.
func appendActions(b []byte, v Version, actions []flows.Action) ([]byte, error) {
	start := len(b)
	for i, a := range actions {
		var err error
		if b, err = appendAction(b, v, a, i == 0); err != nil {
			return b[:start], err
		}
	}
	return b, nil
}

func appendAction(b []byte, v Version, a flows.Action, first bool) ([]byte, error) {
	switch a := a.(type) {
	case flows.Output:
		b = append(b, 0, actOutput, 0, 16)
		b = be.AppendUint32(b, a.Port)
		return append(b, byte(a.MaxLen>>8), byte(a.MaxLen), 0, 0, 0, 0, 0, 0), nil
	case flows.SetField:
		return appendSetField(b, v, &a)
	case flows.Move:
		return appendMove(b, v, &a)
	case flows.CT:
		return appendCT(b, v, &a)
	case flows.Resubmit:
		port, ok := port16(a.Port)
		if !ok {
			return b, &ValueError{What: fmt.Sprintf("resubmit to port %d: Nicira actions have 16-bit ports", a.Port)}
		}
		b = appendNicira(b, 16, nxResubmitTable)
		return append(b, byte(port>>8), byte(port), a.Table, 0, 0, 0), nil
	case flows.FinTimeout:
		b = appendNicira(b, 16, nxFinTimeout)
		return append(b, byte(a.Idle>>8), byte(a.Idle), byte(a.Hard>>8), byte(a.Hard), 0, 0), nil
	case flows.ToGroup:
		b = append(b, 0, actGroup, 0, 8)
		return be.AppendUint32(b, a.ID), nil
	case flows.ToMeter:
		if !first {
			return b, &ValueError{What: "meter must be the first action of a rule"}
		}
		if v < V15 {
			return b, &UnsupportedError{Version: v, What: "meter in an action list"}
		}
		b = append(b, 0, actMeter, 0, 8)
		return be.AppendUint32(b, a.ID), nil
	case flows.GotoTable:
		return b, &ValueError{What: "goto_table is possible as the last action of a rule only"}
	case flows.WriteMetadata:
		return b, &ValueError{What: "write_metadata is possible after the actions of a rule only"}
	case flows.Unknown:
		if a.Instruction {
			return b, &ValueError{What: "instruction in an action list"}
		}
		return appendRaw(b, a.Raw)
	case flows.PushVLAN:
		return append(b, 0, actPushVLAN, 0, 8, byte(a.EthType>>8), byte(a.EthType), 0, 0), nil
	case flows.PopVLAN:
		return append(b, 0, actPopVLAN, 0, 8, 0, 0, 0, 0), nil
	case flows.PushMPLS:
		return append(b, 0, actPushMPLS, 0, 8, byte(a.EthType>>8), byte(a.EthType), 0, 0), nil
	case flows.PopMPLS:
		return append(b, 0, actPopMPLS, 0, 8, byte(a.EthType>>8), byte(a.EthType), 0, 0), nil
	case flows.SetMPLSTTL:
		return append(b, 0, actSetMPLSTTL, 0, 8, a.TTL, 0, 0, 0), nil
	case flows.DecMPLSTTL:
		return append(b, 0, actDecMPLSTTL, 0, 8, 0, 0, 0, 0), nil
	case nil:
		return b, &ValueError{What: "nil action"}
	}
	return appendExtension(b, v, a)
}

// appendRaw appends an action or instruction kept as it was read.
func appendRaw(b, raw []byte) ([]byte, error) {
	if n, err := tlvLen("raw action", raw); err != nil || n != len(raw) {
		return b, &ValueError{What: fmt.Sprintf("raw action %x is not one whole action", raw)}
	}
	return append(b, raw...), nil
}
