package flows

// Reserved port numbers (OpenFlow 1.3 section A.2.1); those of physical ports are below PortMax.
const (
	PortMax        uint32 = 0xffffff00
	PortIn         uint32 = 0xfffffff8
	PortTable      uint32 = 0xfffffff9
	PortNormal     uint32 = 0xfffffffa
	PortFlood      uint32 = 0xfffffffb
	PortAll        uint32 = 0xfffffffc
	PortController uint32 = 0xfffffffd
	PortLocal      uint32 = 0xfffffffe
	PortAny        uint32 = 0xffffffff
)

// Action is one of the action types of this package. They are plain values; compare them with [EqualActions], as those
// that hold lists (CT, Learn, DecTTL, ToController, Unknown) are not comparable. How each is written on the wire depends
// on the OpenFlow version and is known to package openflow alone.
type Action interface {
	// AppendText appends the action in ovs-ofctl syntax.
	AppendText(b []byte) []byte
}

// Output sends the packet out of a port. To PortController at most MaxLen bytes are sent (0xffff: all).
type Output struct {
	Port   uint32
	MaxLen uint16
}

// SetField writes Value to a field. If Masked, only the bits under Mask.
type SetField struct {
	Field  Field
	Masked bool
	Value  Value
	Mask   Value
}

// Move copies Src to Dst, of equally many bits: copy_field in OpenFlow 1.5, Nicira reg_move in 1.3.
type Move struct{ Src, Dst Span }

// OutputReg sends the packet out of the port whose number Src holds (Nicira output_reg).
type OutputReg struct{ Src Span }

// Resubmit continues the lookup in Table and comes back to the actions that follow. Port is PortIn for the packet's own.
type Resubmit struct {
	Port  uint32
	Table uint8
}

// FinTimeout lowers the rule's timeouts (seconds, 0: leave) once a packet with FIN or RST has matched it (Nicira).
type FinTimeout struct{ Idle, Hard uint16 }

// ToGroup hands the packet to a group.
type ToGroup struct{ ID uint32 }

// ToMeter passes the packet through a meter first; it must be the first action of a rule.
type ToMeter struct{ ID uint32 }

// GotoTable continues in a later table when all other actions have been done; it must be the last action of a rule.
type GotoTable struct{ Table uint8 }

// Exit ends the rule and all that resubmitted to it (Nicira exit).
type Exit struct{}

// WriteMetadata is the instruction that sets metadata's bits under Mask once all actions have been done. Only other
// instructions and GotoTable may follow.
type WriteMetadata struct{ Value, Mask uint64 }

// Unknown is an action or instruction that is not known here, kept as its raw bytes (header included).
type Unknown struct {
	Instruction bool
	Raw         []byte
}

// IsInstruction reports whether a stands after the list of actions that are applied: WriteMetadata, GotoTable, an
// unknown instruction.
func IsInstruction(a Action) bool {
	switch a := a.(type) {
	case WriteMetadata, GotoTable:
		return true
	case Unknown:
		return a.Instruction
	}
	return false
}

// SetNum is a SetField of a number in a field of at most 8 bytes.
func SetNum(f Field, n uint64) SetField { return SetField{Field: f, Value: U64(n, f.Width())} }

// SetMAC is a SetField of an Ethernet address.
func SetMAC(f Field, m MAC) SetField { return SetField{Field: f, Value: m.Value()} }

// Go is Resubmit of the packet with its own input port to a table.
func Go(table uint8) Resubmit { return Resubmit{Port: PortIn, Table: table} }

// Controller sends the whole packet to the controller.
func Controller() Output { return Output{Port: PortController, MaxLen: 0xffff} }

// BackToInPort clears in_port, without which a packet cannot leave by the port it came in by.
func BackToInPort() SetField { return SetField{Field: InPort} }
