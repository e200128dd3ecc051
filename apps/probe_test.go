package apps

import (
	"net/netip"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/topo"
)

// What answers probes is told from all else by the frame alone, for switches whose rules do not say it.
func TestAnswersProbe(t *testing.T) {
	own, other := netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("10.0.0.1")
	x, err := vip.Create(1, vip.Spec{Name: "v", Address: own.String(), Protocol: vip.TCP, Port: "80"}, vip.OriginAPI)
	if err != nil {
		t.Fatal(err)
	}
	v := NewView(&topo.Snapshot{}, nil, []*VIP{{VIP: x}})
	for name, c := range map[string]struct {
		frame Frame
		want  bool
	}{
		"ARP":                   {Frame{EthType: EtherTypeARP, EthDst: ProbeMAC, ARPOp: ARPReply}, true},
		"ARP to the VIPs' MAC":  {Frame{EthType: EtherTypeARP, EthDst: VIPMAC, ARPOp: ARPReply}, false},
		"ARP that asks":         {Frame{EthType: EtherTypeARP, EthDst: ProbeMAC, ARPOp: ARPRequest}, false},
		"ND":                    {Frame{EthType: EtherTypeIPv6, EthDst: ProbeMAC, NDTarget: other, ICMPType: NeighbourAdvertisement}, true},
		"ND that asks":          {Frame{EthType: EtherTypeIPv6, EthDst: ProbeMAC, NDTarget: other, ICMPType: NeighbourSolicitation}, false},
		"echo reply":            {Frame{EthType: EtherTypeIPv4, Proto: ProtoICMP, Dst: own, ICMPType: EchoReply}, true},
		"echo reply to another": {Frame{EthType: EtherTypeIPv4, Proto: ProtoICMP, Dst: other, ICMPType: EchoReply}, false},
		"ping":                  {Frame{EthType: EtherTypeIPv4, Proto: ProtoICMP, Dst: own, ICMPType: 8}, false},
		"echo reply, IPv6":      {Frame{EthType: EtherTypeIPv6, Proto: ProtoICMPv6, Dst: own, ICMPType: EchoReplyIPv6}, true},
		"accepts":               {Frame{Proto: ProtoTCP, Dst: own, DstPort: 320, TCPFlags: SYN | ACK}, true},
		"refuses":               {Frame{Proto: ProtoTCP, Dst: own, DstPort: 383, TCPFlags: RST | ACK}, true},
		"accepts from another":  {Frame{Proto: ProtoTCP, Dst: own, DstPort: 384, TCPFlags: SYN | ACK}, false},
		"a client's connection": {Frame{Proto: ProtoTCP, Dst: own, DstPort: 330, TCPFlags: SYN}, false},
		"data":                  {Frame{Proto: ProtoTCP, Dst: own, DstPort: 330, TCPFlags: ACK}, false},
		"UDP":                   {Frame{Proto: ProtoUDP, Dst: own, DstPort: 330}, false},
		"in a VLAN":             {Frame{EthType: EtherTypeARP, EthDst: ProbeMAC, ARPOp: ARPReply, VLAN: true}, false},
		"a fragment":            {Frame{Proto: ProtoTCP, Dst: own, DstPort: 320, TCPFlags: SYN | ACK, Fragment: true}, false},
	} {
		if got := AnswersProbe(v, &c.frame); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
