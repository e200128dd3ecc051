package arp

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Flags of an advertisement (RFC 4861 section 4.4), as they stand in nd_reserved.
const (
	isRouter  = 1 << 31
	solicited = 1 << 30
	override  = 1 << 29
)

// Types of options (RFC 4861 section 4.6.1).
const (
	sourceLink = 1
	targetLink = 2
)

var (
	allNodes    = netip.MustParseAddr("ff02::1")
	allNodesMAC = flows.MAC{0x33, 0x33, 0, 0, 0, 1}
	nobody      = netip.IPv6Unspecified()

	// ownLinkLocal is where the topology's probes for IPv6 addresses come from.
	ownLinkLocal = topo.LinkLocal(apps.VIPMAC)
)

// nd matches neighbour solicitations or advertisements. What reaches table 10 has the right code and hop limit.
func nd(kind uint64) flows.Match {
	return make(flows.Match, 0, 6).Num(flows.EthType, apps.EtherTypeIPv6).Num(flows.IPProto, apps.ProtoICMPv6).Num(flows.ICMPv6Type, kind)
}

func solicitation() flows.Match { return nd(apps.NeighbourSolicitation) }

// ndBase is ND of no address in particular: the second step of all answers, which may touch the option only when the first has
// made the packet an advertisement; hosts that find out whether an address is free; and our own link-local addresses.
func ndBase(nicira bool) []flows.Rule {
	out := append(ndAddress(ownLinkLocal, apps.VIPMAC, false, nicira), ndAddress(apps.ProbeLinkLocal, apps.ProbeMAC, false, nicira)...)
	if nicira {
		out = append(out,
			rule(apps.TableNeighbor2, prioAsked, nd(apps.NeighbourAdvertisement), append([]flows.Action{move(flows.EthSrc, flows.NDTLL)}, back...)...),
			rule(apps.TableNeighbour, prioAnnounced, solicitation().Addr(flows.IPv6Src, nobody), goOn...))
	}
	return out
}

// ndAddress are the answers for an address of ours. A host that finds out whether the address is free hears that it is not
// (RFC 4862 section 5.4.4).
func ndAddress(a netip.Addr, m flows.MAC, router, nicira bool) []flows.Rule {
	hear := punt(apps.MeterNeighbour)
	out := []flows.Rule{
		rule(apps.TableNeighbour, prioVIPClaimed, solicitation().Addr(flows.IPv6Src, a), hear...),
		rule(apps.TableNeighbour, prioVIPClaimed, nd(apps.NeighbourAdvertisement).Addr(flows.NDTarget, a), hear...),
		rule(apps.TableNeighbour, prioAskedOddly, solicitation().Addr(flows.NDTarget, a), hear...),
	}
	if nicira {
		out = append(out,
			rule(apps.TableNeighbour, prioVIPProbed, solicitation().Addr(flows.IPv6Src, nobody).Addr(flows.NDTarget, a), defend(a, m)...),
			answered(a, m, router))
	}
	return out
}

// ndHost answers for a live host. For its link-local address it has to do so itself, and is asked alone: only it knows whether
// it is a router, and asked by others a router that does not say so is one no more (RFC 4861 section 7.3.3).
func ndHost(a netip.Addr, m flows.MAC) flows.Rule {
	if a.IsLinkLocalUnicast() {
		return rule(apps.TableNeighbour, prioAsked, solicitation().Addr(flows.NDTarget, a),
			flows.SetMAC(flows.EthDst, m), flows.Go(apps.TableForward))
	}
	return answered(a, m, false)
}

// answered turns a solicitation into the advertisement that an address is at a MAC. That needs a first option which can be
// turned into the answer's: the sender's own address, as in all that ask by multicast (RFC 4861 section 4.3).
func answered(a netip.Addr, m flows.MAC, router bool) flows.Rule {
	flags := uint64(solicited | override)
	if router {
		flags |= isRouter
	}
	return rule(apps.TableNeighbour, prioAsked, solicitation().Addr(flows.NDTarget, a).Num(flows.NDOptionsType, sourceLink),
		move(flows.EthSrc, flows.EthDst), flows.SetMAC(flows.EthSrc, m),
		move(flows.IPv6Src, flows.IPv6Dst), flows.SetField{Field: flows.IPv6Src, Value: flows.AddrValue(a)},
		flows.SetNum(flows.ICMPv6Type, apps.NeighbourAdvertisement),
		flows.SetNum(flows.NDReserved, flags), flows.SetNum(flows.NDOptionsType, targetLink),
		flows.Go(apps.TableNeighbor2))
}

// defend turns a probe for an address of ours into an advertisement to all. The asker has no address to answer to.
func defend(a netip.Addr, m flows.MAC) []flows.Action {
	return append([]flows.Action{
		flows.SetMAC(flows.EthDst, allNodesMAC), flows.SetMAC(flows.EthSrc, m),
		flows.SetField{Field: flows.IPv6Dst, Value: flows.AddrValue(allNodes)}, flows.SetField{Field: flows.IPv6Src, Value: flows.AddrValue(a)},
		flows.SetNum(flows.ICMPv6Type, apps.NeighbourAdvertisement),
	}, back...)
}
