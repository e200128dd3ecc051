package e2e

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// arpOf is ARP that a host may send, whatever it says.
func arpOf(op byte, src, senderMAC net.HardwareAddr, sender, target string) []byte {
	b := append(append([]byte{}, layers.EthernetBroadcast...), src...)
	b = append(b, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, op)
	b = append(append(b, senderMAC...), net.ParseIP(sender).To4()...)
	b = append(append(b, 0, 0, 0, 0, 0, 0), net.ParseIP(target).To4()...)
	return append(b, make([]byte, 18)...)
}

// macOf is the nth of the addresses that an attacker invents.
func macOf(kind byte, n int) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0xbb, kind, byte(n >> 16), byte(n >> 8), byte(n)}
}

var lldpGroup = net.HardwareAddr{0x01, 0x80, 0xc2, 0, 0, 0x0e}

func isLLDP(frame []byte) bool { return len(frame) > 14 && frame[12] == 0x88 && frame[13] == 0xcc }

// told waits for an event that says a text.
func (w *network) told(text string) {
	w.t.Helper()
	w.toldOf(text, func() error { return nil })
}

// toldOf does something again and again until an event says a text: a busy switch loses frames, a meter drops some, and of two things that
// come at a time the controller may look at one.
func (w *network) toldOf(text string, do func() error) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		if err := do(); err != nil {
			return err
		}
		events, err := list[apps.Event](w.api, "/events")
		if err != nil {
			return err
		}
		for _, e := range events {
			if strings.Contains(e.Kind+" "+e.Subject+" "+e.Message, text) {
				return nil
			}
		}
		return fmt.Errorf("no event says %q", text)
	})
}

// metrics are the controller's.
func (w *network) metrics() string {
	w.t.Helper()
	resp, err := w.client.Get("http://" + apiAddress + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// refusedCount is how often something was turned away, by the metric.
func (w *network) refusedCount(part, reason string) float64 {
	w.t.Helper()
	return w.metric("evenflow_refused_total", "part", part, "reason", reason)
}

// metric is the value of a metric with these labels, each a name and a value, sorted by name.
func (w *network) metric(name string, labels ...string) (n float64) {
	w.t.Helper()
	var pairs []string
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%s=%q", labels[i], labels[i+1]))
	}
	key := fmt.Sprintf("%s{%s} ", name, strings.Join(pairs, ","))
	_, rest, ok := strings.Cut(w.metrics(), key)
	if !ok {
		w.t.Fatalf("no metric %s", key)
	}
	if _, err := fmt.Sscan(rest, &n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// flood sends frames of an attacker, as fast as its switch's socket takes them, until the function returned is called.
func flood(t *testing.T, out *lab.Frames, frame func(i int) []byte) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pace := time.NewTicker(10 * time.Millisecond)
		defer pace.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			if i%40 == 0 {
				<-pace.C
			}
			if err := out.Send(frame(i)); err != nil {
				t.Errorf("flood: %v", err)
				return
			}
		}
	}()
	return sync.OnceFunc(func() { cancel(); <-done })
}

