package base

import (
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Priorities in table 60.
const (
	prioHost    = 100
	prioOwn     = 90
	prioOffTree = 10
)

// forward is table 60 for what is for no known host: over the spanning tree to all.
//
// What comes by a link that is not on the tree and is for no known host is dropped: flooded, it could go round for ever
// while switches learn of a change one after the other.
func (b *builder) forward() {
	const t = apps.TableForward
	b.rule(t, prioOwn, flows.Match{}.MAC(flows.EthDst, apps.VIPMAC))
	tree := b.topo.Tree(b.dpid)
	for _, p := range b.topo.Ports(b.dpid) {
		if p.Kind == topo.Link && !slices.Contains(tree, p.No) {
			b.rule(t, prioOffTree, inPort(p.No))
		}
	}
	all := slices.Concat(tree, b.topo.EdgePorts(b.dpid))
	slices.Sort(all)
	var flood []flows.Action
	for _, no := range all { // the packet's own port is left out by the switch
		flood = append(flood, flows.Output{Port: no})
	}
	b.rule(t, 0, nil, flood...)
}

// output is table 80.
func (b *builder) output() {
	const t = apps.TableOutput
	b.rule(t, 0, nil)
	if !b.nicira {
		return // by host
	}
	for _, p := range b.topo.Ports(b.dpid) {
		if p.Kind != topo.Unknown {
			b.rule(t, 100, make(flows.Match, 0, 1).Num(apps.RegOutput, uint64(p.No)), flows.Output{Port: p.No})
		}
	}
}
