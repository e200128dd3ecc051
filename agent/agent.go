package agent

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/sirupsen/logrus"
)

// State is a connection as its backend's host has it, as the API takes it.
type State struct {
	Protocol string         `json:"protocol"`
	Client   netip.AddrPort `json:"client"`
	Local    netip.AddrPort `json:"local"`
}

// Report is all connections of a host.
type Report struct {
	After  int64   `json:"after"` // what the answer to the last report said
	States []State `json:"states"`
}

// Config is what an agent needs.
type Config struct {
	Host     netip.Addr                                                   // the backend's address
	Interval time.Duration                                                // between two reports
	Read     func(netip.Addr) ([]State, error)                            // reads the connections of an address
	Send     func(ctx context.Context, r Report) (after int64, err error) // hands a report to the controller
	Wait     func(ctx context.Context, d time.Duration) (goOn bool)       // waits between reports
	Log      logrus.FieldLogger
}

// Run reports until ctx ends. A report that fails is told, and the next one is sent as if nothing had been: it holds
// all there is.
func Run(ctx context.Context, cfg Config) error {
	if !cfg.Host.IsValid() || cfg.Interval < time.Second {
		return fmt.Errorf("agent: host %s, interval %s: want an address, and at least 1s", cfg.Host, cfg.Interval)
	}
	var after int64
	failing := true // until the first has arrived, which is told
	for {
		states, err := cfg.Read(cfg.Host)
		if err == nil {
			if states == nil {
				states = []State{}
			}
			after, err = cfg.Send(ctx, Report{After: after, States: states})
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			after = 0
			cfg.Log.WithError(err).Warn("the report failed; the next one holds all again")
		case failing:
			cfg.Log.WithField("host", cfg.Host).Info("reports arrive")
		}
		failing = err != nil
		if !cfg.Wait(ctx, cfg.Interval) {
			return nil
		}
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
