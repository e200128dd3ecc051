package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// proof is connections that live through one change after the other, in mode othello: of TCP, whose hosts report them, and flows of datagrams,
// which edges note. All client ports are given, so that a run can be repeated.
type proof struct {
	*handOver
	agents  *reporters
	lines   []*held
	chats   []*chat
	weights map[string]int // of the backends that take new connections
	port    int            // of the next newcomer
	end     context.CancelFunc
}

// held is a connection of TCP that is asked again and again.
type held struct {
	*conn
	at   string // its backend
	over atomic.Bool
}

// newProof is a client on s1 and six backends on three switches, four of which serve at first, the first with twice the weight.
func newProof(t *testing.T, connections, flows int) *proof {
	w := line(t, 3, "OpenFlow15")
	p := &proof{handOver: &handOver{network: w, client: w.host("c1", 11, 1, 1)}, weights: map[string]int{"b1": 2, "b2": 1, "b3": 1, "b4": 1}, port: 2000}
	for i := range 6 {
		p.backends = append(p.backends, w.host(fmt.Sprintf("b%d", i+1), i+1, 1+i/2, 2+i))
	}
	p.provide(func(s *vip.Spec) { s.Mode, s.HandOverIdle = vip.ModeOthello, vip.Duration(10*time.Second) }, p.backends[:4]...)
	p.set("b1", map[string]any{"weight": 2})
	p.agents = newReporters(w, slices.Clone(p.backends[:4]))
	ctx, cancel := context.WithCancel(w.ctx)
	p.end = cancel
	t.Cleanup(cancel)
	pause := 250*time.Millisecond + time.Duration(connections)*1500*time.Microsecond
	for i := range connections {
		c := p.dial(p.client, "tcp", fmt.Sprint(":", 10000+i), address+":80")
		name, err := p.asksLong(c)
		if err != nil {
			t.Fatal(err)
		}
		h := &held{conn: c, at: name}
		p.lines = append(p.lines, h)
		p.running.Go(func() { p.keepAsking(ctx, h, pause) })
	}
	p.begin(0, 0, flows/2)
	p.chats = p.handOver.chats(ctx, flows-flows/2, 0)
	return p
}

// keepAsking asks a connection for as long as it is held. An answer that comes late on a busy machine is no fault; it is asked less then: what a
// switch has no time for is lost in the receive buffers of its ports, and sent again.
func (p *proof) keepAsking(ctx context.Context, h *held, pause time.Duration) {
	wait := time.NewTimer(pause * time.Duration(h.LocalAddr().(*net.TCPAddr).Port%100) / 100)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		begin := time.Now()
		name, err := p.asksLong(h.conn)
		if h.over.Load() || ctx.Err() != nil {
			return
		}
		p.asked.Add(1)
		switch {
		case err != nil:
			p.broken.Add(1)
			p.t.Logf("tcp %s: %v", h.LocalAddr(), err)
			return
		case name != h.at:
			p.moved.Add(1)
			p.t.Logf("tcp %s has moved from %s to %s", h.LocalAddr(), h.at, name)
			return
		}
		wait.Reset(max(pause, 20*time.Since(begin)))
	}
}

// each sends a request about a backend of all three services at once, and waits until it is in effect.
func (p *proof) each(method, path string, body func(port uint16) any) {
	p.t.Helper()
	var all sync.WaitGroup
	for _, s := range handOverServices {
		all.Go(func() {
			if err := p.call(method, "/api/v1/vips/"+s.name+path+"?wait=60s", body(s.port), nil); err != nil {
				p.t.Error(err)
			}
		})
	}
	all.Wait()
}

func (p *proof) set(name string, how map[string]any) {
	p.t.Helper()
	p.each(http.MethodPatch, "/backends/"+name, func(uint16) any { return how })
}

func (p *proof) add(h *lab.Host, weight int) {
	p.t.Helper()
	p.weights[h.Name()] = weight
	p.agents.backends = append(p.agents.backends, h)
	p.each(http.MethodPost, "/backends", func(port uint16) any {
		return vip.BackendSpec{Name: h.Name(), Address: h.IP(), Port: port, Weight: &weight}
	})
	for _, s := range handOverServices { // it may have had to be found first
		p.awaitState(s.name, h.Name(), vip.StateUp)
	}
	p.settled()
}

