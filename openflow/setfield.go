package openflow

import (
	"fmt"
	"math/bits"

	"github.com/evenflow/evenflow/flows"
)

// writable is the header under which a field is written to: in_port's is that of NXM.
func writable(v Version, f flows.Field) uint32 {
	if f == flows.InPort {
		return inPortNXM
	}
	return header(v, f)
}

func appendSetField(b []byte, v Version, a *flows.SetField) ([]byte, error) {
	h := writable(v, a.Field)
	if h == 0 {
		return b, &ValueError{What: fmt.Sprintf("field %s has no wire number", a.Field)}
	}
	value := a.Value
	if a.Masked {
		if a.Mask == (flows.Value{}) {
			return b, &ValueError{What: "set_field with an empty mask"}
		}
		for i := range value {
			value[i] &= a.Mask[i]
		}
	}
	if a.Field == flows.InPort {
		port, ok := port16(uint32(value.Uint64(4)))
		if a.Masked || !ok {
			return b, &ValueError{What: "in_port can only be set as a whole and to a 16-bit port number"}
		}
		value = flows.U64(uint64(port), 2)
	}
	start := len(b)
	switch {
	case v >= V15 || !a.Masked:
		b = append(b, 0, actSetField, 0, 0)
	case a.Field.Width() <= 8:
		width := a.Field.Width()
		mask := a.Mask.Uint64(width)
		if low, n, ok := run(mask); ok && low+n <= a.Field.Bits() { // vlan_vid's bit 12 tells of a tag, and cannot be loaded
			return appendRegLoad(b, h, low, n, value.Uint64(width)>>low), nil
		}
		fallthrough
	default: // no masked set_field in 1.3
		b = appendNicira(b, 0, nxRegLoad2)
	}
	b = appendOXM(b, h, a.Masked, &value, &a.Mask)
	b = pad8(b, start)
	b[start+3] = byte(len(b) - start) // at most 56
	return b, nil
}

// run reports a mask's lowest bit and number of bits if they are contiguous.
func run(mask uint64) (low, n int, ok bool) {
	low = bits.TrailingZeros64(mask)
	n = bits.OnesCount64(mask)
	return low, n, mask != 0 && bits.Len64(mask) == low+n
}

func appendRegLoad(b []byte, h uint32, low, n int, value uint64) []byte {
	b = appendNicira(b, 24, nxRegLoad)
	b = be.AppendUint16(b, uint16(low<<6|(n-1)))
	b = be.AppendUint32(b, h)
	return be.AppendUint64(b, value)
}

func appendMove(b []byte, v Version, a *flows.Move) ([]byte, error) {
	src, dst := header(v, a.Src.Field), writable(v, a.Dst.Field)
	if src == 0 || dst == 0 {
		return b, &ValueError{What: fmt.Sprintf("move of %s to %s: no wire number", a.Src.Field, a.Dst.Field)}
	}
	n := a.Src.Bits
	if a.Dst.Field == flows.InPort && a.Src.Field == flows.InPort {
		src = inPortNXM
	}
	if n == 0 || n != a.Dst.Bits {
		return b, &ValueError{What: fmt.Sprintf("move of %d bits to %d bits", n, a.Dst.Bits)}
	}
	if v >= V15 {
		b = append(b, 0, actCopyField, 0, 24)
	} else {
		b = appendNicira(b, 24, nxRegMove)
	}
	b = be.AppendUint16(b, n)
	b = be.AppendUint16(b, a.Src.Offset)
	b = be.AppendUint16(b, a.Dst.Offset)
	if v >= V15 {
		b = append(b, 0, 0)
	}
	b = be.AppendUint32(b, src)
	b = be.AppendUint32(b, dst)
	if v >= V15 {
		b = append(b, 0, 0, 0, 0)
	}
	return b, nil
}
