package nat

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/topo"
)

const (
	client = "10.0.0.9:40000"
	web    = "10.0.0.100:80"
)

// The rules of client's connection to backend 1, without actions.
const (
	fwd = "cookie=0xef02030000000007, table=40, idle_timeout=3600, send_flow_rem priority=100,tcp,nw_src=10.0.0.9,nw_dst=10.0.0.100,tp_src=40000,tp_dst=80 "
	rev = "cookie=0xef02030000000007, table=70, idle_timeout=3600, send_flow_rem priority=100,tcp,nw_src=10.0.1.1,nw_dst=10.0.0.9,tp_src=8080,tp_dst=40000 "

	fwdActions = "actions=fin_timeout(idle_timeout=12),set_field:02:00:00:00:01:01->eth_dst,set_field:10.0.1.1->ip_dst,set_field:8080->tcp_dst,resubmit(,60)"
	revActions = "actions=fin_timeout(idle_timeout=12),set_field:10.0.0.100->ip_src,set_field:80->tcp_src,set_field:02:ef:00:00:00:01->eth_src,resubmit(,80)"

	pairAdded = "add " + rev + revActions + "\nadd " + fwd + fwdActions
	sent      = "\npacket-out in_port=9 actions=set_field:02:00:00:00:01:01->eth_dst,set_field:10.0.1.1->ip_dst,set_field:8080->tcp_dst,resubmit(,60) "
	synSent   = sent + "(S 10.0.0.9:40000 > 10.0.0.100:80)"
)

func syn(from string) packet { return packet{from: from, to: web, flags: apps.SYN, seq: 1000} }

func data(from string) packet { return packet{from: from, to: web, flags: apps.ACK, seq: 1001, ack: 5} }

// chosen is which backend a reply's forward rules lead to, 0 for none.
func chosen(reply string) (backend int) {
	for line := range strings.Lines(reply) {
		if strings.HasPrefix(line, "add") && strings.Contains(line, "table=40") {
			_, after, _ := strings.Cut(line, "set_field:10.0.1.")
			_, _ = fmt.Sscanf(after, "%d", &backend)
		}
	}
	return backend
}

func refusedTo(from string) string {
	return fmt.Sprintf("packet-out in_port=9 actions=IN_PORT (RA 10.0.0.100:80 > %s)", from)
}

func TestSYNGetsItsPairBeforeItIsSentOn(t *testing.T) {
	r := newRig(t, newVIP(2))
	same(t, "SYN", r.in(syn(client)), pairAdded+synSent)
	r.live(1, 0)
}

func TestOnePortToTheSamePort(t *testing.T) {
	for _, port := range []uint16{0, 80} {
		r := newRig(t, newVIP(1, listen(port)))
		if got := r.in(syn(client)); strings.Contains(got, "tcp_dst") || strings.Contains(got, "tcp_src") || !strings.Contains(got, "tp_src=80,tp_dst=40000") {
			t.Errorf("port %d: %s", port, got)
		}
	}
}

func TestPortsOfARange(t *testing.T) {
	r := newRig(t, newVIP(1, at(8000, 8010)))
	p := syn(client)
	p.to = "10.0.0.100:8003"
	if got := r.in(p); !strings.Contains(got, "set_field:8003->tcp_src") || !strings.Contains(got, "set_field:8080->tcp_dst") {
		t.Errorf("%s", got)
	}
	r = newRig(t, newVIP(1, at(8000, 8010), listen(0)))
	if got := r.in(p); !strings.Contains(got, "tp_src=8003,tp_dst=40000") || strings.Contains(got, "->tcp") {
		t.Errorf("%s", got)
	}
}

func TestUDP(t *testing.T) {
	r := newRig(t, newVIP(2, udp))
	p := packet{from: client, to: web, proto: apps.ProtoUDP}
	want := `
		add cookie=0xef02030000000007, table=70, idle_timeout=60, send_flow_rem priority=100,udp,nw_src=10.0.1.1,nw_dst=10.0.0.9,tp_src=8080,tp_dst=40000 actions=set_field:10.0.0.100->ip_src,set_field:80->udp_src,set_field:02:ef:00:00:00:01->eth_src,resubmit(,80)
		add cookie=0xef02030000000007, table=40, idle_timeout=60, send_flow_rem priority=100,udp,nw_src=10.0.0.9,nw_dst=10.0.0.100,tp_src=40000,tp_dst=80 actions=set_field:02:00:00:00:01:01->eth_dst,set_field:10.0.1.1->ip_dst,set_field:8080->udp_dst,resubmit(,60)
		packet-out in_port=9 actions=set_field:02:00:00:00:01:01->eth_dst,set_field:10.0.1.1->ip_dst,set_field:8080->udp_dst,resubmit(,60) (proto 17 10.0.0.9:40000 > 10.0.0.100:80)`
	same(t, "first packet", r.in(p), want)
	same(t, "another before the rules are in", r.in(p), want)
	r.live(1, 0)
}

