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
//
// What is flooded to edges passes the egress tables too, where registers allow it: a backend may answer a client before the
// switch has the client's rules.
func (b *builder) forward() {
	const t = apps.TableForward
	b.rule(t, prioOwn, flows.Match{}.MAC(flows.EthDst, apps.VIPMAC))
	b.rule(t, prioOwn, flows.Match{}.MAC(flows.EthDst, apps.ProbeMAC))
	tree := b.topo.Tree(b.dpid)
	for _, p := range b.topo.Ports(b.dpid) {
		if p.Kind == topo.Link && !slices.Contains(tree, p.No) {
			b.rule(t, prioOffTree, inPort(p.No))
		}
	}
	flood, edges := outputs(tree), b.topo.EdgePorts(b.dpid)
	switch {
	case !b.nicira:
		flood = append(flood, outputs(edges)...)
	case len(edges) > 0:
		flood = append(flood, flows.SetNum(apps.RegOutput, uint64(flows.PortFlood)), b.next(apps.TableEgress))
	}
	b.rule(t, 0, nil, flood...)
}

// outputs are the actions that send out of ports; the packet's own is left out by the switch.
func outputs(ports []uint32) (out []flows.Action) {
	for _, no := range ports {
		out = append(out, flows.Output{Port: no})
	}
	return out
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
	if edges := b.topo.EdgePorts(b.dpid); len(edges) > 0 {
		b.rule(t, 100, make(flows.Match, 0, 1).Num(apps.RegOutput, uint64(flows.PortFlood)), outputs(edges)...)
	}
}
