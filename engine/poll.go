package engine

import (
	"context"
	"sync"
	"time"

	"github.com/evenflow/evenflow/controller"
)

const (
	pollInterval = time.Second
	dropEvery    = 5 // intervals between two readings of the drop counters
)

// poll reads the counters of every switch, spread over the interval; a slow switch delays itself alone.
func (e *Engine) poll(ctx context.Context) error {
	var busy sync.Map
	for round := 0; ; round++ {
		switches := e.ctl.Switches()
		pause := pollInterval / time.Duration(max(len(switches), 1))
		for _, sw := range switches {
			if _, running := busy.LoadOrStore(sw, true); !running {
				go func() {
					defer busy.Delete(sw)
					e.pollSwitch(ctx, sw, round%dropEvery == 0)
				}()
			}
			if !wait(ctx, pause) {
				return ctx.Err()
			}
		}
		if len(switches) == 0 && !wait(ctx, pollInterval) {
			return ctx.Err()
		}
	}
}

func (e *Engine) pollSwitch(ctx context.Context, sw *controller.Switch, drops bool) {
	ctx, cancel := context.WithTimeout(ctx, 10*pollInterval)
	defer cancel()
	d := sw.Info().DPID
	stats, err := sw.PortStats(ctx)
	if err == nil {
		e.ports.note(d, e.cfg.Now(), stats)
		e.status.arrived(d, e.cfg.Now(), stats)
		if drops {
			err = e.readDrops(ctx, sw)
		}
	}
	if err != nil {
		e.log.WithError(err).WithField("dpid", d).Debug("counters not read")
	}
}

// wait sleeps for d; false: ctx has ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
