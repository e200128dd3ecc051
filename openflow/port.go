package openflow

import (
	"bytes"
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// Port is a port of a switch (section 7.2.1).
type Port struct {
	No            uint32
	MAC           flows.MAC
	Name          string
	Config, State uint32
	SpeedKbps     uint64 // current speed in kbit/s, 0 if unknown
}

// Bits of Port.Config (OFPPC_*) and Port.State (OFPPS_*).
const (
	PortDown       uint32 = 1 << 0 // Config: switched off by the administrator
	PortNoRecv     uint32 = 1 << 2 // Config: received packets are dropped
	PortNoFwd      uint32 = 1 << 5 // Config: nothing is sent
	PortNoPacketIn uint32 = 1 << 6 // Config: no packet-ins
	LinkDown       uint32 = 1 << 0 // State: no carrier
	PortBlocked    uint32 = 1 << 1 // State
	PortLive       uint32 = 1 << 2 // State: live for fast-failover groups
)

// Up reports whether the port is switched on and has a link. It does not look at PortLive: not all switches set that
// bit, and with BFD it can be off while the link is there.
func (p Port) Up() bool { return p.Config&PortDown == 0 && p.State&LinkDown == 0 }

const (
	port13Len     = 64
	port15Len     = 40 // without properties
	portNameLen   = 16
	propEthernet  = 0
	ethPropertyIn = 24 // current speed within the Ethernet property
)

// parsePort reads the port at the start of b and returns what follows it.
func parsePort(v Version, b []byte) (p Port, rest []byte, err error) {
	size := port13Len
	if v >= V15 {
		size = port15Len
	}
	if len(b) < size {
		return p, nil, short("port", len(b), size)
	}
	p = Port{No: be.Uint32(b), MAC: flows.MAC(b[8:14]), Name: text(b[16:32]), Config: be.Uint32(b[32:]), State: be.Uint32(b[36:])}
	if v < V15 {
		p.SpeedKbps = uint64(be.Uint32(b[56:]))
		return p, b[size:], nil
	}
	n, err := lengthOf("port", b, 4, size)
	if err != nil {
		return p, nil, err
	}
	err = eachProperty(b[size:n], func(kind uint16, prop []byte) error {
		if kind == propEthernet && len(prop) >= ethPropertyIn+4 {
			p.SpeedKbps = uint64(be.Uint32(prop[ethPropertyIn:]))
		}
		return nil
	})
	return p, b[n:], err
}

// appendPort appends a port, as a switch does.
func appendPort(b []byte, v Version, p *Port) []byte {
	start := len(b)
	b = be.AppendUint32(b, p.No)
	b = append(b, 0, 0, 0, 0)
	b = append(b, p.MAC[:]...)
	b = append(b, 0, 0)
	name := len(b)
	b = append(b, zeros[:portNameLen]...)
	copy(b[name:name+portNameLen-1], p.Name)
	b = be.AppendUint32(b, p.Config)
	b = be.AppendUint32(b, p.State)
	if v >= V15 {
		b = append(b, 0, propEthernet, 0, 32, 0, 0, 0, 0)
	}
	b = append(b, zeros[:16]...) // features
	b = be.AppendUint32(b, uint32(min(p.SpeedKbps, 0xffffffff)))
	b = be.AppendUint32(b, 0)
	if v >= V15 {
		be.PutUint16(b[start+4:], uint16(len(b)-start))
	}
	return b
}

// PortReason says what happened to a port (OFPPR_*).
type PortReason uint8

// Reasons of port-status.
const (
	PortAdded PortReason = iota
	PortDeleted
	PortModified
)

// String is the reason's name.
func (r PortReason) String() string {
	switch r {
	case PortAdded:
		return "add"
	case PortDeleted:
		return "delete"
	case PortModified:
		return "modify"
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// ParsePortStatus reads a port-status.
func ParsePortStatus(v Version, msg []byte) (PortReason, Port, error) {
	p, err := payload(msg, TypePortStatus, 8)
	if err != nil {
		return 0, Port{}, err
	}
	port, _, err := parsePort(v, p[8:])
	return PortReason(p[0]), port, err
}

// AppendPortStatus appends a port-status, as a switch does.
func AppendPortStatus(b []byte, v Version, xid uint32, reason PortReason, p Port) []byte {
	start := len(b)
	b = begin(b, v, TypePortStatus, xid)
	b = append(b, byte(reason), 0, 0, 0, 0, 0, 0, 0)
	return end(appendPort(b, v, &p), start)
}

// ParsePortDescs reads the body of a port-desc reply.
func ParsePortDescs(v Version, body []byte) ([]Port, error) {
	var ports []Port
	for len(body) > 0 {
		p, rest, err := parsePort(v, body)
		if err != nil {
			return nil, err
		}
		ports = append(ports, p)
		body = rest
	}
	return ports, nil
}

// AppendPortDesc appends one port to the body of a port-desc reply, as a switch does.
func AppendPortDesc(body []byte, v Version, p Port) []byte { return appendPort(body, v, &p) }

// text is a zero-padded string.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
