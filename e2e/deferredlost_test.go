package e2e

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// The backends' switch is restarted and forgets all connections; the backends stay the same, so they go on, whoever speaks first.
func TestDeferredSwitchKilled(t *testing.T) {
	w := line(t, 2, "OpenFlow15")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1), w.host("b2", 2, 2, 2)
	var mu sync.Mutex
	accepted := map[string]net.Conn{}
	for _, h := range []*lab.Host{b1, b2} {
		l := h.Listen("tcp", h.IP()+":8080")
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				mu.Lock()
				accepted[c.RemoteAddr().String()] = c
				mu.Unlock()
				_, _ = fmt.Fprintln(c, "welcome")
			}
		}()
	}
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Mode: vip.ModeDeferred}, 8080, b1, b2)
	hear := func(c *conn, want string) {
		t.Helper()
		_ = c.SetDeadline(time.Now().Add(answerLimit))
		if line, err := c.in.ReadString('\n'); err != nil || line != want+"\n" {
			t.Errorf("%s hears %q, %v; want %q", c.LocalAddr(), line, err, want)
		}
	}
	var all []*conn
	for range 12 {
		c := w.dial(client, "tcp", "", address+":80")
		hear(c, "welcome")
		all = append(all, c)
	}
	for round := range 2 {
		w.sw(2).Restart()
		w.awaitReady()
		w.Eventually(patience, func() error {
			if groups := w.sw(2).DumpGroups(); len(groups) < 3 {
				return fmt.Errorf("groups: %v", groups)
			}
			return nil
		})
		for i, c := range all {
			mu.Lock()
			server := accepted[c.LocalAddr().String()]
			mu.Unlock()
			say := func() {
				if _, err := fmt.Fprintln(server, "push"); err != nil {
					t.Error(err)
				}
				hear(c, "push")
			}
			ask := func() {
				if _, err := fmt.Fprintln(c, "question"); err != nil {
					t.Error(err)
				}
				_ = server.SetDeadline(time.Now().Add(answerLimit))
				if line, err := bufio.NewReader(server).ReadString('\n'); err != nil || line != "question\n" {
					t.Errorf("the backend of %s hears %q, %v", c.LocalAddr(), line, err)
				}
			}
			if i%2 == round {
				say()
				ask()
			} else {
				ask()
				say()
			}
		}
	}
}

// When conntrack has no room TCP connections are made without it, and last. Nothing reaches a backend untranslated.
func TestDeferredConntrackFull(t *testing.T) {
	p := newDeferredPool(t, func(s *vip.Spec) {
		if s.Protocol == vip.UDP {
			s.Port = "53"
		}
	})
	held := p.open("tcp", 4)
	toVIP := func(g gopacket.Packet) bool {
		ip, _ := g.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		return ip != nil && ip.DstIP.String() == address
	}
	var leaks []*tap
	for _, b := range p.backends {
		leaks = append(leaks, p.tap(b, toVIP))
	}
	for _, s := range p.switches {
		s.Appctl("dpctl/ct-set-maxconns", "1")
	}
	full := p.open("tcp", 4)
	p.smooth("no room", slices.Concat(slices.Collect(maps.Values(full))...), 0)
	c := p.dial(p.client, "udp", "", address+":53")
	p.Eventually(patience, func() error { // and counted
		if _, err := c.Write([]byte("lost\n")); err != nil {
			return err
		}
		all, err := p.api.switches()
		if err != nil {
			return err
		}
		n := uint64(0)
		for _, s := range all {
			for _, d := range s.Drops {
				if strings.Contains(d.Reason, "no room") {
					n += d.Packets
				}
			}
		}
		if n < 3 {
			return fmt.Errorf("%d dropped", n)
		}
		return nil
	})
	p.stay("full", full, "")
	p.stay("full", held, "")
	for _, s := range p.switches {
		s.Appctl("dpctl/ct-set-maxconns", "3000000")
	}
	p.stay("room again", full, "")
	p.stay("room again", held, "")
	for i, l := range leaks {
		if n := len(l.packets()); n > 0 {
			t.Errorf("%d packets have left untranslated for %s", n, p.backends[i].Name())
		}
	}
}

// Through the VIP and past it at a time.
func TestDeferredBesideDirect(t *testing.T) {
	p := newDeferredPool(t, nil)
	for _, network := range []string{"tcp", "udp"} {
		direct := map[string]*conn{}
		for _, b := range p.backends {
			direct[b.Name()] = p.dial(p.client, network, ":5000", b.IP()+":8080")
		}
		past := func() {
			t.Helper()
			for name, c := range direct {
				if who, seen, err := c.ask("direct"); err != nil || who != name || seen != p.client.IP()+":5000" {
					t.Errorf("%s, past the VIP to %s: answer of %q for %q, %v", network, name, who, seen, err)
				}
			}
		}
		for range 4 {
			past()
			c := p.dial(p.client, network, "", address+":80")
			p.who(c)
			past()
			p.who(c)
		}
	}
}
