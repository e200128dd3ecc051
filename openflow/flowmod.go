package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// FlowCommand says what a flow-mod does (OFPFC_*).
type FlowCommand uint8

// Flow commands. Add replaces a rule with the same table, priority and match, counters included. Modify changes actions
// only. Those that are strict concern that one rule, the others all rules whose match is at least as narrow.
const (
	FlowAdd FlowCommand = iota
	FlowModify
	FlowModifyStrict
	FlowDelete
	FlowDeleteStrict
)

// String is the command's name in ovs-ofctl's prints.
func (c FlowCommand) String() string {
	switch c {
	case FlowAdd:
		return "ADD"
	case FlowModify:
		return "MOD"
	case FlowModifyStrict:
		return "MOD_STRICT"
	case FlowDelete:
		return "DEL"
	case FlowDeleteStrict:
		return "DEL_STRICT"
	}
	return fmt.Sprintf("command(%d)", uint8(c))
}

// deletes reports whether actions, timeouts and flags mean nothing.
func (c FlowCommand) deletes() bool { return c == FlowDelete || c == FlowDeleteStrict }

const (
	anyGroup  uint32 = 0xffffffff
	allTables uint8  = 0xff
)

// AppendFlowMod appends a flow-mod (section 7.3.4.3) for r. Cookies are not compared, output ports not filtered. A
// deletion sends the rule's identity and cookie alone. With enough room in b nothing is allocated.
func AppendFlowMod(b []byte, v Version, xid uint32, cmd FlowCommand, r *flows.Rule) ([]byte, error) {
	if cmd.deletes() {
		return appendFlowMod(b, v, xid, cmd, &flows.Rule{
			Table: r.Table, Priority: r.Priority, Cookie: r.Cookie, Match: r.Match}, 0)
	}
	return appendFlowMod(b, v, xid, cmd, r, 0)
}

// FlowFilter selects rules: those in Table (0xff: any) with Cookie in the bits of CookieMask whose match is at least as
// narrow as Match.
type FlowFilter struct {
	Table              uint8
	Cookie, CookieMask uint64
	Match              flows.Match
}

// AppendFlowDeleteWhere appends a flow-mod that deletes all rules that the filter selects.
func AppendFlowDeleteWhere(b []byte, v Version, xid uint32, f FlowFilter) ([]byte, error) {
	return appendFlowMod(b, v, xid, FlowDelete, &flows.Rule{
		Table: f.Table, Cookie: f.Cookie & f.CookieMask, Match: f.Match}, f.CookieMask)
}

func appendFlowMod(b []byte, v Version, xid uint32, cmd FlowCommand, r *flows.Rule, cookieMask uint64) ([]byte, error) {
	start := len(b)
	b = begin(b, v, TypeFlowMod, xid)
	b = be.AppendUint64(b, r.Cookie)
	b = be.AppendUint64(b, cookieMask)
	b = append(b, r.Table, byte(cmd),
		byte(r.IdleTimeout>>8), byte(r.IdleTimeout), byte(r.HardTimeout>>8), byte(r.HardTimeout),
		byte(r.Priority>>8), byte(r.Priority),
		0xff, 0xff, 0xff, 0xff, // no buffer
		0xff, 0xff, 0xff, 0xff, // any output port
		0xff, 0xff, 0xff, 0xff, // any group
		byte(r.Flags>>8), byte(r.Flags), 0, 0) // importance 0 in 1.5, padding in 1.3
	b, err := appendMatch(b, v, r.Match)
	if err == nil {
		b, err = appendInstructions(b, v, r.Actions)
	}
	if err != nil {
		return b[:start], fmt.Errorf("rule in table %d, priority %d: %w", r.Table, r.Priority, err)
	}
	return finish(b, start)
}

// FlowMod is a flow-mod as a switch receives it.
type FlowMod struct {
	flows.Rule
	Command    FlowCommand
	CookieMask uint64
	OutPort    uint32
	OutGroup   uint32
}

// ParseFlowMod reads a flow-mod. Nothing in it aliases msg.
func ParseFlowMod(msg []byte) (FlowMod, error) {
	p, err := payload(msg, TypeFlowMod, 40+8)
	if err != nil {
		return FlowMod{}, err
	}
	m := FlowMod{
		Rule: flows.Rule{
			Table: p[16], Priority: be.Uint16(p[22:]), Cookie: be.Uint64(p),
			IdleTimeout: be.Uint16(p[18:]), HardTimeout: be.Uint16(p[20:]), Flags: flows.Flags(be.Uint16(p[36:])),
		},
		Command: FlowCommand(p[17]), CookieMask: be.Uint64(p[8:]),
		OutPort: be.Uint32(p[28:]), OutGroup: be.Uint32(p[32:]),
	}
	list, rest, err := parseMatch(p[40:])
	if err != nil {
		return m, err
	}
	if m.Match, err = decodeMatch(list); err != nil {
		return m, err
	}
	m.Actions, err = decodeInstructions(rest)
	return m, err
}
