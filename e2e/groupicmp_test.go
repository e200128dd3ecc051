package e2e

import (
	"errors"
	"fmt"
	"net"
	"slices"
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
	for name, list := range p.open("tcp", 3) {
		p.tellTooBig(list[0], p.backends[name[1]-'1'])
	}
	p.service(vip.Spec{Name: "deaf", Address: address, Protocol: vip.UDP, Port: "99", Mode: vip.ModeGroup}, 9999, p.backends...)
	if _, _, err := p.dial(p.client, "udp", "", address+":99").ask("anybody"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a backend without a listener: %v", err)
	}
}

// tellTooBig sends ICMP errors about a client's connection until its backend has one, translated within.
func (p *groupPool) tellTooBig(c *conn, backend *lab.Host) {
	p.t.Helper()
	errorsAt := p.tap(backend, func(g gopacket.Packet) bool { return g.Layer(layers.LayerTypeICMPv4) != nil })
	local := c.LocalAddr().(*net.TCPAddr)
	out := p.client.Frames()
	p.Eventually(patience, func() error {
		if err := out.Send(tooBig(p.t, p.client, address, 80, uint16(local.Port))); err != nil {
			return err
		}
		for _, g := range errorsAt.packets() {
			quoted := gopacket.NewPacket(g.Layer(layers.LayerTypeICMPv4).LayerPayload(), layers.LayerTypeIPv4, gopacket.Default)
			ip, _ := quoted.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
			if ip != nil && ip.SrcIP.String() == backend.IP() && ip.DstIP.String() == p.client.IP() {
				return nil
			}
		}
		return fmt.Errorf("%s has not been told", backend.Name())
	})
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

// Datagrams in fragments go where their flow is, there and back. A flow cannot begin with one, and Open vSwitch takes fragments
// below a size for invalid, by default 1,200 bytes, unless it is told another; both are dropped and counted.
func TestGroupFragments(t *testing.T) {
	p := newGroupPool(t, "")
	text := strings.Repeat("long ", 600) + "end"
	udp := p.open("udp", 3)
	whole := func(when string) {
		t.Helper()
		for name, list := range udp {
			for range 3 {
				if got, _, err := list[0].ask(text); err != nil || got != name {
					t.Errorf("%s: %s, then %q, %v", when, name, got, err)
				}
			}
		}
	}
	const reason = "to a VIP, but of no connection and not the first of one"
	dropped := func(when string, send func() error) {
		t.Helper()
		before, err := p.drops(reason, p.sw(1))
		if err != nil {
			t.Fatal(err)
		}
		p.Eventually(patience, func() error {
			if err := send(); err != nil {
				return err
			}
			now, err := p.drops(reason, p.sw(1))
			if err == nil && now == before {
				err = fmt.Errorf("%s: nothing is dropped", when)
			}
			return err
		})
	}
	whole("MTU 1,500")
	begun := p.dial(p.client, "udp", "", address+":80")
	dropped("a flow begins with fragments", func() error { _, err := begun.Write([]byte(text)); return err })
	if got, _, err := begun.ask("short"); err != nil || got == "" {
		t.Errorf("a flow that began with fragments: %q, %v", got, err)
	}
	if got, _, err := begun.ask(text); err != nil || got == "" {
		t.Errorf("then fragments again: %q, %v", got, err)
	}
	for _, h := range append(slices.Clone(p.backends), p.client) {
		if out, err := h.Run(p.ctx, "ip", "link", "set", "eth0", "mtu", "1000"); err != nil {
			t.Fatalf("%s, %v", out, err)
		}
	}
	one := udp["b1"][0]
	dropped("MTU 1,000", func() error { _, err := one.Write([]byte(text)); return err })
	for _, s := range p.switches {
		s.Appctl("dpctl/ipf-set-min-frag", "v4", "400")
	}
	whole("MTU 1,000, and small fragments allowed")
}

// Over IPv6 too.
func TestGroupFragmentsIPv6(t *testing.T) {
	w := line(t, 2, "")
	w.family = ipv6
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1)
	serve(8080, b1, b2)
	w.start()
	w.service(vip.Spec{Name: "udp", Address: ipv6.vip, Protocol: vip.UDP, Port: "80", Mode: vip.ModeGroup}, 8080, b1, b2)
	text := strings.Repeat("long ", 600) + "end"
	for range 4 {
		c := w.dial(client, "udp", "", ipv6.web(80))
		name := w.who(c)
		if got, _, err := c.ask(text); err != nil || got != name {
			t.Errorf("%s, then %q, %v", name, got, err)
		}
	}
}