func TestWithoutNicira(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.view.Switches[edge] = apps.SwitchInfo{DPID: edge}
	same(t, "SYN", r.in(syn(client)), "add "+rev+strings.NewReplacer("fin_timeout(idle_timeout=12),", "", "resubmit(,80)", "goto_table:80").Replace(revActions)+
		"\nadd "+fwd+strings.NewReplacer("fin_timeout(idle_timeout=12),", "", "resubmit(,60)", "goto_table:60").Replace(fwdActions)+
		"\npacket-out in_port=9 actions=TABLE (S 10.0.0.9:40000 > 10.0.0.100:80)")
}

func TestASwitchThatTheViewHasNotYetIsTakenForOpenVSwitch(t *testing.T) {
	r := newRig(t, newVIP(1))
	delete(r.view.Switches, edge)
	same(t, "SYN", r.in(syn(client)), pairAdded+synSent)
}

func TestHairpin(t *testing.T) {
	r := newRig(t, newVIP(2))
	p := packet{from: "10.0.1.1:40000", to: web, flags: apps.SYN, at: topo.PortID{DPID: farm, No: 1}}
	same(t, "chosen itself", r.in(p), `
		add cookie=0xef02030000000007, table=20, idle_timeout=3600, send_flow_rem priority=110,tcp,nw_src=10.0.1.1,nw_dst=10.0.0.100,tp_src=8080,tp_dst=40000 actions=fin_timeout(idle_timeout=12),set_field:10.0.0.100->ip_src,set_field:80->tcp_src,set_field:02:ef:00:00:00:01->eth_src,set_field:10.0.1.1->ip_dst,set_field:02:00:00:00:01:01->eth_dst,set_field:0->in_port,resubmit(,60)
		add cookie=0xef02030000000007, table=40, idle_timeout=3600, send_flow_rem priority=100,tcp,nw_src=10.0.1.1,nw_dst=10.0.0.100,tp_src=40000,tp_dst=80 actions=fin_timeout(idle_timeout=12),set_field:02:ef:00:00:00:01->eth_src,set_field:02:00:00:00:01:01->eth_dst,set_field:10.0.0.100->ip_src,set_field:10.0.1.1->ip_dst,set_field:8080->tcp_dst,set_field:0->in_port,resubmit(,60)
		packet-out in_port=1 actions=set_field:02:ef:00:00:00:01->eth_src,set_field:02:00:00:00:01:01->eth_dst,set_field:10.0.0.100->ip_src,set_field:10.0.1.1->ip_dst,set_field:8080->tcp_dst,set_field:0->in_port,resubmit(,60) (S 10.0.1.1:40000 > 10.0.0.100:80)`)
	p.from = "10.0.1.1:40001"
	if got := r.in(p); chosen(got) != 2 || !strings.Contains(got, "table=70") {
		t.Errorf("another chosen: %s", got)
	}
	r.live(1, 1)
}

func TestABackendsAddressElsewhereIsNoHairpin(t *testing.T) {
	r := newRig(t, newVIP(1))
	same(t, "SYN", r.in(syn("10.0.1.1:40000")), "")
	if c := r.app.Counters(); c.Astray != 1 {
		t.Errorf("%+v", c)
	}
	r.live(0)
}

func TestRetransmittedSYNKeepsItsBackend(t *testing.T) {
	r := newRig(t, newVIP(3))
	for range 3 {
		same(t, "SYN", r.in(syn(client)), pairAdded+synSent)
	}
	r.live(1, 0, 0)
	if _, total := r.app.Connections(7, 1); total != 1 {
		t.Errorf("%d connections in all", total)
	}
	if got := chosen(r.in(syn("10.0.0.9:40001"))); got != 2 {
		t.Errorf("the next goes to %d", got)
	}
}

func TestRetransmittedSYNLeavesADeadBackend(t *testing.T) {
	r := newRig(t, newVIP(2))
	r.in(syn(client))
	r.sync(newVIP(2, state(1, vip.StateDown)))
	if got := chosen(r.in(syn(client))); got != 2 {
		t.Errorf("goes to %d", got)
	}
	r.live(0, 1)
}