// Whatever a host sends, others' connections through a VIP go on and new ones are made; what it claims is not believed, and an
// event or a counter tells of it.
func TestHostileHosts(t *testing.T) {
	w := line(t, 2, "")
	client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1)
	evil, accomplice := w.host("e1", 66, 1, 5), w.host("e2", 67, 2, 5)
	quiet := w.host("q1", 21, 1, 6)
	serve(8080, backend)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, backend)
	held := w.dial(client, "tcp", "", address+":80")
	served := func(t *testing.T) {
		t.Helper()
		for range 3 {
			if _, _, err := held.ask("still there"); err != nil {
				t.Fatalf("the connection that was: %v", err)
			}
			c, err := dial(w.ctx, client, "tcp", "", address+":80")
			if err != nil {
				t.Fatalf("a new connection: %v", err)
			}
			if _, _, err := c.ask("hello"); err != nil {
				t.Errorf("a new connection: %v", err)
			}
			_ = c.Close()
		}
	}
	out, away := evil.Frames(), accomplice.Frames()
	send := func(f *lab.Frames, frames ...[]byte) error {
		for _, b := range frames {
			if err := f.Send(b); err != nil {
				return err
			}
		}
		return nil
	}
	from := func(src net.HardwareAddr, dst net.HardwareAddr) []byte {
		return append(append(append(append([]byte{}, dst...), src...), 0x12, 0x34), make([]byte, 46)...)
	}
	const at, port = "0000000000000001:5", "port 0000000000000001:5 "
	place := func(t *testing.T, h *lab.Host, want string) {
		t.Helper()
		all, err := w.hosts()
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			if x.MAC.String() == h.MAC() {
				if got := fmt.Sprintf("%s:%d live=%v", x.DPID, x.PortNo, x.Live); got != want+" live=true" {
					t.Errorf("%s is at %s", h.Name(), got)
				}
				return
			}
		}
		t.Errorf("%s is not known", h.Name())
	}
	hostsAt := func() (n int, err error) { // the attacker's port
		all, err := w.hosts()
		for _, h := range all {
			if h.DPID == 1 && h.PortNo == 5 {
				n++
			}
		}
		return n, err
	}
	served(t)

	// Frames of our own LLDP, for later.
	old := captured(t, away)
	since := time.Now()

	t.Run("our MACs as sender", func(t *testing.T) {
		for src, text := range map[string]string{"02:ef:00:00:00:01": "a VIP's MAC as sender", "0e:ef:01:00:03:07": "marker as sender",
			"0e:ef:03:00:00:00": "marker as sender"} {
			mac, _ := net.ParseMAC(src)
			w.Eventually(patience, func() error {
				for range 50 {
					if err := send(out, from(mac, hostMAC(t, backend)), arpOf(1, mac, mac, address, address)); err != nil {
						return err
					}
				}
				served(t)
				s, err := w.api.switches()
				if err != nil {
					return err
				}
				for _, d := range s[0].Drops {
					if d.Reason == text && d.Packets >= 100 {
						return nil
					}
				}
				return fmt.Errorf("drops %+v", s[0].Drops)
			})
		}
		w.told(port + "packets from ")
		if n, limit := w.refusedCount("topology", "forbidden sender"), 2*(10*time.Since(since).Seconds()+10); n < 1 || n > limit {
			t.Errorf("told of %v packets, want some and at most %.0f", n, limit)
		}
	})
	t.Run("the VIP's address", func(t *testing.T) {
		mac := hostMAC(t, evil)
		w.toldOf("address "+address+" refused at "+at, func() error {
			return send(out, arpOf(1, mac, mac, address, address), arpOf(2, mac, mac, address, client.IP()))
		})
		served(t)
		if got, err := client.Run(w.ctx, "ip", "neighbour", "show", address); err != nil || !strings.Contains(got, vipMAC.String()) {
			t.Errorf("the client's neighbour: %q, %v", got, err)
		}
	})
	t.Run("others' MACs", func(t *testing.T) {
		for _, claimant := range []struct {
			out *lab.Frames
			at  string
		}{{out, at}, {away, "0000000000000002:5"}} {
			w.toldOf("move to "+claimant.at+" refused: still answers", func() (err error) {
				for _, h := range []*lab.Host{client, backend} {
					err = errors.Join(err, send(claimant.out, from(hostMAC(t, h), hostMAC(t, quiet)),
						arpOf(1, hostMAC(t, h), hostMAC(t, h), h.IP(), evil.IP())))
				}
				return err
			})
		}
		served(t)
		place(t, client, "0000000000000001:1")
		place(t, backend, "0000000000000002:1")
	})
	t.Run("others' addresses", func(t *testing.T) {
		mac := hostMAC(t, evil)
		w.toldOf("address "+backend.IP()+" refused at "+at, func() error { return send(out, arpOf(2, mac, mac, backend.IP(), evil.IP())) })
		served(t)
	})
	t.Run("ARP flood", func(t *testing.T) {
		stop := flood(t, out, func(i int) []byte {
			return arpOf(1, macOf(1, i), macOf(1, i), fmt.Sprintf("10.0.%d.%d", 1+i>>8%200, i%256), address)
		})
		defer stop()
		w.Eventually(patience, func() error { // the meter has no burst left
			n, err := hostsAt()
			if err == nil && n < 1000 {
				err = fmt.Errorf("%d hosts at the attacker's port", n)
			}
			return err
		})
		// Those behind another port are heard all the same.
		q := quiet.Frames()
		w.Eventually(patience, func() error { // a second time, as hosts announce themselves (RFC 5227), and more often
			for i := range 20 {
				if err := send(q, arpOf(1, macOf(9, i), macOf(9, i), fmt.Sprint("10.0.0.", 130+i), fmt.Sprint("10.0.0.", 130+i))); err != nil {
					return err
				}
			}
			served(t)
			all, err := w.hosts()
			n := 0
			for _, h := range all {
				if h.MAC[1] == 0xbb && h.MAC[2] == 9 {
					n++
				}
			}
			if err != nil || n != 20 {
				return fmt.Errorf("%d of 20 hosts are known, %v", n, err)
			}
			return nil
		})
		if n, err := hostsAt(); err != nil || n > 1024 {
			t.Errorf("%d hosts at the attacker's port, %v", n, err)
		}
		stop()
		served(t)
	})
	t.Run("MAC flood", func(t *testing.T) {
		stop := flood(t, out, func(i int) []byte {
			s := segment{macOf(2, i), hostMAC(t, backend), fmt.Sprintf("10.7.%d.%d", i>>8%256, i%256), backend.IP(), 999, 9, "S", 1, 0, ""}
			return s.frame(t)
		})
		defer stop()
		served(t)
		w.told(port + "no room for more hosts")
		served(t)
		all, err := w.hosts()
		if err != nil || len(all) > 1024+50 {
			t.Errorf("%d hosts, %v", len(all), err)
		}
		place(t, client, "0000000000000001:1")
	})
	t.Run("LLDP flood", func(t *testing.T) {
		stop := flood(t, out, func(i int) []byte {
			return append(append(append(append([]byte{}, lldpGroup...), macOf(3, i)...), 0x88, 0xcc), make([]byte, 46)...)
		})
		defer stop()
		served(t)
		w.Eventually(patience, func() error { // the meter has no burst left
			if n := w.refusedCount("topology", "LLDP of other systems"); n < 200 {
				return fmt.Errorf("%v frames of LLDP have come", n)
			}
			return nil
		})
		// A cable that is plugged in now is found all the same.
		w.join(1, 20, 2, 20)
		w.awaitLinks(2)
		served(t)
	})
	t.Run("forged LLDP", func(t *testing.T) {
		wrong := append([]byte{}, captured(t, away)...)
		wrong[len(wrong)-3] ^= 1 // of its signature
		moved := append([]byte{}, captured(t, away)...)
		i := strings.Index(string(moved), "\x02\xef\x00\x01") // it claims to be another port's
		binary.BigEndian.PutUint32(moved[i+12:], 1)
		time.Sleep(time.Until(since.Add(8 * time.Second))) // the old one is too old now
		for which, frame := range map[string][]byte{"wrong signature": wrong, "another port's": moved, "old": old} {
			before := w.refusedCount("topology", "forged LLDP")
			w.Eventually(patience, func() error {
				if err := send(out, frame); err != nil { // again and again: the flood may have left no room for it yet
					return err
				}
				if w.refusedCount("topology", "forged LLDP") == before {
					return fmt.Errorf("%s: not refused", which)
				}
				return nil
			})
		}
		w.told(port + "forged or replayed LLDP refused")
		w.awaitLinks(2)
		served(t)
	})
}

