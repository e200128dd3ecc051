package nat

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// world is a network with random events: clients, two edge switches, a VIP of two ports that both lead to port 8080 of its
// backends, and a controller that is restarted now and then.
type world struct {
	t        *testing.T
	rnd      *rand.Rand
	now      uint32
	app      *App
	view     *apps.View
	vip      *apps.VIP
	switches map[flows.DPID]*fakeSwitch
	clients  []*simClient
	log      []string
}

// simClient is a client's port, and its connection if it has one.
type simClient struct {
	from, to netip.AddrPort
	at       flows.DPID
	isn      uint32
	backend  uint32 // 0: no connection
	active   uint32 // time of the last packet
	fin      bool
}

const simIdle = 60

func newWorld(t *testing.T, seed uint64, idles bool) *world {
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), now: 1000, switches: map[flows.DPID]*fakeSwitch{}}
	for _, d := range []flows.DPID{edge, second} {
		w.switches[d] = &fakeSwitch{dpid: d, now: &w.now, idles: idles, rules: map[string]*installed{}}
	}
	for i := range 8 {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + i/4)}), uint16(40000+i%2))
		to := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.100"), uint16(80+i/2%2))
		w.clients = append(w.clients, &simClient{from: from, to: to, at: edge})
	}
	w.setVIP(w.newVIP())
	w.restart()
	return w
}

func (w *world) newVIP() *apps.VIP {
	x := newVIP(4, at(80, 81))
	x.Idle = simIdle * time.Second
	for i := range x.Backends {
		states := []vip.State{vip.StateUp, vip.StateUp, vip.StateUp, vip.StateDraining, vip.StateDown, vip.StateDisabled}
		x.Backends[i].State = states[w.rnd.IntN(len(states))]
	}
	if w.rnd.IntN(2) == 0 {
		i := w.rnd.IntN(4)
		x.Backends = slices.Delete(x.Backends, i, i+1)
	}
	return x
}

func (w *world) say(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) setVIP(x *apps.VIP) {
	w.vip, w.view = x, view(x)
	for _, c := range w.clients {
		if !w.keeps(c.backend) {
			c.backend = 0
		}
	}
}

func (w *world) keeps(id uint32) bool {
	for i := range w.vip.Backends {
		if b := &w.vip.Backends[i]; b.ID == id {
			return w.view.Keeps(b)
		}
	}
	return false
}

func (w *world) sync() {
	for d, rules := range w.app.Sync(w.view) {
		for i := range rules {
			w.switches[d].Delete(&rules[i])
		}
	}
}

// restart is a new controller, which knows only what the switches hold.
func (w *world) restart() {
	w.app = New(Config{Now: func() time.Time { return time.Unix(int64(w.now), 0) }})
	w.sync()
	for _, d := range []flows.DPID{second, edge} {
		w.connect(d)
	}
}

// connect is a new session of a switch; what was under way in the old one is lost.
func (w *world) connect(d flows.DPID) {
	s := w.switches[d]
	s.queue = nil
	remove := w.app.Adopt(w.view, d, s.held())
	for i := range remove {
		s.Delete(&remove[i])
	}
	w.deliver(true) // a session that ends before that loses the connections with a lone half
}

// deliver hands messages to the controller, all or some.
func (w *world) deliver(all bool) {
	for _, d := range []flows.DPID{edge, second} {
		for s := w.switches[d]; len(s.queue) > 0 && (all || w.rnd.IntN(3) > 0); {
			f := s.queue[0]
			s.queue = s.queue[1:]
			f(w.app, w.view)
		}
	}
}

// send sends a client's packet to its switch and returns the backend it goes to, 0 if it was refused.
func (w *world) send(c *simClient, flags uint8) (backend uint32) {
	s := w.switches[c.at]
	var x scratch
	p := plan{proto: apps.ProtoTCP, addr: c.to.Addr().As16()}
	k := key{c.from.Addr().As16(), c.from.Port(), c.to.Port()}
	r := x.half(&p, &target{}, k, forward)
	var actions []flows.Action
	if rule := s.use(r, flags&apps.FIN != 0); rule != nil && flags&apps.SYN == 0 {
		actions = rule.Actions
	} else {
		p := packet{from: c.from.String(), to: c.to.String(), flags: flags, seq: c.isn, at: topo.PortID{DPID: c.at, No: 9}}
		s.out = nil
		if !w.app.PacketIn(w.view, p.punted([]*apps.VIP{w.vip}), s) {
			w.fail("%v was not handled", p)
		}
		actions = s.out
	}
	if to, ok := setTo(actions, flows.IPv4Dst); ok {
		return uint32(to[3])
	}
	return 0
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, l := range w.log[max(0, len(w.log)-60):] {
		w.t.Log(l)
	}
	w.t.Fatalf(format, args...)
}

// mistakable reports whether the answers of another connection, one of the two being over unknown to its client, look alike.
func (w *world) mistakable(c *simClient) bool {
	for _, o := range w.clients {
		if o != c && o.from == c.from && o.backend == c.backend {
			return true
		}
	}
	return false
}

