package e2e

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// ICMP errors about connections find their way, translated within: from the client's side to the backend, and from a backend.
func TestGroupICMP(t *testing.T) {
	p := newGroupPool(t, "")
	tcp := p.open("tcp", 3)
	for name, list := range tcp {
		var backend *lab.Host
		for _, b := range p.backends {
			if b.Name() == name {
				backend = b
			}
		}
		errorsAt := p.tap(backend, func(g gopacket.Packet) bool { return g.Layer(layers.LayerTypeICMPv4) != nil })
		local := list[0].LocalAddr().(*net.TCPAddr)
		if err := p.client.Frames().Send(tooBig(t, p.client, address, 80, uint16(local.Port))); err != nil {
			t.Fatal(err)
		}
		p.Eventually(patience, func() error {
			for _, g := range errorsAt.packets() {
				quoted := gopacket.NewPacket(g.Layer(layers.LayerTypeICMPv4).LayerPayload(), layers.LayerTypeIPv4, gopacket.Default)
				ip, _ := quoted.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
				if ip != nil && ip.SrcIP.String() == backend.IP() && ip.DstIP.String() == p.client.IP() {
					return nil
				}
			}
			return fmt.Errorf("%s has not been told", name)
		})
	}
	p.service(vip.Spec{Name: "deaf", Address: address, Protocol: vip.UDP, Port: "99", Mode: vip.ModeGroup}, 9999, p.backends...)
	if _, _, err := p.dial(p.client, "udp", "", address+":99").ask("anybody"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a backend without a listener: %v", err)
	}
}

// tooBig is an ICMP error from a host about a TCP segment that it has got.
func tooBig(t *testing.T, h *lab.Host, from string, sport, dport uint16) []byte {
	t.Helper()
	opt := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	own := net.ParseIP(h.IP())
	inner := gopacket.NewSerializeBuffer()
	ip := &layers.IPv4{Version: 4, TTL: 60, Protocol: layers.IPProtocolTCP, SrcIP: net.ParseIP(from), DstIP: own}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(sport), DstPort: layers.TCPPort(dport), ACK: true}
	if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	if err := gopacket.SerializeLayers(inner, opt, ip, tcp); err != nil {
		t.Fatal(err)
	}
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, opt,
		&layers.Ethernet{SrcMAC: hostMAC(t, h), DstMAC: vipMAC, EthernetType: layers.EthernetTypeIPv4},
		&layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: own, DstIP: net.ParseIP(from)},
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(3, 4), Seq: 1400}, gopacket.Payload(inner.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Datagrams in fragments go where their flow is, there and back.
func TestGroupFragments(t *testing.T) {
	p := newGroupPool(t, "")
	for name, list := range p.open("udp", 3) {
		for range 3 {
			if got, _, err := list[0].ask(strings.Repeat("long ", 600) + "end"); err != nil || got != name {
				t.Errorf("%s, then %q, %v", name, got, err)
			}
		}
	}
}
