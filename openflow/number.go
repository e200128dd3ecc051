package openflow

import "github.com/evenflow/evenflow/flows"

// number is how a field is called on the wire. Its width there is Field.Width.
type number struct {
	class uint16
	num   uint8
}

// numbers says how each field is written. Sources: table 12 of the specification, ovs-fields(7).
var numbers = map[flows.Field]number{
	flows.DPHash:        {classNXM1, 35},
	flows.RecircID:      {classNXM1, 36},
	flows.ConjID:        {classNXM1, 37},
	flows.PktMark:       {classNXM1, 33},
	flows.CTState:       {classNXM1, 105},
	flows.CTZone:        {classNXM1, 106},
	flows.CTMark:        {classNXM1, 107},
	flows.CTLabel:       {classNXM1, 108},
	flows.CTNWSrc:       {classNXM1, 120},
	flows.CTNWDst:       {classNXM1, 121},
	flows.CTIPv6Src:     {classNXM1, 122},
	flows.CTIPv6Dst:     {classNXM1, 123},
	flows.CTNWProto:     {classNXM1, 119},
	flows.CTTPSrc:       {classNXM1, 124},
	flows.CTTPDst:       {classNXM1, 125},
	flows.Reg0:          {classNXM1, 0},
	flows.Reg1:          {classNXM1, 1},
	flows.Reg2:          {classNXM1, 2},
	flows.Reg3:          {classNXM1, 3},
	flows.Reg4:          {classNXM1, 4},
	flows.Reg5:          {classNXM1, 5},
	flows.Reg6:          {classNXM1, 6},
	flows.Reg7:          {classNXM1, 7},
	flows.Reg8:          {classNXM1, 8},
	flows.Reg9:          {classNXM1, 9},
	flows.Reg10:         {classNXM1, 10},
	flows.Reg11:         {classNXM1, 11},
	flows.Reg12:         {classNXM1, 12},
	flows.Reg13:         {classNXM1, 13},
	flows.Reg14:         {classNXM1, 14},
	flows.Reg15:         {classNXM1, 15},
	flows.XReg0:         {classRegisters, 0},
	flows.XReg1:         {classRegisters, 1},
	flows.XReg2:         {classRegisters, 2},
	flows.XReg3:         {classRegisters, 3},
	flows.XReg4:         {classRegisters, 4},
	flows.XReg5:         {classRegisters, 5},
	flows.XReg6:         {classRegisters, 6},
	flows.XReg7:         {classRegisters, 7},
	flows.XXReg0:        {classNXM1, 111},
	flows.XXReg1:        {classNXM1, 112},
	flows.XXReg2:        {classNXM1, 113},
	flows.XXReg3:        {classNXM1, 114},
	flows.TunSrc:        {classNXM1, 31},
	flows.TunDst:        {classNXM1, 32},
	flows.TunIPv6Src:    {classNXM1, 109},
	flows.TunIPv6Dst:    {classNXM1, 110},
	flows.IPTTL:         {classNXM1, 29},
	flows.MPLSTTL:       {classNXM1, 30},
	flows.VLANTCI:       {classNXM0, 4},
	flows.NDReserved:    {classEricsson, 1},
	flows.NDOptionsType: {classEricsson, 2},
	flows.IPFrag:        {classNXM1, 26},
	flows.InPort:        {classBasic, 0},
	flows.Metadata:      {classBasic, 2},
	flows.EthDst:        {classBasic, 3},
	flows.EthSrc:        {classBasic, 4},
	flows.EthType:       {classBasic, 5},
	flows.VLANVID:       {classBasic, 6},
	flows.VLANPCP:       {classBasic, 7},
	flows.IPDSCP:        {classBasic, 8},
	flows.IPECN:         {classBasic, 9},
	flows.IPProto:       {classBasic, 10},
	flows.IPv4Src:       {classBasic, 11},
	flows.IPv4Dst:       {classBasic, 12},
	flows.TCPSrc:        {classBasic, 13},
	flows.TCPDst:        {classBasic, 14},
	flows.UDPSrc:        {classBasic, 15},
	flows.UDPDst:        {classBasic, 16},
	flows.SCTPSrc:       {classBasic, 17},
	flows.SCTPDst:       {classBasic, 18},
	flows.ICMPv4Type:    {classBasic, 19},
	flows.ICMPv4Code:    {classBasic, 20},
	flows.ARPOp:         {classBasic, 21},
	flows.ARPSPA:        {classBasic, 22},
	flows.ARPTPA:        {classBasic, 23},
	flows.ARPSHA:        {classBasic, 24},
	flows.ARPTHA:        {classBasic, 25},
	flows.IPv6Src:       {classBasic, 26},
	flows.IPv6Dst:       {classBasic, 27},
	flows.IPv6Label:     {classBasic, 28},
	flows.ICMPv6Type:    {classBasic, 29},
	flows.ICMPv6Code:    {classBasic, 30},
	flows.NDTarget:      {classBasic, 31},
	flows.NDSLL:         {classBasic, 32},
	flows.NDTLL:         {classBasic, 33},
	flows.MPLSLabel:     {classBasic, 34},
	flows.MPLSTC:        {classBasic, 35},
	flows.MPLSBOS:       {classBasic, 36},
	flows.TunnelID:      {classBasic, 38},
	flows.TCPFlags:      {classBasic, 42},
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
	headers    = indexHeaders(numbers)
	nxmHeaders = indexHeaders(swap(older)) // of the fields that have an older name
	fields     = indexFields()
)

func swap(older map[number]flows.Field) map[flows.Field]number {
	names := make(map[flows.Field]number, len(older))
	for n, f := range older {
		names[f] = n
	}
	return names
}

func indexHeaders(numbers map[flows.Field]number) (h [256]uint32) {
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
	case classEricsson:
		return 4
	}
	return -1
}

func indexFields() (t [5][128]flows.Field) {
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
