package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// PacketIn is a packet handed to the controller (section 7.4.1). Match and Data alias the message it was read from.
type PacketIn struct {
	BufferID uint32
	TotalLen uint16 // the packet's full length; Data may be shorter
	Reason   uint8
	Table    uint8
	Cookie   uint64 // of the rule that sent it; all ones if none did
	InPort   uint32 // PortAny if the switch did not tell
	Match    []byte // raw list of match fields: the packet's metadata and registers; see Field
	Data     []byte
}

// NoBufferID is the BufferID of a packet that is wholly in the message (OFP_NO_BUFFER).
const NoBufferID uint32 = 0xffffffff

// Reasons of packet-ins (OFPR_*). In 1.3 an action's packet-in has PacketInAction also when its rule is the table miss.
const (
	PacketInNoMatch    uint8 = 0 // in 1.5: by a table-miss rule
	PacketInAction     uint8 = 1 // in 1.5: by an output action in apply-actions
	PacketInInvalidTTL uint8 = 2
	PacketInActionSet  uint8 = 3 // 1.5: by an output action in the action set
	PacketInGroup      uint8 = 4 // 1.5: by an output action in a group's bucket
	PacketInPacketOut  uint8 = 5 // 1.5: by an output action in a packet-out
)

const oxmInPort = classBasic<<16 | 0<<9 | 4

// ParsePacketIn reads a packet-in into in, without allocating. All of in is overwritten.
func ParsePacketIn(msg []byte, in *PacketIn) error {
	const fixed = headerLen + 16
	if len(msg) < fixed+8+2 || Type(msg[1]) != TypePacketIn {
		_, err := payload(msg, TypePacketIn, fixed+8+2-headerLen)
		return err
	}
	n := int(be.Uint16(msg[fixed+2:]))
	data := fixed + round8(n) + 2 // two bytes make Data's IP header aligned
	if n < 4 || data > len(msg) || msg[fixed] != 0 || msg[fixed+1] != matchTypeOXM {
		if _, _, err := parseMatch(msg[fixed:]); err != nil {
			return err
		}
		return short("PACKET_IN", len(msg), data)
	}
	in.BufferID = be.Uint32(msg[8:])
	in.TotalLen = be.Uint16(msg[12:])
	in.Reason, in.Table = msg[14], msg[15]
	in.Cookie = be.Uint64(msg[16:])
	in.Match = msg[fixed+4 : fixed+n : fixed+n]
	in.Data = msg[data:len(msg):len(msg)]
	in.InPort = flows.PortAny
	for l := in.Match; len(l) > 0; {
		size := 0
		if len(l) >= 4 {
			size = 4 + int(l[3])
		}
		if size == 0 || size > len(l) {
			_, err := parseOXM(l)
			return err
		}
		if size == 8 && be.Uint32(l) == oxmInPort {
			in.InPort = be.Uint32(l[4:])
		}
		l = l[size:]
	}
	return nil
}

// Field is the value of a metadata field or register that the switch sent along; false if it sent none, which for Open
// vSwitch means zero. Registers are found under any name: 1.5 sends reg15 as the lower half of xreg7.
func (in *PacketIn) Field(f flows.Field) (v flows.Value, ok bool) {
	at, size := registerBytes(f)
	for l := in.Match; len(l) > 0; {
		o, err := parseOXM(l)
		if err != nil {
			break // not after ParsePacketIn
		}
		l = l[o.size:]
		if o.field == f && f != flows.FieldNone {
			c, ok := o.cond()
			return c.Value, ok
		}
		from, n := registerBytes(o.field)
		for i := max(at, from); i < min(at+size, from+n); i++ {
			if !o.masked || o.mask[i-from] != 0 {
				v[i-at] = o.value[i-from]
				ok = true
			}
		}
	}
	return v, ok
}

// registerBytes is where a register lies in the 64 bytes of all; size 0 if f is none.
func registerBytes(f flows.Field) (from, size int) {
	switch {
	case flows.Reg0 <= f && f <= flows.Reg15:
		return 4 * int(f-flows.Reg0), 4
	case flows.XReg0 <= f && f <= flows.XReg7:
		return 8 * int(f-flows.XReg0), 8
	case flows.XXReg0 <= f && f <= flows.XXReg3:
		return 16 * int(f-flows.XXReg0), 16
	}
	return 0, 0
}

// AppendPacketIn appends a packet-in, as a switch does: with in_port and extra as its match. in.Match is not used.
func AppendPacketIn(b []byte, v Version, xid uint32, in *PacketIn, extra ...flows.Cond) ([]byte, error) {
	start := len(b)
	b = begin(b, v, TypePacketIn, xid)
	b = be.AppendUint32(b, in.BufferID)
	b = be.AppendUint16(b, in.TotalLen)
	b = append(b, in.Reason, in.Table)
	b = be.AppendUint64(b, in.Cookie)
	b, err := appendMatch(b, v, append(flows.Match(nil).Port(in.InPort), extra...))
	if err != nil {
		return b[:start], fmt.Errorf("packet-in: %w", err)
	}
	b = append(b, 0, 0)
	return finish(append(b, in.Data...), start)
}
