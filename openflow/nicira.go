package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// Nicira action numbers (NXAST_*).
const (
	nxRegMove        = 6
	nxRegLoad        = 7
	nxMultipath      = 10
	nxResubmitTable  = 14
	nxOutputReg      = 15
	nxLearn          = 16
	nxExit           = 17
	nxFinTimeout     = 19
	nxController     = 20
	nxDecTTLIDs      = 21
	nxStackPush      = 27
	nxStackPop       = 28
	nxRegLoad2       = 33
	nxCT             = 35
	nxNAT            = 36
	nxController2    = 37
	nxCTClear        = 43
	nxLearn2         = 45
	nxCheckPktLarger = 49
)

// appendNicira appends the header of a Nicira action of length n.
func appendNicira(b []byte, n uint8, subtype uint8) []byte {
	return append(b, 0xff, 0xff, 0, n, nicira>>24, nicira>>16&0xff, nicira>>8&0xff, nicira&0xff, 0, subtype)
}

// endNicira pads the action that begins at start and writes its length.
func endNicira(b []byte, start int) ([]byte, error) {
	b = pad8(b, start)
	n := len(b) - start
	if n > maxMessage {
		return b[:start], &ValueError{What: fmt.Sprintf("action of %d bytes", n)}
	}
	be.PutUint16(b[start+2:], uint16(n))
	return b, nil
}

// appendExtension appends the Nicira actions that do not run per packet.
func appendExtension(b []byte, v Version, a flows.Action) ([]byte, error) {
	start := len(b)
	switch a := a.(type) {
	case flows.CTClear:
		return append(appendNicira(b, 16, nxCTClear), 0, 0, 0, 0, 0, 0), nil
	case flows.Exit:
		return append(appendNicira(b, 16, nxExit), 0, 0, 0, 0, 0, 0), nil
	case flows.NAT:
		return b, &ValueError{What: "nat is possible in a ct only"}
	case flows.DecTTL:
		return appendDecTTL(b, &a)
	case flows.Multipath:
		return appendMultipath(b, v, &a)
	case flows.Learn:
		return appendLearn(b, v, &a)
	case flows.ToController:
		return appendToController(b, &a)
	case flows.StackPush:
		return appendStack(b, v, nxStackPush, a.Src)
	case flows.StackPop:
		return appendStack(b, v, nxStackPop, a.Dst)
	case flows.OutputReg:
		h, err := spanHeader(v, "output", a.Src, 64)
		if err != nil {
			return b, err
		}
		b = be.AppendUint16(appendNicira(b, 24, nxOutputReg), packSpan(a.Src))
		b = be.AppendUint32(b, h)
		return append(b, 0xff, 0xff, 0, 0, 0, 0, 0, 0), nil
	case flows.CheckPacketLarger:
		h, err := spanHeader(v, "check_pkt_larger", a.Dst, 1)
		if err != nil {
			return b, err
		}
		b = be.AppendUint16(appendNicira(b, 24, nxCheckPktLarger), a.Bytes)
		b = be.AppendUint16(b, a.Dst.Offset)
		return endNicira(be.AppendUint32(b, h), start)
	}
	return b, &ValueError{What: fmt.Sprintf("action of type %T has no wire form", a)}
}

func appendDecTTL(b []byte, a *flows.DecTTL) ([]byte, error) {
	if len(a.Controllers) == 0 {
		return append(b, 0, actDecTTL, 0, 8, 0, 0, 0, 0), nil
	}
	start := len(b)
	if len(a.Controllers) > maxMessage/2 {
		return b, &ValueError{What: fmt.Sprintf("dec_ttl for %d controllers", len(a.Controllers))}
	}
	b = be.AppendUint16(appendNicira(b, 0, nxDecTTLIDs), uint16(len(a.Controllers)))
	b = append(b, 0, 0, 0, 0)
	for _, id := range a.Controllers {
		b = be.AppendUint16(b, id)
	}
	return endNicira(b, start)
}

func appendMultipath(b []byte, v Version, a *flows.Multipath) ([]byte, error) {
	if err := a.Check(); err != nil {
		return b, &ValueError{What: err.Error()}
	}
	h, err := spanHeader(v, "multipath", a.Dst, 64)
	if err != nil {
		return b, err
	}
	b = be.AppendUint16(appendNicira(b, 32, nxMultipath), uint16(a.Hash))
	b = be.AppendUint16(b, a.Basis)
	b = be.AppendUint16(append(b, 0, 0), uint16(a.Algorithm))
	b = be.AppendUint16(b, uint16(a.Links-1))
	b = be.AppendUint32(b, a.Arg)
	b = be.AppendUint16(append(b, 0, 0), packSpan(a.Dst))
	return be.AppendUint32(b, h), nil
}

