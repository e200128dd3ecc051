package openflow

// Subtypes of experimenter messages of Nicira.
const (
	nxtTLVTableRequest uint32 = 25
	nxtTLVTableReply   uint32 = 26
)

// AppendNiciraProbe appends an experimenter message that only reads, which Open vSwitch answers and a switch without Nicira's
// extensions refuses with OFPBRC_BAD_EXPERIMENTER: the request for the table of tunnel options (NXT_TLV_TABLE_REQUEST).
func AppendNiciraProbe(b []byte, v Version, xid uint32) []byte {
	return appendNiciraMessage(b, v, xid, nxtTLVTableRequest, nil)
}

// IsNiciraProbe reports whether msg is that message, as a switch does.
func IsNiciraProbe(msg []byte) bool { return isNiciraMessage(msg, nxtTLVTableRequest) }

// AppendNiciraProbeReply appends the answer of a switch that has an empty table.
func AppendNiciraProbeReply(b []byte, v Version, xid uint32) []byte {
	const space, fields = 256, 64
	return appendNiciraMessage(b, v, xid, nxtTLVTableReply, []byte{0, 0, space >> 8, space & 0xff, 0, fields, 15: 0})
}

// IsNiciraProbeReply reports whether msg answers the probe.
func IsNiciraProbeReply(msg []byte) bool { return isNiciraMessage(msg, nxtTLVTableReply) }

func appendNiciraMessage(b []byte, v Version, xid, subtype uint32, body []byte) []byte {
	start := len(b)
	b = be.AppendUint32(begin(b, v, TypeExperimenter, xid), nicira)
	return end(append(be.AppendUint32(b, subtype), body...), start)
}

func isNiciraMessage(msg []byte, subtype uint32) bool {
	p, err := payload(msg, TypeExperimenter, 8)
	return err == nil && be.Uint32(p) == nicira && be.Uint32(p[4:]) == subtype
}
