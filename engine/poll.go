package engine

import (
	"context"
	"sync"
	"time"

	"github.com/evenflow/evenflow/controller"
)

const (
	pollInterval = time.Second      // between two readings of a switch's counters, if the configuration does not say
	pollPatience = 10 * time.Second // a reading that takes longer is given up
	dropEvery    = 5                // intervals between two readings of the drop counters
	expireEvery  = 60               // intervals between two looks for histories that have run out
)

// poll reads the counters of every switch once an interval, spread evenly over it. A slow switch delays itself alone: while
// it is being read its turns pass. When poll returns nothing is being read any more, so that the store may be closed.
func (e *Engine) poll(ctx context.Context) error {
	var busy sync.Map
	var reading sync.WaitGroup
	defer reading.Wait()
	next := time.Now()
	for round := 0; ; round++ {
		switches := e.ctl.Switches()
		pause := e.cfg.PollInterval / time.Duration(max(len(switches), 1))
		for _, sw := range switches {
			if _, running := busy.LoadOrStore(sw, true); !running {
				reading.Go(func() {
					defer busy.Delete(sw)
					e.pollSwitch(ctx, sw, round%dropEvery == 0)
				})
			}
			if next = next.Add(pause); !wait(ctx, time.Until(next)) {
				return ctx.Err()
			}
		}
		if len(switches) == 0 {
			next = next.Add(e.cfg.PollInterval)
			if !wait(ctx, time.Until(next)) {
				return ctx.Err()
			}
		}
		if late := time.Now(); late.Sub(next) > e.cfg.PollInterval {
			next = late // the machine slept: what was missed is not made up for
		}
		if round%expireEvery == 0 {
			e.stats.Expire(e.cfg.Now())
		}
	}
}

func (e *Engine) pollSwitch(ctx context.Context, sw *controller.Switch, drops bool) {
	ctx, cancel := context.WithTimeout(ctx, pollPatience)
	defer cancel()
	d := sw.Info().DPID
	if s := e.session(sw); s != nil {
		e.lateHash(s)
		e.lateCodes(s)
	}
	stats, err := sw.PortStats(ctx)
	if now := e.cfg.Now(); err == nil && e.session(sw) != nil {
		e.stats.Note(d, now, stats)
		e.status.arrived(d, now, stats)
		err = e.readTally(ctx, sw)
		if err == nil && drops {
			err = e.readDrops(ctx, sw)
		}
		e.saveTally(false)
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