// captured is a frame of LLDP that has just come to a host.
func captured(t *testing.T, f *lab.Frames) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b, err := f.Receive(ctx, isLLDP)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{}, b...)
}

// Two hosts that hand LLDP on to one another look like a cable; where the configuration says that there are edges they do not.
func TestLLDPRelayed(t *testing.T) {
	t.Parallel()
	const fixed = "ports:\n- {dpid: \"0000000000000001\", port_no: 5, kind: edge}\n"
	for name, config := range map[string]string{"trusted": "", "fixed": fixed} {
		t.Run(name, func(t *testing.T) {
			var flags []string
			if config != "" {
				flags = []string{"--config", writeFile(t, config)}
			}
			w := line(t, 2, "", flags...)
			client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1)
			evil, accomplice := w.host("e1", 66, 1, 5), w.host("e2", 67, 2, 5)
			serve(8080, backend)
			w.start()
			w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, backend)
			held := w.dial(client, "tcp", "", address+":80")
			w.who(held)
			ctx, cancel := context.WithCancel(w.ctx)
			var relays sync.WaitGroup
			defer relays.Wait()
			defer cancel()
			in, out := evil.Frames(), accomplice.Frames()
			var mu sync.Mutex
			handed := 0
			for _, way := range [][2]*lab.Frames{{in, out}, {out, in}} {
				relays.Go(func() {
					for {
						b, err := way[0].Receive(ctx, isLLDP)
						if err != nil {
							return
						}
						_ = way[1].Send(append([]byte{}, b...))
						mu.Lock()
						handed++
						mu.Unlock()
					}
				})
			}
			want := 2 // the cable, and what looks like one
			if config != "" {
				want = 1
				w.told("port 0000000000000001:5 LLDP of port 0000000000000002:5 heard, against the configuration")
			}
			w.awaitLinks(want)
			if config == "" { // what goes that way is theirs; it is over when they stop
				w.told("port 0000000000000001:5 edge has become a link")
				cancel()
				w.awaitLinks(1)
			}
			w.Eventually(patience, func() error {
				_, _, err := held.ask("still there")
				return err
			})
			w.who(w.dial(client, "tcp", "", address+":80"))
			mu.Lock()
			defer mu.Unlock()
			if handed == 0 {
				t.Error("nothing was handed on: the test shows nothing")
			}
		})
	}
}

// writeFile makes a file of the test's own and returns its path.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "evenflow.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
