package openflow

import "github.com/evenflow/evenflow/flows"

// Classes of match fields (section 7.2.3.3; Nicira's are older than OXM and were given class numbers in it).
const (
	classNXM0         = 0x0000 // fields of OpenFlow 1.0 as NXM
	classNXM1         = 0x0001 // Nicira extensions
	classEricsson     = 0x1000 // of neighbour discovery
	classBasic        = 0x8000
	classRegisters    = 0x8001 // packet registers
	classExperimenter = 0xffff
)

// Experimenters.
const (
	nicira    = 0x00002320
	netronome = 0x0000154d
	onf       = 0x4f4e4600
)

const (
	oxmHasMask = 1 << 8
	// inPortNXM is in_port of OpenFlow 1.0, 16 bits. Open vSwitch lets in_port be written under this header only.
	inPortNXM = classNXM0<<16 | 0<<9 | 2
	// tcpFlagsNXM is tcp_flags in 1.3, where the field is not standard.
	tcpFlagsNXM = classNXM1<<16 | 34<<9 | 2
)

// oxm is one match field or set-field argument as found in bytes.
type oxm struct {
	field  flows.Field // FieldNone if not known here, or not with this width
	narrow bool        // in_port of 16 bits
	masked bool
	value  []byte // with its mask removed
	mask   []byte
	size   int // bytes taken, header included
}

// parseOXM reads the entry at the start of b.
func parseOXM(b []byte) (o oxm, err error) {
	if len(b) < 4 {
		return o, short("match field", len(b), 4)
	}
	n := int(b[3])
	o.size = 4 + n
	if o.size > len(b) {
		return o, long("match field", o.size, len(b))
	}
	class, num := be.Uint16(b), b[2]>>1
	body := b[4:o.size]
	if class == classExperimenter {
		if n < 4 {
			return o, short("experimenter match field", n, 4)
		}
		o.field = experimenterField(be.Uint32(body), num)
		body = body[4:]
	} else if i := classIndex(class); i >= 0 {
		o.field = fields[i][num]
	}
	o.value = body
	if o.masked = b[2]&1 != 0; o.masked {
		if len(body)%2 != 0 {
			return o, short("mask of a match field", len(body)/2, len(body)/2+1)
		}
		o.value, o.mask = body[:len(body)/2], body[len(body)/2:]
	}
	if class == classNXM0 && num == 0 && len(o.value) == 2 {
		o.field, o.narrow = flows.InPort, true
	} else if o.field != flows.FieldNone && len(o.value) != o.field.Width() {
		o.field = flows.FieldNone
	}
	return o, nil
}

// experimenterField knows those fields that Open vSwitch sends under class 0xffff though they have a plain number too.
func experimenterField(experimenter uint32, num uint8) flows.Field {
	switch {
	case experimenter == onf && num == 42:
		return flows.TCPFlags // in 1.3
	case experimenter == nicira && num == 0:
		return flows.DPHash
	}
	return flows.FieldNone
}

// fieldOf is the field a bare header names, and whether it is the 16-bit in_port. b must hold 4 bytes.
func fieldOf(b []byte) (f flows.Field, narrow bool) {
	class, num, width := be.Uint16(b), b[2]>>1, int(b[3])
	if b[2]&1 != 0 {
		return flows.FieldNone, false
	}
	if be.Uint32(b) == inPortNXM {
		return flows.InPort, true
	}
	i := classIndex(class)
	if i < 0 {
		return flows.FieldNone, false
	}
	if f = fields[i][num]; f != flows.FieldNone && f.Width() != width {
		return flows.FieldNone, false
	}
	return f, false
}

// value128 is a number of up to 128 bits as a value of the given width in bytes.
func value128(hi, lo uint64, width int) (v flows.Value) {
	for i := width - 1; i >= 0; i-- {
		v[i] = byte(lo)
		lo = lo>>8 | hi<<56
		hi >>= 8
	}
	return v
}

// port16 is a port number in 16 bits, as OpenFlow 1.0 and Nicira actions have it.
func port16(p uint32) (uint16, bool) {
	switch {
	case p < 0xff00:
		return uint16(p), true
	case p >= 0xffffff00:
		return uint16(p), true
	}
	return 0, false
}

// port32 is the reverse of port16.
func port32(p uint16) uint32 {
	if p >= 0xff00 {
		return 0xffff0000 | uint32(p)
	}
	return uint32(p)
}
