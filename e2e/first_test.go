package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// The first packet of a connection, which goes to the controller, arrives as one of many would: once, and no later ones
// before it.
func TestFirstPacket(t *testing.T) {
	w := line(t, 2, "")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 3)
	serve(8080, b1, b2)
	w.start()
	w.service(vip.Spec{Name: "tcp", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, b1, b2)
	w.service(vip.Spec{Name: "udp", Address: address, Protocol: vip.UDP, Port: "80"}, 9090, b1, b2)

	t.Run("tcp", func(t *testing.T) {
		var all []*conn
		for range 20 {
			c := w.dial(client, "tcp", "", address+":80")
			w.who(c)
			all = append(all, c)
		}
		w.smooth("first packets", all, 0)
	})
	t.Run("udp", func(t *testing.T) {
		var mu sync.Mutex
		got := map[string][]string{} // texts by client
		for _, h := range []*lab.Host{b1, b2} {
			receive(h, h.IP()+":9090", func(from net.Addr, data []byte) []byte {
				mu.Lock()
				defer mu.Unlock()
				got[from.String()] = append(got[from.String()], string(data))
				return nil
			})
		}
		want := map[string][]string{}
		for range 20 {
			c := w.dial(client, "udp", "", address+":80")
			for i := range 3 { // the later ones may be on their way before the rules are there
				text := fmt.Sprint("datagram ", i)
				if _, err := c.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				want[c.LocalAddr().String()] = append(want[c.LocalAddr().String()], text)
			}
		}
		w.Eventually(patience, func() error {
			mu.Lock()
			defer mu.Unlock()
			for from, texts := range want {
				if len(got[from]) < len(texts) {
					return fmt.Errorf("of %s only %q has arrived", from, got[from])
				}
			}
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		for from, texts := range want {
			if first := got[from][0]; len(got[from]) != len(texts) || first != "datagram 0" {
				t.Errorf("of %s arrived %q", from, got[from])
			}
		}
	})
}

// A client that no switch has rules for, as it has just come, is answered at once, too. Here it stays unknown: others that are
// unknown take all that a switch tells of such.
func TestFirstPacketOfUnknownClient(t *testing.T) {
	config := filepath.Join(t.TempDir(), "evenflow.yaml")
	if err := os.WriteFile(config, []byte("packet_in: {other: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := line(t, 2, "", "--config", config)
	client, crowd, b1, b2 := w.host("c1", 11, 1, 1), w.host("c2", 12, 1, 2), w.host("b1", 1, 2, 1), w.host("b2", 2, 1, 3)
	serve(8080, b1, b2)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Scheduler: vip.RoundRobin}, 8080, b1, b2)
	for _, static := range []struct {
		at           *lab.Host
		address, mac string
	}{{client, address, vipMAC.String()}, {b1, client.IP(), client.MAC()}, {b2, client.IP(), client.MAC()}} {
		if _, err := static.at.Run(w.ctx, "ip", "neighbour", "replace", static.address, "lladdr", static.mac, "dev", "eth0"); err != nil {
			t.Fatal(err)
		}
	}
	out := crowd.Frames()
	crowded := func(i byte) {
		s := segment{net.HardwareAddr{2, 0, 0, 0, 1, i}, net.HardwareAddr{2, 0, 0, 0, 2, i}, "10.0.0.55", "10.0.0.56", 1, 1, "A", 1, 1, ""}
		if err := out.Send(s.frame(t)); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for i := byte(0); ctx.Err() == nil; i++ {
			crowded(i)
			<-tick.C
		}
	}()
	w.Eventually(patience, func() error {
		hosts, err := w.hosts()
		if err == nil && len(hosts) < 3 {
			err = errors.New("the crowd is not heard yet")
		}
		return err
	})
	var all []*conn
	for range 6 {
		c := w.dial(client, "tcp", "", address+":80")
		w.who(c)
		all = append(all, c)
	}
	w.smooth("a client that is not known", all, 0)
	hosts, err := w.hosts()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the client is known at last: %t", strings.Contains(fmt.Sprint(hosts), client.MAC()))
}

// A SYN sent again goes where the first went, however soon it comes; another connection's goes elsewhere.
func TestRetransmittedSYN(t *testing.T) {
	w := line(t, 1, "")
	client := w.host("c1", 11, 1, 1)
	var backends []*lab.Host
	var taps []*tap
	syn := func(g gopacket.Packet) bool { t := tcpOf(g); return t != nil && t.SYN && !t.ACK }
	for i := 1; i <= 4; i++ {
		b := w.host(fmt.Sprint("b", i), i, 1, 1+i)
		backends, taps = append(backends, b), append(taps, w.tap(b, syn))
	}
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Scheduler: vip.RoundRobin}, 8080, backends...)
	out := client.Frames()
	const nobody = "10.0.0.66" // no kernel has a hand in it
	send := func(sport uint16) {
		s := segment{hostMAC(t, client), vipMAC, nobody, address, sport, 80, "S", 1000, 0, ""}
		if err := out.Send(s.frame(t)); err != nil {
			t.Fatal(err)
		}
	}
	// arrived is how many SYNs from a port each backend has got.
	arrived := func(sport uint16) (counts [4]int, sum int) {
		for i, p := range taps {
			for _, g := range p.packets() {
				if tcpOf(g).SrcPort == layers.TCPPort(sport) {
					counts[i]++
					sum++
				}
			}
		}
		return counts, sum
	}
	await := func(sport uint16, n int) [4]int {
		w.Eventually(patience, func() error {
			if counts, sum := arrived(sport); sum < n {
				return fmt.Errorf("SYNs from %d have arrived: %v", sport, counts)
			}
			return nil
		})
		counts, _ := arrived(sport)
		return counts
	}
	chosen := map[[4]int]bool{}
	for sport := uint16(5000); sport < 5004; sport++ {
		send(sport)
		send(sport)
		await(sport, 2)
		send(sport) // past the rules, which are there by now
		counts := await(sport, 3)
		if counts != [4]int{3} && counts != [4]int{0, 3} && counts != [4]int{0, 0, 3} && counts != [4]int{0, 0, 0, 3} {
			t.Errorf("three SYNs from %d went to %v", sport, counts)
		}
		chosen[counts] = true
	}
	if len(chosen) != 4 {
		t.Errorf("four connections went to %v", chosen)
	}
	if n, err := w.live("web"); err != nil || n != 4 {
		t.Errorf("%d live connections, %v", n, err)
	}
	// Another sequence number is a new connection from a port used again; it keeps its backend, and counts as one more.
	var r vip.Read
	if err := w.call(http.MethodGet, "/api/v1/vips/web", nil, &r); err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Status.Backends {
		if b.NewConnections != 1 {
			t.Errorf("%s has had %d connections", b.Name, b.NewConnections)
		}
	}
}
