package deferred

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

// answers notes what the app answers.
type answers struct {
	t      *testing.T
	frames int
	forget []apps.Forget
}

func (a *answers) Add(*flows.Rule)                          { a.t.Error("a rule is added") }
func (a *answers) Delete(*flows.Rule)                       { a.t.Error("a rule is deleted") }
func (a *answers) AskRule(*flows.Rule)                      { a.t.Error("a rule is asked for") }
func (a *answers) Sighted(topo.Sighting) bool               { return true }
func (a *answers) Forget(f apps.Forget)                     { a.forget = append(a.forget, f) }
func (a *answers) PacketOut(uint32, []flows.Action, []byte) { a.frames++ }

// What is refused is answered, unless its sender is not known any more; what is of a backend that has gone is forgotten, some a second.
func TestPacketIn(t *testing.T) {
	client, gone := netip.MustParseAddr("10.1.0.9"), netip.MustParseAddr("10.9.0.7")
	v := viewOf(vip.StepSteady, [][]uint32{{1}}, backend(1, 1, vip.StateUp))
	now := time.Unix(7, 0)
	a := New(Config{Now: func() time.Time { return now }})
	in := func(table uint8, src flows.MAC, dst netip.Addr, port uint16) *answers {
		out := &answers{t: t}
		f := &apps.Frame{EthSrc: src, EthDst: apps.VIPMAC, EthType: apps.EtherTypeIPv4, Proto: apps.ProtoTCP, TCPFlags: apps.SYN,
			Src: client, Dst: dst, SrcPort: 4000, DstPort: port, IP: make([]byte, 40), Data: make([]byte, 54)}
		if !a.PacketIn(v, &apps.Punted{At: topo.PortID{DPID: 1, No: 1}, Table: table, Frame: f,
			Cookie: apps.Cookie(apps.KindDesired, apps.ClassDeferred, 1)}, out) {
			t.Error("not taken")
		}
		return out
	}
	host := flows.MAC{2, 0, 0, 0, 0, 1}
	if out := in(apps.TableVIP, host, vipAddress, 80); out.frames != 1 {
		t.Errorf("%d answers", out.frames)
	}
	if out := in(apps.TableAsk, apps.MarkerAsked, vipAddress, 80); out.frames != 0 {
		t.Error("an answer to a marker")
	}
	want := []apps.Forget{{Zone: 60001, Proto: apps.ProtoTCP, Client: netip.AddrPortFrom(client, 4000), Backend: netip.AddrPortFrom(gone, 8080)}}
	if diff := cmp.Diff(want, in(apps.TableDeliver, host, gone, 8080).forget, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	n := 1
	for range 100 {
		n += len(in(apps.TableDeliver, host, gone, 8080).forget)
	}
	if n != apps.ForgetRate {
		t.Errorf("%d are forgotten in a second", n)
	}
	if now = now.Add(time.Second); len(in(apps.TableDeliver, host, gone, 8080).forget) != 1 {
		t.Error("none is forgotten in the next")
	}
	v.VIPs[0].Spec.Reject = vip.RejectDrop
	if out := in(apps.TableVIP, host, vipAddress, 80); out.frames != 0 {
		t.Error("an answer of a VIP that gives none")
	}
}
