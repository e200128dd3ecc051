package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// chat is a flow of datagrams that are answered, which does not wait for the answers: on a busy machine some are lost, and a flow
// that waited would be silent meanwhile.
type chat struct {
	*conn
	stop context.CancelFunc
	mu   sync.Mutex
	by   map[string]bool
}

// chats begins flows to a service, one every pause, until so many go on or ctx ends. A flow goes on when its first
// datagram has been answered: two under way at once in the midst of a change may found two connections.
func (p *handOver) chats(ctx context.Context, n int, pause time.Duration) (all []*chat) {
	for range n {
		own, stop := context.WithCancel(ctx)
		c := &chat{conn: p.dial(p.client, "udp", "", p.family.web(81)), stop: stop, by: map[string]bool{}}
		all = append(all, c)
		p.running.Go(func() { c.run(own, &p.running) })
		select {
		case <-ctx.Done():
			return all
		case <-time.After(pause):
		}
	}
	return all
}

// run sends ten times a second until ctx ends, and notes who answers.
func (c *chat) run(ctx context.Context, running *sync.WaitGroup) {
	running.Go(func() {
		for ctx.Err() == nil {
			line, err := c.in.ReadString('\n')
			if isTimeout(err) || errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			c.mu.Lock()
			c.by[strings.Fields(line)[0]] = true
			c.mu.Unlock()
		}
	})
	for wait := time.Second; ctx.Err() == nil; wait = 100 * time.Millisecond {
		_, _ = c.Write([]byte("x\n"))
		for end := time.Now().Add(wait); ctx.Err() == nil && time.Now().Before(end) && (wait < time.Second || c.backends() == 0); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	_ = c.SetReadDeadline(time.Now())
}

// isAt reports whether a backend has answered.
func (c *chat) isAt(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[name]
}

func (c *chat) backends() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.by)
}

// learned waits until the VIPs of datagrams keep one generation, and returns their pins.
func (p *handOver) learned(when string) (pins int) {
	p.t.Helper()
	for _, name := range []string{"udp", "oneway"} {
		p.Eventually(patience, func() error {
			r, err := p.vip(name)
			if err == nil && (r.Status.HandOver.Generations != 1 || r.Status.HandOver.Step != vip.StepSteady) {
				err = fmt.Errorf("%s: %s: %+v", when, name, r.Status.HandOver)
			}
			if err == nil {
				pins += r.Status.HandOver.Pins
			}
			return err
		})
	}
	return pins
}

// Without agents flows of datagrams that send are pinned where they are, and older generations go: those that were there before the changes, and
// those that have begun in their midst, or while there was no controller.
func TestOthelloDatagrams(t *testing.T) {
	p := newHandOver(t, 21, func(s *vip.Spec) { s.Mode, s.HandOverIdle = vip.ModeOthello, vip.Duration(5*time.Second) })
	p.begin(0, 0, 120)
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	chats := p.chats(ctx, 60, 0)
	born := make(chan []*chat, 1)
	go func() { born <- p.chats(ctx, 200, 100*time.Millisecond) }()
	for range 3 {
		p.change("")
	}
	pins := p.learned("after three changes")
	p.ctl.kill()
	time.Sleep(500 * time.Millisecond)
	p.ctl.start()
	p.awaitReady()
	p.change("")
	again := p.learned("with the next controller")
	cancel()
	chats = append(chats, <-born...)
	_, moved := p.end()
	p.settledDown(chats, moved)
	if pins == 0 || again == 0 {
		t.Errorf("%d pins, and %d", pins, again)
	}
	t.Logf("%d flows that are answered, %d pins, then %d", len(chats), pins, again)
}

// The same over IPv6, whose addresses are noted otherwise.
func TestOthelloDatagramsIPv6(t *testing.T) {
	w := line(t, 3, "OpenFlow15")
	w.family = ipv6
	p := handOverIn(w, 22, func(s *vip.Spec) { s.Mode, s.HandOverIdle = vip.ModeOthello, vip.Duration(5*time.Second) })
	p.begin(0, 0, 40)
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	chats := p.chats(ctx, 30, 0)
	p.change("")
	pins := p.learned("after a change")
	cancel()
	_, moved := p.end()
	p.settledDown(chats, moved)
	if pins == 0 {
		t.Error("no pins")
	}
}

// settledDown fails the test if a flow has been at two backends.
func (p *handOver) settledDown(chats []*chat, moved int64) {
	p.t.Helper()
	for _, c := range chats {
		if c.backends() > 1 {
			p.t.Errorf("%s has been at %v", c.LocalAddr(), c.by)
		}
	}
	if moved != 0 {
		p.t.Errorf("%d flows have moved", moved)
	}
}
