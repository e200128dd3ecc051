package othello

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
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
)

// bench is a switch between a sender of any packets and a sink for all.
type bench struct {
	t     *testing.T
	sw    *lab.Switch
	in    *lab.Frames
	out   *lab.Frames
	round uint8 // is in each packet's TTL, so that one of the round before is not taken for one of this
}

func newBench(t *testing.T) *bench {
	l := lab.New(t)
	n := &bench{t: t, sw: l.Switch("s1"), round: 10}
	client, sink := l.Host("c", "10.1.255.254/16"), l.Host("sink", "10.9.255.254/16")
	l.Link(client, 0, n.sw, 1)
	l.Link(sink, 0, n.sw, 2)
	n.in, n.out = client.Frames(), sink.Frames()
	return n
}

// enter is what table 30 does for a VIP in one generation.
type enter struct {
	generation
	to    netip.AddrPort
	proto uint8
}

// install gives the switch a VIP's rules in one bundle, in the place of all it had.
func (n *bench) install(x *enter) {
	n.t.Helper()
	file, _ := n.write(x)
	n.sw.Ofctl("--bundle", "replace-flows", file)
	n.sw.Appctl("revalidator/purge")
}

// write writes a VIP's rules into a file, and those without which no packet comes to it or leaves.
func (n *bench) write(x *enter) (file string, rules int) {
	n.t.Helper()
	b := &builder{}
	b.base()
	if x.pins.Rows > 0 {
		b.cellRules()
	}
	b.generation(&x.generation)
	for o := range x.owners.Counts() {
		b.chosen(x.vip, o, macOf(o))
	}
	_, dst := apps.PortFields(x.proto)
	m := apps.AtPorts(apps.To(x.to.Addr()), x.proto, dst, vip.PortMask{Port: x.to.Port(), Mask: 0xffff})
	// What a mode before may have left in registers is there afterwards.
	begin := append([]flows.Action{flows.SetNum(flows.Reg5, 8), flows.SetNum(flows.Reg12, 7), flows.SetNum(apps.RegOwner, 1)},
		apps.ChooseByCode(x.vip, x.number)...)
	b.rule(apps.TableVIP, prioFixed, x.vip, m, begin...)
	b.rule(apps.TablePick, prioFixed, 0, flows.Match{}.Num(flows.Reg5, 8).Num(flows.Reg12, 7), flows.Output{Port: 2})
	text := []string{"table=0,in_port=1 actions=resubmit(,30)"}
	for _, r := range b.state.Rules {
		text = append(text, r.String())
	}
	file = filepath.Join(n.t.TempDir(), "rules")
	if err := os.WriteFile(file, []byte(strings.Join(text, "\n")+"\n"), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return file, len(text)
}

// macOf is an owner's MAC, which says where a packet was sent.
func macOf(owner uint32) (m flows.MAC) {
	m[0], m[1] = 0x02, 9
	binary.BigEndian.PutUint32(m[2:], owner)
	return m
}

// owners are where packets of these connections go, in their order.
func (n *bench) owners(all []Tuple) []uint32 {
	n.t.Helper()
	n.round++
	out := make([]uint32, len(all))
	left := len(all)
	for tries := 0; left > 0; tries++ {
		if tries == 20 {
			n.t.Fatalf("%d of %d packets have reached nobody", left, len(all))
		}
		for at := 0; at < len(all); at += 100 {
			some := all[at:min(at+100, len(all))]
			missing := 0
			for i, x := range some {
				if out[at+i] == 0 {
					missing++
					if err := n.in.Send(n.frame(x, at+i)); err != nil {
						n.t.Fatal(err)
					}
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			for ; missing > 0; missing-- {
				f, err := n.out.Receive(ctx, func(f []byte) bool { return len(f) > 60 && f[0] == 0x02 && f[1] == 9 && n.ttl(f) == n.round })
				if err != nil {
					break
				}
				i := int(binary.BigEndian.Uint32(f[len(f)-4:]))
				if i >= len(all) || out[i] != 0 {
					missing++
					continue
				}
				left--
				if out[i] = binary.BigEndian.Uint32(f[2:]); flows.MAC(f[6:12]) != sender {
					n.t.Fatalf("the sender's MAC is not put back: %x", f[:14])
				}
			}
			cancel()
		}
	}
	return out
}

var sender = flows.MAC{0x06, 1, 2, 3, 4, 5}

func (n *bench) ttl(f []byte) uint8 {
	if binary.BigEndian.Uint16(f[12:]) == apps.EtherTypeIPv6 {
		return f[21]
	}
	return f[22]
}

func (n *bench) frame(x Tuple, number int) []byte {
	vm, from, proto := apps.VIPMAC, sender, layers.IPProtocol(x.Proto)
	eth := &layers.Ethernet{SrcMAC: from[:], DstMAC: vm[:], EthernetType: layers.EthernetTypeIPv4}
	src, dst := x.Src.Addr().AsSlice(), x.Dst.Addr().AsSlice()
	var ip gopacket.SerializableLayer = &layers.IPv4{Version: 4, TTL: n.round, Protocol: proto, SrcIP: src, DstIP: dst}
	if x.Dst.Addr().Is6() {
		eth.EthernetType = layers.EthernetTypeIPv6
		ip = &layers.IPv6{Version: 6, HopLimit: n.round, NextHeader: proto, SrcIP: src, DstIP: dst}
	}
	var l4 gopacket.SerializableLayer = &layers.TCP{SrcPort: layers.TCPPort(x.Src.Port()), DstPort: layers.TCPPort(x.Dst.Port()), ACK: true}
	if x.Proto == apps.ProtoUDP {
		l4 = &layers.UDP{SrcPort: layers.UDPPort(x.Src.Port()), DstPort: layers.UDPPort(x.Dst.Port())}
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, eth, ip, l4,
		gopacket.Payload(binary.BigEndian.AppendUint32(make([]byte, 20), uint32(number)))); err != nil {
		n.t.Fatal(err)
	}
	return b.Bytes()
}

// Open vSwitch sends every packet where we say that it does: by the table of codes, by pins with rules of their own and by
// pins in cells, of IPv4 and IPv6, TCP and UDP; and live connections stay through changes.
func TestSwitchDecidesAsForetold(t *testing.T) {
	n := newBench(t)
	for _, test := range []struct {
		name  string
		proto uint8
		to    netip.AddrPort
	}{
		{"tcp", apps.ProtoTCP, vip4}, {"udp", apps.ProtoUDP, vip4}, {"tcp6", apps.ProtoTCP, vip6}, {"udp6", apps.ProtoUDP, vip6},
	} {
		t.Run(test.name, func(t *testing.T) {
			n.t = t
			random := rand.New(rand.NewPCG(15, uint64(test.proto)))
			pool := weighted([]int{1, 2, 3, 4, 5})
			codes := Pack(SizeFor(pool), pool)
			x := &enter{generation{vip: 40000, number: 255, v6: test.to.Addr().Is6(), owners: codes, pins: &Pins{}}, test.to, test.proto}
			n.install(x)
			live := states(codes, tuples(random, 4500, test.proto, test.to))
			n.compare("at first", x, live[:500], nil)

			pool = append(pool, Share{1 << 30, 5})
			codes = codes.Change(pool, nil)
			for _, step := range []struct {
				name   string
				live   []State
				packed bool
			}{{"many displaced", live, true}, {"few left", live[:1500], false}, {"none left", nil, false}} {
				x.owners, x.pins = codes, mustPin(t, codes, step.live)
				x.number++
				if x.pins.Rows > 0 != step.packed || step.live == nil != x.pins.Empty() {
					t.Fatalf("%s: %d rows, empty %v", step.name, x.pins.Rows, x.pins.Empty())
				}
				n.install(x)
				n.compare(step.name, x, step.live[:min(len(step.live), 1500)], tuples(random, 300, test.proto, test.to))
			}
		})
	}
}

// compare sends packets of live connections, which must reach their backends, and of others, which must go as foretold.
func (n *bench) compare(when string, x *enter, live []State, others []Tuple) {
	n.t.Helper()
	all := make([]Tuple, 0, len(live)+len(others))
	for _, s := range live {
		all = append(all, s.Tuple)
	}
	all = append(all, others...)
	displaced, wrong, broken := 0, 0, 0
	for i, got := range n.owners(all) {
		want, _ := x.pins.Owner(x.owners, all[i])
		if got != want {
			wrong++
		}
		if i < len(live) {
			if x.owners.Owner(all[i].Code()) != live[i].Owner {
				displaced++
			}
			if got != live[i].Owner {
				broken++
			}
		}
	}
	n.t.Logf("%s: %d live connections, of which %d displaced, %d others; %d not as foretold, %d broken", when, len(live), displaced, len(others), wrong, broken)
	if wrong+broken > 0 {
		n.t.Fatal("the switch decides otherwise")
	}
}
