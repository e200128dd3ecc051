package openflow

import "github.com/evenflow/evenflow/flows"

// Classes of match fields (section 7.2.3.3; Nicira's are older than OXM and were given class numbers in it).
const (
	classNXM0         = 0x0000 // fields of OpenFlow 1.0 as NXM
	classNXM1         = 0x0001 // Nicira extensions
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

// number is how a field is called on the wire. Its width there is Field.Width.
type number struct {
	class uint16
	num   uint8
}

// numbers says how each field is written. Sources: table 12 of the specification, ovs-fields(7).
var numbers = map[flows.Field]number{
	flows.DPHash:     {classNXM1, 35},
	flows.RecircID:   {classNXM1, 36},
	flows.ConjID:     {classNXM1, 37},
	flows.PktMark:    {classNXM1, 33},
	flows.CTState:    {classNXM1, 105},
	flows.CTZone:     {classNXM1, 106},
	flows.CTMark:     {classNXM1, 107},
	flows.CTLabel:    {classNXM1, 108},
	flows.CTNWSrc:    {classNXM1, 120},
	flows.CTNWDst:    {classNXM1, 121},
	flows.CTIPv6Src:  {classNXM1, 122},
	flows.CTIPv6Dst:  {classNXM1, 123},
	flows.CTNWProto:  {classNXM1, 119},
	flows.CTTPSrc:    {classNXM1, 124},
	flows.CTTPDst:    {classNXM1, 125},
	flows.Reg0:       {classNXM1, 0},
	flows.Reg1:       {classNXM1, 1},
	flows.Reg2:       {classNXM1, 2},
	flows.Reg3:       {classNXM1, 3},
	flows.Reg4:       {classNXM1, 4},
	flows.Reg5:       {classNXM1, 5},
	flows.Reg6:       {classNXM1, 6},
	flows.Reg7:       {classNXM1, 7},
	flows.Reg8:       {classNXM1, 8},
	flows.Reg9:       {classNXM1, 9},
	flows.Reg10:      {classNXM1, 10},
	flows.Reg11:      {classNXM1, 11},
	flows.Reg12:      {classNXM1, 12},
	flows.Reg13:      {classNXM1, 13},
	flows.Reg14:      {classNXM1, 14},
	flows.Reg15:      {classNXM1, 15},
	flows.XReg0:      {classRegisters, 0},
	flows.XReg1:      {classRegisters, 1},
	flows.XReg2:      {classRegisters, 2},
	flows.XReg3:      {classRegisters, 3},
	flows.XReg4:      {classRegisters, 4},
	flows.XReg5:      {classRegisters, 5},
	flows.XReg6:      {classRegisters, 6},
	flows.XReg7:      {classRegisters, 7},
	flows.XXReg0:     {classNXM1, 111},
	flows.XXReg1:     {classNXM1, 112},
	flows.XXReg2:     {classNXM1, 113},
	flows.XXReg3:     {classNXM1, 114},
	flows.TunSrc:     {classNXM1, 31},
	flows.TunDst:     {classNXM1, 32},
	flows.IPTTL:      {classNXM1, 29},
	flows.IPFrag:     {classNXM1, 26},
	flows.InPort:     {classBasic, 0},
	flows.Metadata:   {classBasic, 2},
	flows.EthDst:     {classBasic, 3},
	flows.EthSrc:     {classBasic, 4},
	flows.EthType:    {classBasic, 5},
	flows.VLANVID:    {classBasic, 6},
	flows.VLANPCP:    {classBasic, 7},
	flows.IPDSCP:     {classBasic, 8},
	flows.IPECN:      {classBasic, 9},
	flows.IPProto:    {classBasic, 10},
	flows.IPv4Src:    {classBasic, 11},
	flows.IPv4Dst:    {classBasic, 12},
	flows.TCPSrc:     {classBasic, 13},
	flows.TCPDst:     {classBasic, 14},
	flows.UDPSrc:     {classBasic, 15},
	flows.UDPDst:     {classBasic, 16},
	flows.SCTPSrc:    {classBasic, 17},
	flows.SCTPDst:    {classBasic, 18},
	flows.ICMPv4Type: {classBasic, 19},
	flows.ICMPv4Code: {classBasic, 20},
	flows.ARPOp:      {classBasic, 21},
	flows.ARPSPA:     {classBasic, 22},
	flows.ARPTPA:     {classBasic, 23},
	flows.ARPSHA:     {classBasic, 24},
	flows.ARPTHA:     {classBasic, 25},
	flows.IPv6Src:    {classBasic, 26},
	flows.IPv6Dst:    {classBasic, 27},
	flows.IPv6Label:  {classBasic, 28},
	flows.ICMPv6Type: {classBasic, 29},
	flows.ICMPv6Code: {classBasic, 30},
	flows.NDTarget:   {classBasic, 31},
	flows.NDSLL:      {classBasic, 32},
	flows.NDTLL:      {classBasic, 33},
	flows.MPLSLabel:  {classBasic, 34},
	flows.MPLSTC:     {classBasic, 35},
	flows.MPLSBOS:    {classBasic, 36},
	flows.TunnelID:   {classBasic, 38},
	flows.TCPFlags:   {classBasic, 42},
}

// older are other names of the same fields with the same width and meaning, accepted when read: NXM where a switch may
// prefer it.
var older = map[number]flows.Field{
	{classNXM0, 1}:  flows.EthDst,
	{classNXM0, 2}:  flows.EthSrc,
	{classNXM0, 3}:  flows.EthType,
	{classNXM0, 6}:  flows.IPProto,
	{classNXM0, 7}:  flows.IPv4Src,
	{classNXM0, 8}:  flows.IPv4Dst,
	{classNXM0, 9}:  flows.TCPSrc,
	{classNXM0, 10}: flows.TCPDst,
	{classNXM0, 11}: flows.UDPSrc,
	{classNXM0, 12}: flows.UDPDst,
	{classNXM0, 13}: flows.ICMPv4Type,
	{classNXM0, 14}: flows.ICMPv4Code,
	{classNXM0, 15}: flows.ARPOp,
	{classNXM0, 16}: flows.ARPSPA,
	{classNXM0, 17}: flows.ARPTPA,
	{classNXM1, 16}: flows.TunnelID,
	{classNXM1, 17}: flows.ARPSHA,
	{classNXM1, 18}: flows.ARPTHA,
	{classNXM1, 19}: flows.IPv6Src,
	{classNXM1, 20}: flows.IPv6Dst,
	{classNXM1, 21}: flows.ICMPv6Type,
	{classNXM1, 22}: flows.ICMPv6Code,
	{classNXM1, 23}: flows.NDTarget,
	{classNXM1, 24}: flows.NDSLL,
	{classNXM1, 25}: flows.NDTLL,
	{classNXM1, 27}: flows.IPv6Label,
	{classNXM1, 28}: flows.IPECN,
	{classNXM1, 34}: flows.TCPFlags,
}

// Both directions as arrays: headers without the mask bit by field (0: none), fields by class and number.
var (
	headers = indexHeaders()
	fields  = indexFields()
)

func indexHeaders() (h [256]uint32) {
	for f, n := range numbers {
		h[f] = uint32(n.class)<<16 | uint32(n.num)<<9 | uint32(f.Width())
	}
	return h
}

// classIndex maps the classes known here to rows of fields.
func classIndex(class uint16) int {
	switch class {
	case classBasic:
		return 0
	case classNXM1:
		return 1
	case classNXM0:
		return 2
	case classRegisters:
		return 3
	}
	return -1
}

func indexFields() (t [4][128]flows.Field) {
	for n, f := range older {
		t[classIndex(n.class)][n.num] = f
	}
	for f, n := range numbers {
		t[classIndex(n.class)][n.num] = f
	}
	return t
}

// header is the wire header of a field, without mask; 0 if it has none.
func header(v Version, f flows.Field) uint32 {
	if f == flows.TCPFlags && v < V15 {
		return tcpFlagsNXM
	}
	return headers[f]
}

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
