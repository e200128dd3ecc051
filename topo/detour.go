package topo

import (
	"cmp"

	"github.com/evenflow/evenflow/flows"
)

// Detour is the port of switch from by which packets to another switch may leave it while the cable of [Snapshot.NextHop] is
// dead, with every other switch sending on as ever. It is not ok if there is none.
//
// It is a loop-free alternate of RFC 5286: the neighbour's own shortest paths do not lead back. As a hop costs 1 those are
// the neighbours that are nearer to the destination, or as near. Frames have no TTL, so no loop may form whatever else is
// dead: more cables, or the destination, which all around it then try to reach past each other. Each hop, on a shortest path
// or a detour, leads to a switch that is nearer, but for detours to one that is as near, sideways. So a loop would be of
// those alone. They are taken only where no other neighbour is nearer, and always to the first of the neighbours that are as
// near. In a loop of them let x, y and z follow one another: x is such a neighbour of y, so that z, y's first, is x or comes
// before it; going on by twos one would come before oneself, unless it is x again. So a loop has no more than two switches,
// which send to each other by the first cable between them; and a switch sends nothing back by the port it came by.
func (s *Snapshot) Detour(from, to flows.DPID) (port uint32, ok bool) {
	if s.graph == nil {
		return 0, false
	}
	_, port = s.graph.full.ways(from, to)
	return port, port != 0
}

// detour chooses among the neighbours of node i, whose way leads by neighbour first; dist are all nodes' distances.
func (r *routes) detour(i int, first neighbour, dist func(node int) float64) uint32 {
	var nearer, parallel, sideways *neighbour
	for j := range r.near[i] {
		n := &r.near[i][j]
		switch d := cmp.Compare(dist(n.node), dist(i)); {
		case n.port == first.port || d > 0:
		case d == 0:
			if sideways == nil || n.node < sideways.node || n.node == sideways.node && r.cable(i, n) < r.cable(i, sideways) {
				sideways = n
			}
		case n.node == first.node: // does not help when that switch is dead
			parallel = cmp.Or(parallel, n)
		default:
			nearer = cmp.Or(nearer, n)
		}
	}
	if best := cmp.Or(nearer, parallel, sideways); best != nil {
		return best.port
	}
	return 0
}

// cable is what both ends of one know it by among those between the same two switches: the port at the first of them.
func (r *routes) cable(i int, n *neighbour) uint32 {
	if i < n.node {
		return n.port
	}
	return n.far
}
