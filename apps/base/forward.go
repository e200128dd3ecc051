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

// destinations are the matches on the hosts' MACs in their order, which all switches share.
func destinations(t *topo.Snapshot) []flows.Match {
	out := make([]flows.Match, len(t.Hosts()))
	for i, h := range t.Hosts() {
		out[i] = make(flows.Match, 0, 1).MAC(flows.EthDst, h.MAC)
	}
	return out
}

// forward is table 60: to a host by its MAC, whether it is live or not; the rest over the spanning tree to all.
//
// What comes by a link that is not on the tree and is for no known host is dropped: flooded, it could go round for ever
// while switches learn of a change one after the other.
func (b *builder) forward(matches []flows.Match) {
	const t = apps.TableForward
	towards := make(map[uint32][]flows.Action)
	for i, h := range b.topo.Hosts() {
		no, ok := b.topo.Toward(b.dpid, h)
		if !ok {
			continue
		}
		if towards[no] == nil {
			towards[no] = b.towards(no, h.At.DPID == b.dpid)
		}
		b.rule(t, prioHost, matches[i], towards[no]...)
	}
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

// towards sends a packet out of a port: of a host here through the egress tables, of a link at once. A switch without
// registers finds the port again in table 80 by eth_dst.
func (b *builder) towards(no uint32, here bool) []flows.Action {
	switch {
	case !b.nicira && here:
		return []flows.Action{b.next(apps.TableEgress)}
	case !b.nicira:
		return []flows.Action{flows.Output{Port: no}}
	case here:
		return []flows.Action{flows.SetNum(apps.RegOutput, uint64(no)), b.next(apps.TableEgress)}
	}
	return []flows.Action{flows.SetNum(apps.RegOutput, uint64(no)), b.next(apps.TableOutput)}
}

// output is table 80.
func (b *builder) output(matches []flows.Match) {
	const t = apps.TableOutput
	b.rule(t, 0, nil)
	if b.nicira {
		for _, p := range b.topo.Ports(b.dpid) {
			if p.Kind != topo.Unknown {
				b.rule(t, 100, make(flows.Match, 0, 1).Num(apps.RegOutput, uint64(p.No)), flows.Output{Port: p.No})
			}
		}
		return
	}
	for i, h := range b.topo.Hosts() {
		if h.At.DPID == b.dpid && b.topo.Kind(h.At) == topo.Edge {
			b.rule(t, 100, matches[i], flows.Output{Port: h.At.No})
		}
	}
}
