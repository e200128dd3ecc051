package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
	"github.com/evenflow/evenflow/web"
)

const shortest = vip.Duration(5 * time.Second) // of idle timeouts

// Live connections are counted exactly, from the first packet on until fin_timeout has passed after their end.
func TestLiveConnections(t *testing.T) {
	w := line(t, 2, "")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 3)
	serve(8080, b1, b2)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Scheduler: vip.RoundRobin}, 8080, b1, b2)
	var all []*conn
	for i := range 10 {
		c := w.dial(client, "tcp", "", address+":80")
		all = append(all, c)
		if n, err := w.live("web"); err != nil || n != int64(i+1) {
			t.Errorf("%d live connections when %d are open, %v", n, i+1, err)
		}
	}
	perBackend := map[string]int64{}
	for _, c := range all {
		perBackend[w.who(c)]++
	}
	for name, n := range perBackend {
		if s, err := w.status("web", name); err != nil || *s.Connections != n || s.NewConnections != n {
			t.Errorf("%s serves %d connections, its status is %+v, %v", name, n, s, err)
		}
	}
	listed, err := w.connections("web")
	if err != nil || len(listed) != len(all) {
		t.Fatalf("listed: %v, %v", listed, err)
	}
	names := map[string]string{}
	for _, c := range listed {
		names[c.Client.String()] = c.Backend
	}
	for _, c := range all {
		if got, want := names[c.LocalAddr().String()], w.who(c); got != want {
			t.Errorf("%s is listed at %q, and is at %s", c.LocalAddr(), got, want)
		}
	}
	w.known(client, b1, b2)
	rules := len(w.sw(1).DumpFlows())
	for _, c := range all[:4] {
		_ = c.Close()
	}
	w.awaitLive("web", 6)
	for _, c := range all[4:] {
		w.who(c)
		_ = c.Close()
	}
	w.awaitLive("web", 0)
	w.Eventually(patience, func() error { // the other halves go a little later
		if now := len(w.sw(1).DumpFlows()); now != rules-2*len(all) {
			return fmt.Errorf("%d rules with %d connections, %d without", rules, len(all), now)
		}
		return nil
	})
	for name, n := range perBackend {
		if s, err := w.status("web", name); err != nil || s.NewConnections != n {
			t.Errorf("%s has had %d connections, its status is %+v, %v", name, n, s, err)
		}
	}
}

// Over UDP a connection is over when it has been idle; while it sends, and be it in one direction only, it lives.
func TestLiveUDP(t *testing.T) {
	w := line(t, 2, "")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 3)
	serve(8080, b1, b2)
	w.start()
	spec := vip.Spec{Name: "dns", Address: address, Protocol: vip.UDP, Port: "53", Scheduler: vip.RoundRobin, IdleTimeout: shortest}
	w.service(spec, 8080, b1, b2)
	spec.Name, spec.Port = "syslog", "514"
	w.service(spec, 9090, b1, b2)

	for range 3 {
		w.who(w.dial(client, "udp", "", address+":53"))
	}
	if n, err := w.live("dns"); err != nil || n != 3 {
		t.Errorf("%d live connections, %v", n, err)
	}

	sinks := [2]*sink{drain(b1, 9090), drain(b2, 9090)}
	oneWay := w.dial(client, "udp", "", address+":514")
	sent := 1
	if _, err := oneWay.Write([]byte("line")); err != nil {
		t.Fatal(err)
	}
	w.awaitLive("syslog", 1)
	end := time.Now().Add(3 * time.Duration(shortest))
	for tick := time.NewTicker(100 * time.Millisecond); time.Now().Before(end); <-tick.C {
		if _, err := oneWay.Write([]byte("line")); err != nil {
			t.Fatal(err)
		}
		sent++
		if n, err := w.live("syslog"); err != nil || n != 1 {
			t.Fatalf("%d live connections after %d datagrams, %v", n, sent, err)
		}
	}
	w.Eventually(patience, func() error { // a busy machine may lose a few
		if a, b := sinks[0].count(), sinks[1].count(); a+b < sent*9/10 {
			return fmt.Errorf("%d and %d datagrams of %d have arrived", a, b, sent)
		}
		return nil
	})
	if a, b := sinks[0].count(), sinks[1].count(); a+b > sent || a != 0 && b != 0 {
		t.Errorf("%d and %d datagrams of %d have arrived", a, b, sent)
	}
	if n, err := w.live("dns"); err != nil || n != 0 {
		t.Errorf("%d idle connections are live after three idle timeouts, %v", n, err)
	}
	w.awaitLive("syslog", 0)
}

// A connection that sends in one direction only, for longer than the idle timeout, stays whole: the half that has gone idle is
// put back.
func TestOneWayTCP(t *testing.T) {
	w := line(t, 2, "")
	client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", IdleTimeout: shortest}, 8080, backend)
	const nobody = "10.0.0.66" // no kernel has a hand in it
	const there, back = 4001, 4002
	atClient, atBackend := client.Frames(), backend.Frames()
	send := func(f *lab.Frames, s segment) {
		t.Helper()
		if err := f.Send(s.frame(t)); err != nil {
			t.Fatal(err)
		}
	}
	to := func(sport uint16, flags string) segment {
		return segment{hostMAC(t, client), vipMAC, nobody, address, sport, 80, flags, 1000, 2000, ""}
	}
	from := func(dport uint16) segment {
		return segment{hostMAC(t, backend), hostMAC(t, client), backend.IP(), nobody, 8080, dport, "A", 2000, 1000, "data"}
	}
	answers := w.tap(client, tcpFrom(80))
	send(atClient, to(there, "S"))
	send(atClient, to(back, "S"))
	w.awaitLive("web", 2)
	end := time.Now().Add(3 * time.Duration(shortest))
	sent := 0
	for tick := time.NewTicker(200 * time.Millisecond); time.Now().Before(end); <-tick.C {
		send(atClient, to(there, "A"))
		send(atBackend, from(back))
		sent++
		if n, err := w.live("web"); err != nil || n != 2 {
			t.Fatalf("%d live connections after %d segments, %v", n, sent, err)
		}
	}
	w.Eventually(patience, func() error {
		n := 0
		for _, g := range answers.packets() {
			if tcpOf(g).DstPort == layers.TCPPort(back) && len(tcpOf(g).Payload) > 0 {
				n++
			}
		}
		if n < sent*9/10 {
			return fmt.Errorf("the client has got %d of %d segments from the VIP", n, sent)
		}
		return nil
	})
	// Both halves are there, and one of each has been put back.
	flows, err := w.flows(dpid(w.sw(1)))
	if err != nil {
		t.Fatal(err)
	}
	ages := map[string][]uint32{}
	for _, f := range flows {
		if f.Kind == "connection" {
			for _, port := range []string{"4001", "4002"} {
				if hasPort(f, port) {
					ages[port] = append(ages[port], f.Duration)
				}
			}
		}
	}
	for _, port := range []string{"4001", "4002"} {
		a := ages[port]
		if len(a) != 2 || max(a[0], a[1]) < 10 || min(a[0], a[1]) >= 10 {
			t.Errorf("the rules of port %s are %v seconds old: want one from the beginning and one put back", port, a)
		}
	}
	w.awaitLive("web", 0)
}

// hasPort reports whether a rule of a connection is about a client's port.
func hasPort(f web.Flow, port string) bool {
	return strings.Contains(f.Match+",", "tp_src="+port+",") || strings.Contains(f.Match+",", "tp_dst="+port+",")
}
