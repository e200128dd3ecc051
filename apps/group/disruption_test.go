package group

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
	"github.com/evenflow/evenflow/topo"
)

var vipAddress = netip.MustParseAddr("10.0.0.100")

const testZone, testHairpin = 60001, 60002

// backend is a backend with an id, as it stands in a view.
func backend(id uint32, weight int, state vip.State) apps.Backend {
	addr := netip.AddrFrom4([4]byte{10, 9, byte(id >> 8), byte(id)})
	mac := flows.MAC{0x02, 9, 0, 0, byte(id >> 8), byte(id)}
	return apps.Backend{Backend: &vip.Backend{ID: id, Name: fmt.Sprint("b", id), Address: addr, Port: 8080, Weight: weight},
		Host: &topo.Host{MAC: mac, At: topo.PortID{DPID: 1, No: 2}, Live: true}, State: state, Endpoint: 1000 + id}
}

// viewOf is a view of one switch with a VIP of these backends.
func viewOf(ofp15 bool, backends ...apps.Backend) *apps.View {
	x := &apps.VIP{VIP: &vip.VIP{ID: 1, Spec: vip.Spec{Name: "web", Protocol: vip.TCP, Mode: vip.ModeGroup}, Address: vipAddress,
		Ports: vip.Ports{First: 80, Last: 80}}, Hairpin: testHairpin, Backends: backends}
	t := topo.New(time.Unix(0, 0), topo.Config{Key: make([]byte, 32)}, topo.Saved{})
	return apps.NewView(t.Snapshot(), map[flows.DPID]apps.SwitchInfo{1: {DPID: 1, Nicira: true, OF15: ofp15, Zone: testZone}}, []*apps.VIP{x})
}

// wanted is what the VIP and the base want.
func wanted(v *apps.View) (s flows.State) {
	a := New(Config{})
	for _, o := range []apps.Owner{{Kind: apps.OwnerBase}, {Kind: apps.OwnerVIP, VIP: 1}} {
		s.Append(a.Desired(v, o)[1])
	}
	return s
}

// injector sends the first packets of connections through a switch and sees where they leave.
type injector struct {
	t      *testing.T
	lab    *lab.Lab
	sw     *lab.Switch
	client *lab.Host
	in     *lab.Frames
	out    *lab.Frames
	round  uint8 // is in each packet's TTL, so that one of the round before is not taken for one of this
}

func newInjector(t *testing.T) *injector {
	l := lab.New(t)
	n := &injector{t: t, round: 10, lab: l, sw: l.Switch("s1"), client: l.Host("c", "10.1.255.254/16")}
	sink := l.Host("sink", "10.9.255.254/16")
	l.Link(n.client, 0, n.sw, 1)
	l.Link(sink, 0, n.sw, 2)
	n.in, n.out = n.client.Frames(), sink.Frames()
	for _, id := range []int{apps.MeterReject, apps.MeterVIPReject + 1} {
		n.sw.Ofctl("add-meter", fmt.Sprintf("meter=%d,pktps,band=type=drop,rate=1", id))
	}
	return n
}

// install gives the switch what is wanted for some backends, and has it forget all connections.
func (n *injector) install(backends ...apps.Backend) {
	n.t.Helper()
	s := wanted(viewOf(true, backends...))
	for _, g := range s.Groups {
		n.sw.Ofctl("--may-create", "mod-group", g.String())
	}
	rules := []string{"table=0,in_port=1,ip actions=resubmit(,30)", "table=60 actions=output:2"}
	for _, r := range s.Rules {
		if r.Table == apps.TableVIP || r.Table == apps.TableGroup || r.Table == apps.TableCommit {
			rules = append(rules, r.String())
		}
	}
	file := filepath.Join(n.t.TempDir(), "rules")
	if err := os.WriteFile(file, []byte(strings.Join(rules, "\n")+"\n"), 0o600); err != nil {
		n.t.Fatal(err)
	}
	n.sw.Ofctl("--bundle", "replace-flows", file)
	n.forget()
}

