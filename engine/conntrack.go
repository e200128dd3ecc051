package engine

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
)

// tracked are the numbers by which switches' conntrack knows things: stored before their first use, and never given twice.
// Connections outlive us and even a switch's rules, so that a number must always mean the same.
type tracked struct {
	endpoints map[backendKey]uint32
	aliased   map[backendKey]bool // endpoints that have a MAC of their own within the fabric
	zones     map[string]uint16
}

const (
	sequenceEndpoints = "endpoints"
	sequenceZones     = "zones"
	maxEndpoint       = uint64(apps.MarkDirect) - 1
	maxZone           = 1<<16 - 1
)

func newTracked() tracked {
	return tracked{map[backendKey]uint32{}, map[backendKey]bool{}, map[string]uint16{}}
}

// edgeZone names the zone of a switch for NAT at the client's edge. Switches never share one: bridges of one Open vSwitch have
// one conntrack.
func edgeZone(d flows.DPID) string { return "edge " + d.String() }

// hairpinZone names the zone for backends that are given their own connections by VIPs of an address. Those of an address
// share it, since an answer to the address does not say which of them it is about.
func hairpinZone(a netip.Addr) string { return "hairpin " + a.String() }

func endpointKey(k backendKey) string {
	return store.IDKey(uint64(k.vip)) + "/" + store.IDKey(uint64(k.backend))
}

// load reads all numbers.
func (t tracked) load(tx store.Tx) error {
	err := tx.List(store.BucketEndpoints, func(key string, b []byte) error {
		var k backendKey
		owner, backend, _ := strings.Cut(key, "/")
		if _, err := fmt.Sscan(strings.TrimLeft(owner, "0"), &k.vip); err != nil || len(b) != 4 && len(b) != 5 {
			return fmt.Errorf("stored endpoint %q: %w", key, store.ErrDamaged)
		}
		if _, err := fmt.Sscan(strings.TrimLeft(backend, "0"), &k.backend); err != nil {
			return fmt.Errorf("stored endpoint %q: %w", key, store.ErrDamaged)
		}
		t.endpoints[k] = binary.BigEndian.Uint32(b)
		if len(b) == 5 {
			t.aliased[k] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tx.List(store.BucketZones, func(name string, b []byte) error {
		if len(b) != 2 {
			return fmt.Errorf("stored zone %q: %w", name, store.ErrDamaged)
		}
		t.zones[name] = binary.BigEndian.Uint16(b)
		return nil
	})
}

// adopt takes over the numbers given in a transaction that has been committed.
func (t tracked) adopt(more tracked) {
	for k, n := range more.endpoints {
		t.endpoints[k] = n
	}
	for name, z := range more.zones {
		t.zones[name] = z
	}
}

// give stores the numbers that a VIP needs and does not have yet, and returns them.
func (t tracked) give(tx store.Tx, x *vip.VIP) (more tracked, err error) {
	more = newTracked()
	if x.Spec.Mode == vip.ModeNAT {
		return more, nil
	}
	if err := t.giveZone(tx, hairpinZone(x.Address), more); err != nil {
		return more, err
	}
	for i := range x.Backends {
		k := backendKey{x.ID, x.Backends[i].ID}
		if t.endpoints[k] != 0 {
			continue
		}
		n, err := store.NextID(tx, sequenceEndpoints, maxEndpoint)
		if err != nil {
			return more, err
		}
		more.endpoints[k] = uint32(n)
		if err := tx.Put(store.BucketEndpoints, endpointKey(k), binary.BigEndian.AppendUint32(nil, uint32(n))); err != nil {
			return more, err
		}
	}
	return more, nil
}

// giveZone stores a zone under a name that has none yet. Zones are given from the highest down: others who use conntrack on the
// same machine begin with the lowest.
func (t tracked) giveZone(tx store.Tx, name string, more tracked) error {
	if t.zones[name] != 0 {
		return nil
	}
	n, err := store.NextID(tx, sequenceZones, maxZone)
	if err != nil {
		return err
	}
	z := uint16(maxZone + 1 - n)
	more.zones[name] = z
	return tx.Put(store.BucketZones, name, binary.BigEndian.AppendUint16(nil, z))
}

// drop forgets a deleted VIP's endpoints. Their numbers are not given again.
func (t tracked) drop(tx store.Tx, id vip.ID) error {
	for k := range t.endpoints {
		if k.vip != id {
			continue
		}
		if err := tx.Delete(store.BucketEndpoints, endpointKey(k)); err != nil {
			return err
		}
	}
	return nil
}

// forgetEndpoints drops the numbers of a deleted VIP's endpoints and returns them.
func (t tracked) forgetEndpoints(id vip.ID) map[uint32]bool {
	gone := map[uint32]bool{}
	for k, n := range t.endpoints {
		if k.vip == id {
			gone[n] = true
			delete(t.endpoints, k)
			delete(t.aliased, k)
		}
	}
	return gone
}

// giveZones gives switches that have come the zones that they do not have yet: in one transaction, since many may come at once.
// Without a zone the VIPs of modes that need it do not work there.
func (e *Engine) giveZones(switches map[flows.DPID]bool) {
	t, more := e.model.tracked, newTracked()
	missing := map[string]flows.DPID{}
	for d := range switches {
		for _, name := range []string{edgeZone(d), deferredZone(d), mirrorZone(d)} {
			if t.zones[name] == 0 {
				missing[name] = d
			}
		}
	}
	if len(missing) == 0 {
		return
	}
	failed := map[flows.DPID]error{}
	err := e.cfg.Store.Update(func(tx store.Tx) error {
		clear(failed)
		for _, name := range slices.Sorted(maps.Keys(missing)) {
			if err := t.giveZone(tx, name, more); err != nil {
				failed[missing[name]] = fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	if err != nil {
		for _, d := range missing {
			failed[d] = err
		}
		more = newTracked()
	}
	t.adopt(more)
	for _, d := range slices.Sorted(maps.Keys(failed)) {
		e.tell("error", d.String(), fmt.Sprintf("no conntrack zone: %v", failed[d]))
	}
}

// number gives a VIP of the view its numbers.
func (t tracked) number(x *apps.VIP) {
	if x.Spec.Mode == vip.ModeNAT {
		return
	}
	x.Hairpin = t.zones[hairpinZone(x.Address)]
	for i := range x.Backends {
		k := backendKey{x.ID, x.Backends[i].ID}
		x.Backends[i].Endpoint, x.Backends[i].Aliased = t.endpoints[k], t.aliased[k]
	}
}

// aliases gives backends of modes that tell them apart by their MACs one of their own, if an older one of the VIP has the same: for good, stored
// before its first use, since what is under way must not change its meaning when the older one goes.
func (e *Engine) aliases(vips []*apps.VIP) {
	t := e.model.tracked
	fresh := map[backendKey]*apps.Backend{}
	for _, x := range vips {
		if !x.Deferred() {
			continue
		}
		for i := range x.Backends {
			if b := &x.Backends[i]; b.Endpoint != 0 && x.Hidden(b) {
				fresh[backendKey{x.ID, b.ID}] = b
			}
		}
	}
	if len(fresh) == 0 {
		return
	}
	err := e.cfg.Store.Update(func(tx store.Tx) error {
		for k, b := range fresh {
			if err := tx.Put(store.BucketEndpoints, endpointKey(k), append(binary.BigEndian.AppendUint32(nil, b.Endpoint), 1)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.tell("error", "store", fmt.Sprintf("backends that share a host's MAC cannot be told apart: %v", err))
		return
	}
	for k, b := range fresh {
		t.aliased[k], b.Aliased = true, true
	}
}
