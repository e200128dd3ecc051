package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
)

// OpenFlow wire constants used by the emulated switch (OF 1.3 and 1.5 share
// these type numbers).
const (
	ver13 = 4
	ver15 = 6

	tHello           = 0
	tError           = 1
	tEchoReq         = 2
	tEchoRep         = 3
	tExperimenter    = 4
	tFeaturesReq     = 5
	tFeaturesRep     = 6
	tGetConfigReq    = 7
	tGetConfigRep    = 8
	tSetConfig       = 9
	tPacketIn        = 10
	tPacketOut       = 13
	tFlowMod         = 14
	tGroupMod        = 15
	tMultipartReq    = 18
	tMultipartRep    = 19
	tBarrierReq      = 20
	tBarrierRep      = 21
	tQueueConfReq    = 22
	tQueueConfRep    = 23
	tRoleReq         = 24
	tRoleRep         = 25
	tGetAsyncReq     = 26
	tGetAsyncRep     = 27
	tBundleCtrl      = 33
	tBundleAdd       = 34
	noBuffer         = 0xffffffff
	portInPort       = 0xfffffff8
	portNormal       = 0xfffffffa
	portFlood        = 0xfffffffb
	portAll          = 0xfffffffc
	reasonNoMatch    = 0
	reasonAction     = 1
	mpDesc           = 0
	mpAggregate      = 2
	mpMeterFeatures  = 11
	mpGroupFeatures  = 8
	mpPortDesc       = 13
	expNicira        = 0x00002320
	expONF           = 0x4f4e4600
	oxmClassBasic    = 0x8000
	oxmInPort        = 0
	oxmEthDst        = 3
	oxmEthSrc        = 4
	oxmEthType       = 5
	oxmIPProto       = 10
	oxmIPv4Src       = 11
	oxmIPv4Dst       = 12
	oxmTCPSrc        = 13
	oxmTCPDst        = 14
	nxtRoleReq       = 10
	nxtRoleRep       = 11
	nxtTLVTableReq   = 25
	nxtTLVTableRep   = 26
	onfBundleCtrl    = 2300
	onfBundleAdd     = 2301
	maxMessage       = 65535
	headerLen        = 8
	bundleOpen       = 0
	bundleClose      = 2
	bundleCommit     = 4
	bundleDiscard    = 6
	capFlowGroupStat = 0x0000000f
)

var be = binary.BigEndian

// appendHeader starts a message; finish with setLen.
func appendHeader(b []byte, ver, typ byte, xid uint32) []byte {
	b = append(b, ver, typ, 0, 0)
	return be.AppendUint32(b, xid)
}

// setLen patches the length of the message that starts at off.
func setLen(b []byte, off int) []byte {
	be.PutUint16(b[off+2:], uint16(len(b)-off))
	return b
}

func appendZeros(b []byte, n int) []byte {
	for i := 0; i < n; i++ {
		b = append(b, 0)
	}
	return b
}

// readMsg returns one whole message. The slice is valid until the next call.
// It loses nothing when the read deadline passes: call it again.
func readMsg(r *bufio.Reader) ([]byte, error) {
	h, err := r.Peek(headerLen)
	if err != nil {
		return nil, err
	}
	n := int(be.Uint16(h[2:]))
	if n < headerLen {
		return nil, fmt.Errorf("bad OpenFlow length %d (type %d)", n, h[1])
	}
	m, err := r.Peek(n)
	if err != nil {
		return nil, err
	}
	_, err = r.Discard(n)
	return m, err
}

// buffered says whether readMsg would return without a read.
func buffered(r *bufio.Reader) bool {
	if r.Buffered() < headerLen {
		return false
	}
	h, _ := r.Peek(headerLen)
	return r.Buffered() >= int(be.Uint16(h[2:]))
}

// hello carries a version bitmap, as OVS sends it.
func appendHello(b []byte, ver byte, xid uint32) []byte {
	off := len(b)
	b = appendHeader(b, ver, tHello, xid)
	b = append(b, 0, 1, 0, 8)
	b = be.AppendUint32(b, 1<<ver)
	return setLen(b, off)
}

func appendPort(b []byte, ver byte, no uint32, mac [6]byte) []byte {
	name := make([]byte, 16)
	copy(name, fmt.Sprintf("p%d", no))
	const speed = 10_000_000 // kb/s
	b = be.AppendUint32(b, no)
	if ver >= ver15 {
		b = append(b, 0, 72, 0, 0) // length of the whole description
		b = append(b, mac[:]...)
		b = append(b, 0, 0)
		b = append(b, name...)
		b = be.AppendUint32(b, 0)    // config
		b = be.AppendUint32(b, 4)    // state: LIVE
		b = append(b, 0, 0, 0, 32)   // ethernet property
		b = appendZeros(b, 4)        // pad
		b = be.AppendUint32(b, 1<<6) // 10 Gb FD
		b = appendZeros(b, 12)
		b = be.AppendUint32(b, speed)
		return be.AppendUint32(b, speed)
	}
	b = appendZeros(b, 4)
	b = append(b, mac[:]...)
	b = append(b, 0, 0)
	b = append(b, name...)
	b = be.AppendUint32(b, 0)
	b = be.AppendUint32(b, 4)
	b = be.AppendUint32(b, 1<<6)
	b = appendZeros(b, 12)
	b = be.AppendUint32(b, speed)
	return be.AppendUint32(b, speed)
}

func appendDesc(b []byte) []byte {
	f := func(s string, n int) {
		x := make([]byte, n)
		copy(x, s)
		b = append(b, x...)
	}
	f("ofload", 256)
	f("emulated switch", 256)
	f("1", 256)
	f("0", 32)
	f("ofload", 256)
	return b
}

