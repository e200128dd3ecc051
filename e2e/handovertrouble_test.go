package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// whole fails the test unless no connection has broken or moved.
func (p *handOver) whole() {
	p.t.Helper()
	if broken, moved := p.end(); broken != 0 || moved != 0 {
		p.t.Errorf("%d connections are broken, %d moved", broken, moved)
	}
	p.allMatched()
}

// settled waits until no VIP has a change under way.
func (p *handOver) settled() {
	p.t.Helper()
	for _, s := range handOverServices {
		p.Eventually(patience, func() error {
			r, err := p.vip(s.name)
			if err == nil && (r.Status.HandOver.Step != vip.StepSteady || r.Status.Phase == vip.PhasePending) {
				err = fmt.Errorf("%s: %s, %+v", s.name, r.Status.Phase, r.Status.HandOver)
			}
			return err
		})
	}
}

// A controller that is killed in the midst of a change, at each of its steps, is followed by one that finishes it.
func TestHandOverControllerKilled(t *testing.T) { tryKilledAtSteps(t, newHandOver(t, 11, nil)) }

func tryKilledAtSteps(t *testing.T, p *handOver) {
	p.begin(60, 20, 40)
	killed := map[vip.Step]int{}
	for round := 0; len(killed) < 3 && round < 30; round++ {
		want := []vip.Step{vip.StepPrepare, vip.StepFlip, vip.StepSettle}[round%3]
		if killed[want] > 0 {
			continue
		}
		for _, s := range handOverServices {
			if err := p.call(http.MethodPatch, "/api/v1/vips/"+s.name, map[string]any{"backends": p.draw(s.port)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
			if r, err := p.vip("oneway"); err == nil && r.Status.HandOver.Step == want {
				killed[want]++
				break
			}
		}
		p.ctl.kill()
		time.Sleep(500 * time.Millisecond) // packets flow while nobody controls
		p.ctl.start()
		p.awaitReady()
		p.settled()
	}
	if len(killed) < 3 {
		t.Errorf("killed at %v only", killed)
	}
	p.change("")
	p.whole()
}

// A switch to which everything comes half a second late breaks nothing.
func TestHandOverSkewed(t *testing.T) { trySkewed(t, newHandOver(t, 13, nil)) }

func trySkewed(t *testing.T, p *handOver) {
	slow := p.sw(3)
	p.begin(60, 20, 40)
	path, _ := relay(t, slow, time.Second/2)
	slow.SetController("unix:" + path)
	p.awaitReady()
	for range 2 {
		p.change("")
	}
	p.whole()
}

// relay is another way to a switch's controller, by which what the controller says comes some time late, and which can be taken away, so
// that the switch keeps its rules.
func relay(t *testing.T, s *lab.Switch, delay time.Duration) (path string, away func()) {
	t.Helper()
	path = filepath.Join(filepath.Dir(s.ControllerSocket()), "relay.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	away = func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			_ = c.Close()
		}
	}
	t.Cleanup(away)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", s.ControllerSocket())
			if err != nil {
				_ = c.Close()
				continue
			}
			mu.Lock()
			open = append(open, c, to)
			mu.Unlock()
			go func() { _, _ = io.Copy(to, c); _ = to.Close() }()
			go func() { defer c.Close(); lag(c, to, delay) }()
		}
	}()
	return path, away
}

// lag copies, and each piece arrives some time after it was sent.
func lag(to io.Writer, from io.Reader, delay time.Duration) {
	type piece struct {
		due  time.Time
		data []byte
	}
	queue := make(chan piece, 1<<14)
	go func() {
		defer close(queue)
		for {
			buf := make([]byte, 1<<16)
			n, err := from.Read(buf)
			if n > 0 {
				queue <- piece{time.Now().Add(delay), buf[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for x := range queue {
		time.Sleep(time.Until(x.due))
		if _, err := to.Write(x.data); err != nil {
			return
		}
	}
}

// A switch that loses its controller in the midst of a change and comes back is waited for. Open vSwitch drops all rules when its
// controllers are taken away, so that for a moment nothing passes it either.
func TestHandOverReconnects(t *testing.T) {
	p := newHandOver(t, 17, nil)
	p.begin(60, 20, 40)
	for i := range 3 {
		s := p.sw(1 + i)
		done := make(chan struct{})
		go func() { defer close(done); p.change("") }()
		s.SetController()
		time.Sleep(time.Duration(100*(i+1)) * time.Millisecond)
		s.SetController("unix:" + s.ControllerSocket())
		<-done
		p.awaitReady()
	}
	p.settled()
	p.change("")
	p.whole()
}
