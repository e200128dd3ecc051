package nat

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// DefaultMaxConnections is how many connections a VIP may have unless [Config] says otherwise.
const DefaultMaxConnections = 1 << 20

// DefaultMaxClients is how many clients of a VIP may be bound to a backend unless [Config] says otherwise.
const DefaultMaxClients = 1 << 18 // a multiple of shardCount

// DefaultFinTimeout is the idle timeout in seconds of a rule that has seen a FIN or RST. It is longer than the 10 s for
// which Open vSwitch caches a flow: a client's port used again meanwhile would be served from the cache, past the rules.
const DefaultFinTimeout = 12

// Config is how an App works; the zero Config works.
type Config struct {
	MaxConnections int              // per VIP, 0: DefaultMaxConnections; more are refused and counted
	MaxClients     int              // per VIP with affinity, 0: DefaultMaxClients; others have none, and are counted
	FinTimeout     uint16           // seconds, 0: DefaultFinTimeout
	Seed           uint64           // of the schedulers; the same seed and VIP id make the same choices
	Now            func() time.Time // nil: time.Now
}

// App is mode nat. Its methods may be called from many goroutines at a time; none blocks.
type App struct {
	cfg      Config
	counters counters
	tuples   *tuples
	began    int64                         // Unix time in nanoseconds
	elapsed  func(time.Time) time.Duration // since then
	scratch  sync.Pool                     // of *scratch
	answers  sync.Pool                     // of *[]byte

	services atomic.Pointer[map[vip.ID]*service]   // replaced whole, under mu
	full     atomic.Pointer[map[flows.DPID]uint32] // until when switches get no new connections, Unix time in seconds; likewise

	mu        sync.Mutex
	closed    map[vip.ID]bool // ids are never used again, but a reader may still have a view with one
	leftovers []leftover
}

var (
	_ apps.App               = (*App)(nil)
	_ apps.PacketInHandler   = (*App)(nil)
	_ apps.ConnectionHandler = (*App)(nil)
	_ apps.Explainer         = (*App)(nil)
)

// New makes the app.
func New(cfg Config) *App {
	if cfg.MaxConnections == 0 {
		cfg.MaxConnections = DefaultMaxConnections
	}
	if cfg.MaxClients == 0 {
		cfg.MaxClients = DefaultMaxClients
	}
	if cfg.FinTimeout == 0 {
		cfg.FinTimeout = DefaultFinTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	began := cfg.Now()
	a := &App{cfg: cfg, tuples: newTuples(), began: began.UnixNano(), elapsed: func(t time.Time) time.Duration { return t.Sub(began) },
		closed: map[vip.ID]bool{}}
	a.scratch.New = func() any { return new(scratch) }
	a.answers.New = func() any { return new([]byte) }
	a.services.Store(&map[vip.ID]*service{})
	return a
}

// Name is "nat".
func (a *App) Name() string { return string(vip.ModeNAT) }

// handles reports whether a VIP is of this app.
func handles(x *apps.VIP) bool {
	return x != nil && x.Spec.Mode == vip.ModeNAT && x.Proto() != 0
}

// service is the VIP's service, made when the view has one that Sync has not told of yet; nil if there is none.
func (a *App) service(v *apps.View, id vip.ID) *service {
	if s := (*a.services.Load())[id]; s != nil {
		return s
	}
	x := v.VIP(id)
	if !handles(x) {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open(v, x)
}

// open is service with mu held.
func (a *App) open(v *apps.View, x *apps.VIP) *service {
	services := *a.services.Load()
	if s := services[x.ID]; s != nil || a.closed[x.ID] {
		return s
	}
	s := newService(a, v, x)
	next := maps.Clone(services)
	next[x.ID] = s
	a.services.Store(&next)
	return s
}

// nicira reports whether a switch knows Nicira's extensions. One that the view does not have yet is taken for an Open
// vSwitch.
func nicira(v *apps.View, d flows.DPID) bool {
	i, known := v.Switches[d]
	return !known || i.Nicira
}

// Counters count packet-ins by what came of them.
type Counters struct {
	Connections uint64 // new ones
	Known       uint64 // of a connection in the table, whose pair was put back
	Closed      uint64 // refused: no VIP at that port
	NoBackend   uint64 // refused: none is up
	Unknown     uint64 // refused: no SYN, and of no known connection
	Full        uint64 // refused: the VIP has MaxConnections, or the switch no room for rules
	Clash       uint64 // refused: at every backend the client's address and port are in use by another connection
	Astray      uint64 // dropped: from a backend's address at another place than the backend's
	Fragments   uint64 // dropped: without ports no connection can be told
	Anew        uint64 // dropped once: from a port that has a connection to a backend that takes no more
	Unbound     uint64 // new ones of clients without affinity, for want of room
}

type counters struct {
	connections, known, closed, noBackend, unknown, full, clash, astray, fragments, unbound, anew atomic.Uint64
}

// Counters are the counts so far.
func (a *App) Counters() Counters {
	c := &a.counters
	return Counters{
		Connections: c.connections.Load(), Known: c.known.Load(), Closed: c.closed.Load(), NoBackend: c.noBackend.Load(),
		Unknown: c.unknown.Load(), Full: c.full.Load(), Clash: c.clash.Load(), Astray: c.astray.Load(), Fragments: c.fragments.Load(),
		Unbound: c.unbound.Load(), Anew: c.anew.Load(),
	}
}
