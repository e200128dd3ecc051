package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// failover is a ring of three switches with a VIP of each mode, whose connections ask all the time.
//
//	c1 ── s1 ───── s3 ── b1, b2
//	       └── s2 ──┘
type failover struct {
	*network
	client   *lab.Host
	backends []*lab.Host

	gate    sync.RWMutex // held for writing while nobody may ask
	asking  []*asker
	running sync.WaitGroup
	stop    chan struct{}
}

// asker is a connection and what has become of it.
type asker struct {
	*conn
	mode    vip.Mode
	first   string
	answers atomic.Int64
	broken  error
}

// newFailover starts everything; with tunnels of a kind for cables if that is not "", and with BFD on them if that has an interval
// in milliseconds.
func newFailover(t *testing.T, version, tunnels string, bfd int, modes ...vip.Mode) *failover {
	p := &failover{network: newNetwork(t, 3, version), stop: make(chan struct{})}
	for _, c := range [][4]int{{1, 10, 3, 11}, {1, 12, 2, 11}, {2, 10, 3, 12}} {
		if tunnels == "" {
			p.join(c[0], c[1], c[2], c[3])
		} else {
			p.cables[fmt.Sprintf("s%d-s%d", c[0], c[2])] = p.Tunnel(tunnels, p.sw(c[0]), c[1], p.sw(c[2]), c[3], 1600)
		}
	}
	p.client = p.host("c1", 11, 1, 1)
	for i := range 2 {
		p.backends = append(p.backends, p.host(fmt.Sprintf("b%d", i+1), i+1, 3, i+1))
	}
	if bfd > 0 {
		p.bfd(bfd)
	}
	p.ctl.start()
	p.attach()
	p.awaitLinks(3)
	for i, mode := range modes {
		for _, h := range p.backends { // a port of its own for each: modes that share one share its connections
			serveTCP(h, 8080+i)
		}
		p.service(vip.Spec{Name: string(mode), Address: address, Protocol: vip.TCP, Port: vip.PortRange(fmt.Sprint(80 + i)), Mode: mode},
			uint16(8080+i), p.backends...)
	}
	for i, mode := range modes {
		for range 6 {
			a := &asker{conn: p.dial(p.client, "tcp", "", fmt.Sprintf("%s:%d", address, 80+i)), mode: mode}
			a.first = p.who(a.conn)
			p.asking = append(p.asking, a)
			p.running.Go(func() { p.ask(a) })
		}
	}
	t.Cleanup(p.running.Wait)
	t.Cleanup(sync.OnceFunc(func() { close(p.stop) }))
	p.goOn()
	return p
}

// bfd has both ends of each cable between switches hear each other by BFD.
func (p *failover) bfd(interval int) {
	p.t.Helper()
	for i, ports := range [][]int{{10, 12}, {10, 11}, {11, 12}} {
		for _, no := range ports {
			name := fmt.Sprintf("s%d-p%d", i+1, no)
			p.sw(i+1).Vsctl("set", "interface", name, "bfd:enable=true", fmt.Sprintf("bfd:min_tx=%d", interval), fmt.Sprintf("bfd:min_rx=%d", interval))
		}
	}
}

func (p *failover) ask(a *asker) {
	wait := time.NewTicker(20 * time.Millisecond)
	defer wait.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-wait.C:
		}
		p.gate.RLock()
		name, _, err := a.conn.ask("still")
		p.gate.RUnlock()
		if err == nil && name != a.first {
			err = fmt.Errorf("has moved from %s to %s", a.first, name)
		}
		if err != nil {
			a.broken = err
			a.answers.Store(-1)
			return
		}
		a.answers.Add(1)
	}
}

// goOn waits until every connection has had some more answers.
func (p *failover) goOn() {
	p.t.Helper()
	before := make([]int64, len(p.asking))
	for i, a := range p.asking {
		before[i] = a.answers.Load()
	}
	p.Eventually(patience, func() error {
		for i, a := range p.asking {
			switch n := a.answers.Load(); {
			case n < 0:
				p.t.Fatalf("mode %s, %s: %v", a.mode, a.LocalAddr(), a.broken)
			case n < before[i]+3:
				return fmt.Errorf("mode %s, %s: %d answers", a.mode, a.LocalAddr(), n-before[i])
			}
		}
		return nil
	})
}

// frames is how many have come to a switch by a port.
func (p *failover) frames(sw, port int) (n int) {
	p.t.Helper()
	dump := p.sw(sw).Ofctl("dump-ports", fmt.Sprint(port))
	if _, err := fmt.Sscanf(dump[strings.Index(dump, "rx pkts="):], "rx pkts=%d,", &n); err != nil {
		p.t.Fatalf("%v in %s", err, dump)
	}
	return n
}

