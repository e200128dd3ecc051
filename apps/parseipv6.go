package apps

import (
	"encoding/binary"
	"net/netip"

	"github.com/evenflow/evenflow/flows"
)

// IPv6 extension headers that are stepped over, the same as Open vSwitch does before it looks at a protocol. All begin with
// the next header's number and their own length, but the fragment header, which is always 8 bytes.
const (
	headerHopByHop       = 0
	headerRouting        = 43
	headerFragment       = 44
	headerAuthentication = 51
	headerDestination    = 60

	ipv6Header       = 40
	maxIPv6Extension = 8 // RFC 8200 section 4.1 has 7 in its recommended order, destination options twice
)

// parseIPv6 reads RFC 8200. A jumbogram has a length of 0 and is refused for what is then missing.
func (f *Frame) parseIPv6(b []byte) error {
	if len(b) < ipv6Header {
		return ErrFrameIP
	}
	total := ipv6Header + int(binary.BigEndian.Uint16(b[4:]))
	if b[0]>>4 != 6 || total > len(b) {
		return ErrFrameIP
	}
	f.IP = b[:total:total]
	f.Proto, f.TTL = b[6], b[7]
	f.Src, f.Dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	p := f.IP[ipv6Header:]
	for range maxIPv6Extension + 1 {
		switch f.Proto {
		case ProtoTCP:
			return f.parseTCP(p)
		case ProtoUDP:
			return f.parseUDP(p)
		case ProtoICMPv6:
			return f.parseICMPv6(p)
		case headerHopByHop, headerRouting, headerFragment, headerAuthentication, headerDestination:
		default:
			return nil
		}
		size := 8
		switch {
		case len(p) < size:
			return ErrFrameIPv6
		case f.Proto == headerAuthentication:
			size = (int(p[1]) + 2) * 4
		case f.Proto != headerFragment:
			size = (int(p[1]) + 1) * 8
		default:
			const more, offset = 0x0001, 0xfff8
			if frag := binary.BigEndian.Uint16(p[2:]); frag&(more|offset) != 0 { // else it is atomic, and whole (RFC 6946)
				f.Fragment = true
				if frag&offset != 0 {
					f.Proto = p[0]
					return nil // no header of the next layer
				}
			}
		}
		if size > len(p) {
			return ErrFrameIPv6
		}
		f.Proto, p = p[0], p[size:]
	}
	return ErrFrameIPv6
}

func (f *Frame) parseICMPv6(p []byte) error {
	if err := f.parseICMP(p); err != nil {
		return err
	}
	if p[0] == NeighbourSolicitation || p[0] == NeighbourAdvertisement {
		return f.parseND(p)
	}
	return nil
}

// parseND reads a neighbour solicitation or advertisement. One that breaks RFC 4861 section 7.1 is a frame like any other,
// but tells nothing; it must not be in fragments either (RFC 6980).
func (f *Frame) parseND(p []byte) error {
	const (
		fixed        = 24
		sourceLink   = 1
		targetLink   = 2
		solicited    = 0x40 // of an advertisement's flags
		linkOption   = 8    // bytes, on Ethernet
		optionHeader = 2
	)
	if len(p) < fixed {
		return ErrFrameND
	}
	want := byte(sourceLink)
	if p[0] == NeighbourAdvertisement {
		want = targetLink
	}
	var link flows.MAC
	for o := p[fixed:]; len(o) > 0; {
		if len(o) < optionHeader || o[1] == 0 || int(o[1])*8 > len(o) {
			return ErrFrameND
		}
		size := int(o[1]) * 8
		if o[0] == want && size == linkOption {
			link = flows.MAC(o[2:8])
		}
		o = o[size:]
	}
	target := netip.AddrFrom16([16]byte(p[8:fixed]))
	switch {
	case f.TTL != NDHopLimit || p[1] != 0 || f.Fragment || target.IsMulticast():
		return nil
	case want == targetLink && f.Dst.IsMulticast() && p[4]&solicited != 0:
		return nil
	case want == sourceLink && f.Src.IsUnspecified() && (link != flows.MAC{} || !solicitedNode(f.Dst)):
		return nil
	}
	f.NDTarget, f.NDLink = target, link
	return nil
}

// solicitedNode reports whether an address is one of the groups ff02::1:ff00:0/104 (RFC 4291 section 2.7.1).
func solicitedNode(a netip.Addr) bool {
	b := a.As16()
	return [13]byte(b[:13]) == [13]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff}
}
