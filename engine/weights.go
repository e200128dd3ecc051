package engine

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/store"
)

// weights are those in effect where they are not the declared ones, by VIP and backend.
type weights map[vip.ID]map[uint32]weightNow

// weightNow is a backend's weight in effect, good for as long as the declared one stays.
type weightNow struct {
	Declared int `json:"declared"`
	Now      int `json:"now"`
}

// load reads the weights that are in effect.
func (w weights) load(tx store.Tx) error {
	return tx.List(store.BucketWeights, func(key string, b []byte) error {
		id, err := strconv.ParseUint(key, 10, 16)
		if err != nil {
			return err
		}
		var of map[uint32]weightNow
		if err := json.Unmarshal(b, &of); err != nil {
			return fmt.Errorf("stored weights of VIP %s: %w", key, err)
		}
		w[vip.ID(id)] = of
		return nil
	})
}

// drop forgets the weights of a VIP.
func (w weights) drop(tx store.Tx, id vip.ID) error {
	return tx.Delete(store.BucketWeights, store.IDKey(uint64(id)))
}

// apply puts the weights in effect in the place of declared ones, where those are what they were.
func (w weights) apply(x *apps.VIP) {
	if x.Spec.OnImbalance != vip.Reweight {
		return
	}
	for i := range x.Backends {
		b := &x.Backends[i]
		if now, ok := w[x.ID][b.ID]; ok && now.Declared == b.Weight && b.Weight > 0 {
			moved := *b.Backend
			moved.Weight = now.Now
			b.Backend = &moved
		}
	}
}
