package health

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/topo"
)

const (
	probeTTL    = 64
	probeMSS    = 1460
	probeWindow = 1024
)

// secret is what tells a probe's answer from that to another, and from what somebody has made up: the data of an echo, and the port
// and sequence number of a connection. ARP and ND have no room for any.
type secret struct {
	echo uint64
	seq  uint32
	port uint16
}

// newSecret is the nth probe's of a target. Each takes the next port, so that the half of a connection which a lost packet has
// left behind is in no probe's way.
func newSecret(random uint64, n uint32) secret {
	return secret{random, uint32(random >> 32), apps.ProbePorts.Port + uint16(n)&^apps.ProbePorts.Mask}
}

// frame is the probe of a target.
func frame(w what, at place, s secret) ([]byte, error) {
	if w.Type == vip.HealthARP {
		return topo.Probe(apps.ProbeMAC, at.mac, w.Address), nil
	}
	mac := apps.ProbeMAC
	eth := &layers.Ethernet{SrcMAC: mac[:], DstMAC: at.mac[:], EthernetType: layers.EthernetTypeIPv4}
	stack := []gopacket.SerializableLayer{eth}
	tcp := w.Type == vip.HealthTCP
	proto, icmp := layers.IPProtocolTCP, layers.IPProtocolICMPv4
	if !w.Address.Is4() {
		eth.EthernetType, icmp = layers.EthernetTypeIPv6, layers.IPProtocolICMPv6
	}
	if !tcp {
		proto = icmp
	}
	ip := header(at.source, w.Address, proto)
	stack = append(stack, ip)
	id, seq := uint16(s.seq>>16), uint16(s.seq)
	echo := gopacket.Payload(binary.BigEndian.AppendUint64(nil, s.echo))
	switch {
	case tcp:
		mss := layers.TCPOption{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: binary.BigEndian.AppendUint16(nil, probeMSS)}
		syn := &layers.TCP{SrcPort: layers.TCPPort(s.port), DstPort: layers.TCPPort(w.Port), Seq: s.seq, SYN: true, Window: probeWindow,
			Options: []layers.TCPOption{mss}}
		if err := syn.SetNetworkLayerForChecksum(ip); err != nil {
			return nil, err
		}
		stack = append(stack, syn)
	case w.Address.Is4():
		stack = append(stack, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: id, Seq: seq}, echo)
	default:
		message := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeEchoRequest, 0)}
		if err := message.SetNetworkLayerForChecksum(ip); err != nil {
			return nil, err
		}
		stack = append(stack, message, &layers.ICMPv6Echo{Identifier: id, SeqNumber: seq}, echo)
	}
	b := gopacket.NewSerializeBufferExpectedSize(128, 0)
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, stack...); err != nil {
		return nil, fmt.Errorf("%s probe of %s: %w", w.Type, w.Address, err)
	}
	return b.Bytes(), nil
}

// ipLayer is an IP header to be written.
type ipLayer interface {
	gopacket.NetworkLayer
	gopacket.SerializableLayer
}

func header(src, dst netip.Addr, p layers.IPProtocol) ipLayer {
	if dst.Is4() {
		return &layers.IPv4{Version: 4, TTL: probeTTL, Flags: layers.IPv4DontFragment, Protocol: p, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	}
	return &layers.IPv6{Version: 6, HopLimit: probeTTL, NextHeader: p, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
}
