package nat

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

const (
	edge   = flows.DPID(1) // of the clients
	farm   = flows.DPID(2) // of the backends
	second = flows.DPID(3) // another edge
)

// change alters a VIP in a test.
type change func(x *apps.VIP)

// newVIP is VIP 7, 10.0.0.100 tcp 80, with n backends that listen on 8080: 10.0.1.N behind port N of farm.
func newVIP(n int, changes ...change) *apps.VIP {
	x := &apps.VIP{VIP: &vip.VIP{ID: 7, Address: netip.MustParseAddr("10.0.0.100"), Ports: vip.Ports{First: 80, Last: 80}, Idle: time.Hour}}
	x.Spec = vip.Spec{Name: "web", Protocol: vip.TCP, Mode: vip.ModeNAT, Scheduler: vip.RoundRobin}
	for i := 1; i <= n; i++ {
		addr := netip.AddrFrom4([4]byte{10, 0, 1, byte(i)})
		b := &vip.Backend{ID: uint32(i), Name: fmt.Sprint("b", i), Address: addr, Port: 8080, Weight: 1, Admin: vip.Enabled}
		host := &topo.Host{MAC: flows.MAC{2, 0, 0, 0, 1, byte(i)}, Addresses: []netip.Addr{addr}, Live: true}
		host.At = topo.PortID{DPID: farm, No: uint32(i)}
		x.Backends = append(x.Backends, apps.Backend{Backend: b, Host: host, State: vip.StateUp})
	}
	for _, c := range changes {
		c(x)
	}
	return x
}

func udp(x *apps.VIP) { x.Spec.Protocol, x.Idle = vip.UDP, time.Minute }

func id(n vip.ID) change { return func(x *apps.VIP) { x.ID = n } }

func at(first, last uint16) change {
	return func(x *apps.VIP) { x.Ports = vip.Ports{First: first, Last: last} }
}

func listen(port uint16) change {
	return func(x *apps.VIP) {
		for i := range x.Backends {
			x.Backends[i].Port = port
		}
	}
}

func state(backend int, s vip.State) change {
	return func(x *apps.VIP) { x.Backends[backend-1].State = s }
}

// view has all three switches connected, all of them Open vSwitch.
func view(vips ...*apps.VIP) *apps.View {
	switches := map[flows.DPID]apps.SwitchInfo{}
	for _, d := range []flows.DPID{edge, farm, second} {
		switches[d] = apps.SwitchInfo{DPID: d, Nicira: true, OF15: true}
	}
	return apps.NewView(nil, switches, vips)
}

// recorder is a Reply that writes down what it is told.
type recorder struct{ lines []string }

func (r *recorder) Add(x *flows.Rule)    { r.lines = append(r.lines, "add "+x.String()) }
func (r *recorder) Delete(x *flows.Rule) { r.lines = append(r.lines, "delete "+x.String()) }
func (r *recorder) AskRule(x *flows.Rule) {
	r.lines = append(r.lines, "ask "+x.String())
}
func (r *recorder) PacketOut(port uint32, actions []flows.Action, data []byte) {
	r.lines = append(r.lines, fmt.Sprintf("packet-out in_port=%d actions=%s %s", port, flows.ActionsText(actions), frameText(data)))
}
func (r *recorder) Sighted(topo.Sighting) bool { panic("not asked for") }

func (r *recorder) take() string {
	s := strings.Join(r.lines, "\n")
	r.lines = nil
	return s
}

func frameText(data []byte) string {
	var f apps.Frame
	if err := apps.ParseFrame(data, &f); err != nil {
		return err.Error()
	}
	kind := fmt.Sprintf("proto %d", f.Proto)
	if f.Proto == apps.ProtoTCP {
		kind = ""
		for i, n := range []string{"F", "S", "R", "P", "A"} {
			if f.TCPFlags>>i&1 != 0 {
				kind += n
			}
		}
	}
	return fmt.Sprintf("(%s %s:%d > %s:%d)", kind, f.Src, f.SrcPort, f.Dst, f.DstPort)
}

// rig is an app with a view, and an edge switch's session.
type rig struct {
	t    *testing.T
	app  *App
	view *apps.View
	out  *recorder
	now  time.Time
}