func TestRetransmittedSYNStaysWithADrainingBackend(t *testing.T) {
	r := newRig(t, newVIP(2))
	r.in(syn(client))
	r.sync(newVIP(2, state(1, vip.StateDraining)))
	same(t, "the same SYN", r.in(syn(client)), pairAdded+synSent)
	again := syn(client)
	again.seq = 77777
	same(t, "a new connection from the same port", r.in(again), "delete "+bare(fwd)+none+"\ndelete "+bare(rev)+none)
	r.live(0, 0)
	if got := chosen(r.in(again)); got != 2 {
		t.Errorf("its SYN sent again goes to %d", got)
	}
	r.live(0, 1)
}

func TestANewConnectionFromTheSamePortIsCounted(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	again := syn(client)
	again.seq = 2000
	same(t, "SYN", r.in(again), pairAdded+synSent) // with whole timeouts, whatever a FIN has made of the old ones
	if live, total := r.app.Connections(7, 1); live != 1 || total != 2 {
		t.Errorf("%d of %d", live, total)
	}
}

func TestLostPairIsPutBack(t *testing.T) {
	r := newRig(t, newVIP(3))
	r.in(syn(client))
	r.in(syn("10.0.0.8:1"))
	same(t, "data", r.in(data(client)), pairAdded+sent+"(A 10.0.0.9:40000 > 10.0.0.100:80)")
	r.live(1, 1, 0)
}

func TestAFinThatNoRuleSeesLowersTheTimeout(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	p := data(client)
	p.flags |= apps.FIN
	if got := r.in(p); strings.Count(got, "idle_timeout=12, send_flow_rem") != 2 {
		t.Errorf("%s", got)
	}
}

func TestUnknownTCPIsRefusedNeverBalanced(t *testing.T) {
	r := newRig(t, newVIP(2))
	same(t, "data", r.in(data(client)), "packet-out in_port=9 actions=IN_PORT (R 10.0.0.100:80 > 10.0.0.9:40000)")
	p := data(client)
	p.flags = apps.RST
	same(t, "RST", r.in(p), "")
	p.flags = apps.SYN | apps.ACK
	same(t, "SYN ACK", r.in(p), "packet-out in_port=9 actions=IN_PORT (R 10.0.0.100:80 > 10.0.0.9:40000)")
	r.live(0, 0)
	if c := r.app.Counters(); c.Unknown != 3 || c.Connections != 0 {
		t.Errorf("%+v", c)
	}
}

func TestNoBackend(t *testing.T) {
	r := newRig(t, newVIP(1, state(1, vip.StateDown)))
	same(t, "SYN", r.in(syn(client)), refusedTo(client))
	r.sync(newVIP(1, udp))
	r.sync(newVIP(0, udp))
	same(t, "UDP", r.in(packet{from: client, to: web, proto: apps.ProtoUDP}),
		"packet-out in_port=9 actions=IN_PORT (proto 1 10.0.0.100:0 > 10.0.0.9:0)")
}

func TestClosedPort(t *testing.T) {
	r := newRig(t, newVIP(1))
	closed := apps.Cookie(apps.KindDesired, apps.ClassNAT, 0)
	p := packet{from: client, to: "10.0.0.100:81", flags: apps.SYN, cookie: closed}
	same(t, "SYN", r.in(p), "packet-out in_port=9 actions=IN_PORT (RA 10.0.0.100:81 > 10.0.0.9:40000)")
	p.cookie = apps.Cookie(apps.KindDesired, apps.ClassNAT, 99)
	same(t, "of a VIP that is gone", r.in(p), "packet-out in_port=9 actions=IN_PORT (RA 10.0.0.100:81 > 10.0.0.9:40000)")
	p.cookie = apps.Cookie(apps.KindDesired, apps.ClassNAT, 7)
	same(t, "that is not the VIP's", r.in(p), "packet-out in_port=9 actions=IN_PORT (RA 10.0.0.100:81 > 10.0.0.9:40000)")
	if c := r.app.Counters(); c.Closed != 3 {
		t.Errorf("%+v", c)
	}
}

