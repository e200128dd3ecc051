package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
)

// debts are what switches are to forget of backends that they have translated for beside them, as stored: until they have been asked.
// A switch that is away is asked when it is back. What it has translated for nobody else would take ports that clients use again.
// Only the loop uses it.
type debts map[flows.DPID][]apps.Forget

// loadDebts reads what is stored.
func (e *Engine) loadDebts(tx store.Tx) error {
	e.debts = debts{}
	return tx.List(store.BucketDebts, func(key string, b []byte) error {
		d, err := flows.ParseDPID(key)
		var list []apps.Forget
		if err == nil {
			err = json.Unmarshal(b, &list)
		}
		if err != nil {
			return fmt.Errorf("stored debts of %q: %w: %w", key, store.ErrDamaged, err)
		}
		e.debts[d] = list
		return nil
	})
}

// owe stores what switches are to forget for owners between two views.
func (e *Engine) owe(old, v *apps.View, dirty []apps.Owner) {
	for _, o := range dirty {
		x := old.VIP(o.VIP)
		if o.Kind != apps.OwnerVIP || x == nil || !x.Deferred() {
			continue
		}
		for d := range x.EdgesOf() {
			at := apps.SwitchInfo{DPID: d, Deferred: e.model.zones[deferredZone(d)]}
			if f := e.stale(old, v, o, at); len(f) > 0 {
				e.setDebts(d, append(slices.Clone(e.debts[d]), f...))
			}
		}
	}
}

// setDebts stores a switch's.
func (e *Engine) setDebts(d flows.DPID, list []apps.Forget) {
	err := e.cfg.Store.Update(func(tx store.Tx) error {
		if len(list) == 0 {
			return tx.Delete(store.BucketDebts, d.String())
		}
		b, err := json.Marshal(list)
		if err != nil {
			return err
		}
		return tx.Put(store.BucketDebts, d.String(), b)
	})
	if err != nil {
		e.tell("error", "store", fmt.Sprintf("switch %s may remember connections of backends that have gone: %v", d, err))
	}
	if len(list) == 0 {
		delete(e.debts, d)
	} else {
		e.debts[d] = list
	}
}

// gone leaves out what is of backends that serve again.
func (e *Engine) gone(v *apps.View, d flows.DPID, list []apps.Forget) []apps.Forget {
	return slices.DeleteFunc(slices.Clone(list), func(f apps.Forget) bool {
		return slices.ContainsFunc(v.ServedBy(f.Backend.Addr()), func(s apps.Served) bool {
			return s.VIP.Address == f.VIP.Addr() && s.VIP.Proto() == f.Proto && s.VIP.Ports.Contains(f.VIP.Port()) &&
				v.Serves(s.VIP, s.Backend) && (!s.VIP.Deferred() || s.Backend.Host.At.DPID == d)
		})
	})
}

// collect has a switch that has come back forget what it owes when it has confirmed everything. What is of backends that serve
// again stays.
func (e *Engine) collect(v *apps.View, d flows.DPID, seq uint64) {
	list := e.gone(v, d, e.debts[d])
	if len(list) != len(e.debts[d]) {
		e.setDebts(d, list)
	}
	if len(list) > 0 {
		e.owed.add(d, apps.Owner{Kind: apps.OwnerBase}, seq, list)
	}
}

// paid notes what a switch has been asked to forget.
func (e *Engine) paid(d flows.DPID, done []apps.Forget) {
	list := slices.DeleteFunc(slices.Clone(e.debts[d]), func(f apps.Forget) bool { return slices.Contains(done, f) })
	if len(list) != len(e.debts[d]) {
		e.setDebts(d, list)
	}
}
