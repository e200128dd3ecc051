package health

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

const (
	jitterPart = 10                     // a probe is sent up to a tenth of its interval after its slot
	together   = 5 * time.Millisecond   // what falls due within it is sent together
	stall      = 200 * time.Millisecond // being so late ourselves is no fault of any backend
	hearAgain  = 100 * time.Millisecond // between two looks whether a silent switch has been heard
)

// Switches are the way to backends. Neither method may block.
type Switches interface {
	// Send sends a frame out of a port; false: the switch has no session.
	Send(at topo.PortID, frame []byte) bool
	// Heard rises whenever something has come from a switch and has been worked off.
	Heard(d flows.DPID) uint64
	// Lag is how long a switch takes now to answer anything: what else goes to it and comes from it may keep a probe waiting.
	Lag(d flows.DPID) time.Duration
}

// Config is how a Prober works. Switches is required.
type Config struct {
	Switches Switches
	Now      func() time.Time // nil: time.Now
	Rand     func() uint64    // nil: of math/rand/v2
}

// Prober probes the backends of VIPs. Its methods may be called from many goroutines at a time; none but Run blocks.
type Prober struct {
	cfg     Config
	changed chan struct{} // has a value when a verdict has changed
	woken   chan struct{} // has a value when the schedule has changed

	mu       sync.Mutex
	probes   map[target]*probe
	byWhat   map[what][]*probe
	schedule schedule
	restored map[what]string // reasons of what was down at the end of a former run, until the first view
	expected time.Time       // when tick is to be called next
	begun    int             // targets that there have been
	counts   map[string]*counts
	strays   strays
}

// New makes a Prober without targets.
func New(cfg Config) *Prober {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Uint64
	}
	return &Prober{cfg: cfg, changed: make(chan struct{}, 1), woken: make(chan struct{}, 1), probes: map[target]*probe{},
		byWhat: map[what][]*probe{}, counts: map[string]*counts{}}
}

// packet is a probe to be sent out of a port.
type packet struct {
	at    topo.PortID
	frame []byte
	probe *probe
	sent  uint32 // of the probe
}

// Run sends probes until ctx ends.
func (p *Prober) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.woken:
		case <-timer.C:
		}
		packets, next := p.tick(p.cfg.Now())
		for _, x := range packets {
			p.handed(x, p.cfg.Switches.Send(x.at, x.frame))
		}
		wait := time.Hour
		if !next.IsZero() {
			wait = max(next.Sub(p.cfg.Now()), together)
		}
		timer.Reset(wait)
	}
}

// tick does what has fallen due: it returns the probes to send, and when it wants to be called next; the zero time: when there is
// a target.
func (p *Prober) tick(now time.Time) (out []packet, next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgive(now)
	for len(p.schedule) > 0 && !p.schedule[0].next.After(now) {
		x := p.schedule[0]
		if x.waiting {
			p.overdue(now, x)
			continue
		}
		if k, ok := p.begin(now, x); ok {
			out = append(out, k)
		}
	}
	p.expected = time.Time{}
	if len(p.schedule) > 0 {
		p.expected = p.schedule[0].next
	}
	return out, p.expected
}

// overdue ends the wait for an answer, unless the way to the switch and back takes so long, which is no fault of the backend, or nothing at all has come from the switch since it was asked: then it is the switch
// that may be hung, or we that have not read yet. Its session ends if it stays so.
func (p *Prober) overdue(now time.Time, x *probe) {
	if due := x.due.Add(p.cfg.Switches.Lag(x.at.DPID)); due.After(now) {
		p.schedule.at(x, due)
		return
	}
	if p.cfg.Switches.Heard(x.at.DPID) == x.heard {
		p.schedule.at(x, now.Add(hearAgain))
		return
	}
	p.failed(now, x, timedOut)
	p.resume(now, x)
}

// forgive gives all that are waited for more time, if it is us who come late: then their answers may be waiting too.
func (p *Prober) forgive(now time.Time) {
	late := now.Sub(p.expected)
	if p.expected.IsZero() || late < stall {
		return
	}
	p.strays.stalls++
	for _, x := range p.schedule {
		if x.waiting {
			x.next, x.due = x.next.Add(late), x.due.Add(late)
		}
	}
	heap.Init(&p.schedule)
}

// begin sends a probe, which is waited for from now on.
func (p *Prober) begin(now time.Time, x *probe) (packet, bool) {
	x.sent++
	x.secret = newSecret(p.cfg.Rand(), x.sent)
	b, err := frame(x.what, x.place, x.secret)
	if err != nil { // of addresses that no backend can have
		p.strays.unsent++
		p.resume(now, x)
		return packet{}, false
	}
	x.waiting, x.heard = true, p.cfg.Switches.Heard(x.at.DPID)
	x.due = now.Add(x.timeout)
	p.schedule.at(x, x.due)
	return packet{x.at, b, x, x.sent}, true
}

