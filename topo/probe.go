package topo

import (
	"encoding/binary"
	"net/netip"

	"github.com/evenflow/evenflow/flows"
)

var broadcast = flows.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// Probe is a frame that asks for the host with an address: its own MAC is dst, or broadcast when it is not known. The answer
// is addressed to src.
func Probe(src, dst flows.MAC, target netip.Addr) []byte {
	if target.Is4() {
		return arpProbe(src, dst, target)
	}
	return ndProbe(src, dst, target)
}

// arpProbe is an ARP request without a sender's address, which changes nobody's ARP table (RFC 5227).
func arpProbe(src, dst flows.MAC, target netip.Addr) []byte {
	b := make([]byte, 0, 42)
	b = append(append(append(b, dst[:]...), src[:]...), 0x08, 0x06)
	b = append(b, 0, 1, 8, 0, 6, 4, 0, 1) // Ethernet, IPv4, request
	b = append(append(b, src[:]...), 0, 0, 0, 0)
	b = append(b, 0, 0, 0, 0, 0, 0)
	return append(b, target.AsSlice()...)
}

// ndProbe is a neighbour solicitation (RFC 4861 section 4.3) from the link-local address of src, with its MAC, so that a host
// can answer at once. One from the unspecified address would keep a host that is just taking the address from having it
// (RFC 4862 section 5.4.3), and be answered to all.
func ndProbe(src, dst flows.MAC, target netip.Addr) []byte {
	const icmpv6, solicitation, sourceLink, hopLimit, length = 58, 135, 1, 255, 32
	to, group := target.As16(), target.As16()
	if dst == broadcast {
		group = [16]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff, 13: to[13], 14: to[14], 15: to[15]} // RFC 4291 section 2.7.1
		dst = flows.MAC{0x33, 0x33, group[12], group[13], group[14], group[15]}              // RFC 2464 section 7
	}
	from := LinkLocal(src).As16()
	b := make([]byte, 0, 14+40+length)
	b = append(append(append(b, dst[:]...), src[:]...), 0x86, 0xdd)
	b = append(b, 0x60, 0, 0, 0, 0, length, icmpv6, hopLimit)
	b = append(append(b, from[:]...), group[:]...)
	at := len(b)
	b = append(b, solicitation, 0, 0, 0, 0, 0, 0, 0)
	b = append(append(append(b, to[:]...), sourceLink, 1), src[:]...)
	sum := uint32(length + icmpv6) // of the pseudo-header, whose addresses stand before the message (RFC 8200 section 8.1)
	for i := at - 32; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(b[at+2:], ^uint16(sum))
	return b
}

// LinkLocal is the link-local address that belongs to a MAC (RFC 4291 appendix A). That of [Config].MAC sends the probes for
// IPv6 addresses; no host may have it.
func LinkLocal(m flows.MAC) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5]})
}
