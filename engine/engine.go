package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/health"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// Mount is an app with the class that its rules' cookies carry. An app that also is a [apps.PacketInHandler] or a
// [apps.ConnectionHandler] gets the packet-ins and connection rules of its class.
type Mount struct {
	Class apps.Class
	App   apps.App
}

// Config is what an engine needs. Store, Apps and Log are required.
type Config struct {
	Controller controller.Config // Kind is set by the engine
	Topo       topo.Config       // Key is taken from the store
	Store      store.Store
	Apps       []Mount
	Routes     apps.Routes                      // likewise
	Routers    []apps.Router                    // of the configuration file
	FileVIPs   []vip.Spec                       // of the configuration file; nil: there is no file, the VIPs of an earlier one stay
	DropReason func(*flows.Rule) (string, bool) // names a rule made to drop; nil: none is named
	Log        logrus.FieldLogger
	Now        func() time.Time // the clock; nil: time.Now

	PollInterval time.Duration // between two readings of a switch's counters; 0: 1 s
	Watching     apps.Watching // how loads of ports are compared; without an interval they are not
}

// Engine is the loop. Its methods may be called from any goroutine.
type Engine struct {
	cfg         Config
	log         logrus.FieldLogger
	ctl         *controller.Controller
	apps        []apps.App
	health      *health.Prober
	packetIn    [256]apps.PacketInHandler
	prefetch    [256]apps.Prefetcher
	bursts      sync.Pool // of packet-ins, *burst
	connections [256]apps.ConnectionHandler

	queue       *queue
	stopped     chan struct{} // closed when the loop has ended
	events      *eventLog
	undelivered undelivered
	topoCounts  atomic.Pointer[topo.Counters]
	usurpers    atomic.Pointer[[]topo.Sighting]

	view      atomic.Pointer[apps.View]
	status    *status
	stats     *controller.Stats
	courses   *courses
	drops     *dropCounts
	owed      owed
	tally     *tally
	shares    shares
	imbalance *imbalance

	// The loop's own.
	model       *model
	topo        *topo.Topology
	switches    map[flows.DPID]*session
	sought      map[netip.Addr]bool // addresses of backends and gateways
	settled     settled
	shared      shared
	generations *generations
	notes       *notes
	relief      *relief
	origins     *origins
	agents      *agents
	told        liveTold
	debts       debts
	saved       saver
	drains      drains
	verdicts    verdicts
}

// New loads the model from the store and computes the first view. Nothing is sent or listened to before Run.
func New(cfg Config) (*Engine, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.PollInterval <= 0 {
		cfg.PollInterval = pollInterval
	}
	e := &Engine{
		cfg: cfg, log: cfg.Log, queue: newQueue(), stopped: make(chan struct{}),
		status: newStatus(), stats: controller.NewStats(), courses: newCourses(), drops: newDropCounts(), tally: newTally(), switches: map[flows.DPID]*session{}, shared: shared{},
		generations: newGenerations(), relief: newRelief(), origins: newOrigins(), agents: newAgents(), notes: newNotes(),
	}
	e.imbalance = newImbalance(cfg.Watching, cfg.Now())
	e.health = health.New(health.Config{Switches: probeWay{e}, Now: cfg.Now})
	for _, m := range append(slices.Clip(cfg.Apps), Mount{apps.ClassHealth, e.health}) {
		e.apps = append(e.apps, m.App)
		if h, ok := m.App.(apps.PacketInHandler); ok {
			e.packetIn[m.Class] = h
		}
		if p, ok := m.App.(apps.Prefetcher); ok {
			e.prefetch[m.Class] = p
		}
		if h, ok := m.App.(apps.ConnectionHandler); ok {
			e.connections[m.Class] = h
		}
	}
	cfg.Controller.Kind = ruleKind
	cfg.Controller.Log = cfg.Log
	cfg.Controller.OwnMeter = apps.OwnMeter
	cfg.Controller.OwnGroup = apps.OwnGroup
	cfg.Controller.AuditCookie, cfg.Controller.AuditMask = apps.DesiredCookies()
	e.ctl = controller.New(cfg.Controller, e)
	var err error
	if e.events, err = loadEvents(cfg.Store, cfg.Log); err != nil {
		return nil, fmt.Errorf("load events: %w", err)
	}
	if err := e.load(); err != nil {
		return nil, fmt.Errorf("load state: %w", err)
	}
	e.settle()
	return e, nil
}

// ruleKind tells the controller how a rule is kept, by its cookie.
func ruleKind(cookie uint64) controller.RuleKind {
	kind, _, _, ours := apps.SplitCookie(cookie)
	switch {
	case !ours:
		return controller.Foreign
	case kind == apps.KindConnection:
		return controller.Connection
	case kind == apps.KindLearned:
		return controller.Learned
	}
	return controller.Desired
}

// Run listens for switches and turns the loop until ctx ends. It returns nil after a clean stop.
func (e *Engine) Run(ctx context.Context) error {
	e.tell("controller", "evenflow", "started")
	defer func() {
		e.tell("controller", "evenflow", "stopped")
		e.events.write()
	}()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return e.events.run(gctx) })
	g.Go(func() error { return e.watchPhases(gctx) })
	g.Go(func() error { return e.ctl.Run(gctx) })
	g.Go(func() error {
		defer close(e.stopped)
		return e.loop(gctx)
	})
	g.Go(func() error { return e.poll(gctx) })
	g.Go(func() error { return e.health.Run(gctx) })
	g.Go(func() error { return e.watchLoads(gctx) })
	err := g.Wait()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// Ready is nil when switches can connect.
func (e *Engine) Ready() error {
	select {
	case <-e.stopped:
		return apps.ErrClosed
	default:
	}
	select {
	case <-e.ctl.Listening():
		return nil
	default:
		return errors.New("not listening for switches yet")
	}
}