// rules are what switches hold of ways: groups and the tables to output ports.
func (p *failover) rules() (all []string) {
	for _, s := range p.switches {
		for _, r := range append(s.DumpGroups(), s.DumpFlows()...) {
			if strings.Contains(r, "type=ff") || strings.Contains(r, " table=60,") || strings.Contains(r, " table=80,") {
				all = append(all, s.Name()+" "+r)
			}
		}
	}
	return all
}

// notLive is how many ports have their carrier, but are found dead by what watches them.
func (p *failover) notLive() (n int) {
	p.t.Helper()
	for _, s := range p.switches {
		ports, err := p.ports(dpid(s))
		if err != nil {
			p.t.Fatal(err)
		}
		for _, q := range ports {
			if q.Up && !q.Live {
				n++
			}
		}
	}
	return n
}

// settledRules waits until all hosts have settled and there are so many detours.
func (p *failover) settledRules(detours int) (rules []string) {
	p.t.Helper()
	p.awaitSettled(6)
	p.Eventually(patience, func() error {
		rules = p.rules()
		if n := strings.Count(strings.Join(rules, "\n"), "type=ff"); n != detours {
			return fmt.Errorf("%d detours, not %d:\n%s", n, detours, strings.Join(rules, "\n"))
		}
		return nil
	})
	return rules
}

// A cable's end is bridged by the switches beside it at once, with no controller there. When one comes it sends all by the
// ways that are left; and all is as it was when the cable is back.
func TestFailover(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version string
		tunnels string
		bfd     int
		end     func(*lab.Link)
		modes   []vip.Mode
	}{
		"carrier":      {"OpenFlow15", "", 0, (*lab.Link).Cut, []vip.Mode{vip.ModeNAT, vip.ModeGroup, vip.ModeDeferred, vip.ModeOthello}},
		"silent":       {"OpenFlow15", "", 200, (*lab.Link).Lose, []vip.Mode{vip.ModeNAT, vip.ModeDeferred}},
		"tunnels":      {"OpenFlow15", "geneve", 200, (*lab.Link).Cut, []vip.Mode{vip.ModeDeferred}}, // which stay up
		"OpenFlow 1.3": {"OpenFlow13", "", 0, (*lab.Link).Cut, []vip.Mode{vip.ModeNAT, vip.ModeGroup}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFailover(t, c.version, c.tunnels, c.bfd, c.modes...)
			whole := p.settledRules(4) // to s1 and s3, which have hosts, from both others
			p.ctl.kill()
			used := p.frames(2, 11)
			c.end(p.cables["s1-s3"])
			p.goOn()
			p.Eventually(patience, func() error { // the counters of a tunnel are behind
				if n := p.frames(2, 11) - used; n < 3*len(p.asking) {
					return fmt.Errorf("%d frames have gone by the detour", n)
				}
				return nil
			})
			if c.tunnels == "" {
				p.oneEach()
			}
			p.ctl.start()
			p.awaitLinks(2)
			p.settledRules(0)
			if n := p.notLive(); c.bfd > 0 && n != 2 {
				t.Errorf("%d ports are up but not live, not the two ends of the cable", n)
			}
			p.goOn()
			p.cables["s1-s3"].Restore()
			p.awaitLinks(3)
			if diff := cmp.Diff(whole, p.settledRules(4)); diff != "" {
				t.Errorf("when the cable is back (-before +now):\n%s", diff)
			}
			p.goOn()
		})
	}
}

// oneEach shows that no frame goes by the detour twice, nor round for ever, not even when s3 is not to be reached at all and both
// others believe that the other one knows a way. Nobody asks meanwhile; what else there is, BFD's packets and such, is less than
// half of what is sent.
func (p *failover) oneEach() {
	p.t.Helper()
	p.gate.Lock()
	defer p.gate.Unlock()
	const n, batch = 300, 20 // a port's queue holds more than that
	got := drain(p.backends[0], 7000)
	c := p.dial(p.client, "udp", "", at(p.backends[0].IP(), 7000))
	there, back := p.frames(2, 11), p.frames(1, 12)
	send := func(arrived func() int) {
		for sent := batch; sent <= n; sent += batch {
			for range batch {
				_, _ = c.Write([]byte("x"))
			}
			p.Eventually(patience, func() error {
				if a := arrived(); a < sent {
					return fmt.Errorf("%d of %d datagrams have come", a, sent)
				}
				return nil
			})
		}
	}
	look := func(what string) {
		time.Sleep(200 * time.Millisecond) // what goes round goes on
		out, in := p.frames(2, 11)-there, p.frames(1, 12)-back
		there, back = there+out, back+in
		if got.count() != n || out >= n*3/2 || in >= n/2 {
			p.t.Errorf("%s: s2 was sent %d frames for %d datagrams, and has sent back %d; %d have come", what, out, n, in, got.count())
		}
	}
	send(got.count)
	look("by the detour")
	p.cables["s2-s3"].Cut()
	send(func() int { return p.frames(2, 11) - there })
	look("to nowhere")
	p.cables["s2-s3"].Restore()
}
