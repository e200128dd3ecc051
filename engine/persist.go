package engine

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

const (
	keyLLDP      = "lldp"
	keyAgents    = "agents"
	keyTopology  = "topology"
	sequenceVIPs = "vips"
	maxVIPID     = 1<<16 - 1
	saveInterval = 250 * time.Millisecond // the topology is stored this late, but for places of backends: what a kill forgets is asked for anew
	saveRetry    = 10 * time.Second       // after a failure it is tried again
)

// load reads the model and the topology from the store, and makes the keys at the first start.
func (e *Engine) load() error {
	e.model = newModel()
	cfg := e.cfg.Topo
	cfg.MAC = apps.VIPMAC
	var saved topo.Saved
	err := e.cfg.Store.Update(func(tx store.Tx) error {
		var err error
		if cfg.Key, err = storedKey(tx, keyLLDP); err != nil {
			return err
		}
		if e.agents.key, err = storedKey(tx, keyAgents); err != nil {
			return err
		}
		b, err := tx.Get(store.BucketTopology, keyTopology)
		if err != nil {
			return err
		}
		if b != nil {
			if err := json.Unmarshal(b, &saved); err != nil {
				return fmt.Errorf("stored topology: %w", err)
			}
		}
		if err := e.restoreHealth(tx); err != nil {
			return err
		}
		if err := e.model.tracked.load(tx); err != nil {
			return err
		}
		e.tally.know(e.model.tracked.endpoints)
		if err := e.loadGenerations(tx); err != nil {
			return err
		}
		if err := e.loadDebts(tx); err != nil {
			return err
		}
		if err := e.model.weights.load(tx); err != nil {
			return err
		}
		if err := tx.List(store.BucketVIPs, func(_ string, b []byte) error {
			x, err := vip.Decode(b)
			if err == nil {
				x.BeginDrains(x, e.cfg.Now()) // an earlier version did not store it
				e.model.put(x)
			}
			return err
		}); err != nil {
			return err
		}
		return e.restoreTally(tx)
	})
	if err != nil {
		return err
	}
	cfg.Lag, cfg.Send = probeWay{e}.Lag, e.sendFrame
	e.topo = topo.New(e.cfg.Now(), cfg, saved)
	e.saved.topo = e.topo.Snapshot()
	e.expectKnown()
	e.changed()
	if err := e.applyFile(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(e.model.vips)) {
		x := e.model.vips[id]
		if err := e.routerWith(x); err != nil {
			return fmt.Errorf("VIP %q: %w", x.Spec.Name, err)
		}
		if err := e.probeable(x); err != nil { // it is older than the route
			e.tell("vip", x.Spec.Name, "is not probed: "+err.Error())
		}
	}
	return nil
}

// storedKey is a key that is made at its first use.
func storedKey(tx store.Tx, name string) ([]byte, error) {
	key, err := tx.Get(store.BucketKeys, name)
	if err != nil || key != nil {
		return key, err
	}
	key = make([]byte, 32)
	rand.Read(key)
	return key, tx.Put(store.BucketKeys, name, key)
}

// storeNew gives out an id and stores the VIP that create makes with it, in one transaction: an id is never given twice.
func (e *Engine) storeNew(create func(id vip.ID) (*vip.VIP, error)) (x *vip.VIP, err error) {
	var more tracked
	err = e.cfg.Store.Update(func(tx store.Tx) error {
		id, err := store.NextID(tx, sequenceVIPs, maxVIPID)
		if errors.Is(err, store.ErrExhausted) {
			return fmt.Errorf("%w: a store gives out %d, and none twice", vip.ErrExhausted, maxVIPID)
		}
		if err != nil {
			return err
		}
		if x, err = create(vip.ID(id)); err != nil {
			return err
		}
		if more, err = e.model.give(tx, x); err != nil {
			return err
		}
		return putVIP(tx, x)
	})
	if err == nil {
		e.model.adopt(more)
		e.tally.know(more.endpoints)
	}
	return x, err
}

// storeVIP stores a VIP that has changed, and generations with it: all or nothing.
func (e *Engine) storeVIP(x *vip.VIP, some map[vip.ID]*vip.Generations) error {
	var more tracked
	err := e.cfg.Store.Update(func(tx store.Tx) (err error) {
		if more, err = e.model.give(tx, x); err != nil {
			return err
		}
		if x.Spec.OnImbalance != vip.Reweight {
			if err := e.model.weights.drop(tx, x.ID); err != nil {
				return err
			}
		}
		if err := putGenerations(tx, some); err != nil {
			return err
		}
		return putVIP(tx, x)
	})
	if err == nil {
		e.model.adopt(more)
		e.tally.know(more.endpoints)
		maps.Copy(e.generations.all, some)
	}
	return err
}

