package main

// The pair of flows of a balanced connection, as a controller that chooses a
// backend itself must send: an exact match each way, addresses and port
// rewritten. The backend is always the same one.
var (
	pairBackendMAC = [6]byte{0x02, 0, 0, 0, 0, 1}
	pairBackend    = [4]byte{10, 0, 0, 1}
	pairPort       = [2]byte{8080 >> 8, 8080 & 0xff}
)

const pairOutPort = 1

// tcpSYN says whether the frame is IPv4 without options and TCP, long enough
// to name a connection.
func tcpSYN(frame []byte) bool {
	return len(frame) >= 54 && be.Uint16(frame[12:]) == 0x0800 && frame[14] == 0x45 && frame[23] == 6
}

// flowPair appends the two FLOW_MODs for the SYN in frame. The buffer id goes
// with the first, as the packet goes that way.
func (rf *reflector) flowPair(b []byte, xid, buf uint32, inPort, frame []byte) []byte {
	vipMAC, clientMAC := frame[0:6], frame[6:12]
	client, vip, clientPort, vipPort := frame[26:30], frame[30:34], frame[34:36], frame[36:38]
	var out [4]byte
	be.PutUint32(out[:], pairOutPort)
	b = rf.exactFlow(b, xid, buf, exact{client, vip, clientPort, vipPort},
		rewrite{oxmIPv4Dst, pairBackend[:]}, rewrite{oxmTCPDst, pairPort[:]}, rewrite{oxmEthDst, pairBackendMAC[:]}, rewrite{oxmInPort, out[:]})
	return rf.exactFlow(b, xid, noBuffer, exact{pairBackend[:], client, pairPort[:], clientPort},
		rewrite{oxmIPv4Src, vip}, rewrite{oxmTCPSrc, vipPort}, rewrite{oxmEthSrc, vipMAC}, rewrite{oxmEthDst, clientMAC}, rewrite{oxmInPort, inPort})
}

// exact is the 5-tuple of a TCP flow.
type exact struct{ src, dst, srcPort, dstPort []byte }

// rewrite is a set_field action; of oxmInPort, it is an output to that port.
type rewrite struct {
	field byte
	value []byte
}

// exactFlow appends a FLOW_MOD (ADD, idle timeout 10 s) of one 5-tuple.
func (rf *reflector) exactFlow(b []byte, xid, buf uint32, m exact, actions ...rewrite) []byte {
	off := len(b)
	b = appendHeader(b, rf.ver, tFlowMod, xid)
	b = appendZeros(b, 16) // cookie, mask
	b = append(b, 0, 0, 0, 10, 0, 0, 0, 1)
	b = be.AppendUint32(b, buf)
	b = append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)

	match := len(b)
	b = append(b, 0, 1, 0, 0)
	b = append(b, 0x80, 0, oxmEthType<<1, 2, 8, 0, 0x80, 0, oxmIPProto<<1, 1, 6)
	for _, f := range [4]rewrite{{oxmIPv4Src, m.src}, {oxmIPv4Dst, m.dst}, {oxmTCPSrc, m.srcPort}, {oxmTCPDst, m.dstPort}} {
		b = appendOXM(b, f)
	}
	n := len(b) - match
	be.PutUint16(b[match+2:], uint16(n))
	b = appendZeros(b, (n+7)/8*8-n)

	instruction := len(b)
	b = append(b, 0, 4, 0, 0, 0, 0, 0, 0) // apply actions
	for _, a := range actions {
		if a.field == oxmInPort {
			b = append(b, 0, 0, 0, 16)
			b = append(b, a.value...)
			b = append(b, 0xff, 0xff, 0, 0, 0, 0, 0, 0)
			continue
		}
		at := len(b)
		b = appendOXM(append(b, 0, 25, 0, 0), a)
		n := len(b) - at
		b = appendZeros(b, (n+7)/8*8-n)
		be.PutUint16(b[at+2:], uint16(len(b)-at))
	}
	be.PutUint16(b[instruction+2:], uint16(len(b)-instruction))
	return setLen(b, off)
}

func appendOXM(b []byte, f rewrite) []byte {
	b = append(b, 0x80, 0, f.field<<1, byte(len(f.value)))
	return append(b, f.value...)
}
