package health

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

func mac(n int) flows.MAC { return flows.MAC{2, 0, 0, 0, byte(n >> 8), byte(n)} }

func ten(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}) }

// network is n hosts with the addresses 10.0.0.1 on, host i at port i of switch 1; down says which ports are.
func network(n int, down ...uint32) *topo.Snapshot { return networkOf(n, true, down) }

func networkOf(n int, live bool, down []uint32) *topo.Snapshot {
	var saved topo.Saved
	ports := make([]topo.Port, n)
	for i := range n {
		no := uint32(i + 1)
		at := topo.PortID{DPID: 1, No: no}
		ports[i] = topo.Port{No: no, Up: !slices.Contains(down, no)}
		saved.Ports = append(saved.Ports, topo.SavedPort{PortID: at, Kind: topo.Edge})
		saved.Hosts = append(saved.Hosts, topo.SavedHost{MAC: mac(i + 1), At: at, Live: live, Addresses: []netip.Addr{ten(i + 1)}})
	}
	t := topo.New(epoch, topo.Config{}, saved)
	t.SwitchUp(epoch, 1, ports)
	return t.Snapshot()
}

// connected are the switches with these ids, with Nicira's extensions.
func connected(ids ...flows.DPID) map[flows.DPID]apps.SwitchInfo {
	out := map[flows.DPID]apps.SwitchInfo{}
	for _, d := range ids {
		out[d] = apps.SwitchInfo{DPID: d, Nicira: true}
	}
	return out
}

// declared is a VIP with the first n hosts as backends, on port 8080.
func declared(t testing.TB, id vip.ID, address string, h vip.Health, n int) *vip.VIP {
	t.Helper()
	spec := vip.Spec{Name: fmt.Sprintf("v%d", id), Address: address, Protocol: vip.TCP, Port: "80", Health: &h}
	for i := range n {
		spec.Backends = append(spec.Backends, vip.BackendSpec{Name: fmt.Sprintf("b%d", i+1), Address: ten(i + 1).String(), Port: 8080})
	}
	x, err := vip.Create(id, spec, vip.OriginAPI)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func view(snap *topo.Snapshot, switches map[flows.DPID]apps.SwitchInfo, vips ...*vip.VIP) *apps.View {
	var all []*apps.VIP
	for _, x := range vips {
		all = append(all, &apps.VIP{VIP: x, Backends: apps.ResolveBackends(x, snap, nil, epoch)})
	}
	return apps.NewView(snap, switches, all)
}

// replies keeps what is sent in answer.
type replies struct {
	apps.Reply
	sent []apps.Frame
}

func (r *replies) PacketOut(_ uint32, _ []flows.Action, data []byte) {
	var f apps.Frame
	if err := apps.ParseFrame(slices.Clone(data), &f); err != nil {
		panic(err)
	}
	r.sent = append(r.sent, f)
}

// line is a way to switches that are heard all the time, or not.
type line struct {
	mute  bool
	heard uint64
	sent  int
	lag   time.Duration
}

func (l *line) Send(topo.PortID, []byte) bool { l.sent++; return false }

func (l *line) Lag(flows.DPID) time.Duration { return l.lag }

func (l *line) Heard(flows.DPID) uint64 {
	if !l.mute {
		l.heard++
	}
	return l.heard
}

// rig is a Prober with a clock of its own.
type rig struct {
	line
	t    testing.TB
	p    *Prober
	now  time.Time
	view *apps.View
	// answer says what comes back for a probe, nil for nothing.
	answer func(f *apps.Frame) []byte
	out    replies
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, now: epoch, answer: func(f *apps.Frame) []byte { return answerTo(f) }}
	n := uint64(0)
	r.p = New(Config{Switches: &r.line, Now: func() time.Time { return r.now }, Rand: func() uint64 { n += 0x9e3779b97f4a7c15; return n }})
	return r
}

func (r *rig) follow(v *apps.View) { r.view = v; r.p.Follow(v) }

// run lets time pass, and every probe be answered as r.answer says. It returns when probes were sent.
func (r *rig) run(d time.Duration) (sent []time.Time) {
	r.t.Helper()
	for end := r.now.Add(d); ; {
		packets, next := r.p.tick(r.now)
		for _, x := range packets {
			sent = append(sent, r.now)
			r.p.handed(x, true)
			var f apps.Frame
			if err := apps.ParseFrame(x.frame, &f); err != nil {
				r.t.Fatal(err)
			}
			if b := r.answer(&f); b != nil {
				r.hear(x.at, b)
			}
		}
		if next.IsZero() || next.After(end) {
			r.now = end
			return sent
		}
		r.now = later(r.now, next)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// hear lets a frame come in by a port.
func (r *rig) hear(at topo.PortID, b []byte) {
	r.t.Helper()
	var f apps.Frame
	if err := apps.ParseFrame(b, &f); err != nil {
		r.t.Fatal(err)
	}
	if !r.p.PacketIn(r.view, &apps.Punted{At: at, Frame: &f}, &r.out) {
		r.t.Error("not handled")
	}
}

// verdicts are the backends of the first VIP that are down, with the reasons.
func (r *rig) verdicts() string {
	x := r.view.VIPs[0]
	var out []string
	for i := range x.Backends {
		if down, reason := r.p.Verdict(x.VIP, x.Backends[i].Backend); down {
			out = append(out, x.Backends[i].Name+": "+reason)
		}
	}
	return strings.Join(out, "; ")
}

func mute(*apps.Frame) []byte { return nil }

var everySecond = vip.Health{Type: vip.HealthTCP, Interval: vip.Duration(time.Second), Timeout: vip.Duration(500 * time.Millisecond), Rise: 2, Fall: 3}