// forget has the switch forget all connections.
func (n *injector) forget() {
	n.sw.Ofctl("ct-flush", fmt.Sprint("zone=", testZone))
	n.sw.Appctl("revalidator/purge")
}

// insert puts a backend of weight 1 behind another into the installed group, as the controller does it.
func (n *injector) insert(id, behind uint32) {
	n.t.Helper()
	b := backend(id, 1, vip.StateUp)
	g := wanted(viewOf(true, b)).Groups[0]
	_, bucket, _ := strings.Cut(g.String(), ",bucket=")
	n.sw.Ofctl("insert-buckets", fmt.Sprintf("group_id=%d,command_bucket_id=%d,bucket=weight=1,%s", g.ID, behind*replicas, bucket))
	n.forget()
}

// remove takes a backend of weight 1 out of it.
func (n *injector) remove(id uint32) {
	n.t.Helper()
	n.sw.Ofctl("remove-buckets", fmt.Sprintf("group_id=%d,command_bucket_id=%d", apps.GroupOfVIP(1), id*replicas))
	n.forget()
}

type tuple struct {
	addr [4]byte
	port uint16
}

func tuples(n int) []tuple {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[tuple]bool{}
	var out []tuple
	for len(out) < n {
		x := tuple{[4]byte{10, 1, byte(random.Uint32()), byte(1 + random.IntN(250))}, uint16(1024 + random.IntN(64000))}
		if !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	return out
}

func (n *injector) syn(x tuple) []byte {
	mac, _ := net.ParseMAC(n.client.MAC())
	ip := &layers.IPv4{Version: 4, TTL: n.round, Protocol: layers.IPProtocolTCP, SrcIP: x.addr[:], DstIP: vipAddress.AsSlice()}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(x.port), DstPort: 80, SYN: true, Window: 1000}
	_ = tcp.SetNetworkLayerForChecksum(ip)
	b := gopacket.NewSerializeBuffer()
	vm := apps.VIPMAC
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: mac, DstMAC: vm[:], EthernetType: layers.EthernetTypeIPv4}, ip, tcp); err != nil {
		n.t.Fatal(err)
	}
	return b.Bytes()
}

// picks is the backend that each connection is given.
func (n *injector) picks(all []tuple) map[tuple]uint32 {
	n.t.Helper()
	n.round++
	got := make(map[tuple]uint32, len(all))
	for todo := all; len(todo) > 0; {
		some := todo[:min(100, len(todo))]
		todo = todo[len(some):]
		for tries := 0; ; tries++ {
			missing := slices.DeleteFunc(slices.Clone(some), func(x tuple) bool { _, ok := got[x]; return ok })
			if len(missing) == 0 {
				break
			}
			if tries == 10 {
				n.t.Fatalf("%d of %d connections have reached no backend", len(missing), len(some))
			}
			for _, x := range missing {
				if err := n.in.Send(n.syn(x)); err != nil {
					n.t.Fatal(err)
				}
			}
			left := len(missing)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, _ = n.out.Receive(ctx, func(f []byte) bool {
				if len(f) < 54 || binary.BigEndian.Uint16(f[12:]) != 0x0800 || f[0] != 0x02 || f[1] != 9 || f[22] != n.round {
					return false
				}
				x := tuple{[4]byte(f[26:30]), binary.BigEndian.Uint16(f[34:])}
				if _, twice := got[x]; !twice {
					left--
				}
				got[x] = uint32(binary.BigEndian.Uint16(f[4:]))
				if binary.BigEndian.Uint16(f[32:]) != binary.BigEndian.Uint16(f[4:]) || binary.BigEndian.Uint16(f[36:]) != 8080 {
					n.t.Errorf("a packet to backend %d is not translated: %x", got[x], f)
				}
				return left == 0
			})
			cancel()
		}
	}
	return got
}

// moved counts connections that go elsewhere than before: in all, and from a backend to another though both were there before
// and after.
func moved(before, after map[tuple]uint32, came, left uint32) (all, survivors int) {
	for x, b := range before {
		if a := after[x]; a != b {
			all++
			if b != left && a != came {
				survivors++
			}
		}
	}
	return all, survivors
}

