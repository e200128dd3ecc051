package vip

import (
	"encoding/json"
	"fmt"
	"time"
)

// Schema is the version of what [Encode] writes.
const Schema = 1

// record is a VIP as stored: the Spec and what does not follow from it.
type record struct {
	Schema     int      `json:"schema"`
	ID         ID       `json:"id"`
	Version    uint64   `json:"version"`
	Origin     Origin   `json:"origin"`
	Spec       Spec     `json:"spec"`
	BackendIDs []uint32 `json:"backend_ids"` // in the order of spec.backends
	NextID     uint32   `json:"next_id"`
	Former     []Former `json:"former,omitempty"`

	DrainSince map[uint32]time.Time `json:"drain_since,omitempty"` // by backend id
}

// Encode is the VIP as JSON for the store; the same VIP gives the same bytes.
func Encode(v *VIP) ([]byte, error) {
	r := record{Schema: Schema, ID: v.ID, Version: v.Version, Origin: v.Origin, Spec: v.Spec,
		BackendIDs: make([]uint32, len(v.Backends)), NextID: v.NextID, Former: v.Former}
	for i := range v.Backends {
		b := &v.Backends[i]
		r.BackendIDs[i] = b.ID
		if !b.DrainSince.IsZero() {
			if r.DrainSince == nil {
				r.DrainSince = map[uint32]time.Time{}
			}
			r.DrainSince[b.ID] = b.DrainSince
		}
	}
	return json.Marshal(r)
}

// Decode is the reverse of Encode. Its error wraps [ErrSchema] for what a later version wrote.
func Decode(b []byte) (*VIP, error) {
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("stored vip: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("stored vip %d: %w %d, this version reads %d", r.ID, ErrSchema, r.Schema, Schema)
	}
	v := &VIP{ID: r.ID, Version: r.Version, Origin: r.Origin, Spec: Normalize(r.Spec), NextID: r.NextID, Former: r.Former}
	if err := v.derive(); err != nil {
		return nil, fmt.Errorf("stored vip %d: %w", r.ID, err)
	}
	if v.ID == 0 || len(r.BackendIDs) != len(v.Backends) {
		return nil, fmt.Errorf("stored vip %d %q: %d ids for %d backends", r.ID, r.Spec.Name, len(r.BackendIDs), len(v.Backends))
	}
	for i, id := range r.BackendIDs {
		if id == 0 || id >= r.NextID {
			return nil, fmt.Errorf("stored vip %d %q: backend %q: id %d was never given", r.ID, r.Spec.Name, v.Backends[i].Name, id)
		}
		v.Backends[i].ID, v.Backends[i].DrainSince = id, r.DrainSince[id]
	}
	return v, nil
}