// Whoever begins a connection that cannot be had is not told, if the VIP says so; whoever had one is. A closed port is silent
// when all VIPs of the address are.
func TestSilent(t *testing.T) {
	drops := func(x *apps.VIP) { x.Spec.Reject = vip.RejectDrop }
	closed := apps.Cookie(apps.KindDesired, apps.ClassNAT, 0)
	for _, tt := range []struct {
		name  string
		vips  []*apps.VIP
		p     packet
		aloud bool
	}{
		{"SYN", []*apps.VIP{newVIP(0, drops)}, syn(client), false},
		{"data", []*apps.VIP{newVIP(0, drops)}, data(client), true},
		{"datagram", []*apps.VIP{newVIP(0, drops, udp)}, packet{from: client, to: web, proto: apps.ProtoUDP}, false},
		{"SYN to a closed port", []*apps.VIP{newVIP(1, drops)}, packet{from: client, to: "10.0.0.100:81", flags: apps.SYN, cookie: closed}, false},
		{"SYN to a closed port of two VIPs", []*apps.VIP{newVIP(1, drops), newVIP(1, id(8), at(82, 82))},
			packet{from: client, to: "10.0.0.100:81", flags: apps.SYN, cookie: closed}, true},
		{"data to a closed port", []*apps.VIP{newVIP(1, drops)}, packet{from: client, to: "10.0.0.100:81", flags: apps.ACK, cookie: closed}, true},
		{"SYN", []*apps.VIP{newVIP(0)}, syn(client), true},
	} {
		if got := newRig(t, tt.vips...).in(tt.p); (got != "") != tt.aloud {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func TestPacketsThatNoRuleOfOursHasSent(t *testing.T) {
	r := newRig(t, newVIP(2))
	p := syn(client)
	p.cookie = 1
	same(t, "SYN", r.in(p), pairAdded+synSent)
	p.to = "10.0.0.100:81"
	same(t, "closed port", r.in(p), "packet-out in_port=9 actions=IN_PORT (RA 10.0.0.100:81 > 10.0.0.9:40000)")
	p.to = "10.0.0.5:80"
	r.app.Prefetch(r.view, p.punted(nil))
	if r.app.PacketIn(r.view, p.punted(nil), r.out) {
		t.Error("no VIP, and yet handled")
	}
	p.cookie = apps.Cookie(apps.KindDesired, apps.ClassARP, 7)
	if r.app.PacketIn(r.view, p.punted(nil), r.out) {
		t.Error("another app's, and yet handled")
	}
}

func TestFragmentsAreDroppedAndCounted(t *testing.T) {
	r := newRig(t, newVIP(1, udp))
	in := packet{from: client, to: web, proto: apps.ProtoUDP}.punted(r.view.VIPs)
	in.Frame.Fragment = true
	if !r.app.PacketIn(r.view, in, r.out) || r.out.take() != "" || r.app.Counters().Fragments != 1 {
		t.Error("answered")
	}
}

func TestSendersThatAreNoClients(t *testing.T) {
	r := newRig(t, newVIP(1))
	for _, from := range []string{"224.0.0.1:5", "255.255.255.255:5", "0.0.0.0:5", "10.0.0.100:5"} {
		if got := r.in(syn(from)); got != "" {
			t.Errorf("%s: %s", from, got)
		}
	}
	r.live(0)
}

func TestMaxConnections(t *testing.T) {
	r := newRig(t)
	r.app = New(Config{MaxConnections: 2})
	r.sync(newVIP(1))
	r.in(syn("10.0.0.9:1"))
	r.in(syn("10.0.0.9:2"))
	same(t, "one too many", r.in(syn("10.0.0.9:3")), refusedTo("10.0.0.9:3"))
	r.live(2)
	if c := r.app.Counters(); c.Full != 1 {
		t.Errorf("%+v", c)
	}
	if got := r.in(data("10.0.0.9:1")); chosen(got) != 1 {
		t.Errorf("a known one: %s", got)
	}
}

// Two VIPs, or two ports of one, may lead to one port of a backend; a client may use one port towards both.
func TestAnswersThatWouldLookAlikeGoToDifferentBackends(t *testing.T) {
	r := newRig(t, newVIP(2, at(80, 81)))
	p := syn(client)
	if got := chosen(r.in(p)); got != 1 {
		t.Fatalf("first to %d", got)
	}
	r.in(syn("10.0.0.8:1")) // round robin is at backend 1 again
	p.to = "10.0.0.100:81"
	if got := chosen(r.in(p)); got != 2 {
		t.Errorf("second to %d", got)
	}
	r.live(1, 2)

	r = newRig(t, newVIP(1), newVIP(1, id(8), at(81, 81)))
	r.in(syn(client))
	same(t, "another VIP with the same only backend", r.in(p), "packet-out in_port=9 actions=IN_PORT (RA 10.0.0.100:81 > 10.0.0.9:40000)")
	if c := r.app.Counters(); c.Clash != 1 {
		t.Errorf("%+v", c)
	}
}

func TestClientMovesToAnotherSwitch(t *testing.T) {
	r := newRig(t, newVIP(2))
	r.in(syn(client))
	p := data(client)
	p.at = topo.PortID{DPID: second, No: 4}
	got := r.in(p)
	if chosen(got) != 1 || !strings.Contains(got, "packet-out in_port=4") {
		t.Errorf("%s", got)
	}
	r.live(1, 0)
	if c := r.app.List(7, 0); len(c) != 1 || c[0].DPID != second {
		t.Errorf("%+v", c)
	}
	bare := strings.NewReplacer("idle_timeout=3600, ", "").Replace
	same(t, "at its old switch", r.sync(newVIP(2)), "1: "+bare(fwd)+"actions=drop\n1: "+bare(rev)+"actions=drop")
	same(t, "the end of what it has left", r.removed(fwd+"actions=drop", apps.RemovedDelete), "")
	r.live(1, 0)
}

func TestClientMovesAndComesBack(t *testing.T) {
	r := newRig(t, newVIP(2))
	p := data(client)
	r.in(syn(client))
	p.at = topo.PortID{DPID: second, No: 4}
	r.in(p)
	p.at = topo.PortID{DPID: edge, No: 9}
	r.in(p)
	if got := r.sync(newVIP(2)); strings.Contains(got, "1: ") || strings.Count(got, "3: ") != 2 {
		t.Errorf("to delete: %s", got)
	}
	r.live(1, 0)
}

func TestClientMovesAndComesBackToAnotherBackend(t *testing.T) {
	r := newRig(t, newVIP(2))
	r.in(syn(client))
	p := data(client)
	p.at = topo.PortID{DPID: second, No: 4}
	r.in(p)
	r.view = view(newVIP(2, state(1, vip.StateDraining)))
	again := syn(client)
	again.seq = 2000
	s := (*r.app.services.Load())[7]
	s.follow(r.view, r.view.VIPs[0], nil) // as Sync does, but for the leftovers
	r.in(again)
	if got := chosen(r.in(again)); got != 2 {
		t.Fatalf("goes to %d", got)
	}
	got := r.sync(r.view.VIPs[0])
	if strings.Contains(got, "1: "+bare(fwd)) || !strings.Contains(got, "1: "+bare(rev)) || strings.Count(got, "3: ") != 2 {
		t.Errorf("to delete: %s", got)
	}
}

func TestPacketInWithoutSync(t *testing.T) {
	app, out := New(Config{}), new(recorder)
	v := view(newVIP(1))
	app.PacketIn(v, syn(client).punted(v.VIPs), out)
	same(t, "SYN", out.take(), pairAdded+synSent)
}

func TestADeletedVIPDoesNotComeBackWithAnOldView(t *testing.T) {
	r := newRig(t, newVIP(1))
	old := r.view
	r.sync()
	r.view = old
	same(t, "SYN", r.in(syn(client)), refusedTo(client))
	r.live(0)
}

func TestList(t *testing.T) {
	r := newRig(t, newVIP(2))
	for i := range 5 {
		r.in(syn(fmt.Sprintf("10.0.0.9:%d", 5-i)))
	}
	all := r.app.List(7, 0)
	first := apps.Connection{Client: netip.MustParseAddrPort("10.0.0.9:1"), VIPPort: 80, Backend: "b1", DPID: edge, Since: r.now}
	if len(all) != 5 || all[0] != first {
		t.Errorf("%+v, want %+v first", all, first)
	}
	if got := r.app.List(7, 2); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	if got := r.app.List(8, 2); got != nil {
		t.Errorf("%+v", got)
	}
}

// A packet-in that says when it came spares a look at the clock.
func TestCame(t *testing.T) {
	v := view(newVIP(1))
	started := false
	app := New(Config{Now: func() time.Time {
		if started {
			t.Error("the clock was read")
		}
		return time.Unix(900, 0)
	}})
	started = true
	app.Sync(v)
	in := syn(client).punted(v.VIPs)
	in.Came = time.Unix(1000, 0)
	app.PacketIn(v, in, &recorder{})
	s := (*app.services.Load())[7]
	sh, hash := s.shard(key{in.Frame.Src.As16(), in.Frame.SrcPort, 80})
	if e, _ := sh.conns.get(hash, key{in.Frame.Src.As16(), in.Frame.SrcPort, 80}); e.since != 1000 || e.added != 1000 {
		t.Errorf("since %d, added %d", e.since, e.added)
	}
}
