package group

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// answers notes what an app answers.
type answers struct {
	t      *testing.T
	out    []string // packet-outs: actions, and what the frame is
	forget []apps.Forget
}

func (a *answers) Add(*flows.Rule)            { a.t.Error("a rule is added") }
func (a *answers) Delete(*flows.Rule)         { a.t.Error("a rule is deleted") }
func (a *answers) AskRule(*flows.Rule)        { a.t.Error("a rule is asked for") }
func (a *answers) Sighted(topo.Sighting) bool { return true }
func (a *answers) Forget(f apps.Forget)       { a.forget = append(a.forget, f) }
func (a *answers) PacketOut(inPort uint32, actions []flows.Action, data []byte) {
	var f apps.Frame
	if err := apps.ParseFrame(data, &f); err != nil {
		a.t.Fatal(err)
	}
	text := string(flows.AppendActions(nil, actions)) + ": " + netip.AddrPortFrom(f.Src, f.SrcPort).String() + " > " +
		netip.AddrPortFrom(f.Dst, f.DstPort).String()
	if f.TCPFlags&apps.RST != 0 {
		text += " RST"
	}
	if inPort == flows.PortController {
		text = "from the controller, " + text
	}
	a.out = append(a.out, text)
}

// A packet that comes untranslated is refused by the VIP; one of an endpoint that has gone, through conntrack. What begins anew
// is forgotten instead.
func TestPacketIn(t *testing.T) {
	client := netip.MustParseAddr("10.1.0.9")
	gone := netip.MustParseAddr("10.9.0.7")
	forget := func(proto uint8) []apps.Forget {
		return []apps.Forget{{Zone: testZone, Proto: proto, Client: netip.AddrPortFrom(client, 4000), Backend: netip.AddrPortFrom(gone, 8080)}}
	}
	for _, tt := range []struct {
		name   string
		dst    netip.Addr
		port   uint16
		proto  uint8
		flags  uint8
		out    []string
		forget []apps.Forget
	}{
		{"new, no backend", vipAddress, 80, apps.ProtoTCP, apps.SYN, []string{"IN_PORT: 10.0.0.100:80 > 10.1.0.9:4000 RST"}, nil},
		{"new, no backend, UDP", vipAddress, 80, apps.ProtoUDP, 0, []string{"IN_PORT: 10.0.0.100:0 > 10.1.0.9:0"}, nil},
		{"of an endpoint that has gone", gone, 8080, apps.ProtoTCP, apps.ACK,
			[]string{"from the controller, set_field:0x3->reg0,ct(table=71,zone=60001,nat): 10.9.0.7:8080 > 10.1.0.9:4000 RST"}, nil},
		{"of a backend to itself", client, 8080, apps.ProtoTCP, apps.ACK,
			[]string{"from the controller, set_field:0x3->reg0,ct(table=71,zone=60001,nat): 10.1.0.9:8080 > 10.1.0.9:4000 RST"}, nil},
		{"its client begins anew", gone, 8080, apps.ProtoTCP, apps.SYN, nil, forget(apps.ProtoTCP)},
		{"a datagram to it", gone, 8080, apps.ProtoUDP, 0, nil, forget(apps.ProtoUDP)},
		{"a RST", gone, 8080, apps.ProtoTCP, apps.RST, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := &answers{t: t}
			f := &apps.Frame{EthDst: apps.VIPMAC, EthSrc: flows.MAC{2, 1}, EthType: apps.EtherTypeIPv4, Src: client, Dst: tt.dst, Proto: tt.proto,
				SrcPort: 4000, DstPort: tt.port, TCPFlags: tt.flags, IP: make([]byte, 28)}
			f.IP[0] = 0x45
			if !New(Config{}).PacketIn(viewOf(true), &apps.Punted{At: topo.PortID{DPID: 1, No: 3}, Frame: f}, out) {
				t.Error("not handled")
			}
			if diff := cmp.Diff(tt.out, out.out); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.forget, out.forget, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// A VIP that rejects by dropping answers nobody who begins, and ends what has been.
func TestSilent(t *testing.T) {
	v := viewOf(true)
	v.VIPs[0].Spec.Reject = vip.RejectDrop
	for flags, want := range map[uint8]int{apps.SYN: 0, apps.ACK: 1, apps.FIN | apps.ACK: 1} {
		a, out := New(Config{}), &answers{t: t}
		f := &apps.Frame{EthDst: apps.VIPMAC, EthSrc: flows.MAC{2, 1}, EthType: apps.EtherTypeIPv4, Src: netip.MustParseAddr("10.1.0.9"), Dst: vipAddress,
			Proto: apps.ProtoTCP, SrcPort: 4000, DstPort: 80, TCPFlags: flags, IP: make([]byte, 28)}
		f.IP[0] = 0x45
		a.PacketIn(v, &apps.Punted{Cookie: apps.Cookie(apps.KindDesired, apps.ClassGroup, 1), Frame: f}, out)
		if len(out.out) != want || a.counters.silent.Load() != uint64(1-want) || a.counters.refused.Load() != uint64(want) {
			t.Errorf("flags %#x: %v", flags, out.out)
		}
	}
}

// A switch is asked to forget no more than it can bear, whoever sends.
func TestForgetRate(t *testing.T) {
	now := time.Unix(1e6, 0)
	a := New(Config{Now: func() time.Time { return now }})
	out := &answers{t: t}
	send := func(d flows.DPID) {
		v := viewOf(true)
		v.Switches[d] = apps.SwitchInfo{DPID: d, Nicira: true, Zone: 9}
		a.PacketIn(v, &apps.Punted{At: topo.PortID{DPID: d, No: 3}, Frame: &apps.Frame{EthType: apps.EtherTypeIPv4, Proto: apps.ProtoUDP,
			Src: netip.MustParseAddr("10.1.0.9"), Dst: netip.MustParseAddr("10.9.0.7")}}, out)
	}
	for range 1000 {
		send(1)
	}
	if len(out.forget) != apps.ForgetRate {
		t.Errorf("%d in a second", len(out.forget))
	}
	send(2)
	now = now.Add(time.Second)
	send(1)
	if len(out.forget) != apps.ForgetRate+2 {
		t.Errorf("%d after another switch and another second", len(out.forget))
	}
}

// What is to be forgotten of a VIP of UDP: endpoints that had connections and have none any more.
func TestStale(t *testing.T) {
	udp := func(backends ...apps.Backend) *apps.View {
		v := viewOf(true, backends...)
		v.VIPs[0].Spec.Protocol = vip.UDP
		return v
	}
	one, two := backend(1, 1, vip.StateUp), backend(2, 1, vip.StateUp)
	owner := apps.Owner{Kind: apps.OwnerVIP, VIP: 1}
	for _, tt := range []struct {
		name     string
		old, now *apps.View
		want     []string
	}{
		{"nothing", udp(one, two), udp(one, two), nil},
		{"drained", udp(one, two), udp(one, backend(2, 1, vip.StateDraining)), nil},
		{"disabled", udp(one, two), udp(one, backend(2, 1, vip.StateDisabled)), []string{"10.9.0.2:8080"}},
		{"its drain is over", udp(one, backend(2, 1, vip.StateDraining)), udp(one, backend(2, 1, vip.StateDrained)), []string{"10.9.0.2:8080"}},
		{"down", udp(one, two), udp(one, backend(2, 1, vip.StateDown)), []string{"10.9.0.2:8080"}},
		{"removed", udp(one, two), udp(two), []string{"10.9.0.1:8080"}},
		{"gone long since", udp(one, backend(2, 1, vip.StateDisabled)), udp(one), nil},
		{"TCP", viewOf(true, one, two), viewOf(true, one), nil},
	} {
		var got []string
		for _, f := range New(Config{}).Stale(tt.old, tt.now, owner, apps.SwitchInfo{DPID: 1, Zone: testZone}) {
			if f.Zone != testZone || f.Proto != apps.ProtoUDP || f.VIP != netip.AddrPortFrom(vipAddress, 80) || f.Client.IsValid() {
				t.Errorf("%s: %+v", tt.name, f)
			}
			got = append(got, f.Backend.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}
