package controller

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// Switch is a session with a switch. Its methods may be called from any goroutine, also after the session has ended: then
// what is sent goes nowhere, and what asks fails with an error that wraps ErrLost.
type Switch struct {
	c    *Controller
	conn net.Conn
	w    writer

	// Set by the handshake, then fixed.
	info    Info // but for Ports
	found   Found
	bundles bool
	claimed bool

	// The reader's own.
	in       *openflow.Reader
	received received
	burst    *burst // packet-ins not handed on yet; nil if there are none
	removed  openflow.FlowRemoved
	held     [][]byte // messages to be replayed after Connected

	heldBytes   int
	errors      int // in the second from errorsSince
	errorsSince time.Time

	requests requests
	queue    queue
	desired  desired // the applying goroutine's own
	endTurn  func()  // of one taken by the handshake until all that was found is compared; the applying goroutine's own too

	attached atomic.Pointer[any] // the handler's

	ready atomic.Bool   // Connected has been or is being called
	done  chan struct{} // closed when the session is to end
	gone  chan struct{} // closed when all is over
	rtt   atomic.Int64
	asked atomic.Int64 // when an echo request was sent that has no reply yet, in ns since the session began; 0: there is none

	mu         sync.Mutex
	why        error // set before done is closed
	ports      []openflow.Port
	portsShown bool // others have the list, which must not change then
}

// Info is what is known of a switch.
type Info struct {
	DPID    flows.DPID
	Version openflow.Version
	Nicira  bool // knows Open vSwitch's extensions
	Desc    openflow.Desc
	Remote  string // the peer's address
	// Certificate is the subject of the peer's certificate; "" without TLS.
	Certificate string
	Since       time.Time
	Ports       []openflow.Port // as they are now; not to be changed
}

func newSwitch(c *Controller, conn net.Conn) *Switch {
	sw := &Switch{c: c, conn: conn, in: openflow.NewReader(conn), endTurn: func() {}, done: make(chan struct{}), gone: make(chan struct{})}
	sw.w = writer{conn: conn, max: c.cfg.WriteMax, fail: sw.end, spare: &c.buffers, wake: make(chan struct{}, 1)}
	sw.queue.wake = make(chan struct{}, 1)
	sw.info.Remote, sw.info.Since = remote(conn), time.Now()
	return sw
}

// Info is what is known of the switch.
func (sw *Switch) Info() Info {
	info := sw.info
	sw.mu.Lock()
	info.Ports, sw.portsShown = sw.ports, true
	sw.mu.Unlock()
	return info
}

// Attach keeps something of the handler's with the session.
func (sw *Switch) Attach(x any) { sw.attached.Store(&x) }

// Attached is what was given to Attach last, nil before.
func (sw *Switch) Attached() any {
	if x := sw.attached.Load(); x != nil {
		return *x
	}
	return nil
}

// DPID is the switch's datapath id.
func (sw *Switch) DPID() flows.DPID { return sw.info.DPID }

// String names the session in logs.
func (sw *Switch) String() string {
	return fmt.Sprintf("switch %s at %s", sw.info.DPID, sw.info.Remote)
}

// Add installs a rule of a connection. Like the other methods without a result it appends to the write buffer and never
// waits; r may be used again at once. An error that the switch answers comes to Handler.Refused.
func (sw *Switch) Add(r *flows.Rule) { sw.flowMod(openflow.FlowAdd, r) }

// DeleteStrict deletes the rule with r's table, priority and match.
func (sw *Switch) DeleteStrict(r *flows.Rule) { sw.flowMod(openflow.FlowDeleteStrict, r) }

func (sw *Switch) flowMod(cmd openflow.FlowCommand, r *flows.Rule) {
	b, xid := sw.w.take()
	b, err := openflow.AppendFlowMod(b, sw.info.Version, xid, cmd, r)
	if err == nil {
		sw.w.count.flowMods++
	}
	sw.w.put(b)
	if err != nil {
		sw.c.h.Refused(sw, r.String(), err)
	}
}

// DeleteWhere deletes all rules that a filter selects. It must not select rules of kind Desired.
func (sw *Switch) DeleteWhere(f openflow.FlowFilter) {
	b, xid := sw.w.take()
	b, err := openflow.AppendFlowDeleteWhere(b, sw.info.Version, xid, f)
	if err == nil {
		sw.w.count.flowMods++
	}
	sw.w.put(b)
	if err != nil {
		sw.c.h.Refused(sw, fmt.Sprintf("delete cookie=%#x/%#x,%s", f.Cookie, f.CookieMask, f.Match), err)
	}
}

// PacketOut sends a frame through actions as if it had come in by inPort (flows.PortController: by none).
func (sw *Switch) PacketOut(inPort uint32, actions []flows.Action, data []byte) {
	b, xid := sw.w.take()
	b, err := openflow.AppendPacketOut(b, sw.info.Version, xid, inPort, actions, data)
	if err == nil {
		sw.w.count.packetOuts++
	}
	sw.w.put(b)
	if err != nil {
		sw.c.h.Refused(sw, packetOutText(actions), err)
	}
}

