package nat

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// The tests below are named for the faults of Floodlight's load balancer, read in its source; each shows that this one has not
// got it.

// "A VIP is looked up by address only; protocol and port are parsed, then ignored."
func TestFloodlightOneVIPPerAddress(t *testing.T) {
	dns := newVIP(2, id(8), udp, listen(5353))
	tls := newVIP(2, id(9), at(443, 443), listen(8443))
	r := newRig(t, newVIP(2), dns, tls)
	for _, c := range []struct {
		to    string
		proto uint8
		want  string
	}{
		{"10.0.0.100:80", apps.ProtoTCP, "set_field:8080->tcp_dst"},
		{"10.0.0.100:443", apps.ProtoTCP, "set_field:8443->tcp_dst"},
		{"10.0.0.100:80", apps.ProtoUDP, "set_field:5353->udp_dst"},
	} {
		if got := r.in(packet{from: client, to: c.to, proto: c.proto, flags: apps.SYN}); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.to, got)
		}
	}
	for _, other := range []packet{
		{from: client, to: "10.0.0.100:443", proto: apps.ProtoUDP, cookie: 1},
		{from: client, to: "10.0.0.100:22", flags: apps.SYN, cookie: 1},
	} {
		if got := r.in(other); !strings.Contains(got, "actions=IN_PORT") || strings.Contains(got, "add") {
			t.Errorf("a port that is nobody's: %s", got)
		}
	}
}

// "Ports are parsed as signed 16-bit: ports above 32767 are refused."
func TestFloodlightPortsAbove32767(t *testing.T) {
	r := newRig(t, newVIP(1, at(65535, 65535), listen(40000)))
	got := r.in(packet{from: "10.0.0.9:65534", to: "10.0.0.100:65535", flags: apps.SYN})
	for _, want := range []string{"tp_src=65534,tp_dst=65535", "tp_src=40000,tp_dst=65534", "set_field:40000->tcp_dst", "set_field:65535->tcp_src"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if s := r.app.Desired(r.view, apps.Owner{Kind: apps.OwnerVIP, VIP: 7})[edge]; !strings.Contains(s.Rules[0].String(), "tp_dst=65535") {
		t.Errorf("%s", s.Rules[0])
	}
}

// "The inbound flow matches client address, protocol, source port and in_port, not VIP address or VIP port: the client's other
// traffic from that source port is also rewritten."
func TestFloodlightForwardRuleMatchesTheVIP(t *testing.T) {
	r := newRig(t, newVIP(1))
	got := r.in(syn(client))
	for line := range strings.Lines(got) {
		if rule, is := strings.CutPrefix(line, "add "); is {
			m := flows.MustParseRule(rule).Match
			for _, f := range []flows.Field{flows.EthType, flows.IPv4Src, flows.IPv4Dst, flows.IPProto, flows.TCPSrc, flows.TCPDst} {
				if c, ok := m.Get(f); !ok || c.Masked {
					t.Errorf("%s is not exact in %s", f, rule)
				}
			}
			if _, ok := m.Get(flows.InPort); ok {
				t.Errorf("in_port in %s: the client may move", rule)
			}
		}
	}
}

// "Flows have no timeout and are pushed as static entries: tables fill."
func TestFloodlightFlowsEnd(t *testing.T) {
	for _, x := range []*apps.VIP{newVIP(1), newVIP(1, udp)} {
		r := newRig(t, x)
		got := r.in(packet{from: client, to: web, proto: x.Proto(), flags: apps.SYN})
		for line := range strings.Lines(got) {
			if rule, is := strings.CutPrefix(line, "add "); is {
				if y := flows.MustParseRule(rule); y.IdleTimeout == 0 || y.Flags&flows.SendFlowRemoved == 0 {
					t.Errorf("%s", rule)
				}
			}
		}
	}
}

// "Entries are named by VIP, client and ports; the name once lacked the port, so each new connection replaced the last one's
// entry."
func TestFloodlightSecondConnectionOfAClient(t *testing.T) {
	r := newRig(t, newVIP(1, at(80, 89), listen(0)))
	seen := map[string]bool{}
	for port := range 10 {
		for from := range 10 {
			got := r.in(packet{from: fmt.Sprintf("10.0.0.9:%d", 40000+from), to: fmt.Sprintf("10.0.0.100:%d", 80+port), flags: apps.SYN})
			for line := range strings.Lines(got) {
				if rule, is := strings.CutPrefix(line, "add "); is {
					y := flows.MustParseRule(rule)
					if seen[identity(&y)] {
						t.Fatalf("a second connection has replaced %s", rule)
					}
					seen[identity(&y)] = true
				}
			}
		}
	}
	r.live(100)
}

// "Round robin under monitoring loops without advancing its counter: with all members down the packet-in thread spins for
// ever." "Weighted choice draws nextInt(sum): throws when all members are down (sum 0)."
func TestFloodlightAllMembersDown(t *testing.T) {
	for _, scheduler := range vip.Schedulers() {
		for _, s := range []vip.State{vip.StateDown, vip.StateDraining, vip.StateDrained, vip.StateDisabled, vip.StateUnknown} {
			r := newRig(t, newVIP(2, state(1, s), state(2, s), func(x *apps.VIP) { x.Spec.Scheduler = scheduler }))
			same(t, scheduler, r.in(syn(client)), refusedTo(client))
		}
		r := newRig(t, newVIP(2, func(x *apps.VIP) { x.Spec.Scheduler = scheduler; x.Backends[0].Weight, x.Backends[1].Weight = 0, 0 }))
		same(t, scheduler, r.in(syn(client)), refusedTo(client))
	}
}

// "Health, session persistence and connection limits are stored and never read: a dead service on a live host stays in."
// What decides here is the backend's state alone, whoever has found it out.
func TestFloodlightADeadBackendIsLeftOut(t *testing.T) {
	r := newRig(t, newVIP(3, state(2, vip.StateDown)))
	for i := range 30 {
		if got := chosen(r.in(syn(fmt.Sprintf("10.0.0.9:%d", 1000+i)))); got == 2 || got == 0 {
			t.Fatalf("goes to %d", got)
		}
	}
	r.live(15, 0, 15)
}

// "State is plain HashMaps shared by REST and packet-in threads: races." Run with -race.
func TestFloodlightNoRaces(t *testing.T) {
	app := New(Config{})
	views := []*apps.View{view(newVIP(3), newVIP(3, id(8), at(81, 81))), view(newVIP(3, state(1, vip.StateDown))), view(newVIP(3, without(2)))}
	var wg sync.WaitGroup
	for reader := range 4 {
		wg.Go(func() {
			sw := &fakeSwitch{dpid: flows.DPID(reader + 1), now: new(uint32), idles: true, rules: map[string]*installed{}}
			for i := range 3000 {
				v := views[i/7%len(views)]
				p := packet{from: fmt.Sprintf("10.0.%d.9:%d", reader, i%50), to: fmt.Sprintf("10.0.0.100:%d", 80+i%2), flags: apps.SYN, seq: uint32(i)}
				p.at.DPID, p.at.No = sw.dpid, 9
				if i%3 == 0 {
					p.flags = apps.ACK
				}
				in := p.punted(views[0].VIPs)
				app.Prefetch(v, in)
				app.PacketIn(v, in, sw)
				if list := sw.sorted(); i%5 == 0 && len(list) > 0 {
					sw.remove(list[i%len(list)], apps.RemovedReason(i%3))
				}
				for n := 0; n < 3 && len(sw.queue) > 0; n++ {
					f := sw.queue[0]
					sw.queue = sw.queue[1:]
					f(app, v)
				}
				if i%100 == 0 {
					for _, r := range app.Adopt(v, sw.dpid, sw.held()) {
						sw.Delete(&r)
					}
				}
				app.Desired(v, apps.Owner{Kind: apps.OwnerVIP, VIP: 7})
			}
		})
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() { // the engine, and a reader of the API
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			app.Sync(views[i%len(views)])
			app.List(7, 10)
			app.Connections(7, 1)
			app.Counters()
		}
	})
	wg.Wait()
	close(stop)
	others.Wait()
	app.Sync(views[0])
	var live int64
	for b := uint32(1); b <= 3; b++ {
		n, _ := app.Connections(7, b)
		live += n
	}
	// VIP 8 was deleted by the second view, for ever.
	if n := len(app.List(7, 0)); int64(n) != live || owned(app) != n {
		t.Errorf("%d live, %d in the table, %d answers claimed", live, n, owned(app))
	}
	app.Sync(view())
	if n := owned(app); n != 0 || app.List(7, 0) != nil {
		t.Errorf("%d answers claimed of no VIP", n)
	}
}

