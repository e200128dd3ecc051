package e2e

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// counted is how many packets rules of a table have had, those that hold all the texts.
func counted(t *testing.T, s *lab.Switch, table int, texts ...string) (n int) {
	t.Helper()
lines:
	for line := range strings.Lines(s.Ofctl("dump-flows", fmt.Sprint("table=", table))) {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue lines
			}
		}
		at := strings.Index(line, "n_packets=")
		if at < 0 {
			continue // the head
		}
		var here int
		if _, err := fmt.Sscanf(line[at:], "n_packets=%d,", &here); err != nil {
			t.Fatal(err)
		}
		n += here
	}
	return n
}

// handedOver is how many packets of connections that it does not know an edge has sent on to another.
func handedOver(t *testing.T, s *lab.Switch) int {
	t.Helper()
	return counted(t, s, 76, "priority=10,")
}

// strangers are what comes to a VIP and belongs to no connection: what it costs the edges.
type strangers struct{ accepted, trips, back int }

// strangersAt adds up what the switches have counted of a VIP, by its place among [handOverServices].
func (p *handOver) strangersAt(service int) (n strangers) {
	p.t.Helper()
	of := fmt.Sprintf("reg3=0x%x", service+1)
	for _, s := range p.switches {
		n.accepted += counted(p.t, s, 75, "priority=100,", of+",")
		n.trips += counted(p.t, s, 76, "priority=10,", of+" ")
		n.back += counted(p.t, s, 77, "priority=50,reg5=0x2 ") // of all VIPs
	}
	return n
}

// segments sends TCP to a VIP that begins nothing, each from a client and a port of its own.
func (p *handOver) segments(from *lab.Frames, mac net.HardwareAddr, round, n int) {
	p.t.Helper()
	for i := range n {
		s := segment{mac, vipMAC, fmt.Sprintf("172.16.%d.%d", round, i%250), address, uint16(1000 + i), 80, "A", 1000, 1000, "anybody?"}
		if err := from.Send(s.frame(p.t)); err != nil {
			p.t.Fatal(err)
		}
	}
}

// A new flow of datagrams, or a segment of no connection, asks each other edge once at most, however many generations are kept, and goes
// back once: that bounds what a flood of them costs. Beyond a rate they are dropped, while those who have connections do not notice.
func TestHandOverStrangers(t *testing.T) {
	p := newHandOver(t, 31, nil)
	frames, mac := p.client.Frames(), hostMAC(t, p.client)
	most := len(p.switches) - 1
	const each = 200
	changes := 0
	for round, until := range []int{0, 3, 12} {
		for ; changes < until; changes++ {
			p.change("")
		}
		for service, send := range map[int]func(){
			0: func() { p.segments(frames, mac, round, each) },
			1: func() {
				for range each {
					p.who(p.dial(p.client, "udp", "", address+":81"))
				}
			},
		} {
			before := p.strangersAt(service)
			send()
			var n strangers
			p.Eventually(patience, func() error { // each ends at the switch that takes it; the counters are behind, and may miss some
				now := p.strangersAt(service)
				n = strangers{now.accepted - before.accepted, now.trips - before.trips, now.back - before.back}
				if n.accepted < each*9/10 {
					return fmt.Errorf("%d of %d are accepted", n.accepted, each)
				}
				return nil
			})
			t.Logf("%s, %d changes: asks %.2f other edges, of %d, and goes back %.2f times", handOverServices[service].name, changes,
				float64(n.trips)/each, most, float64(n.back)/each)
			if n.trips > each*most || n.back > each || round > 0 && n.trips == 0 {
				t.Errorf("%s: %d have asked %d times, with %d other edges, and gone back %d times", handOverServices[service].name, each, n.trips, most, n.back)
			}
		}
	}

	held := p.dial(p.client, "tcp", "", address+":80")
	p.change("") // which may move it
	first := p.who(held)
	p.service(vip.Spec{Name: "beside", Address: address, Protocol: vip.TCP, Port: "88", Mode: vip.ModeDeferred}, 8080, p.backends...)
	beside := p.dial(p.client, "tcp", "", address+":88")
	other := p.who(beside)
	p.network.change(http.MethodPatch, "tcp", map[string]any{"handover_rate": 20})
	p.segments(frames, mac, 100, 2000)
	p.Eventually(patience, func() error { // and counted
		n, err := p.drops("handover_rate", p.switches...)
		if err == nil && n <= 100 {
			err = fmt.Errorf("%d packets beyond the rate are dropped", n)
		}
		return err
	})
	if who := p.who(beside); who != other {
		t.Errorf("another VIP's connection is at %s, was at %s", who, other)
	}
	if who := p.who(held); who != first {
		t.Errorf("the connection that was is at %s, was at %s", who, first)
	}
	p.who(p.dial(p.client, "tcp", "", address+":80"))
}

// What a host sends from a marker's MAC, or a VIP's, is dropped where it enters, and counted: it begins no walk, and touches no
// connection.
func TestHandOverMarked(t *testing.T) {
	p := newDeferredPool(t, nil)
	evil := []*lab.Host{p.host("e1", 66, 1, 7), p.host("e3", 67, 3, 7)} // at the clients' edge and at one with backends
	for i := range 2 {
		p.patch("b1", map[string]any{"weight": 2 + i}) // something to walk over
	}
	held := p.open("tcp", 4)
	known := func() (n int) {
		for _, s := range p.switches {
			n += strings.Count(s.Appctl("dpctl/dump-conntrack"), "tcp,")
		}
		return n
	}
	before, handed := known(), 0
	for _, s := range p.switches {
		handed += handedOver(t, s)
	}
	sent := 0
	for _, e := range evil {
		out := e.Frames()
		for _, source := range []string{"0e:ef:01:00:00:00", "0e:ef:01:00:00:01", "0e:ef:01:ff:ff:02", "0e:ef:03:00:00:00", vipMAC.String()} {
			mac, err := net.ParseMAC(source)
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range append([]net.HardwareAddr{vipMAC}, hostMAC(t, p.backends[0]), hostMAC(t, p.backends[3])) {
				for _, list := range held { // to end them, or to have them handed over
					local := list[0].LocalAddr().(*net.TCPAddr)
					for _, flags := range []string{"R", "A", "S"} {
						s := segment{mac, to, p.client.IP(), address, uint16(local.Port), 80, flags, 1, 1, ""}
						if err := out.Send(s.frame(t)); err != nil {
							t.Fatal(err)
						}
						sent++
					}
				}
			}
		}
	}
	p.Eventually(patience, func() error {
		markers, err := p.drops("marker as sender", p.switches...)
		if err != nil {
			return err
		}
		macs, err := p.drops("a VIP's MAC as sender", p.switches...)
		if err == nil && markers+macs != uint64(sent) {
			err = fmt.Errorf("%d of %d are counted as dropped", markers+macs, sent)
		}
		return err
	})
	p.stay("marked frames", held, "")
	for _, s := range p.switches {
		handed -= handedOver(t, s)
		if n := counted(t, s, 72, "dl_src=0e:ef:"); n > 0 {
			t.Errorf("%s has had %d marked packets", s.Name(), n)
		}
	}
	if now := known(); now != before || handed != 0 {
		t.Errorf("%d connections are tracked, were %d; %d walks", now, before, -handed)
	}
}
