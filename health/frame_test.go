package health

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

func serialize(l ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		panic(err)
	}
	return bytes.Clone(b.Bytes())
}

// answerTo is what a host answers to a probe over IPv4.
func answerTo(f *apps.Frame) []byte {
	eth := &layers.Ethernet{SrcMAC: f.EthDst[:], DstMAC: apps.VIPMAC[:], EthernetType: layers.EthernetTypeIPv4}
	switch {
	case f.EthType == apps.EtherTypeARP:
		eth.DstMAC, eth.EthernetType = f.EthSrc[:], layers.EthernetTypeARP
		return serialize(eth, &layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
			Operation: layers.ARPReply, SourceHwAddress: f.EthDst[:], SourceProtAddress: f.ARPDst.AsSlice(), DstHwAddress: f.ARPSrcMAC[:],
			DstProtAddress: f.ARPSrc.AsSlice()})
	case f.Proto == apps.ProtoICMP:
		return serialize(eth, back(f), &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoReply, 0)}, gopacket.Payload(f.Payload))
	}
	return answerTCP(f, &layers.TCP{SYN: true, ACK: true, Ack: f.Seq + 1, Seq: 77})
}

func refusal(f *apps.Frame) []byte {
	return answerTCP(f, &layers.TCP{RST: true, ACK: true, Ack: f.Seq + 1})
}

func answerTCP(f *apps.Frame, t *layers.TCP) []byte {
	eth, ip := &layers.Ethernet{SrcMAC: f.EthDst[:], DstMAC: apps.VIPMAC[:], EthernetType: layers.EthernetTypeIPv4}, back(f)
	t.SrcPort, t.DstPort = layers.TCPPort(f.DstPort), layers.TCPPort(f.SrcPort)
	if err := t.SetNetworkLayerForChecksum(ip); err != nil {
		panic(err)
	}
	return serialize(eth, ip, t)
}

func back(f *apps.Frame) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocol(f.Proto), SrcIP: f.Dst.AsSlice(), DstIP: f.Src.AsSlice()}
}

// forged is a probe that nobody has sent, but for its secret the same.
func forged(f *apps.Frame) *apps.Frame {
	g := *f
	g.Seq++
	g.Payload = bytes.Clone(f.Payload)
	if len(g.Payload) > 0 {
		g.Payload[7]++
	}
	return &g
}

// vlan puts a tag into a frame.
func vlan(b []byte) []byte {
	return append(append(bytes.Clone(b[:12]), 0x81, 0, 0, 7), b[12:]...)
}

// Probes are whole and right, from our MAC to the host's alone.
func TestFrames(t *testing.T) {
	four := place{topo.PortID{DPID: 1, No: 2}, mac(1), netip.MustParseAddr("10.0.0.100")}
	six := place{four.at, four.mac, netip.MustParseAddr("fd00::100")}
	s := newSecret(0x0123456789abcdef, 130)
	for _, c := range []struct {
		what what
		at   place
	}{
		{what{vip.HealthARP, backend, 0}, four}, {what{vip.HealthICMP, backend, 0}, four}, {what{vip.HealthTCP, backend, 8080}, four},
		{what{vip.HealthARP, netip.MustParseAddr("fd00::1"), 0}, six}, {what{vip.HealthICMP, netip.MustParseAddr("fd00::1"), 0}, six},
		{what{vip.HealthTCP, netip.MustParseAddr("fd00::1"), 8080}, six},
	} {
		name := c.what.Type + " " + c.what.Address.String()
		b, err := frame(c.what, c.at, s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var f apps.Frame
		if err := apps.ParseFrame(b, &f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if f.EthSrc != apps.ProbeMAC || f.EthDst != mac(1) {
			t.Errorf("%s: from %s to %s", name, f.EthSrc, f.EthDst)
		}
		switch {
		case c.what.Type == vip.HealthARP && c.what.Address.Is4():
			if f.ARPOp != apps.ARPRequest || f.ARPDst != c.what.Address || !f.ARPSrc.IsUnspecified() || f.ARPSrcMAC != apps.ProbeMAC {
				t.Errorf("%s: %+v", name, f)
			}
		case c.what.Type == vip.HealthARP:
			if f.NDTarget != c.what.Address || f.NDLink != apps.ProbeMAC || f.Src != apps.ProbeLinkLocal || f.Dst != c.what.Address {
				t.Errorf("%s: %+v", name, f)
			}
		case c.what.Type == vip.HealthICMP:
			if f.Src != c.at.source || f.Dst != c.what.Address || binary.BigEndian.Uint64(f.Payload) != s.echo || (f.ICMPType != 8 && f.ICMPType != 128) {
				t.Errorf("%s: %+v", name, f)
			}
		default:
			if f.Src != c.at.source || f.SrcPort != 320+2 || f.DstPort != 8080 || f.TCPFlags != apps.SYN || f.Seq != 0x01234567 {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if err := checksums(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checksums has those of a frame computed anew.
func checksums(b []byte) error {
	p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	var stack []gopacket.SerializableLayer
	for _, l := range p.Layers() {
		if c, ok := l.(interface {
			SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
		}); ok {
			if err := c.SetNetworkLayerForChecksum(p.NetworkLayer()); err != nil {
				return err
			}
		}
		s, ok := l.(gopacket.SerializableLayer)
		if !ok {
			return errUnknownLayer(l.LayerType().String())
		}
		stack = append(stack, s)
	}
	if again := serialize(stack...); !bytes.HasPrefix(again, b) { // it may be padded
		return errUnknownLayer("differs when made anew")
	}
	return nil
}

type errUnknownLayer string

func (e errUnknownLayer) Error() string { return string(e) }

// All ports of probes are used in turn, and no others.
func TestProbePorts(t *testing.T) {
	seen := map[uint16]bool{}
	for n := range uint32(200) {
		seen[newSecret(0, n).port] = true
	}
	if len(seen) != 64 {
		t.Errorf("%d ports", len(seen))
	}
	for port := range seen {
		if port < 320 || port > 383 {
			t.Errorf("port %d", port)
		}
	}
}

// Whatever comes back breaks nothing.
func FuzzPacketIn(f *testing.F) {
	h := everySecond
	v := view(network(1), connected(1), declared(f, 1, "10.0.255.1", h, 1))
	p := New(Config{Switches: &line{}})
	p.Follow(v)
	b, err := frame(what{vip.HealthTCP, ten(1), 8080}, place{topo.PortID{DPID: 1, No: 1}, mac(1), netip.MustParseAddr("10.0.255.1")}, newSecret(1, 1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(topo.Probe(apps.ProbeMAC, mac(1), ten(1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var frame apps.Frame
		if apps.ParseFrame(b, &frame) == nil {
			p.PacketIn(v, &apps.Punted{At: topo.PortID{DPID: 1, No: 1}, Frame: &frame}, &discard{})
		}
	})
}

type discard struct{ apps.Reply }

func (discard) PacketOut(uint32, []flows.Action, []byte) {}
