package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
)

const (
	keyTally      = "tally"
	tallyInterval = 30 * time.Second // counts are stored so often: what comes after is read from the switches again
)

// savedTally is what a restart must know for counts to go on: what has been counted, and the readings up to which.
type savedTally struct {
	Made  map[uint32]int64 `json:"made"`
	Total map[vip.ID]int64 `json:"total"`
	Last  []savedReading   `json:"last"`
}

type savedReading struct {
	DPID    flows.DPID        `json:"dpid"`
	Table   uint8             `json:"table"`
	Packets map[uint32]uint64 `json:"packets"`
}

// encode is the tally as it is stored, nil if nothing has been counted since it was last encoded, or not for long enough.
func (t *tally) encode(now time.Time, stopping bool) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.counted || !stopping && now.Sub(t.encoded) < tallyInterval {
		return nil, nil
	}
	t.counted, t.encoded = false, now
	s := savedTally{Made: t.made, Total: t.total}
	for from, last := range t.last {
		r := savedReading{from.dpid, from.table, map[uint32]uint64{}}
		for endpoint, packets := range last {
			if packets > 0 {
				r.Packets[endpoint] = packets
			}
		}
		if len(r.Packets) > 0 {
			s.Last = append(s.Last, r)
		}
	}
	return json.Marshal(s)
}

// restore goes on with what a former run has counted, of VIPs and endpoints that there are.
func (t *tally) restore(b []byte, isVIP func(vip.ID) bool, isEndpoint map[uint32]bool) error {
	var s savedTally
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, n := range s.Total {
		if isVIP(id) {
			t.total[id] = n
		}
	}
	for endpoint, n := range s.Made {
		if isEndpoint[endpoint] {
			t.made[endpoint] = n
		}
	}
	for _, r := range s.Last {
		if r.Packets != nil {
			t.last[counters{r.DPID, r.Table}] = r.Packets
		}
	}
	return nil
}

// saveTally stores what has been counted, if it is time to.
func (e *Engine) saveTally(stopping bool) {
	b, err := e.tally.encode(e.cfg.Now(), stopping)
	if err == nil && b != nil {
		err = e.cfg.Store.Update(func(tx store.Tx) error { return tx.Put(store.BucketTopology, keyTally, b) })
	}
	if err != nil {
		e.tell("error", "store", fmt.Sprintf("counts of connections not stored: %v", err))
	}
}

// restoreTally takes over what was counted when the last run ended.
func (e *Engine) restoreTally(tx store.Tx) error {
	b, err := tx.Get(store.BucketTopology, keyTally)
	if err != nil || b == nil {
		return err
	}
	endpoints := make(map[uint32]bool, len(e.model.tracked.endpoints))
	for _, n := range e.model.tracked.endpoints {
		endpoints[n] = true
	}
	if err := e.tally.restore(b, func(id vip.ID) bool { return e.model.vips[id] != nil }, endpoints); err != nil {
		return fmt.Errorf("stored counts of connections: %w", err)
	}
	return nil
}
