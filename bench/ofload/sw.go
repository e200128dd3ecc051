package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// phases of a run, shared by all switches

const (
	phHandshake int32 = iota
	phSettle          // all handshakes done: the hosts announce themselves
	phPrime
	phLoad    // load, not measured
	phMeasure // load, measured
	phStop
)

// What completes a packet-in.

// Kinds of reply, for doneBoth.

// record is a completed packet-in, kept to count the FLOW_MODs that come later.

// Hosts announce themselves twice at first (RFC 5227), then now and then.

const (
	announceAgain = 500 * time.Millisecond
	announceEvery = 30 * time.Second
)

// maxBacklog is what may wait to be written to a controller that does not read.

var longAgo = time.Unix(1, 0)

// counters are read by the sampler while the switch runs.

type swConfig struct {
	ver      byte
	ports    int
	window   int
	complete int
	buffered bool // give buffer ids, as switches before OVS 2.7 did
	fifo     bool // unidentified replies complete the oldest packet-in
	timeout  time.Duration
}

// sw is one emulated switch: one connection, one goroutine. mu is held while it

// works and free while it waits, so that the pacer can send.

type sw struct {
	cfg   swConfig
	idx   int
	dpid  uint64
	pl    *payload
	phase *atomic.Int32

	mu      sync.Mutex
	conn    net.Conn
	r       *bufio.Reader
	out     []byte
	wr      writer
	xid     uint32
	slots   []slot
	free    []int
	keys    map[uint64]int
	fifoQ   []uint32 // tags in the order sent, for -fifo
	recent  []record
	modHist [modBuckets]uint64 // packet-ins by the number of their FLOW_MODs
	modSum  uint64

	pace  *pacer // open loop
	nSent uint64
	lag   *hist // how late packet-ins went out

	held *held // nil: lists are empty

	plan      swPlan
	peers     []*sw
	hostIdx   map[uint32]int
	hostBuf   []byte
	announced int
	nextAnn   time.Time

	inMu sync.Mutex
	in   []relayed // from the links
	inN  atomic.Int32
	wake net.Conn

	cnt   counters
	lat   hist
	up    chan struct{} // closed when the features reply has gone out
	upSet bool
	ready time.Duration
}

func newSw(idx int, cfg swConfig, pl *payload, phase *atomic.Int32) *sw {
	s := &sw{cfg: cfg, idx: idx, dpid: 0x00_00_0f_10_00_00_00_00 + uint64(idx) + 1, pl: pl, phase: phase,
		slots: make([]slot, cfg.window), keys: make(map[uint64]int, cfg.window), up: make(chan struct{})}
	for i := cfg.window - 1; i >= 0; i-- {
		s.free = append(s.free, i)
	}
	n := 64
	for n < 2*cfg.window {
		n *= 2
	}
	s.recent = make([]record, n)
	return s
}

func (s *sw) header(typ byte, xid uint32) int {
	off := len(s.out)
	s.out = appendHeader(s.out, s.cfg.ver, typ, xid)
	return off
}

// run holds the connection until the stop phase, ctx's end or an error.

func (s *sw) run(ctx context.Context, addr string) error {
	begin := time.Now()
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer func() {
		if s.wr.err == nil {
			s.wr.err = net.ErrClosed // the pacer writes no more
		}
		s.mu.Unlock()
		_ = conn.Close()
		s.wr.wg.Wait()
	}()
	s.conn = conn
	if err := s.wr.init(conn); err != nil {
		return err
	}
	s.inMu.Lock()
	s.wake = conn
	s.inMu.Unlock()
	s.r = bufio.NewReaderSize(conn, 1<<17)
	s.out = appendHello(s.out, s.cfg.ver, 1)
	s.xid = 2
	seen := phHandshake
	var dlSet, lastScan, lastPrime time.Time
	for {
		if ph := s.phase.Load(); ph != seen {
			switch {
			case ph == phStop:
				_ = s.flush()
				return nil
			case ph >= phLoad && seen < phLoad:
				s.fill(time.Now())
			}
			seen = ph
			lastScan = time.Time{}
		}
		if s.upSet && s.inN.Load() > 0 {
			s.takeRelayed()
		}
		wait := !buffered(s.r)
		if wait {
			now := time.Now()
			if now.Sub(lastScan) > 20*time.Millisecond {
				lastScan = now
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if seen >= phSettle && len(s.plan.hosts) > 0 && !now.Before(s.nextAnn) {
					s.announce()
					s.announced++
					s.nextAnn = now.Add(announceEvery)
					if s.announced == 1 {
						s.nextAnn = now.Add(announceAgain)
					}
				}
				if seen == phPrime && now.Sub(lastPrime) > 100*time.Millisecond {
					lastPrime = now
					f, port := s.pl.prime()
					s.send(f, port, noBuffer)
				}
				if seen >= phLoad {
					s.expire(now)
				}
			}
			if s.pace != nil && seen >= phLoad {
				s.fillDue(now)
			}
			if err := s.flush(); err != nil {
				return fmt.Errorf("switch %d: %w", s.idx, err)
			}
			if now.Sub(dlSet) > 10*time.Millisecond {
				dlSet = now
				_ = conn.SetReadDeadline(now.Add(25 * time.Millisecond))
			}
			if s.upSet && s.inN.Load() > 0 { // came before the deadline was set
				continue
			}
			s.mu.Unlock()
		}
		m, err := readMsg(s.r)
		if wait {
			s.mu.Lock()
		}
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				dlSet = time.Time{}
				continue
			}
			if s.phase.Load() == phStop {
				return nil
			}
			return fmt.Errorf("switch %d: %w", s.idx, err)
		}
		s.cnt.rxBytes.Add(uint64(len(m)))
		if err := s.handle(m, s.phase.Load()); err != nil {
			return fmt.Errorf("switch %d: %w", s.idx, err)
		}
		if !s.upSet && s.ready > 0 {
			if err := s.flush(); err != nil {
				return err
			}
			s.upSet = true
			s.ready = time.Since(begin)
			close(s.up)
		}
	}
}

// writer sends without ever waiting in the switch's goroutine: what the socket

// does not take at once, a goroutine writes. So a controller that writes before

// it reads meets no deadlock.

// flush hands s.out to the socket.

// fill sends packet-ins until the window is full or, in an open loop, none is due.

// sendLoad sends the next packet-in; a slot is free.

// retire takes a record into the account: no more FLOW_MODs are awaited.

// countMod adds a FLOW_MOD to the packet-in that it names, outstanding or not.

// byTag and byKey find the outstanding packet-in that a reply belongs to.

// completes notes a reply to packet-in i and says whether it is the last one awaited.

// settle accounts a reply: found says that it names packet-in i, known that it

// carried some identity at all.

// inner handles the message inside a BUNDLE_ADD.

// bundleReply answers open, close, commit and discard requests (b: id, type, flags).
