package nat

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// shardCount is how many locks a VIP's table has: many more than there are readers at a moment.
const shardCount = 32

// key is a connection of one VIP.
type key struct {
	client address
	port   uint16 // the client's
	vport  uint16 // the VIP's
}

// entry is what is known of a connection. Key and entry hold no pointers.
type entry struct {
	dpid    flows.DPID // the edge that has its pair
	backend uint32
	isn     uint32 // sequence number of its SYN, if begun
	sample  uint32 // packets of the half sampled
	since   uint32 // in seconds, as of [App.seconds]
	added   uint32 // likewise: when a packet-in last added the pair
	idle    uint16 // timeout that the half last removed had
	missing halves // rules that are not in the switch
	rested  halves // rules put back after they had been idle, not counting from then on
	sampled halves // half last asked for without an answer in seconds
	begun   bool   // its SYN has been seen; it is not adopted
}

type table [shardCount]shard

type shard struct {
	mu     sync.Mutex
	conns  open[key, entry]
	closed bool // the VIP is gone
	_      [56]byte
}

// counts of a backend; they outlive its plans.
type counts struct{ live, total atomic.Int64 }

type backendCounts struct {
	backend uint32
	*counts
}

// service is the runtime of a VIP. What the plan says holds for whoever has a shard's lock: Sync stores a new plan first and
// then visits every shard, so that no connection can be made by an old plan and stay behind.
type service struct {
	app   *App
	id    vip.ID
	plan  atomic.Pointer[plan]
	size  atomic.Int64 // of the table
	seed  maphash.Seed
	table atomic.Pointer[table] // nil before the first packet: of many VIPs most have none for long

	affinity atomic.Pointer[affinity] // nil before the first client that is bound

	mu     sync.Mutex
	counts []backendCounts    // by backend id, also of those that have left
	loads  map[uint32]float64 // of backends' ports, by id, for schedulers that go by them
}

func newService(a *App, v *apps.View, x *apps.VIP) *service {
	s := &service{app: a, id: x.ID, seed: maphash.MakeSeed()}
	s.plan.Store(newPlan(s, v, x, nil))
	return s
}

// shard is where a connection is kept, and its hash there.
func (s *service) shard(k key) (sh *shard, hash uint32) {
	t := s.table.Load()
	if t == nil {
		t = s.makeTable()
	}
	h := s.hash(k)
	return &t[h%shardCount], slotHash(h)
}

func (s *service) hash(k key) uint64 { return maphash.Comparable(s.seed, k) }

func (s *service) makeTable() *table {
	s.table.CompareAndSwap(nil, new(table))
	return s.table.Load()
}

// shards are all that have been made. One made after a plan was stored knows no older plan.
func (s *service) shards() []shard {
	if t := s.table.Load(); t != nil {
		return t[:]
	}
	return nil
}

// counted are the counts of a backend; backends are how many there are.
func (s *service) counted(backend uint32, backends int) *counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, known := s.place(backend)
	if !known {
		if s.counts == nil {
			s.counts = make([]backendCounts, 0, backends)
		}
		s.counts = slices.Insert(s.counts, i, backendCounts{backend, new(counts)})
	}
	return s.counts[i].counts
}

// place is where a backend's counts are, or would be. The caller holds mu.
func (s *service) place(backend uint32) (i int, known bool) {
	return slices.BinarySearchFunc(s.counts, backend, func(c backendCounts, id uint32) int { return cmp.Compare(c.backend, id) })
}

// scheduler is the one of the last plan as long as the VIP names it.
func (s *service) scheduler(x *apps.VIP, old *plan) vip.Scheduler {
	if old != nil && old.vip.Spec.Scheduler == x.Spec.Scheduler {
		return old.scheduler
	}
	sched, err := vip.NewScheduler(x.Spec.Scheduler, s.app.cfg.Seed^uint64(x.ID))
	if err != nil { // validation lets none through but in tests
		sched, _ = vip.NewScheduler(vip.TwoChoices, s.app.cfg.Seed^uint64(x.ID))
	}
	return sched
}

// refusal is why no connection was made.
type refusal uint8

const (
	accepted refusal = iota
	noBackend
	full
	clash
	astray
)

// make makes a new connection: it chooses a backend and enters the connection, whose shard is locked.
func (s *service) make(sh *shard, hash uint32, p *plan, k key, in *apps.Punted) (*target, entry, refusal) {
	f := in.Frame
	first, ok := s.choose(p, k, vip.Flow{Client: f.Src, ClientPort: f.SrcPort, VIPPort: f.DstPort})
	if !ok {
		return nil, entry{}, noBackend
	}
	if !s.app.hasRoom(in.At.DPID) {
		return nil, entry{}, full
	}
	if s.size.Add(1) > int64(s.app.cfg.MaxConnections) {
		s.size.Add(-1)
		return nil, entry{}, full
	}
	why := clash
	for i := range p.targets {
		t := &p.targets[(first+i)%len(p.targets)]
		switch {
		case !t.takes:
			continue
		case t.addr == k.client && t.at != in.At:
			why = astray
			continue
		case !s.app.tuples.claim(p.answer(t, k), tupleOwner{s.id, k.vport, t.addr == k.client}):
			continue
		}
		now := s.app.came(in)
		e := entry{dpid: in.At.DPID, backend: t.id, isn: f.Seq, begun: true, since: now, added: now, idle: p.idle}
		s.enter(sh, hash, t, k, e)
		return t, e, accepted
	}
	s.size.Add(-1)
	return nil, entry{}, why
}

// enter counts a connection whose size and answers have been claimed.
func (s *service) enter(sh *shard, hash uint32, t *target, k key, e entry) {
	sh.conns.set(hash, k, e)
	t.counts.live.Add(1)
	t.counts.total.Add(1)
}

// end ends a connection, whose shard is locked.
func (s *service) end(sh *shard, p *plan, t *target, k key) {
	sh.conns.remove(slotHash(s.hash(k)), k)
	s.app.tuples.release(p.answer(t, k))
	t.counts.live.Add(-1)
	s.size.Add(-1)
}

// answer is the 5-tuple of the backend's answers.
func (p *plan) answer(t *target, k key) fiveTuple {
	peer := k.client
	if t.addr == k.client {
		peer = p.addr
	}
	return fiveTuple{t.addr, peer, t.listens(k.vport), k.port, uint16(p.proto)}
}

// came is when a packet-in came: what comes together is spared a look at the clock for each.
func (a *App) came(in *apps.Punted) uint32 {
	if in.Came.IsZero() {
		return a.now()
	}
	return a.seconds(in.Came)
}

func (a *App) now() uint32 { return a.seconds(a.cfg.Now()) }

// clockAhead is by how many seconds the clock has been set since the start. One may be for want of roundness.
func (a *App) clockAhead() int64 {
	now := a.cfg.Now()
	if by := now.Unix() - int64(a.seconds(now)); by < -1 || by > 1 {
		return by
	}
	return 0
}

// seconds is a time in seconds: Unix time, which goes on from the start though the clock be set. Else what is idle could pass for busy.
func (a *App) seconds(t time.Time) uint32 {
	return uint32((a.began + int64(a.elapsed(t))) / int64(time.Second))
}
