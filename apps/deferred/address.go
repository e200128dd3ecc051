package deferred

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// Priorities of an address's rules.
const (
	prioErrors = 96  // table 30, above the same of mode group
	prioMasked = 100 // table 70
	prioNoWay  = 10  // table 60, above flooding

	prioUnmirrored = 110 // table 24
)

// address is what the VIPs of an address share: ICMP errors about their connections, and how their answers leave.
//
// An error tells its connection only to conntrack, so that each edge with backends is given a copy, and all but one drop it.
func (b *builder) address(a netip.Addr, vips []*apps.VIP) {
	f := apps.FamilyOf(a)
	b.rule(apps.TableAnswer, prioInvert, 0, state(apps.From(a), apps.CTInvalid, 0), flows.Go(apps.TableForward)) // translated
	b.rule(apps.TableEgress, prioMasked, 0, apps.From(a), flows.SetMAC(flows.EthSrc, apps.VIPMAC), flows.Go(apps.TableOutput))
	b.rule(apps.TableArrival, prioUntouched, 0, state(apps.To(a), apps.CTInvalid, 0))
	b.rule(apps.TableForward, prioNoWay, 0, apps.To(a)) // flooded it would come to backends here, which know nothing of it and reset it
	if _, behind := b.view.Routes.Via(a); behind {      // an answer to the VIP that nobody knows is none to who is behind the gateway
		b.rule(apps.TableMirror, prioUnmirrored, 0, apps.To(a), flows.Go(apps.TableVIP))
	}
	group := b.edges(vips)
	if len(group.Buckets) == 0 {
		return
	}
	b.state.Groups = append(b.state.Groups, group)
	for _, kind := range f.Errors {
		m := func() flows.Match { return apps.To(a).Num(flows.IPProto, f.ICMP).Num(f.ICMPType, kind) }
		b.rule(apps.TableVIP, prioErrors, 0, m(), flows.ToGroup{ID: group.ID})
		b.rule(apps.TableEgress, prioToVIP, 0, m(), flows.SetNum(apps.RegVIP, 0), apps.Known(b.at.Deferred, apps.TableArrival))
	}
}

// edges is the group with a bucket for each edge that has backends of some VIPs: to one of them. The switch itself comes last:
// translation inside a group changes the packet for the buckets that follow.
func (b *builder) edges(vips []*apps.VIP) flows.Group {
	to := map[flows.DPID]flows.MAC{}
	for _, x := range vips {
		for i := range x.Backends {
			y := &x.Backends[i]
			if !b.view.Serves(x, y) {
				continue
			}
			d := y.Host.At.DPID
			if have, ok := to[d]; !ok || slices.Compare(y.Host.MAC[:], have[:]) < 0 {
				to[d] = y.Host.MAC
			}
		}
	}
	order := slices.Sorted(maps.Keys(to))
	if i, here := slices.BinarySearch(order, b.at.DPID); here {
		order = append(slices.Delete(order, i, i+1), b.at.DPID)
	}
	g := flows.Group{ID: apps.GroupOfEdges(vips[0].ID), Type: flows.GroupAll}
	for i, d := range order {
		g.Buckets = append(g.Buckets, flows.NewBucket(uint32(i+1), 0, flows.SetMAC(flows.EthDst, to[d]), flows.Go(apps.TableForward)))
	}
	return g
}
