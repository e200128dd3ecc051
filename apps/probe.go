package apps

import "github.com/evenflow/evenflow/topo"

// ICMP echo replies, as a Frame's ICMPType.
const (
	EchoReply     = 0
	EchoReplyIPv6 = 129
)

// ProbeLinkLocal is where neighbour solicitations come from that probe backends; no host may have it.
var ProbeLinkLocal = topo.LinkLocal(ProbeMAC)

// AnswersProbe reports whether a frame looks like a backend's answer to a probe: to the MAC that asks by ARP and ND; an echo reply
// to an address of ours, which else asks nobody; or TCP that accepts or refuses a connection from one of ProbePorts of it.
func AnswersProbe(v *View, f *Frame) bool {
	switch {
	case f.VLAN || f.Fragment:
		return false
	case f.EthType == EtherTypeARP:
		return f.EthDst == ProbeMAC && f.ARPOp == ARPReply
	case f.NDTarget.IsValid():
		return f.EthDst == ProbeMAC && f.ICMPType == NeighbourAdvertisement
	case !v.Ours(f.Dst):
		return false
	case f.Proto == ProtoICMP:
		return f.ICMPType == EchoReply
	case f.Proto == ProtoICMPv6:
		return f.ICMPType == EchoReplyIPv6
	case f.Proto == ProtoTCP:
		return f.DstPort&ProbePorts.Mask == ProbePorts.Port && f.TCPFlags&ACK != 0 && f.TCPFlags&(SYN|RST) != 0
	}
	return false
}
