package topo

import (
	"cmp"
	"math"
	"slices"
	"sync"

	gonum "gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
	components "gonum.org/v1/gonum/graph/topo"

	"github.com/evenflow/evenflow/flows"
)

// awayCost is what a hop to or from a switch that has been away for long costs: such a switch may be dead, or may forward
// as ever with only its session lost, so it is used where nothing else leads on.
const awayCost = 1 << 20

// graph is the network of switches: its cables, shortest paths and one spanning tree for each connected part.
type graph struct {
	cables    []Cable
	full      *routes
	tree      *routes
	treePorts map[flows.DPID][]uint32
	shortcuts bool // some cable is not on a tree
}

// newGraph builds the graph; cables must be sorted. A cable between two ports of one switch leads nowhere.
func newGraph(switches []flows.DPID, cables []Cable, away map[flows.DPID]bool) *graph {
	g := &graph{cables: cables, full: newRoutes(switches, cables, away), treePorts: make(map[flows.DPID][]uint32)}
	peer := make(map[PortID]PortID, 2*len(cables))
	for _, c := range cables {
		peer[c.A], peer[c.B] = c.B, c.A
	}
	// The tree of a part is made of its switches' shortest paths to its root.
	var tree []Cable
	for _, part := range components.ConnectedComponents(g.full.net) {
		root := slices.MinFunc(part, func(a, b gonum.Node) int {
			if x, y := away[g.full.nodes[a.ID()]], away[g.full.nodes[b.ID()]]; x != y {
				return map[bool]int{false: -1, true: 1}[x]
			}
			return cmp.Compare(a.ID(), b.ID())
		})
		for _, n := range part {
			from := g.full.nodes[n.ID()]
			no, ok := g.full.hop(from, g.full.nodes[root.ID()])
			if !ok {
				continue
			}
			near := PortID{from, no}
			far := peer[near]
			g.treePorts[near.DPID] = append(g.treePorts[near.DPID], near.No)
			g.treePorts[far.DPID] = append(g.treePorts[far.DPID], far.No)
			tree = append(tree, newCable(near, far))
		}
	}
	for _, p := range g.treePorts {
		slices.Sort(p)
	}
	slices.SortFunc(tree, Cable.Compare)
	g.tree = newRoutes(switches, tree, away)
	for _, c := range cables {
		g.shortcuts = g.shortcuts || c.A.DPID != c.B.DPID && !slices.Contains(tree, c)
	}
	return g
}

func newCable(a, b PortID) Cable {
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	return Cable{a, b}
}

// routes are the shortest paths over some cables, found per destination when first asked for.
type routes struct {
	nodes []flows.DPID // sorted; a node's id is its place
	net   *simple.WeightedUndirectedGraph
	near  [][]neighbour // by node, sorted by port
	to    []destination
}

type neighbour struct {
	port uint32
	node int
	far  uint32 // its port
	cost float64
}

type destination struct {
	once   sync.Once
	port   []uint32 // by node; 0: no way
	detour []uint32 // by node; 0: none
}

func newRoutes(nodes []flows.DPID, cables []Cable, away map[flows.DPID]bool) *routes {
	r := &routes{nodes: nodes, net: simple.NewWeightedUndirectedGraph(0, 0), near: make([][]neighbour, len(nodes)),
		to: make([]destination, len(nodes))}
	for i := range nodes {
		r.net.AddNode(simple.Node(i))
	}
	for _, c := range cables {
		a, okA := slices.BinarySearch(nodes, c.A.DPID)
		b, okB := slices.BinarySearch(nodes, c.B.DPID)
		if !okA || !okB || a == b {
			continue
		}
		cost := 1.0
		if away[c.A.DPID] || away[c.B.DPID] {
			cost = awayCost
		}
		r.net.SetWeightedEdge(simple.WeightedEdge{F: simple.Node(a), T: simple.Node(b), W: cost})
		r.near[a] = append(r.near[a], neighbour{c.A.No, b, c.B.No, cost})
		r.near[b] = append(r.near[b], neighbour{c.B.No, a, c.A.No, cost})
	}
	for _, n := range r.near {
		slices.SortFunc(n, func(a, b neighbour) int { return cmp.Compare(a.port, b.port) })
	}
	return r
}

func (r *routes) hop(from, to flows.DPID) (uint32, bool) {
	port, _ := r.ways(from, to)
	return port, port != 0
}

// ways are the ports to a destination on a shortest path, and on a detour; 0: there is none.
//
// It takes only distances from gonum: which of several shortest paths it finds depends on map order.
func (r *routes) ways(from, to flows.DPID) (port, detour uint32) {
	a, okA := slices.BinarySearch(r.nodes, from)
	b, okB := slices.BinarySearch(r.nodes, to)
	if !okA || !okB || a == b {
		return 0, 0
	}
	d := &r.to[b]
	d.once.Do(func() {
		d.port, d.detour = make([]uint32, len(r.nodes)), make([]uint32, len(r.nodes))
		tree := path.DijkstraFrom(simple.Node(b), r.net)
		dist := func(node int) float64 { return tree.WeightTo(int64(node)) }
		for i := range r.nodes {
			if i == b || math.IsInf(dist(i), 1) {
				continue
			}
			for _, n := range r.near[i] {
				if dist(n.node)+n.cost == dist(i) {
					d.port[i], d.detour[i] = n.port, r.detour(i, n, dist)
					break
				}
			}
		}
	})
	return d.port[a], d.detour[a]
}