func (e *Engine) unstoreVIP(x *vip.VIP) error {
	err := e.cfg.Store.Update(func(tx store.Tx) error {
		if err := e.model.tracked.drop(tx, x.ID); err != nil {
			return err
		}
		if err := e.model.weights.drop(tx, x.ID); err != nil {
			return err
		}
		if err := tx.Delete(store.BucketGenerations, store.IDKey(uint64(x.ID))); err != nil {
			return err
		}
		return tx.Delete(store.BucketVIPs, store.IDKey(uint64(x.ID)))
	})
	if err == nil {
		e.tally.forget(x.ID, e.model.forgetEndpoints(x.ID))
		e.generations.forget(x.ID)
		e.relief.forget(x.ID)
		e.origins.forget(x.ID)
		e.notes.forget(x.ID)
	}
	return err
}

func putVIP(tx store.Tx, x *vip.VIP) error {
	b, err := vip.Encode(x)
	if err != nil {
		return err
	}
	return tx.Put(store.BucketVIPs, store.IDKey(uint64(x.ID)), b)
}

// Backup writes a backup of the store.
func (e *Engine) Backup(w io.Writer) error { return e.cfg.Store.Backup(w) }

// saver stores the topology, and what probes have found, some time after they have changed.
type saver struct {
	topo *topo.Snapshot // as stored
	at   time.Time      // when to store what has changed since; zero: nothing has
}

func (s *saver) due() time.Time { return s.at }

// saveIfDue notes a changed topology, and stores it when its time has come.
func (e *Engine) saveIfDue() {
	now := e.cfg.Now()
	if e.saved.at.IsZero() && e.topo.Snapshot() != e.saved.topo {
		e.saved.at = now.Add(saveInterval)
	}
	if !e.saved.at.IsZero() && !now.Before(e.saved.at) {
		e.save()
	}
}

// storePlaces stores the topology at once if a backend's host is not yet stored where rules are about to lead. Who was killed before
// that, and started again, would take the backend for unknown and end the connections that switches have made to it since.
func (e *Engine) storePlaces(old, v *apps.View) {
	for _, x := range v.VIPs {
		if old != nil && old.VIP(x.ID) == x {
			continue
		}
		for i := range x.Backends {
			b := &x.Backends[i]
			if b.Host == nil {
				continue
			}
			if h, ok := v.Routes.HostAt(e.saved.topo, b.Address); !ok || h.MAC != b.Host.MAC || h.At != b.Host.At {
				e.save()
				return
			}
		}
	}
}

// save stores the topology and what probes have found. A failure is told, and it is tried again after a while.
func (e *Engine) save() {
	snap := e.topo.Snapshot()
	b, err := json.Marshal(e.topo.Saved())
	if err == nil {
		err = e.cfg.Store.Update(func(tx store.Tx) error {
			if err := tx.Put(store.BucketTopology, keyTopology, b); err != nil {
				return err
			}
			return e.saveHealth(tx)
		})
	}
	if err != nil {
		e.saved.at = e.cfg.Now().Add(saveRetry)
		e.tell("error", "store", fmt.Sprintf("topology and health not stored: %v", err))
		return
	}
	e.saved = saver{topo: snap}
}

// applyFile puts the configuration file's VIPs into effect if their list has changed since it was last applied: those that are
// new or different are written, those of an earlier file that are gone are deleted. One that would be in the way is deleted
// before; the others are not, after an error.
func (e *Engine) applyFile() error {
	if e.cfg.FileVIPs == nil {
		return nil
	}
	list, err := json.Marshal(e.cfg.FileVIPs)
	if err != nil {
		return err
	}
	var last []byte
	if err := e.cfg.Store.View(func(tx store.Tx) (err error) {
		last, err = tx.Get(store.BucketConfig, "vips")
		return err
	}); err != nil || string(last) == string(list) {
		return err
	}
	opt := apps.WriteOptions{Origin: vip.OriginFile}
	var errs []error
	var later []string
	for name, x := range e.model.byName {
		switch {
		case x.Origin != vip.OriginFile || slices.ContainsFunc(e.cfg.FileVIPs, func(s vip.Spec) bool { return s.Name == name }):
		case inTheWay(x, e.cfg.FileVIPs):
			errs = append(errs, e.deleteVIP(name, opt))
		default:
			later = append(later, name)
		}
	}
	for _, spec := range e.cfg.FileVIPs {
		_, err := e.updateVIP(spec.Name, opt, func(s *vip.Spec) error { *s = spec; return nil })
		if errors.Is(err, apps.ErrNotFound) {
			_, err = e.createVIP(spec, opt)
		}
		errs = append(errs, err)
	}
	for _, name := range later {
		if errors.Join(errs...) == nil {
			errs = append(errs, e.deleteVIP(name, opt))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("vips of the configuration file: %w", err)
	}
	return e.cfg.Store.Update(func(tx store.Tx) error { return tx.Put(store.BucketConfig, "vips", list) })
}

// inTheWay reports whether one of some VIPs cannot be while old is.
func inTheWay(old *vip.VIP, specs []vip.Spec) bool {
	return slices.ContainsFunc(specs, func(s vip.Spec) bool {
		x, err := vip.Create(1, s, vip.OriginFile)
		return err == nil && vip.Excludes(old, x)
	})
}
