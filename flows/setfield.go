package flows

import (
	"fmt"
	"math/big"
	"strings"
)

func parseSetField(s string) (Action, error) {
	value, name, ok := strings.Cut(s, "->")
	f, known := FieldByName(name)
	switch {
	case !ok:
		return nil, fmt.Errorf("want VALUE[/MASK]->FIELD")
	case !known || name == "dl_vlan" || name == "NXM_OF_IN_PORT":
		return nil, fmt.Errorf("unknown field %q, want the name of a field like eth_dst, ip_src, tcp_dst, reg0", name)
	case name == "nw_tos":
		n, err := parseUint(value, 8)
		if err == nil && n&3 != 0 {
			err = fmt.Errorf("nw_tos %s: want a multiple of 4", value)
		}
		return SetField{Field: IPDSCP, Value: U64(n>>2, 1)}, err
	}
	a := SetField{Field: f}
	var err error
	if a.Value, a.Mask, a.Masked, err = parseValue(f, value); err != nil {
		return nil, err
	}
	if a.Masked && !f.Maskable() {
		return nil, fmt.Errorf("%v cannot be masked", f)
	}
	if a.Masked && a.Mask == (Value{}) {
		return nil, fmt.Errorf("mask 0 sets nothing")
	}
	return a, nil
}

// parseLoad reads load:NUMBER->FIELD[..] as the set_field that does the same, as Open vSwitch does in OpenFlow 1.5.
func parseLoad(s string) (Action, error) {
	number, to, ok := strings.Cut(s, "->")
	if !ok {
		return nil, fmt.Errorf("want NUMBER->FIELD[]")
	}
	span, err := parseSpan(to)
	if err != nil {
		return nil, err
	}
	n, err := parseUint(number, min(64, int(span.Bits)))
	if err != nil {
		return nil, err
	}
	f := span.Field
	a := SetField{Field: f, Masked: true}
	shifted := new(big.Int).Lsh(new(big.Int).SetUint64(n), uint(span.Offset))
	shifted.FillBytes(a.Value[:f.Width()])
	ones := new(big.Int).Lsh(big.NewInt(1), uint(span.Bits))
	ones.Sub(ones, big.NewInt(1)).Lsh(ones, uint(span.Offset)).FillBytes(a.Mask[:f.Width()])
	switch whole := lowBits(f.Bits(), f.Width()); {
	case f == InPort && span.Offset == 0 && span.Bits == 16:
		if a = SetNum(InPort, n); n >= uint64(PortIn)&0xffff {
			a = SetNum(InPort, 0xffff_0000|n)
		}
	case a.Mask == whole && f != VLANVID: // of vlan_vid the bit that says that there is a tag stays as it is
		a.Masked, a.Mask = false, Value{}
	case !f.Maskable():
		return nil, fmt.Errorf("%v can be set as a whole only", f)
	}
	return a, nil
}

func parseMove(s string) (Action, error) {
	from, to, ok := strings.Cut(s, "->")
	if !ok {
		return nil, fmt.Errorf("want FIELD[]->FIELD[]")
	}
	src, err := parseSpan(from)
	if err != nil {
		return nil, err
	}
	dst, err := parseSpan(to)
	if err == nil && src.Bits != dst.Bits {
		err = fmt.Errorf("source has %d bits, destination %d", src.Bits, dst.Bits)
	}
	return Move{src, dst}, err
}

func parseWriteMetadata(s string) (Action, error) {
	value, mask, masked := strings.Cut(s, "/")
	a := WriteMetadata{Mask: ^uint64(0)}
	var err error
	if a.Value, err = parseUint(value, 64); err == nil && masked {
		a.Mask, err = parseUint(mask, 64)
	}
	return a, err
}
