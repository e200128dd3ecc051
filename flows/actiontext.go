package flows

import (
	"encoding/hex"
	"strconv"
)

func appendNum[N ~uint8 | ~uint16 | ~uint32](b []byte, before string, n N) []byte {
	return strconv.AppendUint(append(b, before...), uint64(n), 10)
}

// AppendText is output:2, a reserved port's name, or CONTROLLER:65535.
func (a Output) AppendText(b []byte) []byte {
	if a.Port < PortMax {
		b = append(b, "output:"...)
	}
	b = appendPort(b, a.Port)
	if a.Port == PortController {
		b = appendNum(b, ":", a.MaxLen)
	}
	return b
}

// AppendText is set_field:VALUE[/MASK]->FIELD.
func (a SetField) AppendText(b []byte) []byte {
	b = appendValue(append(b, "set_field:"...), a.Field, a.Masked, a.Value, a.Mask)
	return append(append(b, "->"...), a.Field.String()...)
}

// AppendText is move:SOURCE->DESTINATION.
func (a Move) AppendText(b []byte) []byte {
	return a.Dst.AppendText(append(a.Src.AppendText(append(b, "move:"...)), "->"...))
}

// AppendText is output:SPAN.
func (a OutputReg) AppendText(b []byte) []byte { return a.Src.AppendText(append(b, "output:"...)) }

// AppendText is resubmit(,TABLE), resubmit(PORT,TABLE), or resubmit:PORT for table 255, which is the present one.
func (a Resubmit) AppendText(b []byte) []byte {
	if a.Port != PortIn && a.Table == 0xff {
		return appendPort(append(b, "resubmit:"...), a.Port)
	}
	b = append(b, "resubmit("...)
	if a.Port != PortIn {
		b = appendPort(b, a.Port)
	}
	return append(appendNum(b, ",", a.Table), ')')
}

// AppendText is fin_timeout(idle_timeout=IDLE,hard_timeout=HARD), without what is 0.
func (a FinTimeout) AppendText(b []byte) []byte {
	b = append(b, "fin_timeout("...)
	if a.Idle != 0 {
		b = appendNum(b, "idle_timeout=", a.Idle)
	}
	if a.Idle != 0 && a.Hard != 0 {
		b = append(b, ',')
	}
	if a.Hard != 0 {
		b = appendNum(b, "hard_timeout=", a.Hard)
	}
	return append(b, ')')
}

// AppendText is group:ID.
func (a ToGroup) AppendText(b []byte) []byte { return appendNum(b, "group:", a.ID) }

// AppendText is meter:ID.
func (a ToMeter) AppendText(b []byte) []byte { return appendNum(b, "meter:", a.ID) }

// AppendText is goto_table:TABLE.
func (a GotoTable) AppendText(b []byte) []byte { return appendNum(b, "goto_table:", a.Table) }

// AppendText is exit.
func (a Exit) AppendText(b []byte) []byte { return append(b, "exit"...) }

// AppendText is write_metadata:VALUE[/MASK].
func (a WriteMetadata) AppendText(b []byte) []byte {
	b = appendHex(append(b, "write_metadata:"...), U64(a.Value, 8), 8)
	if a.Mask != ^uint64(0) {
		b = appendHex(append(b, '/'), U64(a.Mask, 8), 8)
	}
	return b
}

// AppendText is raw_action:HEX or raw_instruction:HEX, which is our own syntax.
func (a Unknown) AppendText(b []byte) []byte {
	if a.Instruction {
		b = append(b, "raw_instruction:"...)
	} else {
		b = append(b, "raw_action:"...)
	}
	return hex.AppendEncode(b, a.Raw)
}
