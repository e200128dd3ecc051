package engine

import (
	"encoding/json"
	"fmt"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/health"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

const keyHealth = "health"

// sendProbe sends a probe of a backend out of its port; false: the switch has no session.
func (e *Engine) sendProbe(at topo.PortID, frame []byte) bool {
	sw, ok := e.ctl.Switch(at.DPID)
	if !ok || e.session(sw) == nil {
		return false
	}
	sw.PacketOut(flows.PortController, []flows.Action{flows.Output{Port: at.No}}, frame)
	return true
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

// verdictChanged has the next view show what probes have found, and stores it soon.
func (e *Engine) verdictChanged() {
	e.settled.stale = true
	if e.saved.at.IsZero() {
		e.saved.at = e.cfg.Now().Add(saveInterval)
	}
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
