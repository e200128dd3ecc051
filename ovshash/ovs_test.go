package ovshash

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/lab"
)

// random are flows of IPv4 and IPv6, TCP and UDP.
func random(n int) []Flow {
	r := rand.New(rand.NewPCG(3, 4))
	out := make([]Flow, n)
	for i := range out {
		f := &out[i]
		f.EthType, f.Proto = ethIPv4, tcp
		if i%2 == 1 {
			f.Proto = udp
		}
		address := func() netip.Addr {
			return netip.AddrFrom4([4]byte{10, byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())})
		}
		if i%4 >= 2 {
			f.EthType = ethIPv6
			address = func() netip.Addr {
				var a [16]byte
				a[0] = 0xfd
				binary.BigEndian.PutUint64(a[3:], r.Uint64())
				binary.BigEndian.PutUint32(a[11:], r.Uint32())
				return netip.AddrFrom16(a)
			}
		}
		f.Src, f.Dst = address(), address()
		f.SrcPort, f.DstPort = uint16(1+r.IntN(65535)), uint16(1+r.IntN(65535))
		f.EthSrc, f.EthDst = [6]byte{2, 0, byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}, [6]byte{2, 1, byte(r.Uint32()), byte(r.Uint32())}
	}
	return out
}

// frame is a flow's packet; its number is in the payload.
func frame(t *testing.T, f *Flow, number int) []byte {
	t.Helper()
	proto := layers.IPProtocol(f.Proto)
	var ip gopacket.SerializableLayer = &layers.IPv4{Version: 4, TTL: 9, Protocol: proto, SrcIP: f.Src.AsSlice(), DstIP: f.Dst.AsSlice()}
	if f.Src.Is6() {
		ip = &layers.IPv6{Version: 6, HopLimit: 9, NextHeader: proto, SrcIP: f.Src.AsSlice(), DstIP: f.Dst.AsSlice()}
	}
	var l4 gopacket.SerializableLayer = &layers.TCP{SrcPort: layers.TCPPort(f.SrcPort), DstPort: layers.TCPPort(f.DstPort), SYN: true}
	if f.Proto == udp {
		l4 = &layers.UDP{SrcPort: layers.UDPPort(f.SrcPort), DstPort: layers.UDPPort(f.DstPort)}
	}
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true},
		&layers.Ethernet{SrcMAC: f.EthSrc[:], DstMAC: f.EthDst[:], EthernetType: layers.EthernetType(f.EthType)}, ip, l4,
		gopacket.Payload(binary.BigEndian.AppendUint32(make([]byte, 20), uint32(number)))) // so long that nobody fills it up
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Open vSwitch hashes real packets by multipath as we do: all 32 bits, of each form of fields, in the build that it has.
func TestMultipathOVS(t *testing.T) {
	l := lab.New(t)
	sw, from, to := l.Switch("s1"), l.Host("a", "10.255.0.1/8"), l.Host("b", "10.255.0.2/8")
	l.Link(from, 0, sw, 1)
	l.Link(to, 0, sw, 2)
	in, out := from.Frames(), to.Frames()
	all := random(200)
	const basis = 11
	mismatches := map[Build]int{}
	for fields, name := range []string{"eth_src", "symmetric_l4", "symmetric_l3l4", "symmetric_l3l4+udp", "nw_src", "nw_dst", "symmetric_l3"} {
		sw.Ofctl("del-flows")
		actions := ""
		for i, algorithm := range []string{"modulo_n", "hash_threshold"} {
			actions += fmt.Sprintf("multipath(%s,%d,%s,65536,0,NXM_NX_REG%d[0..15]),", name, basis, algorithm, i)
		}
		sw.Ofctl("add-flow", "in_port=1,actions="+actions+
			"move:NXM_NX_REG0[0..15]->NXM_OF_ETH_DST[0..15],move:NXM_NX_REG1[0..15]->NXM_OF_ETH_DST[16..31],output:2")
		got := map[int]uint32{}
		for tries := 0; len(got) < len(all); tries++ {
			if tries == 10 {
				t.Fatalf("%s: %d of %d packets have come", name, len(got), len(all))
			}
			for i := range all {
				if _, there := got[i]; !there {
					if err := in.Send(frame(t, &all[i], fields<<16|i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			_, _ = out.Receive(ctx, func(p []byte) bool {
				if n := binary.BigEndian.Uint32(p[len(p)-4:]); n>>16 == uint32(fields) && int(n&0xffff) < len(all) && p[0] == 2 && p[1] == 1 {
					got[int(n&0xffff)] = binary.BigEndian.Uint32(p[2:])
				}
				return len(got) == len(all)
			})
			cancel()
		}
		for _, b := range Builds() {
			wrong := 0
			for i := range all {
				if b.Path(&all[i], PathFields(fields), basis) != got[i] {
					wrong++
				}
			}
			mismatches[b] += wrong
			t.Logf("%-20s %-7s %d of %d differ", name, b, wrong, len(all))
			if (PathFields(fields) != SymmetricL3L4 && PathFields(fields) != SymmetricL3L4UDP) && wrong > 0 {
				t.Errorf("%s does not depend on the build, and %d of %d differ", name, wrong, len(all))
			}
		}
	}
	if (mismatches[Murmur] == 0) == (mismatches[CRC32C] == 0) {
		t.Errorf("one build should agree, and one alone: %v differ", mismatches)
	}
}
