package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// AppendEchoRequest appends an echo request. Of payload as much is sent as one message holds (65,527 bytes).
func AppendEchoRequest(b []byte, v Version, xid uint32, payload []byte) []byte {
	return appendEcho(b, v, TypeEchoRequest, xid, payload)
}

// AppendEchoReply appends the reply to an echo request: xid and payload must be the request's.
func AppendEchoReply(b []byte, v Version, xid uint32, payload []byte) []byte {
	return appendEcho(b, v, TypeEchoReply, xid, payload)
}

func appendEcho(b []byte, v Version, t Type, xid uint32, payload []byte) []byte {
	start := len(b)
	b = begin(b, v, t, xid)
	return end(append(b, payload[:min(len(payload), maxMessage-headerLen)]...), start)
}

// AppendFeaturesRequest appends a features request.
func AppendFeaturesRequest(b []byte, v Version, xid uint32) []byte {
	return end(begin(b, v, TypeFeaturesRequest, xid), len(b))
}

// Features is a switch's reply to a features request (section 7.3.1).
type Features struct {
	DPID         flows.DPID
	Buffers      uint32 // packets it can hold for the controller
	Tables       uint8
	Aux          uint8 // 0: the main connection
	Capabilities uint32
}

// Capabilities (OFPC_*).
const (
	CapFlowStats   uint32 = 1 << 0
	CapTableStats  uint32 = 1 << 1
	CapPortStats   uint32 = 1 << 2
	CapGroupStats  uint32 = 1 << 3
	CapIPReasm     uint32 = 1 << 5
	CapQueueStats  uint32 = 1 << 6
	CapPortBlocked uint32 = 1 << 8
	CapBundles     uint32 = 1 << 9  // 1.5
	CapFlowMonitor uint32 = 1 << 10 // 1.5
)

// ParseFeatures reads a features reply.
func ParseFeatures(msg []byte) (Features, error) {
	p, err := payload(msg, TypeFeaturesReply, 24)
	if err != nil {
		return Features{}, err
	}
	return Features{
		DPID: flows.DPID(be.Uint64(p)), Buffers: be.Uint32(p[8:]), Tables: p[12], Aux: p[13],
		Capabilities: be.Uint32(p[16:]),
	}, nil
}

// AppendFeaturesReply appends a features reply, as a switch does.
func AppendFeaturesReply(b []byte, v Version, xid uint32, f Features) []byte {
	start := len(b)
	b = begin(b, v, TypeFeaturesReply, xid)
	b = be.AppendUint64(b, uint64(f.DPID))
	b = be.AppendUint32(b, f.Buffers)
	b = append(b, f.Tables, f.Aux, 0, 0)
	b = be.AppendUint32(b, f.Capabilities)
	return end(be.AppendUint32(b, 0), start)
}

// NoBuffer as missSendLen asks for whole packets in packet-ins (OFPCML_NO_BUFFER).
const NoBuffer uint16 = 0xffff

// AppendSetConfig appends a set-config: fragment handling flags (0: normal) and how many bytes of a packet that missed
// all rules go to the controller.
func AppendSetConfig(b []byte, v Version, xid uint32, flags, missSendLen uint16) []byte {
	start := len(b)
	b = begin(b, v, TypeSetConfig, xid)
	return end(be.AppendUint16(be.AppendUint16(b, flags), missSendLen), start)
}

// AppendGetConfig appends a get-config request.
func AppendGetConfig(b []byte, v Version, xid uint32) []byte {
	return end(begin(b, v, TypeGetConfigRequest, xid), len(b))
}

// ParseConfig reads a get-config reply.
func ParseConfig(msg []byte) (flags, missSendLen uint16, err error) {
	p, err := payload(msg, TypeGetConfigReply, 4)
	if err != nil {
		return 0, 0, err
	}
	return be.Uint16(p), be.Uint16(p[2:]), nil
}

// AppendBarrier appends a barrier request. Its reply comes when all messages before it have been processed.
func AppendBarrier(b []byte, v Version, xid uint32) []byte {
	return end(begin(b, v, TypeBarrierRequest, xid), len(b))
}

// AppendBarrierReply appends a barrier reply, as a switch does.
func AppendBarrierReply(b []byte, v Version, xid uint32) []byte {
	return end(begin(b, v, TypeBarrierReply, xid), len(b))
}

// Role is a controller's role towards a switch (section 6.3.6).
type Role uint32

// Roles. Master and slave are the specification's primary and secondary (names of 1.5.1 are the old ones).
const (
	RoleNoChange Role = iota
	RoleEqual
	RoleMaster
	RoleSlave
)

// String is the role's name in the specification.
func (r Role) String() string {
	switch r {
	case RoleNoChange:
		return "nochange"
	case RoleEqual:
		return "equal"
	case RoleMaster:
		return "master"
	case RoleSlave:
		return "slave"
	}
	return fmt.Sprintf("role(%d)", uint32(r))
}

// AppendRole appends a role request. generation must not go down among controllers that ask for master or slave.
func AppendRole(b []byte, v Version, xid uint32, role Role, generation uint64) []byte {
	return appendRole(b, v, TypeRoleRequest, xid, role, generation)
}

// AppendRoleReply appends a role reply, as a switch does.
func AppendRoleReply(b []byte, v Version, xid uint32, role Role, generation uint64) []byte {
	return appendRole(b, v, TypeRoleReply, xid, role, generation)
}

func appendRole(b []byte, v Version, t Type, xid uint32, role Role, generation uint64) []byte {
	start := len(b)
	b = begin(b, v, t, xid)
	b = be.AppendUint32(b, uint32(role))
	b = append(b, 0, 0, 0, 0) // padding; in 1.5 the first two are a short id, left undefined
	return end(be.AppendUint64(b, generation), start)
}

// ParseRole reads a role reply.
func ParseRole(msg []byte) (role Role, generation uint64, err error) {
	p, err := payload(msg, TypeRoleReply, 16)
	if err != nil {
		return 0, 0, err
	}
	return Role(be.Uint32(p)), be.Uint64(p[8:]), nil
}
