package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
)

// generations are the sets of backends of VIPs that choose by them, as stored, and how far the change of each is. But for the
// number of those that change only the loop touches it.
type generations struct {
	all       map[vip.ID]*vip.Generations
	confirmed map[vip.ID]time.Time            // of those that change: since when all switches have confirmed the step; zero: not all have
	quiet     map[vip.ID]map[uint32]time.Time // of generations that are not current: since when this controller has seen none of their packets
	differ    map[vip.ID]time.Time            // of those whose backends are not those of their newest generation: since when
	missing   map[flows.DPID]time.Time        // switches that are not connected, until when they are waited for
	due       time.Time                       // of the next look; zero: nothing is awaited
	times     *changeTimes
	changing  atomic.Int32
	wake      chan struct{} // a switch has confirmed something
}

const (
	sequenceEdges = "edges"
	maxEdge       = 1 << 16

	// absence is how long a switch that is known and not connected counts as connected: it may be on its way back, and forwards
	// meanwhile.
	absence = 15 * time.Second

	// awayMost is for how long after that it is taken to choose by what it had, which is kept for it.
	awayMost = time.Hour
)

func newGenerations() *generations {
	return &generations{all: map[vip.ID]*vip.Generations{}, confirmed: map[vip.ID]time.Time{}, quiet: map[vip.ID]map[uint32]time.Time{},
		differ: map[vip.ID]time.Time{}, missing: map[flows.DPID]time.Time{}, times: newChangeTimes(), wake: make(chan struct{}, 1)}
}

// loadGenerations reads what is stored. What was under way goes on.
func (e *Engine) loadGenerations(tx store.Tx) error {
	err := tx.List(store.BucketGenerations, func(key string, b []byte) error {
		var id vip.ID
		if _, err := fmt.Sscan(key, &id); err != nil {
			return fmt.Errorf("stored generations %q: %w", key, store.ErrDamaged)
		}
		g := &vip.Generations{}
		if err := json.Unmarshal(b, g); err != nil {
			return fmt.Errorf("stored generations of VIP %d: %w: %w", id, store.ErrDamaged, err)
		}
		e.generations.all[id] = g
		return nil
	})
	if err != nil {
		return err
	}
	e.model.edges = map[flows.DPID]uint16{}
	return tx.List(store.BucketEdges, func(key string, b []byte) error {
		d, err := flows.ParseDPID(key)
		if err != nil || len(b) != 2 {
			return fmt.Errorf("stored edge %q: %w", key, store.ErrDamaged)
		}
		e.model.edges[d] = binary.BigEndian.Uint16(b)
		return nil
	})
}

// storeGenerations stores the generations of some VIPs: before anything is done for them.
func (e *Engine) storeGenerations(some map[vip.ID]*vip.Generations) error {
	if len(some) == 0 {
		return nil
	}
	err := e.cfg.Store.Update(func(tx store.Tx) error { return putGenerations(tx, some) })
	if err == nil {
		maps.Copy(e.generations.all, some)
	}
	return err
}

func putGenerations(tx store.Tx, some map[vip.ID]*vip.Generations) error {
	for id, g := range some {
		b, err := json.Marshal(g)
		if err == nil {
			err = tx.Put(store.BucketGenerations, store.IDKey(uint64(id)), b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetGenerations drops those of a deleted VIP.
func (g *generations) forget(id vip.ID) {
	delete(g.all, id)
	delete(g.confirmed, id)
	delete(g.quiet, id)
	delete(g.differ, id)
	g.times.forget(id)
}

// deferredZone and mirrorZone name a switch's zones for what is translated beside backends, and for backends that are given their
// own connections.
func deferredZone(d flows.DPID) string { return "deferred " + d.String() }
func mirrorZone(d flows.DPID) string   { return "mirror " + d.String() }

// gateways are the MACs of the switches that VIPs name to choose for them: made of a number that no two have.
func (e *Engine) gateways(vips []*apps.VIP) map[flows.DPID]flows.MAC {
	var out map[flows.DPID]flows.MAC
	for _, x := range vips {
		if !x.Deferred() {
			continue
		}
		for _, d := range x.Gateways() {
			if zone := e.model.zones[deferredZone(d)]; zone != 0 {
				if out == nil {
					out = map[flows.DPID]flows.MAC{}
				}
				out[d] = apps.GatewayMAC(zone)
			}
		}
	}
	return out
}

// numberEdges gives each switch that has backends of VIPs which choose by generations its number, stored before its first use.
func (e *Engine) numberEdges(vips []*apps.VIP) {
	var fresh []flows.DPID
	for _, x := range vips {
		if !x.Deferred() {
			continue
		}
		for d := range x.EdgesOf() {
			if _, has := e.model.edges[d]; !has {
				fresh = append(fresh, d)
			}
		}
	}
	if len(fresh) == 0 {
		return
	}
	edges := maps.Clone(e.model.edges) // views share the old one
	err := e.cfg.Store.Update(func(tx store.Tx) error {
		for _, d := range fresh {
			if _, has := edges[d]; has {
				continue
			}
			n, err := store.NextID(tx, sequenceEdges, maxEdge)
			if err != nil {
				return err
			}
			edges[d] = uint16(n - 1)
			if err := tx.Put(store.BucketEdges, d.String(), binary.BigEndian.AppendUint16(nil, edges[d])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.tell("error", "store", fmt.Sprintf("edges are not numbered, and asked more than once: %v", err))
		return
	}
	e.model.edges = edges
}