func appendStack(b []byte, v Version, subtype uint8, s flows.Span) ([]byte, error) {
	start := len(b)
	h, err := spanHeader(v, "push or pop", s, 128)
	if err != nil {
		return b, err
	}
	b = be.AppendUint16(appendNicira(b, 24, subtype), s.Offset)
	b = be.AppendUint32(b, h)
	return endNicira(be.AppendUint16(b, s.Bits), start)
}

// decodeNicira reads a Nicira action, at least 16 bytes; nil if it is not known.
func decodeNicira(subtype uint16, b []byte) flows.Action {
	switch {
	case subtype == nxResubmitTable && len(b) == 16:
		return flows.Resubmit{Port: port32(be.Uint16(b[10:])), Table: b[12]}
	case subtype == nxFinTimeout && len(b) == 16:
		return flows.FinTimeout{Idle: be.Uint16(b[10:]), Hard: be.Uint16(b[12:])}
	case subtype == nxRegMove && len(b) == 24:
		return decodeMove(b[10:], b[16:])
	case subtype == nxRegLoad && len(b) == 24:
		return decodeRegLoad(be.Uint16(b[10:]), b[12:16], be.Uint64(b[16:]))
	case subtype == nxRegLoad2:
		return decodeSetField(b[10:])
	case subtype == nxCT && len(b) >= 24:
		return decodeCT(b)
	case subtype == nxCTClear && len(b) == 16:
		return flows.CTClear{}
	case subtype == nxExit && len(b) == 16:
		return flows.Exit{}
	case subtype == nxController || subtype == nxController2:
		return decodeToController(subtype, b)
	case subtype == nxLearn && len(b) >= 32 || subtype == nxLearn2 && len(b) >= 40:
		return decodeLearn(subtype, b)
	case subtype == nxDecTTLIDs:
		return decodeDecTTL(b)
	case len(b) == 24 || len(b) == 32:
		return decodeSpanAction(subtype, b)
	}
	return nil
}

func decodeDecTTL(b []byte) flows.Action {
	n := int(be.Uint16(b[10:]))
	if n == 0 || 2*n > len(b)-16 {
		return nil
	}
	a := flows.DecTTL{Controllers: make([]uint16, n)}
	for i := range a.Controllers {
		a.Controllers[i] = be.Uint16(b[16+2*i:])
	}
	return a
}

// decodeSpanAction reads those actions that have little more than a span, of 24 bytes or, multipath, 32.
func decodeSpanAction(subtype uint16, b []byte) flows.Action {
	switch {
	case subtype == nxMultipath && len(b) == 32:
		dst, ok := unpackSpan(be.Uint16(b[26:]), b[28:])
		a := flows.Multipath{Hash: flows.HashFields(be.Uint16(b[10:])), Basis: be.Uint16(b[12:]),
			Algorithm: flows.HashAlgorithm(be.Uint16(b[16:])), Links: uint32(be.Uint16(b[18:])) + 1, Arg: be.Uint32(b[20:]), Dst: dst}
		if ok && a.Check() == nil {
			return a
		}
	case len(b) != 24:
	case subtype == nxOutputReg && be.Uint16(b[16:]) == 0xffff: // what a text says; another is kept raw
		if src, ok := unpackSpan(be.Uint16(b[10:]), b[12:]); ok {
			return flows.OutputReg{Src: src}
		}
	case subtype == nxStackPush:
		if s, ok := decodeSpan(b[12:], be.Uint16(b[10:]), be.Uint16(b[16:])); ok {
			return flows.StackPush{Src: s}
		}
	case subtype == nxStackPop:
		if s, ok := decodeSpan(b[12:], be.Uint16(b[10:]), be.Uint16(b[16:])); ok {
			return flows.StackPop{Dst: s}
		}
	case subtype == nxCheckPktLarger:
		if s, ok := decodeSpan(b[14:], be.Uint16(b[12:]), 1); ok {
			return flows.CheckPacketLarger{Bytes: be.Uint16(b[10:]), Dst: s}
		}
	}
	return nil
}
