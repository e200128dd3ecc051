package ovshash

import "net/netip"

// Flow is a packet's headers as they are when it is hashed. Src and Dst are of one family, or both invalid when it is not IP.
type Flow struct {
	EthSrc, EthDst   [6]byte
	EthType          uint16
	VLANs            uint16 // the ids of its VLAN tags, by exclusive or; 0 without
	Src, Dst         netip.Addr
	Proto            uint8 // of IP
	SrcPort, DstPort uint16
	Fragment         Fragment
}

// Fragment says whether a packet is one.
type Fragment uint8

// Fragments. The first has its ports, later ones have not.
const (
	Whole Fragment = iota
	FirstFragment
	LaterFragment
)

// Protocols of IP with ports.
const (
	tcp  = 6
	udp  = 17
	sctp = 132
)

// IP types of Ethernet.
const (
	ethIPv4 = 0x0800
	ethIPv6 = 0x86dd
)