// appendPacketIn builds PACKET_IN (same layout in 1.3 and 1.5) with in_port.
func appendPacketIn(b []byte, ver byte, xid, bufferID, inPort uint32, reason byte, frame []byte) []byte {
	off := len(b)
	b = appendHeader(b, ver, tPacketIn, xid)
	b = be.AppendUint32(b, bufferID)
	b = be.AppendUint16(b, uint16(len(frame)))
	b = append(b, reason, 0)     // table 0
	b = be.AppendUint64(b, 0)    // cookie
	b = append(b, 0, 1, 0, 12)   // OXM match
	b = append(b, 0x80, 0, 0, 4) // in_port
	b = be.AppendUint32(b, inPort)
	b = appendZeros(b, 4) // match padding
	b = append(b, 0, 0)
	b = append(b, frame...)
	return setLen(b, off)
}

// pktOut is a PACKET_OUT.
type pktOut struct {
	buffer, inPort uint32
	actions, data  []byte
}

func parsePacketOut(ver byte, m []byte) (p pktOut, ok bool) {
	if len(m) < 24 {
		return p, false
	}
	p.buffer = be.Uint32(m[8:])
	var acts, n int
	if ver >= ver15 {
		n = int(be.Uint16(m[12:]))
		mlen := int(be.Uint16(m[18:]))
		acts = 16 + (mlen+7)/8*8
		if mlen >= 4 && 16+mlen <= len(m) {
			p.inPort = oxmPort(m[20 : 16+mlen])
		}
	} else {
		p.inPort = be.Uint32(m[12:])
		n = int(be.Uint16(m[16:]))
		acts = 24
	}
	if acts+n > len(m) {
		return p, false
	}
	p.actions, p.data = m[acts:acts+n], m[acts+n:]
	return p, true
}

// oxmPort is the in_port of a match, 0 without one.
func oxmPort(oxm []byte) uint32 {
	for len(oxm) >= 4 && 4+int(oxm[3]) <= len(oxm) {
		if be.Uint16(oxm) == oxmClassBasic && oxm[2]>>1 == oxmInPort && oxm[3] >= 4 {
			return be.Uint32(oxm[4:])
		}
		oxm = oxm[4+int(oxm[3]):]
	}
	return 0
}

// outSet is where a PACKET_OUT's output actions send its frame.
type outSet struct {
	actions  []byte
	in       uint32
	all      bool // to all ports but in
	toInPort bool
}

// outputs looks only at output actions.
func (p *pktOut) outputs() outSet {
	o := outSet{actions: p.actions, in: p.inPort}
	o.each(func(port uint32) bool {
		switch port {
		case portFlood, portAll, portNormal:
			o.all = true
		case portInPort:
			o.toInPort = true
		}
		return false
	})
	return o
}

func (o *outSet) each(f func(port uint32) bool) bool {
	for a := o.actions; len(a) >= 8; {
		n := int(be.Uint16(a[2:]))
		if n < 8 || n > len(a) {
			break
		}
		if be.Uint16(a) == 0 && f(be.Uint32(a[4:])) {
			return true
		}
		a = a[n:]
	}
	return false
}

// has says whether the frame leaves by the port. As in a switch, only IN_PORT
// sends it back to where it came from.
func (o *outSet) has(port uint32) bool {
	if port == o.in {
		return o.toInPort
	}
	return o.all || o.each(func(p uint32) bool { return p == port })
}

// flowModInfo returns the buffer id and the match's OXM bytes of a FLOW_MOD.
func flowModInfo(m []byte) (bufferID uint32, oxm []byte, ok bool) {
	if len(m) < 52 {
		return 0, nil, false
	}
	bufferID = be.Uint32(m[32:])
	n := int(be.Uint16(m[50:]))
	if n < 4 || 48+n > len(m) {
		return 0, nil, false
	}
	return bufferID, m[52 : 48+n], true
}

// flowKey is what a flow's match names of a packet-in.
type flowKey struct {
	eth                    uint64 // eth_src
	src, dst               uint64 // address and TCP port, as in payload.next's key
	hasEth, hasSrc, hasDst bool
}

// oxmKey extracts the identity that payload.next gave, from a flow's match.
func oxmKey(oxm []byte) (k flowKey) {
	var srcIP, srcPort, dstIP, dstPort uint64
	var has uint8
	for len(oxm) >= 4 {
		class, field, n := be.Uint16(oxm), oxm[2]>>1, int(oxm[3])
		if 4+n > len(oxm) {
			break
		}
		v := oxm[4 : 4+n]
		if class == oxmClassBasic {
			switch {
			case field == oxmEthSrc && n >= 6:
				k.eth, k.hasEth = macKey(v), true
			case field == oxmIPv4Src && n >= 4:
				srcIP = uint64(be.Uint32(v))
				has |= 1
			case field == oxmTCPSrc && n >= 2:
				srcPort = uint64(be.Uint16(v))
				has |= 2
			case field == oxmIPv4Dst && n >= 4:
				dstIP = uint64(be.Uint32(v))
				has |= 4
			case field == oxmTCPDst && n >= 2:
				dstPort = uint64(be.Uint16(v))
				has |= 8
			}
		}
		oxm = oxm[4+n:]
	}
	k.src, k.hasSrc = srcIP<<16|srcPort, has&3 == 3
	k.dst, k.hasDst = dstIP<<16|dstPort, has&12 == 12
	return k
}

func macKey(m []byte) uint64 {
	return uint64(be.Uint16(m))<<32 | uint64(be.Uint32(m[2:]))
}
