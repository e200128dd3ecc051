package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/agent/wire"
)

// State is a connection as its backend's host has it.
type State = wire.State

// Reading is what a host has at a moment.
type Reading struct {
	States   []State
	Complete []string // the protocols of which all are in it
}

// Config is what an agent needs.
type Config struct {
	Host     netip.Addr    // the backend's address
	Interval time.Duration // between two readings, 1s to 10s
	// Read reads the connections to an address, at the ports that are wanted.
	Read func(wanted func(protocol string, port uint16) bool) (Reading, error)
	// Dial makes the request whose body is given, and returns the body of the answer, once that has begun. When ctx ends so do both.
	Dial func(ctx context.Context, body io.Reader) (io.ReadCloser, error)
	Wait func(ctx context.Context, d time.Duration) (goOn bool) // waits before a new attempt
	Log  logrus.FieldLogger
}

// Attempts to reach the controller are so far apart: ever longer while they fail.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 10 * time.Second
)

// Run tells the controller of the host's connections until ctx ends. A conversation that ends is begun anew.
func Run(ctx context.Context, cfg Config) error {
	if !cfg.Host.IsValid() || cfg.Interval < time.Second || cfg.Interval > 10*time.Second {
		return fmt.Errorf("agent: host %s, interval %s: want an address, and 1s to 10s", cfg.Host, cfg.Interval)
	}
	t := newTable(rand.Text())
	pause, told := firstPause, ""
	for {
		answered, err := talk(ctx, cfg, t)
		if ctx.Err() != nil {
			return nil
		}
		if answered {
			pause, told = firstPause, ""
		}
		if err.Error() != told {
			told = err.Error()
			cfg.Log.WithError(err).Warn("no conversation with the controller; trying again")
		}
		if !cfg.Wait(ctx, pause) {
			return nil
		}
		pause = min(2*pause, lastPause)
	}
}

// Pause waits for a while, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
