package engine

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// stepper is an engine with a VIP of mode deferred whose backends are as the test says, and a switch that the test speaks for.
type stepper struct {
	*Engine
	t    *testing.T
	now  time.Time
	view *apps.View
	x    *apps.VIP
}

func newStepper(t *testing.T, handover int) *stepper {
	p := &stepper{t: t, now: time.Unix(1000, 0)}
	log := logrus.New()
	log.SetOutput(io.Discard)
	e, err := New(Config{Store: store.Memory(), Log: log, Now: func() time.Time { return p.now }})
	if err != nil {
		t.Fatal(err)
	}
	s := spec("web", "10.0.0.100", "a=10.0.0.1", "b=10.0.0.2", "c=10.0.0.3")
	s.Mode, s.HandOver = vip.ModeDeferred, handover
	if _, err := e.createVIP(s, apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.Engine = e
	v := e.newView()
	p.x = v.VIPs[0]
	p.view = apps.NewView(v.Topo, map[flows.DPID]apps.SwitchInfo{1: {DPID: 1, Nicira: true, OF15: true, Deferred: 1, Mirror: 2}},
		[]*apps.VIP{p.x})
	p.up("")
	p.send()
	return p
}

// up says which backends take connections, a letter each; a capital drains, and those left out are dead.
func (p *stepper) up(names string) {
	for i := range p.x.Backends {
		b := &p.x.Backends[i]
		b.Host = &topo.Host{MAC: flows.MAC{2, byte(i)}, At: topo.PortID{DPID: 1, No: uint32(i)}}
		b.State = vip.StateDown
		for _, r := range names {
			switch string(r) {
			case b.Name:
				b.State = vip.StateUp
			case string(b.Name[0] - 'a' + 'A'):
				b.State = vip.StateDraining
			}
		}
	}
}

func (p *stepper) send() uint64 {
	p.status.mu.Lock()
	defer p.status.mu.Unlock()
	return p.status.acks.send(p.view, []apps.Owner{vipOwner(p.x.VIP)})
}

func all(age) bool { return true }

// look is what the loop does, and what is stored by it; confirm says whether the switch confirms that.
func (p *stepper) look(confirm bool) string {
	p.t.Helper()
	p.generations.due = time.Time{}
	next := p.nextGenerations(p.view, p.x, p.now)
	if next != p.x.Generations {
		if err := p.storeGenerations(map[vip.ID]*vip.Generations{p.x.ID: next}); err != nil {
			p.t.Fatal(err)
		}
		p.generations.confirmed[p.x.ID] = time.Time{}
		p.x.Generations = next
		seq := p.send()
		if confirm {
			p.status.mu.Lock()
			p.status.acks.confirm(1, vipOwner(p.x.VIP), seq, nil)
			p.status.mu.Unlock()
		}
	}
	if next == nil {
		return "none"
	}
	out := string(next.Step)
	for _, k := range next.Kept {
		out += fmt.Sprintf(" %d:", k.ID)
		for _, m := range k.Members {
			for _, b := range p.x.Backends {
				if b.ID == m.Backend {
					out += b.Name
				}
			}
		}
	}
	return out
}

func (p *stepper) after(d time.Duration, confirm bool, want string) {
	p.t.Helper()
	p.now = p.now.Add(d)
	if got := p.look(confirm); got != want {
		p.t.Fatalf("%s, want %s", got, want)
	}
}

// through goes through all steps of a change.
func (p *stepper) through(names, want string) {
	p.t.Helper()
	p.up(names)
	for range 20 {
		p.now = p.now.Add(cacheLag)
		p.look(true)
	}
	p.after(0, true, want)
}

// A change is held back for others to join it, and each of its steps waits for the switch and for what it has cached.
func TestSteps(t *testing.T) {
	p := newStepper(t, 32)
	p.after(0, true, "none")
	p.up("a")
	p.after(0, true, "none")
	p.up("ab")
	p.after(mergeWindow/2, true, "none")
	p.after(mergeWindow/2, false, "prepare 1:ab")
	p.after(time.Hour, false, "prepare 1:ab") // the switch does not confirm
	p.status.mu.Lock()
	p.status.acks.confirm(1, vipOwner(p.x.VIP), p.status.acks.seq, nil)
	p.status.mu.Unlock()
	p.after(0, true, "prepare 1:ab")
	p.up("abc") // waits for the change that is under way
	p.after(cacheLag-1, true, "prepare 1:ab")
	p.after(1, true, "flip 1:ab")
	p.after(0, true, "flip 1:ab")
	p.after(cacheLag, true, "settle 1:ab")
	p.after(0, true, "settle 1:ab")
	p.after(cacheLag, true, "steady 1:ab")
	p.after(0, true, "steady 1:ab")
	p.after(mergeWindow, true, "prepare 2:abc 1:ab")
	// One that dies leaves at once, in the midst of a change, and is in none when it is back.
	p.up("ac")
	p.after(0, true, "prepare 2:ac 1:a")
	p.through("ac", "steady 2:ac 1:a")
	p.through("abc", "steady 3:abc 2:ac 1:a")
	p.through("aBc", "steady 4:ac 3:abc 2:ac 1:a")
}

// Affinity that comes or goes is a change of its own.
func TestStepsToAffinity(t *testing.T) {
	p := newStepper(t, 32)
	p.through("ab", "steady 1:ab")
	p.x.Spec.Affinity = &vip.Affinity{Timeout: vip.Duration(time.Minute)}
	p.through("ab", "steady 2:ab 1:ab")
	if k := p.x.Generations.Kept; !k[0].Clients || k[1].Clients {
		t.Errorf("%+v", k)
	}
	p.x.Spec.Affinity = nil
	p.through("ab", "steady 3:ab 2:ab 1:ab")
}

// A switch that has just gone is waited for.
func TestStepsWaitForMissing(t *testing.T) {
	p := newStepper(t, 32)
	p.generations.missing[7] = p.now.Add(absence)
	p.up("a")
	p.after(0, true, "none")
	p.after(mergeWindow, true, "prepare 1:a")
	p.after(absence-mergeWindow-1, true, "prepare 1:a")
	if due := p.generations.due; due.Sub(p.now) != 1 {
		t.Errorf("the next look is in %v", due.Sub(p.now))
	}
	p.after(1, true, "prepare 1:a")
	p.after(cacheLag, true, "flip 1:a")
}

// By what a switch had that is away it may still choose: that generation is noted with new connections, and kept, until it is back.
func TestStepsBehind(t *testing.T) {
	p := newStepper(t, 32)
	p.x.Spec.HandOverIdle = vip.Duration(time.Minute)
	p.through("a", "steady 1:a")
	leave := func(names string) {
		p.generations.missing[7] = p.now.Add(absence)
		p.up(names)
		for range 8 {
			p.now = p.now.Add(absence)
			p.look(true)
		}
	}
	leave("ab")
	p.through("abc", "steady 3:abc 2:ab 1:a")
	if g := p.x.Generations; g.Behind != 1 || g.Age() != 1 {
		t.Errorf("behind %d, age %d", g.Behind, g.Age())
	}
	p.after(10*time.Minute, true, "steady 3:abc 2:ab 1:a") // nobody has heard of any
	delete(p.generations.missing, 7)
	p.after(0, true, "settle 3:abc 2:ab 1:a")
	p.after(0, true, "settle 3:abc 2:ab 1:a")
	p.after(cacheLag, true, "steady 3:abc 2:ab 1:a")
	if g := p.x.Generations; g.Behind != 0 || g.Age() != 3 {
		t.Errorf("behind %d, age %d", g.Behind, g.Age())
	}
	p.tally.noteAges(1, p.now.Add(time.Minute), nil, all)
	p.after(time.Minute, true, "steady 3:abc")
	// One that does not come back is left behind after an hour.
	leave("abC")
	p.after(0, true, "steady 4:ab 3:abc")
	p.after(awayMost-10*absence, true, "steady 4:ab 3:abc")
	p.after(10*absence, true, "settle 4:ab 3:abc")
}

// When as many generations are kept as may be a change waits until the oldest is silent, has a twin, or is dropped by the operator.
func TestStepsAtTheLimit(t *testing.T) {
	p := newStepper(t, 3)
	p.through("a", "steady 1:a")
	p.through("ab", "steady 2:ab 1:a")
	p.through("abc", "steady 3:abc 2:ab 1:a")
	p.through("aBc", "steady 3:abc 2:ab 1:a")
	if _, waits := changing(p.view, p.x); waits == "" {
		t.Error("nobody is told that a change waits")
	}
	heard := p.now.Add(30 * time.Minute)
	p.tally.ages[age{p.x.ID, 1}] = heard
	read := func(at time.Time) { p.tally.noteAges(1, at, nil, all) }
	read(p.now.Add(3 * time.Hour))
	p.after(61*time.Minute, true, "steady 3:abc 2:ab 1:a") // 2 is silent, but not the oldest
	heard = heard.Add(30 * time.Minute)
	p.tally.ages[age{p.x.ID, 0}] = heard // of a generation that went when pins had made it needless
	p.now = heard.Add(time.Hour - 10*time.Second)
	p.through("aBc", "steady 3:abc 2:ab 1:a")
	read(heard)
	p.now = heard.Add(time.Hour)
	p.through("aBc", "steady 3:abc 2:ab 1:a") // nobody has looked whether it is silent
	read(p.now.Add(time.Hour))
	p.through("aBc", "steady 4:ac 3:abc")
	p.through("abc", "steady 5:abc 4:ac 3:abc")
	p.through("Abc", "steady 6:bc 5:abc 4:ac") // 3 was the same as 5
	p.through("aBc", "steady 6:bc 5:abc 4:ac")
	if err := p.storeGenerations(p.dropOldest(p.x.VIP)); err != nil {
		t.Fatal(err)
	}
	p.x.Generations = p.generations.all[p.x.ID]
	p.through("aBc", "steady 7:ac 6:bc 5:abc")
	p.through("abC", "steady 7:ac 6:bc 5:abc") // once alone
	p.up("ab")                                 // a death does not wait
	p.after(0, true, "steady 7:a 6:b 5:ab")
}

// noVIPStore has no room for VIPs while it is broken.
type noVIPStore struct {
	store.Store
	broken bool
}

type noVIPTx struct{ store.Tx }

func (s *noVIPStore) Update(f func(store.Tx) error) error {
	return s.Store.Update(func(tx store.Tx) error {
		if s.broken {
			tx = noVIPTx{tx}
		}
		return f(tx)
	})
}

func (tx noVIPTx) Put(bucket, key string, value []byte) error {
	if bucket == store.BucketVIPs {
		return errors.New("disk is full")
	}
	return tx.Tx.Put(bucket, key, value)
}

// A change that waits has been written: who writes it again, to have the oldest generation dropped for it, writes nothing new.
func TestDropOldestOfAChangeThatWaits(t *testing.T) {
	now := time.Unix(1000, 0)
	log := logrus.New()
	log.SetOutput(io.Discard)
	fixed, ports := map[topo.PortID]topo.Fixed{}, []topo.Port{}
	for no := range uint32(3) {
		fixed[topo.PortID{DPID: 1, No: no + 1}] = topo.Fixed{Kind: topo.Edge}
		ports = append(ports, topo.Port{No: no + 1, Up: true})
	}
	st := &noVIPStore{Store: store.Memory()}
	e, err := New(Config{Store: st, Log: log, Topo: topo.Config{Ports: fixed}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	e.topo.SwitchUp(now, 1, ports)
	for i, a := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
		e.topo.Sighting(now, topo.Sighting{At: topo.PortID{DPID: 1, No: uint32(i) + 1}, MAC: flows.MAC{2, byte(i)}, Addr: netip.MustParseAddr(a)})
	}
	s := spec("web", "10.0.0.100", "a=10.0.0.1", "b=10.0.0.2", "c=10.0.0.3")
	s.Mode, s.HandOver = vip.ModeDeferred, 2
	if _, err := e.createVIP(s, apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	newest := func() (id uint32) {
		for range 20 {
			now = now.Add(cacheLag)
			e.settle()
		}
		return e.generations.all[1].Newest().ID
	}
	write := func(opt apps.WriteOptions, drained ...int) {
		t.Helper()
		mutate := func(s *vip.Spec) error {
			for _, i := range drained {
				s.Backends[i].Admin = vip.Draining
			}
			return nil
		}
		if _, err := e.updateVIP("web", opt, mutate); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []uint32{1, 2, 2} {
		if got := newest(); got != want {
			t.Fatalf("after %d changes: generation %d, want %d", i, got, want)
		}
		write(apps.WriteOptions{}, min(i, 1))
	}
	if r, err := e.VIP("web"); err != nil || r.Status.HandOver.Waiting == "" {
		t.Fatalf("the change does not wait: %+v, %v", r.Status, err)
	}
	write(apps.WriteOptions{DropOldest: true, DryRun: true})
	if got := newest(); got != 2 {
		t.Errorf("a dry run has begun generation %d", got)
	}
	st.broken = true
	if _, err := e.updateVIP("web", apps.WriteOptions{DropOldest: true}, func(s *vip.Spec) error { s.Backends[2].Admin = vip.Draining; return nil }); err == nil {
		t.Error("written to a store that is broken")
	}
	if got := newest(); got != 2 {
		t.Errorf("a write that failed has begun generation %d", got)
	}
	st.broken = false
	write(apps.WriteOptions{DropOldest: true})
	if got := newest(); got != 3 {
		t.Errorf("generation %d, want 3: the oldest is not dropped", got)
	}
}

// What was stored is there after a restart.
func TestGenerationsOutliveRestart(t *testing.T) {
	p := newStepper(t, 32)
	p.through("a", "steady 1:a")
	p.up("ab")
	p.after(0, true, "steady 1:a")
	p.after(mergeWindow, true, "prepare 2:ab 1:a")
	e, err := New(Config{Store: p.cfg.Store, Log: p.log, Now: p.cfg.Now})
	if err != nil {
		t.Fatal(err)
	}
	if g := e.generations.all[p.x.ID]; g == nil || g.Step != vip.StepPrepare || g.Last != 2 || len(g.Kept) != 2 {
		t.Errorf("%+v", g)
	}
	if err := e.deleteVIP("web", apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if e, err = New(Config{Store: p.cfg.Store, Log: p.log, Now: p.cfg.Now}); err != nil || len(e.generations.all) != 0 {
		t.Errorf("of a deleted VIP: %v, %v", e.generations.all, err)
	}
}
