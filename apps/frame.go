package apps

import (
	"net/netip"
	"strconv"

	"github.com/evenflow/evenflow/flows"
)

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

// Frame is an Ethernet frame taken apart by [ParseFrame] as far as apps need it. All slices alias Data. What a frame does
// not have is zero.
type Frame struct {
	Data    []byte
	EthDst  flows.MAC
	EthSrc  flows.MAC
	EthType uint16 // of the payload, behind VLAN tags
	VLAN    bool   // the frame carries a VLAN tag

	// IP
	Proto    uint8
	Src, Dst netip.Addr
	TTL      uint8
	Fragment bool   // a later fragment, or a first one with more to come
	IP       []byte // the IP packet, without Ethernet padding; of IPv6 Proto and what follows are behind its extension headers

	// TCP, UDP
	SrcPort, DstPort uint16
	TCPFlags         uint8
	Seq, Ack         uint32
	Payload          []byte // of TCP, UDP or ICMP
	ICMPType         uint8

	// ARP
	ARPOp          uint16
	ARPSrc, ARPDst netip.Addr
	ARPSrcMAC      flows.MAC

	// Neighbour solicitation or advertisement, if it is valid (RFC 4861 section 7.1); which of them, ICMPType says
	NDTarget netip.Addr
	NDLink   flows.MAC // the source's of a solicitation, the target's of an advertisement
}

// TCP flags.
const (
	FIN = 1 << 0
	SYN = 1 << 1
	RST = 1 << 2
	ACK = 1 << 4
)

// Ethernet types and IP protocols that a Frame is taken apart by.
const (
	EtherTypeIPv4 = 0x0800
	EtherTypeARP  = 0x0806
	EtherTypeIPv6 = 0x86dd

	ProtoICMP   = 1
	ProtoTCP    = 6
	ProtoUDP    = 17
	ProtoICMPv6 = 58
)

// Neighbour discovery (RFC 4861 section 4).
const (
	RouterAdvertisement    = 134
	NeighbourSolicitation  = 135
	NeighbourAdvertisement = 136
	NDHopLimit             = 255 // of all its messages: they come from no farther than this network
)