// step is one random event.
func (w *world) step() {
	c := w.clients[w.rnd.IntN(len(w.clients))]
	switch n := w.rnd.IntN(100); {
	case n < 25: // a new connection, or the last SYN once more
		if c.backend == 0 || c.fin || w.now-c.active >= simIdle-10 {
			c.isn, c.backend, c.fin = w.rnd.Uint32(), 0, false
		}
		to := w.send(c, apps.SYN)
		w.say("%d SYN %v at %d to %d", w.now, c, c.at, to)
		if c.backend != 0 && to != c.backend {
			w.fail("SYN of %v > %v went to %d, not %d", c.from, c.to, to, c.backend)
		}
		c.backend, c.active = to, w.now
	case n < 50: // data
		if c.backend == 0 {
			return
		}
		flags := uint8(apps.ACK)
		if w.rnd.IntN(6) == 0 {
			flags, c.fin = apps.ACK|apps.FIN, true
		}
		to := w.send(c, flags)
		w.say("%d data %v at %d to %d", w.now, c, c.at, to)
		live := !c.fin && w.now-c.active < simIdle-10
		if to != c.backend && (to != 0 || live) {
			w.fail("data of %v > %v went to %d, not %d", c.from, c.to, to, c.backend)
		}
		c.backend, c.active = to, w.now
	case n < 60: // an answer
		if c.backend == 0 || w.mistakable(c) {
			return
		}
		var x scratch
		b := target{addr: netip.AddrFrom4([4]byte{10, 0, 1, byte(c.backend)}).As16(), port: 8080}
		k := key{c.from.Addr().As16(), c.from.Port(), c.to.Port()}
		r := x.half(&plan{proto: apps.ProtoTCP, addr: c.to.Addr().As16()}, &b, k, reverse)
		fin := w.rnd.IntN(6) == 0
		if w.switches[c.at].use(r, fin) != nil {
			c.fin = c.fin || fin
			w.say("%d answer to %v at %d", w.now, c, c.at)
			c.active = w.now
		}
	case n < 75: // time
		w.deliver(true)
		w.now += uint32(1 + w.rnd.IntN(6))
		for _, d := range []flows.DPID{edge, second} {
			w.switches[d].expire()
		}
	case n < 80: // somebody deletes a rule
		s := w.switches[c.at]
		if rules := s.sorted(); len(rules) > 0 {
			x := rules[w.rnd.IntN(len(rules))]
			w.say("%d deleted %s", w.now, x.Rule)
			s.remove(x, apps.RemovedDelete)
			w.deliver(true) // an answer that finds no rule meanwhile would reach the client as it is
		}
	case n < 84: // the client's host moves, with all its ports
		to := edge + second - c.at
		w.sync() // the view has followed its last move
		w.now++  // ages of rules are in seconds
		for _, o := range w.clients {
			if o.from.Addr() == c.from.Addr() {
				o.at = to
			}
		}
		w.say("%d %v moves to %d", w.now, c.from.Addr(), to)
	case n < 90: // backends change
		w.setVIP(w.newVIP())
		w.say("%d backends change", w.now)
		w.sync()
	case n < 94:
		w.say("%d switch %d connects", w.now, c.at)
		w.connect(c.at)
	case n < 96:
		w.say("%d controller restarts", w.now)
		w.sync() // the view has followed the last move
		w.restart()
	default:
		w.deliver(false)
	}
}

// check compares the counts with the table, and the table with the switches.
func (w *world) check() {
	w.deliver(true)
	w.sync()
	w.deliver(true)
	live := map[uint32]int64{}
	rules := map[flows.DPID]map[string]bool{edge: {}, second: {}}
	s := (*w.app.services.Load())[7]
	p := s.plan.Load()
	var x scratch
	entries := 0
	shards := s.shards()
	for i := range shards {
		for k, e := range shards[i].conns.all {
			entries++
			live[e.backend]++
			t := p.target(e.backend)
			present := 0
			for _, h := range []halves{forward, reverse} {
				id := identity(x.half(p, t, k, h))
				rules[e.dpid][id] = true
				if w.switches[e.dpid].rules[id] != nil {
					present++
				} else if h == reverse || e.missing&h == 0 {
					w.fail("%v: half %d is not in switch %d", k, h, e.dpid)
				}
			}
			if present == 0 {
				w.fail("%v has no rule that could end", k)
			}
		}
	}
	for d, sw := range w.switches {
		for id := range sw.rules {
			if !rules[d][id] {
				w.fail("rule %s of switch %d is nobody's", id, d)
			}
		}
	}
	for b := uint32(1); b <= 4; b++ {
		if n, total := w.app.Connections(7, b); n != live[b] || total < n {
			w.fail("backend %d: %d live of %d, the table has %d", b, n, total, live[b])
		}
	}
	if n := s.size.Load(); n != int64(entries) || owned(w.app) != entries || len(w.app.List(7, 0)) != entries {
		w.fail("%d connections, size %d, %d answers claimed", entries, n, owned(w.app))
	}
}

// TestCountsAreExactAndConnectionsStay holds after any events: every connection counted is in the table, has its rules in one
// switch, and no rule is left over; no connection that lives changes its backend or is refused.
func TestCountsAreExactAndConnectionsStay(t *testing.T) {
	for _, idles := range []bool{true, false} {
		for seed := range uint64(60) {
			t.Run(fmt.Sprint(idles, seed), func(t *testing.T) {
				w := newWorld(t, seed, idles)
				for range 25 {
					for range 40 {
						w.step()
					}
					w.check()
				}
				for range 60 { // silence
					w.now += 6
					for _, d := range []flows.DPID{edge, second} {
						w.switches[d].expire()
					}
					w.deliver(true)
				}
				w.check()
				if n := len(w.app.List(7, 0)); n != 0 {
					w.fail("%d connections outlive their silence", n)
				}
			})
		}
	}
}

func (c *simClient) String() string {
	return fmt.Sprintf("%d>%d", c.from.Port()+1000*uint16(c.from.Addr().As4()[3]), c.to.Port())
}
