package arp

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

const (
	echoRequest = 8
	echoReply   = 0
	ownTTL      = 64

	echoRequestIPv6 = 128
	echoReplyIPv6   = 129
)

// Actions of all answers.
var (
	toInPort = flows.Action(flows.Output{Port: flows.PortIn})
	back     = []flows.Action{toInPort} // to where the frame came from

	toSender  = move(flows.EthSrc, flows.EthDst)
	fromVIPs  = flows.Action(flows.SetMAC(flows.EthSrc, apps.VIPMAC))
	isReply   = flows.Action(flows.SetNum(flows.ARPOp, apps.ARPReply))
	toAsker   = move(flows.ARPSHA, flows.ARPTHA)
	toAddress = move(flows.ARPSPA, flows.ARPTPA)

	backIPv4, backIPv6 = move(flows.IPv4Src, flows.IPv4Dst), move(flows.IPv6Src, flows.IPv6Dst)
	ownHops            = flows.Action(flows.SetNum(flows.IPTTL, ownTTL))
	isEcho, isEchoIPv6 = flows.Action(flows.SetNum(flows.ICMPv4Type, echoReply)), flows.Action(flows.SetNum(flows.ICMPv6Type, echoReplyIPv6))
)

func move(src, dst flows.Field) flows.Action {
	bits := uint16(src.Bits())
	return flows.Move{Src: flows.Span{Field: src, Bits: bits}, Dst: flows.Span{Field: dst, Bits: bits}}
}

// answerARP turns a request for an address into the answer that it is at a MAC.
func answerARP(a netip.Addr, m flows.MAC) []flows.Action {
	return []flows.Action{
		toSender, flows.SetMAC(flows.EthSrc, m), isReply,
		toAsker, flows.SetMAC(flows.ARPSHA, m),
		toAddress, flows.SetField{Field: flows.ARPSPA, Value: flows.AddrValue(a)},
		toInPort,
	}
}

// answerEcho turns a ping of an address of ours into its answer; the switch mends the checksums.
func answerEcho(a netip.Addr) []flows.Action {
	src, toSource, kind := flows.IPv4Src, backIPv4, isEcho
	if !a.Is4() {
		src, toSource, kind = flows.IPv6Src, backIPv6, isEchoIPv6
	}
	return []flows.Action{toSender, fromVIPs, toSource, flows.SetField{Field: src, Value: flows.AddrValue(a)}, ownHops, kind, toInPort}
}
