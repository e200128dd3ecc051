package openflow

import (
	"encoding/binary"
	"fmt"
)

var be = binary.BigEndian

const (
	headerLen  = 8
	maxMessage = 0xffff
)

// Type is a message's type (OFPT_*), alike in 1.3 and 1.5.
type Type uint8

// Message types (section 7.1.1). Those from RequestForward on are new in 1.4 and 1.5.
const (
	TypeHello Type = iota
	TypeError
	TypeEchoRequest
	TypeEchoReply
	TypeExperimenter
	TypeFeaturesRequest
	TypeFeaturesReply
	TypeGetConfigRequest
	TypeGetConfigReply
	TypeSetConfig
	TypePacketIn
	TypeFlowRemoved
	TypePortStatus
	TypePacketOut
	TypeFlowMod
	TypeGroupMod
	TypePortMod
	TypeTableMod
	TypeMultipartRequest
	TypeMultipartReply
	TypeBarrierRequest
	TypeBarrierReply
	TypeQueueGetConfigRequest // 1.3 only
	TypeQueueGetConfigReply   // 1.3 only
	TypeRoleRequest
	TypeRoleReply
	TypeGetAsyncRequest
	TypeGetAsyncReply
	TypeSetAsync
	TypeMeterMod
	TypeRoleStatus
	TypeTableStatus
	TypeRequestForward
	TypeBundleControl
	TypeBundleAdd
	TypeControllerStatus
)

var typeNames = [...]string{
	"HELLO", "ERROR", "ECHO_REQUEST", "ECHO_REPLY", "EXPERIMENTER", "FEATURES_REQUEST", "FEATURES_REPLY",
	"GET_CONFIG_REQUEST", "GET_CONFIG_REPLY", "SET_CONFIG", "PACKET_IN", "FLOW_REMOVED", "PORT_STATUS", "PACKET_OUT",
	"FLOW_MOD", "GROUP_MOD", "PORT_MOD", "TABLE_MOD", "MULTIPART_REQUEST", "MULTIPART_REPLY", "BARRIER_REQUEST",
	"BARRIER_REPLY", "QUEUE_GET_CONFIG_REQUEST", "QUEUE_GET_CONFIG_REPLY", "ROLE_REQUEST", "ROLE_REPLY",
	"GET_ASYNC_REQUEST", "GET_ASYNC_REPLY", "SET_ASYNC", "METER_MOD", "ROLE_STATUS", "TABLE_STATUS", "REQUESTFORWARD",
	"BUNDLE_CONTROL", "BUNDLE_ADD_MESSAGE", "CONTROLLER_STATUS",
}

// String is the specification's name without its prefix, like "FLOW_MOD".
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// Header starts every message. Length counts the whole message, header included.
type Header struct {
	Version Version
	Type    Type
	Length  uint16
	XID     uint32
}

// ParseHeader reads a message's header. A Length below 8 is an error; one beyond b is not.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < headerLen {
		return Header{}, short("header", len(b), headerLen)
	}
	h := Header{Version: Version(b[0]), Type: Type(b[1]), Length: be.Uint16(b[2:]), XID: be.Uint32(b[4:])}
	if h.Length < headerLen {
		return h, short("header's length field", int(h.Length), headerLen)
	}
	return h, nil
}

// begin appends a header whose length finish will fill in.
func begin(b []byte, v Version, t Type, xid uint32) []byte {
	return append(b, byte(v), byte(t), 0, 0, byte(xid>>24), byte(xid>>16), byte(xid>>8), byte(xid))
}

// finish completes the message that begins at start.
func finish(b []byte, start int) ([]byte, error) {
	n := len(b) - start
	if n > maxMessage {
		return b[:start], &ValueError{What: fmt.Sprintf("%s message of %d bytes: at most %d fit",
			Type(b[start+1]), n, maxMessage)}
	}
	be.PutUint16(b[start+2:], uint16(n))
	return b, nil
}

// end is finish for messages that cannot be too long.
func end(b []byte, start int) []byte {
	be.PutUint16(b[start+2:], uint16(len(b)-start))
	return b
}

// payload is what follows the header of a message of type t, at least min bytes.
func payload(msg []byte, t Type, min int) ([]byte, error) {
	if len(msg) < headerLen {
		return nil, short(t.String(), len(msg), headerLen+min)
	}
	if Type(msg[1]) != t {
		return nil, &TypeMismatchError{Got: Type(msg[1]), Want: t}
	}
	if len(msg) < headerLen+min {
		return nil, short(t.String(), len(msg), headerLen+min)
	}
	return msg[headerLen:], nil
}

var zeros [64]byte

// pad8 appends zeros until the bytes from start on are a multiple of 8.
func pad8(b []byte, start int) []byte {
	return append(b, zeros[:-(len(b)-start)&7]...)
}

// round8 is n rounded up to a multiple of 8.
func round8(n int) int { return (n + 7) &^ 7 }
