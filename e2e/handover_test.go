package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// handOver is six backends on three switches with a VIP for TCP, one for UDP that answers and one for UDP that does not, and their clients.
// Packets go all the time: only flows that send in the midst of a change see a wrong order of its steps.
type handOver struct {
	*network
	client   *lab.Host
	backends []*lab.Host
	random   *rand.Rand
	seen     witness

	held          []*conn
	asked         atomic.Int64
	broken, moved atomic.Int64
	late          atomic.Int64
	shown         sync.Once // evidence of the first that is broken or has moved
	stop          context.CancelFunc
	running       sync.WaitGroup
}

// services of the VIPs: their names, protocols and the backends' ports.
var handOverServices = []struct {
	name     string
	protocol vip.Protocol
	port     uint16
}{{"tcp", vip.TCP, 8080}, {"udp", vip.UDP, 8080}, {"oneway", vip.UDP, 5353}}

// newHandOver declares the VIPs on random sets of backends. set says more of them.
func newHandOver(t *testing.T, seed uint64, set func(*vip.Spec)) *handOver {
	return newHandOverOn(t, 3, seed, set)
}

// newHandOverOn is newHandOver on one, two or three switches.
func newHandOverOn(t *testing.T, switches int, seed uint64, set func(*vip.Spec)) *handOver {
	return handOverIn(line(t, switches, "OpenFlow15"), seed, set)
}

// handOverIn is newHandOver on the switches of a network.
func handOverIn(w *network, seed uint64, set func(*vip.Spec)) *handOver {
	switches := len(w.switches)
	p := &handOver{network: w, client: w.host("c1", 11, 1, 1), random: rand.New(rand.NewPCG(seed, seed))}
	for i := range 6 {
		p.backends = append(p.backends, w.host(fmt.Sprintf("b%d", i+1), i+1, 1+i*switches/6, 2+i))
	}
	p.provide(set, p.backends...)
	return p
}

// provide lets all backends serve, starts the network, and declares the VIPs on some of them. set says more of the VIPs.
func (p *handOver) provide(set func(*vip.Spec), on ...*lab.Host) {
	p.t.Helper()
	serve(8080, p.backends...)
	p.seen.listen(5353, p.backends...)
	p.start()
	for i, s := range handOverServices {
		spec := vip.Spec{Name: s.name, Address: p.family.vip, Protocol: s.protocol, Port: vip.PortRange(fmt.Sprint(80 + i)), Mode: vip.ModeDeferred}
		if set != nil {
			set(&spec)
		}
		p.service(spec, s.port, on...)
	}
}

// witness notes which backends have had datagrams of which client's ports.
type witness struct {
	mu sync.Mutex
	by map[string]map[string]bool
	n  int
}

func (s *witness) listen(port int, hosts ...*lab.Host) {
	s.by = map[string]map[string]bool{}
	for _, h := range hosts {
		receive(h, at(h.IP(), port), func(from net.Addr, _ []byte) []byte {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.by[from.String()] == nil {
				s.by[from.String()] = map[string]bool{}
			}
			s.by[from.String()][h.Name()] = true
			s.n++
			return nil
		})
	}
}

// begin opens connections and lets packets flow: of TCP and of UDP that is answered some times a second, of the rest ten.
func (p *handOver) begin(tcp, udp, oneway int) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.ctx)
	p.stop = cancel
	p.t.Cleanup(cancel)
	ask := func(c *conn, first string) {
		defer p.running.Done()
		wait := time.NewTicker(time.Duration(250+rand.IntN(200)) * time.Millisecond)
		defer wait.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-wait.C:
			}
			name, err := p.asksLong(c)
			p.asked.Add(1)
			switch {
			case err != nil:
				p.broken.Add(1)
				p.t.Logf("%s %s, at %s before: %v", c.LocalAddr().Network(), c.LocalAddr(), first, err)
				p.shown.Do(func() { p.t.Log(p.evidence(c)) })
				return
			case name != first:
				p.moved.Add(1)
				p.t.Logf("%s %s has moved from %s to %s", c.LocalAddr().Network(), c.LocalAddr(), first, name)
				p.shown.Do(func() { p.t.Log(p.evidence(c)) })
				return
			}
		}
	}
	for i, s := range []struct {
		network string
		n       int
	}{{"tcp", tcp}, {"udp", udp}} {
		for range s.n {
			c := p.dial(p.client, s.network, "", p.family.web(80+i))
			p.held = append(p.held, c)
			p.running.Add(1)
			go ask(c, p.who(c))
		}
	}
	first := len(p.held)
	for range oneway {
		c := p.dial(p.client, "udp", "", p.family.web(82))
		p.held = append(p.held, c)
		p.running.Go(func() { send(ctx, c) })
	}
	p.Eventually(patience, func() error { // a flow has no backend yet while its first datagram is on its way
		p.seen.mu.Lock()
		defer p.seen.mu.Unlock()
		for _, c := range p.held[first:] {
			if p.seen.by[c.LocalAddr().String()] == nil {
				return fmt.Errorf("nothing has come from %s", c.LocalAddr())
			}
		}
		return nil
	})
}