// Of 10,000 new connections a change of a backend moves those that must move and no others, on Open vSwitch.
func TestDisruption(t *testing.T) {
	all := tuples(10000)
	for _, size := range []uint32{10, 100} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			n := newInjector(t)
			var pool []apps.Backend
			for id := uint32(1); id <= size; id++ {
				pool = append(pool, backend(id, 1, vip.StateUp))
			}
			n.install(pool...)
			before := n.picks(all)
			share := func(picks map[tuple]uint32, id uint32) (got int) {
				for _, b := range picks {
					if b == id {
						got++
					}
				}
				return got
			}
			report := func(what string, after map[tuple]uint32, came, left uint32, must int) {
				t.Helper()
				m, s := moved(before, after, came, left)
				t.Logf("%3d backends, %-22s %5.2f%% moved, %4.2f%% between survivors", size, what, float64(m)/100, float64(s)/100)
				if s != 0 || m != must {
					t.Errorf("%s: %d connections have moved, %d between survivors; %d had to", what, m, s, must)
				}
			}
			const middle = 5
			drained := slices.Clone(pool)
			drained[middle-1] = backend(middle, 1, vip.StateDraining)
			n.install(drained...)
			after := n.picks(all)
			report("one drained:", after, 0, middle, share(before, middle))

			n.install(append(slices.Clone(pool), backend(size+1, 1, vip.StateUp))...)
			after = n.picks(all)
			report("one added:", after, size+1, 0, share(after, size+1))

			heavy := slices.Clone(pool)
			heavy[middle-1] = backend(middle, 3, vip.StateUp)
			n.install(heavy...)
			after = n.picks(all)
			got, want := float64(share(after, middle)), 10000*3/float64(size+2)
			report("one weighed 3 for 1:", after, middle, 0, share(after, middle)-share(before, middle))
			if got < 0.9*want-30 || got > 1.1*want+30 {
				t.Errorf("weight 3 gets %.0f of 10000 connections, want %.0f", got, want)
			}
			t.Logf("%3d backends, weight 3 gets %.2f%%, wanted %.2f%%", size, got/100, want/100)

			// In another order, and back: the same group, and the same choices.
			turned := slices.Clone(pool)
			slices.Reverse(turned)
			n.install(turned...)
			report("in another order:", n.picks(all), 0, 0, 0)

			// The same changes one by one, in two orders.
			n.install(append(slices.Clone(pool), backend(size+1, 0, vip.StateUp))...)
			n.remove(middle)
			after = n.picks(all)
			report("a bucket removed:", after, 0, middle, share(before, middle))
			n.insert(size+1, size)
			one := n.picks(all)
			n.remove(size + 1)
			n.insert(middle, middle-1)
			report("as it was, by buckets:", n.picks(all), 0, 0, 0)
			n.insert(size+1, size)
			n.remove(middle)
			if m, _ := moved(one, n.picks(all), 0, 0); m != 0 {
				t.Errorf("the same changes in another order: %d connections go elsewhere", m)
			}
		})
	}
}

// As many buckets as a VIP may have are described by Open vSwitch, over both versions, and it lives on.
func TestMostBuckets(t *testing.T) {
	n := newInjector(t)
	var pool []apps.Backend
	for left, id := vip.MaxBuckets, uint32(1); left > 0; id++ {
		w := min(left, vip.MaxWeight)
		pool = append(pool, backend(id, w, vip.StateUp))
		left -= w
	}
	n.install(pool...)
	for _, version := range []string{"OpenFlow15", "OpenFlow13"} {
		text, err := exec.Command("ovs-ofctl", "-O", version, "dump-groups", "unix:"+n.sw.ManagementSocket()).CombinedOutput()
		if got := strings.Count(string(text), "actions=set_field"); err != nil || got != vip.MaxBuckets {
			t.Errorf("%s: %d buckets are described, %v", version, got, err)
		}
	}
	n.picks(tuples(100))
}
