package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/lab"
)

// vipMAC is the Ethernet address that all VIPs are answered with.
var vipMAC = net.HardwareAddr{0x02, 0xef, 0, 0, 0, 1}

// segment is a TCP segment of a frame.
type segment struct {
	srcMAC, dstMAC net.HardwareAddr
	src, dst       string // addresses
	sport, dport   uint16
	flags          string // of S, A, R, F, P
	seq, ack       uint32
	payload        string
}

func (s segment) frame(t testing.TB) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: s.srcMAC, DstMAC: s.dstMAC, EthernetType: layers.EthernetTypeIPv4}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: net.ParseIP(s.src), DstIP: net.ParseIP(s.dst)}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(s.sport), DstPort: layers.TCPPort(s.dport), Seq: s.seq, Ack: s.ack, Window: 1024}
	for _, f := range s.flags {
		switch f {
		case 'S':
			tcp.SYN = true
		case 'A':
			tcp.ACK = true
		case 'R':
			tcp.RST = true
		case 'F':
			tcp.FIN = true
		case 'P':
			tcp.PSH = true
		}
	}
	if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	b := gopacket.NewSerializeBuffer()
	opt := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, opt, eth, ip, tcp, gopacket.Payload(s.payload)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// arpRequest asks for an address in the name of a host.
func arpRequest(t testing.TB, from *lab.Host, target string) []byte {
	t.Helper()
	mac, err := net.ParseMAC(from.MAC())
	if err != nil {
		t.Fatal(err)
	}
	eth := &layers.Ethernet{SrcMAC: mac, DstMAC: layers.EthernetBroadcast, EthernetType: layers.EthernetTypeARP}
	arp := &layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
		Operation: layers.ARPRequest, SourceHwAddress: mac, SourceProtAddress: net.ParseIP(from.IP()).To4(),
		DstHwAddress: make([]byte, 6), DstProtAddress: net.ParseIP(target).To4()}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, eth, arp); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hostMAC is a host's Ethernet address.
func hostMAC(t testing.TB, h *lab.Host) net.HardwareAddr {
	t.Helper()
	mac, err := net.ParseMAC(h.MAC())
	if err != nil {
		t.Fatal(err)
	}
	return mac
}

// tap keeps what comes in at a host and is wanted.
type tap struct {
	*lab.Frames
	mu     sync.Mutex
	seen   []gopacket.Packet
	fenced bool
}

// tap listens at a host until the test ends.
func (w *network) tap(h *lab.Host, wanted func(gopacket.Packet) bool) *tap {
	w.t.Helper()
	p := &tap{Frames: h.Frames()}
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	w.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for {
			if _, err := p.Receive(ctx, func(frame []byte) bool {
				g := gopacket.NewPacket(append([]byte(nil), frame...), layers.LayerTypeEthernet, gopacket.Default)
				p.mu.Lock()
				defer p.mu.Unlock()
				if wanted(g) {
					p.seen = append(p.seen, g)
				}
				p.fenced = p.fenced || isFence(g)
				return false
			}); err != nil {
				return
			}
		}
	}()
	return p
}

func (p *tap) packets() []gopacket.Packet {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]gopacket.Packet(nil), p.seen...)
}

const fencePost = "10.0.0.201" // nobody has it

var isFence = arpTo(fencePost)

// fence waits until taps have what a host broadcast before: a broadcast of its own that comes behind.
func (w *network) fence(from *lab.Host, out *lab.Frames, taps ...*tap) {
	w.t.Helper()
	for _, p := range taps {
		p.mu.Lock()
		p.fenced = false
		p.mu.Unlock()
	}
	w.Eventually(patience, func() error {
		if err := out.Send(arpRequest(w.t, from, fencePost)); err != nil {
			return err
		}
		for i, p := range taps {
			p.mu.Lock()
			fenced := p.fenced
			p.mu.Unlock()
			if !fenced {
				return fmt.Errorf("no broadcast comes to tap %d of %d", i+1, len(taps))
			}
		}
		return nil
	})
}

// tcpOf is a packet's TCP header, nil if it has none.
func tcpOf(g gopacket.Packet) *layers.TCP {
	t, _ := g.Layer(layers.LayerTypeTCP).(*layers.TCP)
	return t
}

// tcpFrom wants TCP from a port.
func tcpFrom(port uint16) func(gopacket.Packet) bool {
	return func(g gopacket.Packet) bool {
		t := tcpOf(g)
		return t != nil && uint16(t.SrcPort) == port
	}
}

// drops is how many packets switches have dropped for reasons of which a text is part.
func (w *network) drops(reason string, at ...*lab.Switch) (n uint64, err error) {
	all, err := w.api.switches()
	for _, s := range all {
		if !slices.ContainsFunc(at, func(a *lab.Switch) bool { return dpid(a) == s.DPID.String() }) {
			continue
		}
		for _, d := range s.Drops {
			if strings.Contains(d.Reason, reason) {
				n += d.Packets
			}
		}
	}
	return n, err
}