func newRig(t *testing.T, vips ...*apps.VIP) *rig {
	r := &rig{t: t, out: new(recorder), now: time.Unix(1e9, 0)}
	r.app = New(Config{Now: func() time.Time { return r.now }})
	r.sync(vips...)
	return r
}

// sync gives the app a view of some VIPs, and answers the rules to delete.
func (r *rig) sync(vips ...*apps.VIP) string {
	r.view = view(vips...)
	return deletions(r.app.Sync(r.view))
}

func deletions(all map[flows.DPID][]flows.Rule) string {
	var lines []string
	for d := flows.DPID(0); d < 10; d++ {
		for _, x := range all[d] {
			lines = append(lines, fmt.Sprintf("%d: %s", d, x))
		}
	}
	return strings.Join(lines, "\n")
}

// packet is a packet-in at port 9 of edge.
type packet struct {
	from, to string // address:port
	proto    uint8  // 0: TCP
	flags    uint8
	seq, ack uint32
	at       topo.PortID
	cookie   uint64
}

func (p packet) punted(vips []*apps.VIP) *apps.Punted {
	from, to := netip.MustParseAddrPort(p.from), netip.MustParseAddrPort(p.to)
	if p.proto == 0 {
		p.proto = apps.ProtoTCP
	}
	data := rawFrame(from, to, p.proto, p.flags, p.seq, p.ack)
	f := new(apps.Frame)
	if err := apps.ParseFrame(data, f); err != nil {
		panic(err)
	}
	if p.at == (topo.PortID{}) {
		p.at = topo.PortID{DPID: edge, No: 9}
	}
	if p.cookie == 0 {
		for _, x := range vips {
			if x.Address == to.Addr() && x.Proto() == p.proto && x.Ports.First <= to.Port() && to.Port() <= x.Ports.Last {
				p.cookie = apps.Cookie(apps.KindDesired, apps.ClassNAT, x.ID)
			}
		}
	}
	return &apps.Punted{At: p.at, Table: apps.TableSelect, Cookie: p.cookie, Frame: f}
}

// in hands a packet-in over and answers what was said.
func (r *rig) in(p packet) string {
	r.t.Helper()
	in := p.punted(r.view.VIPs)
	r.app.Prefetch(r.view, in)
	if !r.app.PacketIn(r.view, in, r.out) {
		r.t.Fatalf("%+v was not handled", p)
	}
	return r.out.take()
}

func rawFrame(from, to netip.AddrPort, proto, flags uint8, seq, ack uint32) []byte {
	b := []byte{0x02, 0xef, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9}
	transport := 20
	if proto == apps.ProtoUDP {
		transport = 8
	}
	if from.Addr().Is4() {
		b = append(b, 0x08, 0x00, 0x45, 0, 0, byte(20+transport), 0, 0, 0, 0, 64, proto, 0, 0)
	} else {
		b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0, 0, byte(transport), proto, 64)
	}
	b = append(append(b, from.Addr().AsSlice()...), to.Addr().AsSlice()...)
	b = append(b, byte(from.Port()>>8), byte(from.Port()), byte(to.Port()>>8), byte(to.Port()))
	if proto == apps.ProtoUDP {
		return append(b, 0, 8, 0, 0)
	}
	for _, n := range []uint32{seq, ack} {
		b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(b, 0x50, flags, 0, 0, 0, 0, 0, 0)
}

func (r *rig) removed(rule string, reason apps.RemovedReason) string {
	x := flows.MustParseRule(rule)
	x.Actions = nil
	if reason == apps.RemovedIdle {
		r.now = r.now.Add(time.Duration(x.IdleTimeout) * time.Second)
	}
	r.app.FlowRemoved(r.view, edge, &x, reason, flows.Stats{}, r.out)
	return r.out.take()
}

func (r *rig) stats(rule string, st flows.Stats, found bool) string {
	x := flows.MustParseRule(rule)
	r.app.RuleStats(r.view, edge, &x, st, found, r.out)
	return r.out.take()
}

// live checks the live connections of backends 1, 2, ... of VIP 7.
func (r *rig) live(want ...int64) {
	r.t.Helper()
	for i, n := range want {
		if live, _ := r.app.Connections(7, uint32(i+1)); live != n {
			r.t.Errorf("backend %d has %d live connections, want %d", i+1, live, n)
		}
	}
}

// same compares texts line by line. Lines of want are trimmed.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if d := cmp.Diff(strings.Join(lines, "\n"), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