func (p *proof) weigh(name string, weight int) {
	p.t.Helper()
	p.weights[name] = weight
	p.set(name, map[string]any{"weight": weight})
}

func (p *proof) drain(name string) {
	p.t.Helper()
	delete(p.weights, name)
	p.set(name, map[string]any{"admin": "draining"})
}

// remove takes a backend out that has drained: its connections have ended. That of datagrams which are never answered stays, for
// those do not end.
func (p *proof) remove(name string) {
	p.t.Helper()
	for _, h := range p.lines {
		if h.at == name && !h.over.Swap(true) {
			_ = h.Close()
		}
	}
	for _, c := range p.chats {
		if c.isAt(name) {
			c.stop()
		}
	}
	p.agents.backends = slices.DeleteFunc(p.agents.backends, func(h *lab.Host) bool { return h.Name() == name })
	for _, service := range []string{"tcp", "udp"} {
		if err := p.call(http.MethodDelete, "/api/v1/vips/"+service+"/backends/"+name+"?wait=60s", nil, nil); err != nil {
			p.t.Error(err)
		}
	}
}

// newcomers are new connections, of TCP and UDP in turn: each must be where it is foretold to be, and all are divided by weight.
func (p *proof) newcomers(when string, n int) (wrong int) {
	p.t.Helper()
	counts, total := map[string]int{}, 0
	for _, w := range p.weights {
		total += w
	}
	for i := range n {
		s := handOverServices[i%2]
		to := fmt.Sprintf("%s:%d", address, 80+i%2)
		p.port++
		x, err := p.explain(string(s.protocol), at(p.client.IP(), p.port), to)
		if err != nil {
			p.t.Fatal(err)
		}
		c := p.dial(p.client, string(s.protocol), fmt.Sprint(":", p.port), to)
		got, err := p.asksLong(c)
		if err != nil {
			p.t.Fatalf("%s: %s from port %d: %v", when, s.protocol, p.port, err)
		}
		_ = c.Close()
		if counts[got]++; got != x.Backend {
			wrong++
			p.t.Errorf("%s: %s from port %d is said to go to %s, and is at %s", when, s.protocol, p.port, x.Backend, got)
		}
	}
	chi2 := 0.0
	for name, w := range p.weights {
		want := float64(n*w) / float64(total)
		chi2 += (float64(counts[name]) - want) * (float64(counts[name]) - want) / want
		delete(counts, name)
	}
	probability := distuv.ChiSquared{K: float64(len(p.weights) - 1)}.Survival(chi2)
	p.t.Logf("%s: %d new connections, chi-square p = %.3f; %d answers, %d late, %d broken, %d moved", when, n, probability, p.asked.Load(), p.late.Load(),
		p.broken.Load(), p.moved.Load())
	if probability < 1e-6 || len(counts) > 0 {
		p.t.Errorf("%s: new connections are not divided by weight: p = %g, elsewhere %v", when, probability, counts)
	}
	return wrong
}

// foretold compares where some of the connections that are held are said to be with where they are.
func (p *proof) foretold(when string, some int) {
	p.t.Helper()
	for i := 0; i < len(p.lines); i += max(1, len(p.lines)/some) {
		h := p.lines[i]
		x, err := p.explain("tcp", h.LocalAddr().String(), address+":80")
		if err != nil {
			p.t.Fatal(err)
		}
		if x.Backend != h.at && !h.over.Load() {
			p.t.Errorf("%s: %s is said to be at %s, and is at %s: %s", when, h.LocalAddr(), x.Backend, h.at, x.Detail)
		}
	}
}

// Backends are added, weighed up and down, drained and removed, ten changes in a row, while connections and flows send all the time: none breaks,
// none moves, and all that is foretold comes true.
func TestOthelloProof(t *testing.T) { tryProof(t, 200, 60, 24) }

