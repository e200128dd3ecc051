package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// AppendPacketOut appends a packet-out (section 7.3.6): data is sent through actions as if it had come in by inPort
// (flows.PortController if by none). With enough room in b nothing is allocated.
func AppendPacketOut(b []byte, v Version, xid, inPort uint32, actions []flows.Action, data []byte) ([]byte, error) {
	start := len(b)
	b = begin(b, v, TypePacketOut, xid)
	b = be.AppendUint32(b, NoBufferID)
	length := len(b) // of actions: where it stands
	if v < V15 {
		b = be.AppendUint32(b, inPort)
		length = len(b)
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	} else {
		b = append(b, 0, 0, 0, 0, 0, matchTypeOXM, 0, 12)
		b = be.AppendUint32(b, oxmInPort)
		b = be.AppendUint32(b, inPort)
		b = append(b, 0, 0, 0, 0)
	}
	from := len(b)
	b, err := appendActions(b, v, actions)
	if err != nil {
		return b[:start], fmt.Errorf("packet-out: %w", err)
	}
	n := len(b) - from
	b, err = finish(append(b, data...), start)
	if err == nil {
		be.PutUint16(b[length:], uint16(n))
	}
	return b, err
}

// PacketOut is a packet-out as a switch receives it. Data aliases the message.
type PacketOut struct {
	BufferID uint32
	InPort   uint32
	Actions  []flows.Action
	Data     []byte
}

// ParsePacketOut reads a packet-out.
func ParsePacketOut(msg []byte) (PacketOut, error) {
	p, err := payload(msg, TypePacketOut, 16)
	if err != nil {
		return PacketOut{}, err
	}
	out := PacketOut{BufferID: be.Uint32(p)}
	var n int
	if Version(msg[0]) < V15 {
		out.InPort, n = be.Uint32(p[4:]), int(be.Uint16(p[8:]))
		p = p[16:]
	} else {
		n = int(be.Uint16(p[4:]))
		var list []byte
		if list, p, err = parseMatch(p[8:]); err != nil {
			return out, err
		}
		m, err := decodeMatch(list)
		if err != nil {
			return out, err
		}
		port, _ := m.Get(flows.InPort)
		out.InPort = uint32(port.Value.Uint64(4))
	}
	if n > len(p) {
		return out, long("packet-out's actions", n, len(p))
	}
	out.Data = p[n:]
	out.Actions, err = decodeActions(p[:n])
	return out, err
}
