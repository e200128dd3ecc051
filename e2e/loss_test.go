package e2e

import (
	"encoding/binary"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// stream is numbered datagrams from one host to an address, a thousand in a second, and what of them has arrived.
type stream struct {
	stop    chan struct{}
	sent    chan int
	mu      sync.Mutex
	arrived []time.Time // by number; zero: has not
	copies  int         // beside the first of each
}

// stream sends from a host to an address at which another host listens on UDP, as a backend or itself.
func (w *network) stream(from, to *lab.Host, listen int, address string) *stream {
	w.t.Helper()
	s := &stream{stop: make(chan struct{}), sent: make(chan int, 1)}
	receive(to, at(to.IP(), listen), func(_ net.Addr, data []byte) []byte {
		if len(data) == 4 {
			s.arrive(int(binary.BigEndian.Uint32(data)))
		}
		return nil
	})
	out := w.dial(from, "udp", "", address)
	go func() {
		n := 0
		defer func() { s.sent <- n }()
		for tick := time.NewTicker(time.Millisecond); ; n++ {
			select {
			case <-s.stop:
				tick.Stop()
				return
			case <-tick.C:
				_, _ = out.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
			}
		}
	}()
	return s
}

func (s *stream) arrive(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.arrived) <= n {
		s.arrived = append(s.arrived, time.Time{})
	}
	if !s.arrived[n].IsZero() {
		s.copies++
	}
	s.arrived[n] = time.Now()
}

// last is how many datagrams are known of.
func (s *stream) last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.arrived)
}

// arriving waits until so many more datagrams have arrived.
func (w *network) arriving(s *stream, more int) {
	w.t.Helper()
	begin := s.last()
	w.Eventually(patience, func() error {
		if n := s.last() - begin; n < more {
			return fmt.Errorf("%d more datagrams have arrived", n)
		}
		return nil
	})
}

// lost ends the stream when all is well again, and is how many datagrams were lost and the longest time without any.
func (w *network) lost(s *stream) (lost int, gap time.Duration) {
	w.t.Helper()
	w.arriving(s, 100)
	close(s.stop)
	sent := <-s.sent
	w.Eventually(patience, func() error { // the last ones may be on their way
		if n := s.last(); n < sent-10 {
			return fmt.Errorf("%d of %d datagrams are known of", n, sent)
		}
		return nil
	})
	return w.holes(s, 0)
}

// holes is how many datagrams from a number on have not arrived, and the longest time without any. None comes twice.
func (w *network) holes(s *stream, from int) (lost int, gap time.Duration) {
	w.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copies != 0 {
		w.t.Errorf("%d datagrams have arrived twice", s.copies)
	}
	var before time.Time
	for _, at := range s.arrived[from:] {
		if at.IsZero() {
			lost++
			continue
		}
		if !before.IsZero() {
			gap = max(gap, at.Sub(before))
		}
		before = at
	}
	return lost, gap
}

// ring is n switches in a ring, port 10 of each leading to port 11 of the next, with a host at each: h1 to hn.
func ring(t *testing.T, n int) (w *network, hosts []*lab.Host) {
	w = newNetwork(t, n, "")
	for i := range n {
		w.join(i+1, 10, (i+1)%n+1, 11)
	}
	for i := range n {
		hosts = append(hosts, w.host(fmt.Sprint("h", i+1), i+1, i+1, 1))
	}
	serve(8080, hosts...)
	w.start()
	w.awaitLinks(n)
	return w, hosts
}

// sent is how many frames have come and gone by a port.
func (w *network) sent(sw, port uint32) (in, out uint64) {
	w.t.Helper()
	for _, m := range regexp.MustCompile(`([rt])x pkts=(\d+)`).FindAllStringSubmatch(w.sw(int(sw)).Ofctl("dump-ports", fmt.Sprint(port)), -1) {
		n, err := strconv.ParseUint(m[2], 10, 64)
		if err != nil {
			w.t.Fatal(err)
		}
		if m[1] == "r" {
			in = n
		} else {
			out = n
		}
	}
	return in, out
}