func tryProof(t *testing.T, connections, flows, newcomers int) (pins, rows int) {
	p := newProof(t, connections, flows)
	for i, change := range []struct {
		name string
		do   func()
	}{
		{"b5 added", func() { p.add(p.backends[4], 1) }},
		{"b6 added", func() { p.add(p.backends[5], 2) }},
		{"b2 weighs 3", func() { p.weigh("b2", 3) }},
		{"b2 weighs 1", func() { p.weigh("b2", 1) }},
		{"b3 drains", func() { p.drain("b3") }},
		{"b3 removed", func() { p.remove("b3") }},
		{"b1 weighs 1", func() { p.weigh("b1", 1) }},
		{"b6 weighs 1", func() { p.weigh("b6", 1) }},
		{"b4 drains", func() { p.drain("b4") }},
		{"b4 removed", func() { p.remove("b4") }},
	} {
		change.do()
		p.newcomers(change.name, newcomers)
		p.agents.report()
		if i == 2 || i == 5 || i == 9 {
			p.agents.alone(change.name)
			r, err := p.vip("tcp")
			if err != nil {
				t.Fatal(err)
			}
			pins, rows = max(pins, r.Status.HandOver.Pins), max(rows, p.agents.rows())
			p.foretold(change.name, newcomers)
			if i == 2 {
				p.agree(newcomers)
			}
		}
	}
	p.end()
	broken, moved := p.handOver.end()
	p.settledDown(p.chats, moved)
	if broken != 0 {
		t.Errorf("%d connections are broken", broken)
	}
	if pins == 0 {
		t.Error("never a pin")
	}
	t.Logf("up to %d pins, %d rows of cells; pins of datagrams: %s", pins, rows, strings.Join(p.datagramPins(), ", "))
	return pins, rows
}

// agree has each switch choose, as a gateway, for some of the connections that are held, pinned ones among them, and for others: all
// choose alike, and as is foretold.
func (p *proof) agree(some int) {
	p.t.Helper()
	names, sources := map[string]string{}, []string{}
	for _, h := range p.backends {
		names[h.MAC()] = h.Name()
	}
	for i := 0; i < len(p.lines); i += max(1, len(p.lines)/some) {
		sources = append(sources, p.lines[i].LocalAddr().String())
	}
	for i := range some {
		sources = append(sources, fmt.Sprintf("172.16.%d.%d:%d", i/250, 1+i%250, 5000+7*i))
	}
	var first []string
	for i, from := range []*lab.Host{p.client, p.backends[2], p.backends[4]} { // a host of each switch, at port 1, 4 and 6
		var packets []string
		for _, s := range sources {
			source := netip.MustParseAddrPort(s)
			packets = append(packets, fmt.Sprintf("in_port=%d,dl_src=%s,dl_dst=%s,tcp,nw_src=%s,nw_dst=%s,tcp_src=%d,tcp_dst=80",
				[]int{1, 4, 6}[i], from.MAC(), vipMAC, source.Addr(), address, source.Port()))
		}
		told, err := p.sw(i + 1).Trace(packets)
		if err != nil {
			p.t.Fatal(err)
		}
		for n := range told {
			m := choice.FindStringSubmatch(told[n])
			if m == nil || names[m[1]] == "" {
				p.t.Fatalf("%s chooses nothing for %s:\n%s", p.sw(i+1).Name(), packets[n], told[n])
			}
			if got := names[m[1]]; i == 0 {
				first = append(first, got)
				if x, err := p.explain("tcp", sources[n], address+":80"); err != nil || x.Backend != got {
					p.t.Errorf("%s chooses %s for %s, and it is said to go to %+v, %v", p.sw(1).Name(), got, sources[n], x, err)
				}
			} else if got != first[n] {
				p.t.Errorf("%s chooses %s for %s, %s %s", p.sw(1).Name(), first[n], sources[n], p.sw(i+1).Name(), got)
			}
		}
	}
	p.t.Logf("3 gateways agree on %d connections", len(sources))
}

func (p *proof) datagramPins() (all []string) {
	for _, name := range []string{"udp", "oneway"} {
		if r, err := p.vip(name); err == nil {
			all = append(all, fmt.Sprintf("%s %d, %d generations", name, r.Status.HandOver.Pins, r.Status.HandOver.Generations))
		}
	}
	return all
}
