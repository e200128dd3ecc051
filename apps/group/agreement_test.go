package group

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
	"github.com/evenflow/evenflow/ovshash"
	"github.com/evenflow/evenflow/topo"
)

// agreementVIPs are VIPs of both families and protocols, each with its own backends and weights.
func agreementVIPs(change func(*apps.VIP)) []*apps.VIP {
	var out []*apps.VIP
	for i, addr := range []string{"10.0.0.101", "fd00::101"} {
		for j, proto := range []vip.Protocol{vip.TCP, vip.UDP} {
			id := vip.ID(1 + 2*i + j)
			x := &apps.VIP{VIP: &vip.VIP{ID: id, Spec: vip.Spec{Name: fmt.Sprint("v", id), Protocol: proto, Mode: vip.ModeGroup}, Address: netip.MustParseAddr(addr),
				Ports: vip.Ports{First: 80, Last: 89}}, Hairpin: testHairpin}
			for n := range 10 + 10*int(id) {
				b := backend(uint32(n+1), 1+n%3, vip.StateUp)
				if i == 1 {
					b.Address = netip.AddrFrom16([16]byte{0xfd, 9, 14: 1, 15: byte(n + 1)})
				}
				b.Port, b.Endpoint = 0, uint32(id)*1000+b.ID
				x.Backends = append(x.Backends, b)
			}
			change(x)
			out = append(out, x)
		}
	}
	return out
}

// agreementRig is a switch that holds some VIPs. What the group of a VIP has chosen leaves with the endpoint in its MACs.
type agreementRig struct {
	t    *testing.T
	view *apps.View
	in   *lab.Frames
	out  *lab.Frames
	sw   *lab.Switch
}

func newAgreementRig(t *testing.T, vips []*apps.VIP) *agreementRig {
	l := lab.New(t)
	sw, from, to := l.Switch("s1"), l.Host("a", "10.255.0.1/8"), l.Host("b", "10.255.0.2/8")
	l.Link(from, 0, sw, 1)
	l.Link(to, 0, sw, 2)
	snap := topo.New(time.Unix(0, 0), topo.Config{Key: make([]byte, 32)}, topo.Saved{}).Snapshot()
	r := &agreementRig{t: t, sw: sw, in: from.Frames(), out: to.Frames(),
		view: apps.NewView(snap, map[flows.DPID]apps.SwitchInfo{1: {DPID: 1, Nicira: true, OF15: true, Zone: testZone}}, vips)}
	rules := []string{"table=0,in_port=1,ip actions=resubmit(,30)", "table=0,in_port=1,ipv6 actions=resubmit(,30)"}
	sw.Ofctl("add-meter", fmt.Sprintf("meter=%d,pktps,band=type=drop,rate=1", apps.MeterReject))
	for _, x := range vips {
		s := New(Config{}).Desired(r.view, apps.Owner{Kind: apps.OwnerVIP, VIP: x.ID})[1]
		for _, m := range s.Meters {
			sw.Ofctl("add-meter", m.String())
		}
		for _, g := range s.Groups {
			sw.Ofctl("add-group", g.String())
		}
		for _, rule := range s.Rules {
			if rule.Table == apps.TableVIP || rule.Table == apps.TableGroup {
				rules = append(rules, rule.String())
			}
		}
	}
	// In place of the commit, which makes state: the endpoint goes out.
	rules = append(rules, fmt.Sprintf("table=%d actions=move:NXM_NX_REG0[0..31]->NXM_OF_ETH_DST[0..31],output:2", apps.TableCommit))
	file := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(file, []byte(strings.Join(rules, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sw.Ofctl("--bundle", "add-flows", file)
	return r
}

// first is the first packet of a connection, with its number in the payload.
func (r *agreementRig) first(c apps.Tuple, number int) []byte {
	r.t.Helper()
	vm, proto := apps.VIPMAC, layers.IPProtocol(c.Proto)
	eth := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 9}, DstMAC: vm[:], EthernetType: layers.EthernetTypeIPv4}
	src, dst := c.Src.Addr().AsSlice(), c.Dst.Addr().AsSlice()
	var ip interface {
		gopacket.NetworkLayer
		gopacket.SerializableLayer
	} = &layers.IPv4{Version: 4, TTL: 64, Protocol: proto, SrcIP: src, DstIP: dst}
	if c.Src.Addr().Is6() {
		eth.EthernetType = layers.EthernetTypeIPv6
		ip = &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: proto, SrcIP: src, DstIP: dst}
	}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(c.Src.Port()), DstPort: layers.TCPPort(c.Dst.Port()), SYN: true, Window: 1000}
	udp := &layers.UDP{SrcPort: layers.UDPPort(c.Src.Port()), DstPort: layers.UDPPort(c.Dst.Port())}
	_, _ = tcp.SetNetworkLayerForChecksum(ip), udp.SetNetworkLayerForChecksum(ip)
	var l4 gopacket.SerializableLayer = tcp
	if c.Proto == apps.ProtoUDP {
		l4 = udp
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, l4,
		gopacket.Payload(binary.BigEndian.AppendUint32(make([]byte, 20), uint32(number)))); err != nil { // so long that nobody fills it up
		r.t.Fatal(err)
	}
	return b.Bytes()
}

