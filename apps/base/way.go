package base

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// way is the way to another switch, told by its number: out of the port of the shortest path or, where there is a detour, by a
// group that takes it as soon as the switch itself finds that port dead. It is mended when the controller knows.
//
// The port of entry must stand in the packet: that nothing goes back by it ends what would else go round for ever, see
// [topo.Snapshot.Detour].
func (b *builder) way(to flows.DPID, number uint16) {
	port, ok := b.topo.NextHop(b.dpid, to)
	if !b.nicira || !ok {
		return
	}
	m := make(flows.Match, 0, 1).Num(apps.RegOutput, uint64(apps.WayTo(number)))
	detour, ok := b.topo.Detour(b.dpid, to)
	if !ok {
		b.rule(apps.TableOutput, prioWay, m, flows.Output{Port: port})
		return
	}
	g := flows.Group{ID: apps.GroupOfWay(number), Type: flows.GroupFastFailover, Buckets: []flows.Bucket{watched(1, port), watched(2, detour)}}
	b.state.Groups = append(b.state.Groups, g)
	b.rule(apps.TableOutput, prioWay, m, flows.ToGroup{ID: g.ID})
}

// prioWay is that of ways in table 80.
const prioWay = 100

// watched is the bucket of a port that is taken while the port is live.
func watched(id, port uint32) flows.Bucket {
	k := flows.NewBucket(id, 0, flows.Output{Port: port})
	k.WatchPort = port
	return k
}
