package group

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/ovshash"
)

// Shares are those of the backends' buckets: their weights' but for ties. They cannot be told of with affinity, where clients
// are shared and not connections, nor where a switch without bucket ids divides by rules of its own.
func (a *App) Shares(v *apps.View, x *apps.VIP) []float64 {
	if !handles(x) || x.Spec.Affinity != nil {
		return nil
	}
	for _, i := range v.Switches {
		if able(i) && !i.OF15 {
			return nil
		}
	}
	list := buckets(x)
	each, byID := ovshash.Shares(len(list)), make(map[uint32]float64, len(x.Backends))
	for i, k := range list {
		byID[k.ID/replicas] += each[i]
	}
	out := make([]float64, len(x.Backends))
	for i := range x.Backends {
		out[i] = byID[x.Backends[i].ID]
	}
	return out
}