// endpoints are what the switch has chosen for each connection.
func (r *agreementRig) endpoints(all []apps.Tuple) []uint32 {
	r.t.Helper()
	got := make([]uint32, len(all))
	for from := 0; from < len(all); from += 100 {
		some := got[from:min(from+100, len(all))]
		left := len(some)
		for tries := 0; left > 0; tries++ {
			if tries == 10 {
				r.t.Fatalf("%d of %d packets have not come", left, len(some))
			}
			for i := range some {
				if some[i] == 0 {
					if err := r.in.Send(r.first(all[from+i], from+i)); err != nil {
						r.t.Fatal(err)
					}
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, _ = r.out.Receive(ctx, func(f []byte) bool {
				if len(f) < 60 || f[0] != apps.VIPMAC[0] || f[1] != apps.VIPMAC[1] {
					return false
				}
				if i := int(binary.BigEndian.Uint32(f[len(f)-4:])) - from; i >= 0 && i < len(some) && some[i] == 0 {
					some[i] = binary.BigEndian.Uint32(f[2:])
					left--
				}
				return left == 0
			})
			cancel()
		}
	}
	return got
}

// connections are random ones to some VIPs in turn.
func connections(n int, vips []*apps.VIP) []apps.Tuple {
	random := rand.New(rand.NewPCG(5, 6))
	out := make([]apps.Tuple, n)
	for i := range out {
		x := vips[i%len(vips)]
		src := netip.AddrFrom4([4]byte{10, byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())})
		if x.Address.Is6() {
			var a [16]byte
			a[0] = 0xfd
			binary.BigEndian.PutUint64(a[8:], random.Uint64())
			src = netip.AddrFrom16(a)
		}
		out[i] = apps.Tuple{Proto: x.Proto(), Src: netip.AddrPortFrom(src, uint16(1+random.IntN(65535))),
			Dst: netip.AddrPortFrom(x.Address, uint16(80+random.IntN(10)))}
	}
	return out
}

// Of 10,000 connections over IPv4 and IPv6, TCP and UDP, Open vSwitch gives each to the backend that Explain names, with one
// build of its hash; with any other build it names others.
func TestAgreement(t *testing.T) {
	vips := agreementVIPs(func(*apps.VIP) {})
	r := newAgreementRig(t, vips)
	all := connections(10000, vips)
	got := r.endpoints(all)
	agreeing := 0
	for _, b := range ovshash.Builds() {
		r.view.Switches[1] = apps.SwitchInfo{DPID: 1, Nicira: true, OF15: true, Zone: testZone, Hash: b}
		wrong := 0
		for i, c := range all {
			y, reason := New(Config{}).Explain(r.view, vips[i%len(vips)], 1, c)
			if y == nil {
				t.Fatalf("%v: %s", c, reason)
			}
			if y.Endpoint != got[i] {
				wrong++
			}
		}
		t.Logf("%s: %d of %d differ", b, wrong, len(all))
		if wrong == 0 {
			agreeing++
		} else if wrong < len(all)/2 {
			t.Errorf("%s is neither right nor wrong: %d of %d differ", b, wrong, len(all))
		}
	}
	if agreeing != 1 {
		t.Errorf("%d builds agree with Open vSwitch", agreeing)
	}
}

// With affinity a client's address alone decides, of whatever port it comes and to whichever of the VIP's.
func TestAgreementByAddress(t *testing.T) {
	vips := agreementVIPs(func(x *apps.VIP) { x.Spec.Affinity = &vip.Affinity{Timeout: vip.Duration(time.Minute)} })
	r := newAgreementRig(t, vips)
	var all []apps.Tuple
	const clients, each = 200, 4
	for i, c := range connections(clients, vips) {
		for n := range each {
			c.Src = netip.AddrPortFrom(c.Src.Addr(), uint16(1000+17*n+i))
			c.Dst = netip.AddrPortFrom(c.Dst.Addr(), uint16(80+n))
			all = append(all, c)
		}
	}
	got := r.endpoints(all)
	used := map[uint32]bool{}
	for i := range got {
		used[got[i]] = true
		if got[i] != got[i/each*each] {
			t.Errorf("%v is at endpoint %d, and another connection of the client at %d", all[i], got[i], got[i/each*each])
		}
	}
	if len(used) < clients/4 {
		t.Errorf("%d clients are at %d endpoints", clients, len(used))
	}
	agrees := false
	for _, b := range ovshash.Builds() {
		r.view.Switches[1] = apps.SwitchInfo{DPID: 1, Nicira: true, OF15: true, Zone: testZone, Hash: b}
		right := 0
		for i, c := range all {
			if y, _ := New(Config{}).Explain(r.view, vips[i/each%len(vips)], 1, c); y != nil && y.Endpoint == got[i] {
				right++
			}
		}
		agrees = agrees || right == len(all)
	}
	if !agrees {
		t.Error("no build agrees with Open vSwitch")
	}
}
