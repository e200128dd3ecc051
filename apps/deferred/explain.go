package deferred

import (
	"maps"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/ovshash"
)

var _ apps.Explainer = (*App)(nil)

// selection are the fields by which a group chooses, as OpenFlow has them and as they are hashed: with affinity a client's address, beside the
// VIP's, so that a client's choice is the same while the buckets are.
func selection(f *apps.Family, clients bool) ([]flows.Field, ovshash.Fields) {
	if clients {
		return []flows.Field{f.Src, f.Dst}, ovshash.Addresses
	}
	return []flows.Field{f.Src, f.Dst, flows.IPProto, flows.TCPSrc, flows.TCPDst, flows.UDPSrc, flows.UDPDst}, ovshash.FiveTuple
}

// Explain computes what the group of the current generation chooses for a new connection, as a gateway or a client's edge.
func (a *App) Explain(v *apps.View, x *apps.VIP, d flows.DPID, t apps.Tuple) (*apps.Backend, string) {
	if x.Spec.Mode != vip.ModeDeferred {
		return nil, ""
	}
	at := v.Switches[d]
	if !at.Deferrable() {
		return nil, "has no stable bucket ids or no conntrack, and so not the mode"
	}
	b := &builder{view: v, at: at}
	i, group := b.choice(x)
	switch {
	case i < 0 || i != x.Generations.Current():
		return nil, "no backend takes connections: it is refused"
	case at.Hash == 0:
		return nil, "its hash is not known"
	}
	ids := make([]uint32, len(group.Buckets))
	for n := range ids {
		ids[n] = group.Buckets[n].ID
	}
	_, fields := selection(apps.FamilyOf(x.Address), x.Generations.Kept[i].Clients)
	id, _ := at.Hash.Pick(ids, at.Hash.Basis(t.Flow(), fields))
	return x.BackendByID(id / replicas), ""
}

// disagreeing are two switches that choose by different hashes: then an edge that is handed an old connection looks for it where a
// gateway would not have sent it. None if all that is known is alike.
func disagreeing(v *apps.View) []string {
	var first flows.DPID
	hash := ovshash.Build(0)
	for _, d := range slices.Sorted(maps.Keys(v.Switches)) {
		switch h := v.Switches[d].Hash; {
		case h == 0 || h == hash:
		case hash == 0:
			first, hash = d, h
		default:
			return []string{first.String() + " (" + hash.String() + ")", d.String() + " (" + h.String() + ")"}
		}
	}
	return nil
}
