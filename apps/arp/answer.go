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

// back sends a frame to where it came from.
var back = []flows.Action{flows.Output{Port: flows.PortIn}}

func move(src, dst flows.Field) flows.Action {
	bits := uint16(src.Bits())
	return flows.Move{Src: flows.Span{Field: src, Bits: bits}, Dst: flows.Span{Field: dst, Bits: bits}}
}

// answerARP turns a request for an address into the answer that it is at a MAC.
func answerARP(a netip.Addr, m flows.MAC) []flows.Action {
	return append([]flows.Action{
		move(flows.EthSrc, flows.EthDst), flows.SetMAC(flows.EthSrc, m),
		flows.SetNum(flows.ARPOp, apps.ARPReply),
		move(flows.ARPSHA, flows.ARPTHA), flows.SetMAC(flows.ARPSHA, m),
		move(flows.ARPSPA, flows.ARPTPA), flows.SetField{Field: flows.ARPSPA, Value: flows.AddrValue(a)},
	}, back...)
}

// answerEcho turns a ping of an address of ours into its answer; the switch mends the checksums.
func answerEcho(a netip.Addr) []flows.Action {
	src, dst, kind := flows.IPv4Src, flows.IPv4Dst, flows.SetNum(flows.ICMPv4Type, echoReply)
	if !a.Is4() {
		src, dst, kind = flows.IPv6Src, flows.IPv6Dst, flows.SetNum(flows.ICMPv6Type, echoReplyIPv6)
	}
	return append([]flows.Action{
		move(flows.EthSrc, flows.EthDst), flows.SetMAC(flows.EthSrc, apps.VIPMAC),
		move(src, dst), flows.SetField{Field: src, Value: flows.AddrValue(a)},
		flows.SetNum(flows.IPTTL, ownTTL), kind,
	}, back...)
}
