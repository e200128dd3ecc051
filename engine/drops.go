package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// dropCounts are what the rules made to drop have dropped, by switch and reason, as last read.
type dropCounts struct {
	mu     sync.Mutex
	counts map[flows.DPID][]apps.DropCounter
}

func newDropCounts() *dropCounts { return &dropCounts{counts: map[flows.DPID][]apps.DropCounter{}} }

func (c *dropCounts) of(d flows.DPID) []apps.DropCounter {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]apps.DropCounter{}, c.counts[d]...)
}

// addMetered adds what meters have dropped that was not on its way to the controller.
func addMetered(ctx context.Context, sw *controller.Switch, sums map[string]uint64) error {
	stats, err := sw.MeterStats(ctx)
	if err != nil && !refusedRead(err) {
		return err
	}
	for _, st := range stats {
		if st.ID <= apps.MeterHandOver || !apps.OwnMeter(st.ID) {
			continue
		}
		for _, b := range st.Bands {
			sums["to a VIP, of a connection that is not known here, beyond its handover_rate"] += b.Packets
		}
	}
	return nil
}

// readDrops reads the counters of what a switch's rules and meters have dropped, and adds up those of one reason.
func (e *Engine) readDrops(ctx context.Context, sw *controller.Switch) error {
	if e.cfg.DropReason == nil {
		return nil
	}
	f := openflow.FlowFilter{Table: 0xff}
	f.Cookie, f.CookieMask = apps.DropCookies()
	rules, err := sw.Flows(ctx, f)
	if err != nil {
		return err
	}
	sums := map[string]uint64{}
	for i := range rules {
		if reason, ok := e.cfg.DropReason(&rules[i].Rule); ok {
			sums[reason] += rules[i].Packets
		}
	}
	if v := e.view.Load(); hasMode(v, vip.ModeDeferred) || hasMode(v, vip.ModeOthello) {
		if err := addMetered(ctx, sw, sums); err != nil {
			return err
		}
	}
	out := make([]apps.DropCounter, 0, len(sums))
	for reason, packets := range sums {
		out = append(out, apps.DropCounter{Reason: reason, Packets: packets})
	}
	slices.SortFunc(out, func(a, b apps.DropCounter) int { return cmp.Compare(a.Reason, b.Reason) })
	e.drops.mu.Lock()
	defer e.drops.mu.Unlock()
	e.drops.counts[sw.Info().DPID] = out
	return nil
}
