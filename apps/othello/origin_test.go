package othello

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
)

// Of two connections from one client's port to two VIPs with the same backend, of which conntrack changes one's, the switch says whose
// each is; of one that it does not know that too. Conntrack's entries are as before.
func TestSwitchKnowsOrigins(t *testing.T) {
	t.Parallel()
	l := lab.New(t)
	sw, client, sink := l.Switch("s1"), l.Host("c", "10.1.0.1/16"), l.Host("sink", "10.9.0.1/16")
	l.Link(client, 0, sw, 1)
	l.Link(sink, 0, sw, 2)
	in, out := client.Frames(), sink.Frames()
	const zone = 7
	for _, family := range []struct{ name, ip, client, backend, vip1, vip2 string }{
		{"IPv4", "tcp", "10.1.0.9", "10.9.0.1", "10.5.0.1", "10.5.0.2"},
		{"IPv6", "tcp6", "fd00::9", "fd00::1", "fd00::5:1", "fd00::5:2"},
	} {
		addr := func(s string, port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(s), port) }
		backend := addr(family.backend, 8080)
		sw.Ofctl("add-flow", fmt.Sprintf("in_port=1,%s,actions=ct(commit,zone=%d,table=9,nat(dst=%s))", family.ip, zone, backend))
		sw.Ofctl("add-flow", "table=9,actions=output:2")
		next := func(wanted func(frame []byte) bool) []byte {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			frame, err := out.Receive(ctx, wanted)
			if err != nil {
				t.Fatalf("%s: %v", family.name, err)
			}
			return frame
		}
		for _, to := range []string{family.vip1, family.vip2} {
			if err := in.Send(begins(addr(family.client, 40000), addr(to, 80))); err != nil {
				t.Fatal(err)
			}
			next(func(frame []byte) bool {
				p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
				tcp, _ := p.Layer(layers.LayerTypeTCP).(*layers.TCP)
				return tcp != nil && tcp.SYN && tcp.DstPort == 8080
			})
		}
		before := sw.Appctl("dpctl/dump-conntrack")
		for n, want := range []struct {
			seen   uint16
			client netip.AddrPort
			to     netip.AddrPort
		}{
			{40000, addr(family.client, 40000), addr(family.vip1, 80)},
			{40001, addr(family.client, 40000), addr(family.vip2, 80)},
			{40002, addr(family.client, 40002), backend},
		} {
			frame, actions := AskOrigin(uint32(1000+n), zone, addr(family.client, want.seen), backend)
			if _, is := actions[len(actions)-1].(flows.Output); !is {
				t.Fatalf("%v", actions)
			}
			actions[len(actions)-1] = flows.Output{Port: 2}
			sw.Ofctl("packet-out", fmt.Sprintf("in_port=controller,packet=%x,actions=%s", frame, flows.ActionsText(actions)))
			got := next(func(frame []byte) bool { m, _, _, ok := OriginOf(frame); return ok && m == uint32(1000+n) })
			if _, c, to, _ := OriginOf(got); c != want.client || to != want.to {
				t.Errorf("%s, port %d: it is said to be %s to %s, want %s to %s", family.name, want.seen, c, to, want.client, want.to)
			}
		}
		if after := sw.Appctl("dpctl/dump-conntrack"); after != before {
			t.Errorf("%s: before\n%s\nafter\n%s", family.name, before, after)
		}
		sw.Appctl("dpctl/flush-conntrack")
	}
}

// begins is the first packet of a TCP connection.
func begins(from, to netip.AddrPort) []byte {
	eth := &layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: apps.VIPMAC[:], EthernetType: layers.EthernetTypeIPv4}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(from.Port()), DstPort: layers.TCPPort(to.Port()), SYN: true}
	var ip gopacket.SerializableLayer
	if from.Addr().Is4() {
		v4 := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
		_ = tcp.SetNetworkLayerForChecksum(v4)
		ip = v4
	} else {
		eth.EthernetType = layers.EthernetTypeIPv6
		v6 := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
		_ = tcp.SetNetworkLayerForChecksum(v6)
		ip = v6
	}
	b := gopacket.NewSerializeBuffer()
	_ = gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, tcp)
	return b.Bytes()
}

// What is no answer, or cut off, is none.
func TestOriginOfAnyFrame(t *testing.T) {
	for _, peer := range []string{"10.0.0.9:40000", "[fd00::9]:40000"} {
		from := netip.MustParseAddrPort(peer)
		backend := netip.AddrPortFrom(from.Addr().Next(), 8080)
		frame, _ := AskOrigin(1<<31+5, 3, from, backend)
		if n, c, to, ok := OriginOf(frame); !ok || n != 1<<31+5 || c != from || to != backend {
			t.Errorf("%d, %s, %s, %t", n, c, to, ok)
		}
		for i := range frame {
			_, _, _, _ = OriginOf(frame[:i])
		}
		frame[11] ^= 1
		if _, _, _, ok := OriginOf(frame); ok {
			t.Error("another's packet is taken for an answer")
		}
	}
}