// "Nothing is persisted: a restart loses all VIPs." VIPs are the store's; what is ours, connections, is taken over from the
// switches.
func TestFloodlightRestartKeepsConnections(t *testing.T) {
	r := newRig(t, newVIP(3))
	var held []string
	for i := range 9 {
		for line := range strings.Lines(r.in(syn(fmt.Sprintf("10.0.0.9:%d", 1000+i)))) {
			if rule, is := strings.CutPrefix(line, "add "); is {
				held = append(held, rule)
			}
		}
	}
	again := newRig(t, newVIP(3))
	same(t, "to delete", again.adopt(edge, strings.Join(held, "\n")), "")
	again.live(3, 3, 3)
	for i := range 9 {
		if got := chosen(again.in(data(fmt.Sprintf("10.0.0.9:%d", 1000+i)))); got != 1+i%3 {
			t.Errorf("connection %d goes to %d", i, got)
		}
	}
}

// "TLS ports (443, 993, 995, 465) go to any VIP whose protocol is TLS: the wrong pool."
func TestFloodlightTLSPortsAreNothingSpecial(t *testing.T) {
	r := newRig(t, newVIP(1, at(443, 443)))
	for _, port := range []int{993, 995, 465} {
		p := packet{from: client, to: fmt.Sprintf("10.0.0.100:%d", port), flags: apps.SYN, cookie: apps.Cookie(apps.KindDesired, apps.ClassNAT, 7)}
		same(t, p.to, r.in(p), fmt.Sprintf("packet-out in_port=9 actions=IN_PORT (RA %s > %s)", p.to, client))
	}
}
