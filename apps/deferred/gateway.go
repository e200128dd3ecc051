package deferred

import (
	"cmp"
	"maps"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// prioGateway is that of the way to a gateway, in table 60.
const prioGateway = 110

// gateways is the way to each of them; on a gateway itself what comes for it is chosen for, as if it entered here. It gets the
// VIPs' MAC, so that what is for no VIP ends, and may leave by the link it came by.
func (b *builder) gateways() {
	for _, d := range slices.Sorted(maps.Keys(b.view.Gateways)) {
		m := flows.Match{}.MAC(flows.EthDst, b.view.Gateways[d])
		if d == b.at.DPID {
			b.rule(apps.TableForward, prioGateway, 0, m, flows.SetMAC(flows.EthDst, apps.VIPMAC), flows.BackToInPort(), flows.Go(apps.TableVIP))
		} else if n, ok := b.view.Numbers[d]; ok {
			b.rule(apps.TableForward, prioGateway, 0, m, flows.SetNum(apps.RegOutput, uint64(apps.WayTo(n))), flows.Go(apps.TableOutput))
		}
	}
}

// spread is the group that spreads a VIP's packets over its gateways. It has no buckets where the switch chooses itself: it is one of
// them, the VIP names none, or there is no way to any; connections do not depend on who chooses.
func (b *builder) spread(x *apps.VIP) flows.Group {
	g := flows.Group{ID: apps.GroupOfGateways(x.ID), Type: flows.GroupSelect, Method: "hash"}
	g.Fields, _ = selection(apps.FamilyOf(x.Address), false)
	for _, d := range x.Gateways() {
		if d == b.at.DPID {
			g.Buckets = nil
			return g
		}
		mac, known := b.view.Gateways[d]
		if _, reached := b.view.Topo.NextHop(b.at.DPID, d); known && reached {
			id := uint32(mac[4])<<16 | uint32(mac[5])<<8
			g.Buckets = append(g.Buckets, flows.NewBucket(id, 1, flows.SetMAC(flows.EthDst, mac), flows.Go(apps.TableForward)))
		}
	}
	slices.SortFunc(g.Buckets, func(a, b flows.Bucket) int { return cmp.Compare(a.ID, b.ID) })
	return g
}