// A cable or a switch that is lost is gone round: connections live on, and how long it takes is told.
func TestLossIsRepaired(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		lose   func(w *network)
		mend   func(w *network)
		most   time.Duration // without a datagram; more is a failure
		cables int           // that are left
	}{
		{"carrier", func(w *network) { w.cables["s1-s2"].Cut() }, func(w *network) { w.cables["s1-s2"].Restore() }, 5 * time.Second, 3},
		// Nobody but LLDP notices: three frames, 2 s apart, and half a second.
		{"silent", func(w *network) { w.sw(1).Ofctl("mod-port", "s1-p10", "no-forward") },
			func(w *network) { w.sw(1).Ofctl("mod-port", "s1-p10", "forward") }, 12 * time.Second, 3},
		// A switch whose session has ended may forward as ever: it is trusted for 15 s.
		{"switch", func(w *network) { w.sw(2).Kill() }, func(w *network) { w.sw(2).Start() }, 25 * time.Second, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, hosts := ring(t, 4)
			client, backend := hosts[0], hosts[2] // by s2 or s4, alike
			w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, backend)
			w.service(vip.Spec{Name: "dns", Address: address, Protocol: vip.UDP, Port: "80"}, 9090, backend)
			var held []*conn
			for range 5 {
				c := w.dial(client, "tcp", "", address+":80")
				w.who(c)
				held = append(held, c)
			}
			alive := func(when string) {
				t.Helper()
				for _, c := range held {
					w.Eventually(patience, func() error { // TCP sends again what was lost
						_, _, err := c.ask("who")
						return err
					})
				}
				w.who(w.dial(client, "tcp", "", address+":80"))
			}
			s := w.stream(client, backend, 9090, address+":80")
			w.Eventually(patience, func() error { // for the first second a host is reached by the spanning tree, and that by s4
				in, out := w.sent(1, 10)
				if out < 500 {
					return fmt.Errorf("%d frames have come and %d gone between s1 and s2: the loss would touch nothing", in, out)
				}
				return nil
			})
			c.lose(w)
			alive(c.name + " lost")
			w.Eventually(patience, func() error {
				links, err := w.links()
				if err == nil && c.cables < 4 && len(links) != c.cables {
					err = fmt.Errorf("%d links: %v", len(links), links)
				}
				return err
			})
			w.arriving(s, 500)
			lost, gap := w.lost(s)
			t.Logf("%s lost: %d datagrams of 1,000/s, %v without any", c.name, lost, gap.Round(time.Millisecond))
			if gap > c.most {
				t.Errorf("repaired after %v, want at most %v", gap, c.most)
			}
			again := w.stream(client, backend, 9091, at(backend.IP(), 9091))
			c.mend(w)
			w.awaitLinks(4)
			alive(c.name + " back")
			lost, gap = w.lost(again)
			t.Logf("%s back: %d datagrams, %v without any", c.name, lost, gap.Round(time.Millisecond))
			if gap > 5*time.Second {
				t.Errorf("when all is well again nothing has arrived for %v", gap)
			}
		})
	}
}

// While cables of a ring come and go, a broadcast reaches each host at most a few times, and ends.
func TestBroadcastsEnd(t *testing.T) {
	w, hosts := ring(t, 4)
	const nobody = "10.0.0.200"
	var taps []*tap
	for _, h := range hosts {
		taps = append(taps, w.tap(h, arpTo(nobody)))
	}
	sent := 0
	broadcast := func(n int) {
		t.Helper()
		for range n {
			if err := taps[0].Send(arpRequest(t, hosts[0], nobody)); err != nil {
				t.Fatal(err)
			}
			sent++
			time.Sleep(2 * time.Millisecond)
		}
	}
	for _, cable := range []string{"s1-s2", "s3-s4", "s4-s1"} {
		broadcast(50)
		w.cables[cable].Cut()
		broadcast(200)
		w.awaitLinks(3)
		broadcast(50)
		w.cables[cable].Restore()
		broadcast(400)
		w.awaitLinks(4)
	}
	broadcast(50)
	w.fence(hosts[0], taps[0].Frames, taps[1:]...)
	counts := make([]int, len(taps))
	for i, p := range taps {
		counts[i] = len(p.packets())
	}
	t.Logf("of %d broadcasts %v copies have reached the hosts", sent, counts)
	for i, n := range counts {
		if n > sent+sent/10 {
			t.Errorf("%s has got %d copies of %d broadcasts", hosts[i].Name(), n, sent)
		}
		if i > 0 && n < sent/2 {
			t.Errorf("%s has got %d of %d broadcasts only", hosts[i].Name(), n, sent)
		}
	}
	w.fence(hosts[0], taps[0].Frames, taps[1])
	if n := len(taps[1].packets()); n != counts[1] {
		t.Errorf("%d copies more, of nothing that was sent", n-counts[1])
	}
}