func packetOutText(actions []flows.Action) string {
	return string(flows.AppendActions([]byte("packet-out actions="), actions))
}

// AskRule asks for the counters of the rule with r's table, priority and match. The answer comes to Handler.RuleStats, or
// to Handler.Refused when the switch gives none.
func (sw *Switch) AskRule(r *flows.Rule) {
	rule := *r
	rule.Match = r.Match.Clone()
	if sw.requests.asking() >= sw.c.cfg.AskMax {
		sw.c.h.Refused(sw, askText(&rule), ErrBusy)
		return
	}
	b, xid := sw.w.take()
	sw.requests.add(xid, &request{what: "rule statistics", want: openflow.TypeMultipartReply, rule: &rule, sent: time.Now()})
	b, err := openflow.AppendFlowStatsRequest(b, sw.info.Version, xid, openflow.FlowFilter{Table: rule.Table, Match: rule.Match})
	sw.w.put(b)
	if err != nil {
		sw.requests.remove(xid)
		sw.c.h.Refused(sw, askText(&rule), err)
	}
}

func askText(r *flows.Rule) string { return "statistics of " + r.String() }

// Forget asks the switch to forget tracked connections.
func (sw *Switch) Forget(f *openflow.CTFlush) {
	b, xid := sw.w.take()
	b, err := openflow.AppendCTFlush(b, sw.info.Version, xid, f)
	sw.w.put(b)
	if err != nil {
		sw.c.h.Refused(sw, "conntrack flush", err)
	}
}

// Flush lets the writer begin now, though the reader may be at work.
func (sw *Switch) Flush() { sw.w.signal() }

// Flows reads the rules that a filter selects, of all kinds and owners.
func (sw *Switch) Flows(ctx context.Context, f openflow.FlowFilter) ([]flows.InstalledRule, error) {
	return readFlows(sw, f).wait(sw.awaits(ctx))
}

// Groups reads all groups.
func (sw *Switch) Groups(ctx context.Context) ([]flows.Group, error) {
	return readGroups(sw).wait(sw.awaits(ctx))
}

// Meters reads all meters. One that is not a single drop band in packets per second has rate 0.
func (sw *Switch) Meters(ctx context.Context) ([]flows.Meter, error) {
	return readMeters(sw).wait(sw.awaits(ctx))
}

// PortStats reads the counters of all ports.
func (sw *Switch) PortStats(ctx context.Context) (all []openflow.PortStats, err error) {
	err = sw.settled(func() (err error) {
		all, err = readPortStats(sw).wait(sw.awaits(ctx))
		return err
	})
	return all, err
}

// GroupStats reads the counters of all groups.
func (sw *Switch) GroupStats(ctx context.Context) ([]openflow.GroupStats, error) {
	return readGroupStats(sw).wait(sw.awaits(ctx))
}

// MeterStats reads the counters of all meters.
func (sw *Switch) MeterStats(ctx context.Context) ([]openflow.MeterStats, error) {
	return readMeterStats(sw).wait(sw.awaits(ctx))
}

// alive asks the peer for a sign of life, as the older of two sessions.
func (sw *Switch) alive() error { return sw.echo(sw.c.cfg.TakeoverTimeout) }

// echo measures how long the peer takes to answer.
func (sw *Switch) echo(limit time.Duration) error {
	start := time.Now()
	at := int64(start.Sub(sw.info.Since)) | 1 // not 0
	sw.asked.CompareAndSwap(0, at)            // if two are under way the first counts
	defer sw.asked.CompareAndSwap(at, 0)
	q, xid := sw.ask("echo request", openflow.TypeEchoReply, plain(func(b []byte, v openflow.Version, xid uint32) []byte {
		return openflow.AppendEchoRequest(b, v, xid, nil)
	}))
	if err := sw.await(context.Background(), q, xid, limit); err != nil {
		return err
	}
	sw.rtt.Store(int64(time.Since(start)))
	return nil
}

// Lag is how long the switch takes now to answer, by the last echo request: with what is waiting on the way to it and back.
func (sw *Switch) Lag() time.Duration {
	lag := time.Duration(sw.rtt.Load())
	if at := sw.asked.Load(); at != 0 {
		lag = max(lag, time.Since(sw.info.Since)-time.Duration(at))
	}
	return lag
}

// end makes the session end, for the first reason given.
func (sw *Switch) end(why error) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.why != nil {
		return
	}
	sw.why = why
	close(sw.done)
	_ = sw.conn.SetReadDeadline(time.Unix(1, 0)) // wakes the reader
	_ = sw.conn.SetWriteDeadline(time.Now().Add(grace))
}

// reason is why the session has ended.
func (sw *Switch) reason() error {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	return sw.why
}