// handed notes that a probe has been given to its switch, or takes it back.
func (p *Prober) handed(k packet, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		p.countsOf(k.probe.Type).sent++
		return
	}
	p.strays.unsent++
	if x := k.probe; x.waiting && x.sent == k.sent {
		p.resume(p.cfg.Now(), x)
	}
}

// resume waits for the probe's next slot. Slots keep their distances, also over times in which nothing could be sent.
func (p *Prober) resume(now time.Time, x *probe) {
	x.waiting = false
	if x.reach != here {
		p.schedule.remove(x)
		return
	}
	pace := x.pace(x.target)
	away := now.Sub(x.slot) % pace // slots may be far off, in the past or in the future
	x.slot = now.Add(-away)
	if !x.slot.After(now) {
		x.slot = x.slot.Add(pace)
	}
	jitter := time.Duration(p.cfg.Rand() % uint64(max(pace/jitterPart, 1)))
	p.schedule.at(x, x.slot.Add(jitter))
}

// failed and passed note what has become of a probe.
func (p *Prober) failed(now time.Time, x *probe, why failure) {
	p.countsOf(x.Type).failed[why]++
	if x.state.failed(now, x.target, why) {
		wake(p.changed)
	}
}

func (p *Prober) passed(now time.Time, x *probe) {
	p.countsOf(x.Type).answered++
	if x.state.passed(now, x.target) {
		wake(p.changed)
	}
}

// Follow takes the targets and their places from a view.
func (p *Prober) Follow(v *apps.View) {
	wanted := targets(v)
	now := p.cfg.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	var fresh []target
	for t := range wanted {
		if p.probes[t] == nil {
			fresh = append(fresh, t)
		}
	}
	slices.SortFunc(fresh, compareTargets)
	for _, t := range fresh {
		p.add(now, t)
	}
	for t, x := range p.probes {
		if at, stays := wanted[t]; stays {
			p.put(now, x, at)
		} else {
			p.remove(x)
		}
	}
	p.restored = nil
	wake(p.woken)
}

func compareTargets(a, b target) int {
	return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Type, b.Type), cmp.Compare(a.interval, b.interval),
		cmp.Compare(a.timeout, b.timeout), cmp.Compare(a.rise, b.rise), cmp.Compare(a.fall, b.fall))
}

// add makes a target, which inherits what is known of it. Slots follow each other in steps of the golden ratio of the interval, so
// that they are spread evenly over it however many there are.
func (p *Prober) add(now time.Time, t target) {
	_, part := math.Modf(float64(p.begun) / math.Phi)
	p.begun++
	x := &probe{target: t, index: -1, slot: now.Add(time.Duration(part*float64(t.interval)) - t.interval), sent: uint32(p.cfg.Rand())}
	x.state = p.known(t.what)
	p.probes[t] = x
	p.byWhat[t.what] = append(p.byWhat[t.what], x)
}

// known is what is known of a target that is probed in another way, or was in a former run.
func (p *Prober) known(w what) state {
	if all := p.byWhat[w]; len(all) > 0 {
		s := all[0].state
		s.streak = 0
		return s
	}
	reason, down := p.restored[w]
	return state{down: down, reason: reason}
}

func (p *Prober) remove(x *probe) {
	p.schedule.remove(x)
	delete(p.probes, x.target)
	rest := slices.DeleteFunc(p.byWhat[x.what], func(y *probe) bool { return y == x })
	p.byWhat[x.what] = rest
	if len(rest) == 0 {
		delete(p.byWhat, x.what)
	}
}

// put notes where a target is now. One that cannot be reached for want of a session keeps its state, also while its host, which
// nobody could hear meanwhile, has not been heard again.
func (p *Prober) put(now time.Time, x *probe, at placed) {
	was := placed{x.place, x.reach}
	if was == at {
		return
	}
	x.place, x.reach = at.place, at.reach
	x.lenient = at.reach == here
	lost := at.reach == gone || at.reach == silent && was.reach == here
	if lost && x.lost(now, x.target) {
		wake(p.changed)
	}
	p.resume(now, x)
}

// Changed has a value when a verdict has changed since it was last received from.
func (p *Prober) Changed() <-chan struct{} { return p.changed }

// Verdict says whether a backend of a VIP is down because its probes have failed, and why.
func (p *Prober) Verdict(x *vip.VIP, b *vip.Backend) (down bool, reason string) {
	t, probed := targetOf(x, b)
	if !probed {
		return false, ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if y := p.probes[t]; y != nil {
		return y.down, y.reason
	}
	s := p.known(t.what)
	return s.down, s.reason
}

// wake puts a value into a channel that holds one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
