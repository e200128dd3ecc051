package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/health"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

const keyHealth = "health"

// probeWay is the way of probes to the switches.
type probeWay struct{ e *Engine }

// Send sends a probe of a backend out of its port; false: the switch has no session.
func (w probeWay) Send(at topo.PortID, frame []byte) bool {
	sw, ok := w.e.ctl.Switch(at.DPID)
	if !ok || w.e.session(sw) == nil {
		return false
	}
	sw.PacketOut(flows.PortController, []flows.Action{flows.Output{Port: at.No}}, frame)
	return true
}

// Heard is how many messages have been worked off that a switch has sent in its present session.
func (w probeWay) Heard(d flows.DPID) uint64 {
	if sw, ok := w.e.ctl.Switch(d); ok {
		return sw.Counters().MessagesIn
	}
	return 0
}

// Lag is how long a switch takes now to answer.
func (w probeWay) Lag(d flows.DPID) time.Duration {
	if sw, ok := w.e.ctl.Switch(d); ok {
		return sw.Lag()
	}
	return 0
}

// probed takes down the backends whose probes have failed, and notes of those which the topology takes for down that they have.
func (e *Engine) probed(x *apps.VIP) {
	if !x.Spec.Health.Probes() {
		return
	}
	for i := range x.Backends {
		b := &x.Backends[i]
		down, reason := e.health.Verdict(x.VIP, b.Backend)
		switch b.State {
		case vip.StateUp, vip.StateDraining:
			if down {
				b.State, b.Reason, b.Dead = vip.StateDown, reason, true
			}
		case vip.StateDown:
			b.Dead = down
		}
	}
}

// verdictPause is the least time between two views for what probes find: when many backends die at once, they do in few views.
const verdictPause = 50 * time.Millisecond

// verdicts is when probes have last had a view made, and when they want one: zero, not at all.
type verdicts struct{ shown, due time.Time }

// verdictChanged has a view show soon what probes have found, and stores it.
func (e *Engine) verdictChanged() {
	now := e.cfg.Now()
	if e.verdicts.due.IsZero() {
		e.verdicts.due = now
		if next := e.verdicts.shown.Add(verdictPause); next.After(now) {
			e.verdicts.due = next
		}
	}
	if e.saved.at.IsZero() {
		e.saved.at = now.Add(saveInterval)
	}
}

// showVerdicts reports whether a view is due for what probes have found.
func (e *Engine) showVerdicts() bool {
	now := e.cfg.Now()
	if e.verdicts.due.IsZero() || now.Before(e.verdicts.due) {
		return false
	}
	e.verdicts = verdicts{shown: now}
	return true
}

// restoreHealth takes over what probes had found when the last run ended.
func (e *Engine) restoreHealth(tx store.Tx) error {
	b, err := tx.Get(store.BucketTopology, keyHealth)
	if err != nil || b == nil {
		return err
	}
	var saved health.Saved
	if err := json.Unmarshal(b, &saved); err != nil {
		return fmt.Errorf("stored health: %w", err)
	}
	e.health.Restore(saved)
	return nil
}

// saveHealth stores what probes have found.
func (e *Engine) saveHealth(tx store.Tx) error {
	b, err := json.Marshal(e.health.Saved())
	if err != nil {
		return err
	}
	return tx.Put(store.BucketTopology, keyHealth, b)
}

// Probes counts the probes of backends, by type.
func (e *Engine) Probes() []apps.ProbeStats { return e.health.Stats() }
