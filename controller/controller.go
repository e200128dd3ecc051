package controller

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// Controller serves sessions with switches. Its methods are safe from any goroutine and, Run and Serve apart, do not block.
type Controller struct {
	cfg *Config
	h   Handler

	listening chan struct{} // closed when all sockets are open
	gate      gate
	chatter   chatter
	endings   endings

	identities *identities
	loads      turns
	audits     turns
	buffers    sync.Pool // of writers
	bursts     sync.Pool // of packet-ins, *burst

	mu       sync.Mutex
	switches map[flows.DPID]*Switch // claimed, from the features reply to the end
	addrs    []net.Addr
}

// New returns a controller that reports to h. It does nothing until Run.
func New(cfg Config, h Handler) *Controller {
	cfg = cfg.withDefaults()
	return &Controller{cfg: &cfg, h: h, listening: make(chan struct{}), gate: gate{max: cfg.MaxWaiting}, chatter: chatter{log: cfg.Log},
		identities: newIdentities(), loads: newTurns(maxLoads, loadTime), audits: newTurns(maxAudits, auditTime),
		switches: map[flows.DPID]*Switch{}}
}

// Serve runs one session over conn, which it closes, and returns why it ended: an error wrapping context.Canceled after
// ctx has ended. Run calls it for connections that it accepts; tests hand in connections of their own.
func (c *Controller) Serve(ctx context.Context, conn net.Conn) error {
	return newSwitch(c, conn).serve(ctx)
}

// Listening is closed when Run has opened all sockets.
func (c *Controller) Listening() <-chan struct{} { return c.listening }

// Addrs are the addresses listened on, in the order of Config.Listen; empty before Listening.
func (c *Controller) Addrs() []net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.addrs)
}

// Switch is the session with a switch, from just before Connected until Disconnected is called.
func (c *Controller) Switch(d flows.DPID) (*Switch, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sw := c.switches[d]
	return sw, sw != nil && sw.ready.Load()
}

// Switches are all sessions, by datapath id.
func (c *Controller) Switches() []*Switch {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*Switch
	for _, sw := range c.switches {
		if sw.ready.Load() {
			all = append(all, sw)
		}
	}
	slices.SortFunc(all, func(a, b *Switch) int { return cmp.Compare(a.info.DPID, b.info.DPID) })
	return all
}

// Replace hands over the whole desired state of a switch. What is right already stays, what is wrong or missing is mended,
// rules of kind Desired and groups and meters of ours that nobody wants go. It is the answer to Connected and does nothing
// when the switch is not connected.
func (c *Controller) Replace(d flows.DPID, all []OwnerState) {
	if sw, ok := c.Switch(d); ok {
		sw.queue.replace(all)
	}
}

// Update hands over what some owners want from now on, as one transaction; the nil State removes all that an owner had.
// While another transaction is under way updates gather, and of each owner the newest counts. It does nothing when the
// switch is not connected or has not been given its first Replace.
func (c *Controller) Update(d flows.DPID, changed []OwnerState) {
	if sw, ok := c.Switch(d); ok {
		sw.queue.update(changed)
	}
}

// DeleteWhere deletes the rules that a filter selects, such as all connection rules of one cookie; false when the switch is
// not connected. It must not select rules of kind Desired: the next audit would restore them.
func (c *Controller) DeleteWhere(d flows.DPID, f openflow.FlowFilter) bool {
	sw, ok := c.Switch(d)
	if ok {
		sw.DeleteWhere(f)
	}
	return ok
}

// claim makes sw the session of its datapath id. If there is an older one that still answers, sw is refused.
func (c *Controller) claim(sw *Switch) error {
	for {
		c.mu.Lock()
		old, n := c.switches[sw.info.DPID], len(c.switches)
		if old == nil && n < c.cfg.MaxSessions {
			c.switches[sw.info.DPID] = sw
			c.mu.Unlock()
			c.gate.leave(sw)
			return nil
		}
		c.mu.Unlock()
		if old == nil {
			return fmt.Errorf("switch %s: %w: there are %d", sw.info.DPID, ErrFull, n)
		}
		if err := old.alive(); err == nil {
			return fmt.Errorf("%w: %s from %s", ErrDuplicate, sw.info.DPID, old.info.Remote)
		}
		old.end(fmt.Errorf("%w: by %s", ErrTakenOver, sw.info.Remote))
		select {
		case <-old.gone:
		case <-sw.done:
			return sw.reason()
		}
	}
}

// release ends a claim.
func (c *Controller) release(sw *Switch) {
	c.mu.Lock()
	if c.switches[sw.info.DPID] == sw {
		delete(c.switches, sw.info.DPID)
	}
	c.mu.Unlock()
}