// asksLong asks with more patience: what is late is counted.
func (p *handOver) asksLong(c *conn) (name string, err error) {
	name, _, err = c.ask("who")
	for tries := 0; isTimeout(err) && tries < 3; tries++ {
		p.late.Add(1)
		if c.LocalAddr().Network() == "udp" {
			name, _, err = c.ask("who")
			continue
		}
		_ = c.SetDeadline(time.Now().Add(answerLimit)) // TCP sends again by itself
		name, _, err = c.answer("who")
	}
	return name, err
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// send sends datagrams that nobody answers.
func send(ctx context.Context, c net.Conn) {
	wait := time.NewTicker(100 * time.Millisecond)
	defer wait.Stop()
	for ctx.Err() == nil {
		_, _ = c.Write([]byte("x"))
		<-wait.C
	}
}

// draw is a random set of two to five backends, some of which weigh more; the others drain.
func (p *handOver) draw(port uint16) (all []vip.BackendSpec) {
	n := 2 + p.random.IntN(4)
	in := map[int]bool{}
	for _, i := range p.random.Perm(len(p.backends))[:n] {
		in[i] = true
	}
	for i, h := range p.backends {
		b := vip.BackendSpec{Name: h.Name(), Address: h.IP(), Port: port, Weight: new(1 + p.random.IntN(2)), Admin: vip.Draining}
		if in[i] {
			b.Admin = vip.Enabled
		}
		all = append(all, b)
	}
	return all
}

// change gives every VIP another set of backends, and waits until it is in effect.
func (p *handOver) change(query string) {
	p.t.Helper()
	var all sync.WaitGroup
	for _, s := range handOverServices {
		body := map[string]any{"backends": p.draw(s.port)}
		all.Go(func() {
			if err := p.call(http.MethodPatch, "/api/v1/vips/"+s.name+"?wait=60s"+query, body, nil); err != nil {
				p.t.Error(err)
			}
		})
	}
	all.Wait()
}

// end stops and says what has become of connections: how many are broken, and how many have changed their backend.
func (p *handOver) end() (broken, moved int64) {
	p.stop()
	p.running.Wait()
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	for _, c := range p.held {
		if len(p.seen.by[c.LocalAddr().String()]) > 1 {
			p.moved.Add(1)
			p.t.Logf("one-way %s has been at %v", c.LocalAddr(), slices.Sorted(maps.Keys(p.seen.by[c.LocalAddr().String()])))
		}
	}
	broken, moved = p.broken.Load(), p.moved.Load()
	p.t.Logf("%d answers, %d of them late, %d datagrams that are not answered; %d broken, %d moved", p.asked.Load(), p.late.Load(), p.seen.n, broken, moved)
	return broken, moved
}

// Through twenty random changes in sequence no connection breaks and none moves.
func TestHandOver(t *testing.T) { tryHandOver(t, newHandOver(t, 7, nil), 20) }

func tryHandOver(t *testing.T, p *handOver, changes int) {
	p.begin(300, 40, 60)
	for range changes {
		p.change("")
	}
	if broken, moved := p.end(); broken != 0 || moved != 0 {
		t.Errorf("%d connections are broken, %d moved", broken, moved)
	}
	p.allMatched()
	if r, err := p.vip("tcp"); err != nil || r.Status.HandOver.Generations < changes/2 {
		t.Errorf("%+v, %v", r.Status.HandOver, err)
	}
}

// The same over IPv6.
func TestHandOverIPv6(t *testing.T) {
	w := line(t, 3, "OpenFlow15")
	w.family = ipv6
	p := handOverIn(w, 41, nil)
	p.begin(60, 20, 40)
	for range 8 {
		p.change("")
	}
	p.whole()
}

// On one switch a packet asks all generations there: the tables are deep, but a packet must not go round more often.
func TestHandOverOneSwitch(t *testing.T) {
	p := newHandOverOn(t, 1, 29, nil)
	p.begin(40, 20, 20)
	for range 17 {
		p.change("")
	}
	if r, err := p.vip("udp"); err != nil || r.Status.HandOver.Generations < 16 {
		t.Errorf("%+v, %v", r.Status.HandOver, err)
	}
	for range 40 { // new flows, which ask them all
		p.who(p.dial(p.client, "udp", "", address+":81"))
	}
	p.whole()
}

// Without hand-over the same breaks connections; and so do changes that drop generations which are needed.
func TestHandOverLacking(t *testing.T) {
	tryLacking(t, func(t *testing.T, set func(*vip.Spec)) *handOver { return newHandOver(t, 7, set) })
}

func tryLacking(t *testing.T, make func(t *testing.T, set func(*vip.Spec)) *handOver) {
	t.Parallel()
	for name, set := range map[string]func(*vip.Spec){
		"none":       func(s *vip.Spec) { s.HandOver = 1 },
		"too little": func(s *vip.Spec) { s.HandOver = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			p := make(t, set)
			p.begin(30, 20, 10)
			for range 5 {
				p.change("&drop_oldest=true")
			}
			broken, moved := p.end()
			if broken == 0 || moved == 0 {
				t.Errorf("%d connections are broken, %d moved; the test above proves nothing", broken, moved)
			}
		})
	}
}
