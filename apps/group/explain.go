package group

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/ovshash"
)

// selection are the fields by which a VIP's group chooses, as OpenFlow has them and as they are hashed. With affinity they are the
// addresses, so that a client's choice is always the same while the buckets are.
func selection(x *apps.VIP) ([]flows.Field, ovshash.Fields) {
	f := apps.FamilyOf(x.Address)
	if x.Spec.Affinity != nil {
		return []flows.Field{f.Src, f.Dst}, ovshash.Addresses
	}
	return []flows.Field{f.Src, f.Dst, flows.IPProto, flows.TCPSrc, flows.TCPDst, flows.UDPSrc, flows.UDPDst}, ovshash.FiveTuple
}

// Explain computes what a switch's group chooses for a new connection.
func (a *App) Explain(v *apps.View, x *apps.VIP, d flows.DPID, t apps.Tuple) (*apps.Backend, string) {
	if !handles(x) {
		return nil, ""
	}
	buckets := buckets(x)
	switch i := v.Switches[d]; {
	case !able(i):
		return nil, "has no conntrack, and so not the mode"
	case len(buckets) == 0:
		return nil, "no backend takes connections: it is refused"
	case !i.OF15:
		return nil, "chooses by a hash of its own, in OpenFlow 1.3"
	case i.Hash == 0:
		return nil, "its hash is not known"
	default:
		ids := make([]uint32, len(buckets))
		for n := range buckets {
			ids[n] = buckets[n].ID
		}
		_, fields := selection(x)
		id, _ := i.Hash.Pick(ids, i.Hash.Basis(t.Flow(), fields))
		for n := range x.Backends {
			if y := &x.Backends[n]; y.ID == id/replicas {
				return y, ""
			}
		}
	}
	return nil, "no backend has the bucket that is chosen" // there is none without
}
