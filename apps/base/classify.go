package base

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

const etherTypeLLDP = 0x88cc

const vlanPresent = 0x1000 // OFPVID_PRESENT

// Priorities in tables 2, 3 and 70.
const (
	prioPort   = 200
	prioTagged = 300
	prioND     = 200
)

// Priorities in table 1.
const (
	prioAskingFrom = 200
	prioAsking     = 150
	prioKnown      = 100
)

// Priorities in table 0.
const (
	prioLinkLLDP = 400
	prioEdgeLLDP = 360
	prioLLDP     = 350
	prioLink     = 300
	prioForbid   = 250
	prioEdge     = 200
)

var (
	exactMAC  = flows.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	groupMask = flows.MAC{1}
)

// forbidden are senders that no host may be.
var forbidden = []struct {
	mac, mask flows.MAC
	reason    string
}{
	{apps.MarkerAsked, apps.MarkerMask, "marker as sender"},
	{apps.MarkerBounce, exactMAC, "marker as sender"},
	{apps.VIPMAC, exactMAC, "a VIP's MAC as sender"},
	{apps.ProbeMAC, exactMAC, "the MAC of probes as sender"},
	{groupMask, groupMask, "group address as sender"},
}

// classify is table 0. LLDP from links has no meter, for it is our own: what comes from elsewhere cannot crowd it out. Nor can what
// comes from edges crowd out that of ports not known yet.
func (b *builder) classify() {
	const t = apps.TableClassify
	for _, p := range b.topo.Ports(b.dpid) {
		switch p.Kind {
		case topo.Link:
			b.rule(t, prioLinkLLDP, ethType(etherTypeLLDP).Port(p.No), flows.Controller())
			b.rule(t, prioLink, inPort(p.No), b.next(apps.TableForward))
		case topo.Edge:
			b.rule(t, prioEdgeLLDP, ethType(etherTypeLLDP).Port(p.No), flows.ToMeter{ID: apps.MeterEdgeLLDP}, flows.Controller())
			b.rule(t, prioEdge, inPort(p.No), b.next(apps.TableSource))
		}
	}
	b.rule(t, prioLLDP, ethType(etherTypeLLDP), flows.ToMeter{ID: apps.MeterLLDP}, flows.Controller())
	for _, f := range forbidden {
		m := flows.Match{}.MAC(flows.EthSrc, f.mac)
		if f.mask != exactMAC {
			m = flows.Match{}.Masked(flows.EthSrc, f.mac.Value(), f.mask.Value())
		}
		b.forbid(t, prioForbid, m)
	}
	b.rule(t, 0, nil)
}

// source is tables 1 to 3, for senders that are not known, or ask from an address that is not known to be theirs, which nobody
// may ever hear of otherwise. A copy to the controller must not hold up the packet itself: a meter drops it from there on, so it
// goes on first and is copied last. A group undoes in between what was written to the packet.
//
// A VLAN has addresses of its own: what is tagged passes as it is, and nothing but its sender's MAC is learned.
func (b *builder) source() {
	b.rule(apps.TableKind, prioTagged, tagged(), b.next(apps.TableForward))
	for _, t := range []uint64{apps.NeighbourSolicitation, apps.NeighbourAdvertisement} {
		b.rule(apps.TableKind, prioND, nd(t).Num(flows.ICMPv6Code, 0).Num(flows.IPTTL, apps.NDHopLimit), b.next(apps.TableNeighbour))
	}
	b.rule(apps.TableKind, 100, ethType(apps.EtherTypeARP), b.next(apps.TableNeighbour))
	b.rule(apps.TableKind, 100, ethType(apps.EtherTypeIPv4), b.next(apps.TableReply))
	b.rule(apps.TableKind, 100, ethType(apps.EtherTypeIPv6), b.next(apps.TableReply))
	b.rule(apps.TableKind, 0, nil, b.next(apps.TableForward))
	if !b.nicira {
		// Here too many unknown senders do hold up one another.
		b.rule(apps.TableSource, 0, nil, flows.ToMeter{ID: apps.MeterOther}, flows.Controller(), b.next(apps.TableKind))
		return
	}
	b.state.Groups = append(b.state.Groups, flows.Group{ID: apps.GroupCopy, Type: flows.GroupAll, Buckets: []flows.Bucket{
		flows.NewBucket(1, 0, flows.Go(apps.TableKind)), flows.NewBucket(2, 0, flows.Go(apps.TableCopy)),
	}})
	b.rule(apps.TableSource, 0, nil, flows.ToGroup{ID: apps.GroupCopy})
	b.rule(apps.TableSource, prioAsking, asking(true), flows.ToGroup{ID: apps.GroupCopy})
	b.rule(apps.TableSource, prioAsking, asking(false), flows.ToGroup{ID: apps.GroupCopy})
	for _, m := range []flows.Match{ethType(apps.EtherTypeARP), nd(apps.NeighbourSolicitation), nd(apps.NeighbourAdvertisement)} {
		b.rule(apps.TableCopy, 100, m, flows.ToMeter{ID: apps.MeterNeighbour}, flows.Controller())
	}
	b.rule(apps.TableCopy, 0, nil, flows.ToMeter{ID: apps.MeterOther}, flows.Controller())
	for _, no := range b.topo.EdgePorts(b.dpid) {
		if id, ok := apps.MeterOfPort(no); ok {
			b.rule(apps.TableCopy, prioPort, inPort(no), flows.ToMeter{ID: id}, flows.Controller())
		}
	}
}

// forbiddenSender is why no host may be a sender, "" if it may.
func forbiddenSender(m flows.MAC) string {
	for _, f := range forbidden {
		same := true
		for i := range m {
			same = same && (m[i]^f.mac[i])&f.mask[i] == 0
		}
		if same {
			return f.reason
		}
	}
	return ""
}

// asking matches requests for an address, of ARP or ND.
func asking(ipv4 bool) flows.Match {
	if ipv4 {
		return ethType(apps.EtherTypeARP).Num(flows.ARPOp, apps.ARPRequest)
	}
	return nd(apps.NeighbourSolicitation)
}

// tagged matches what carries a VLAN tag.
func tagged() flows.Match {
	return make(flows.Match, 0, 1).NumMasked(flows.VLANVID, vlanPresent, vlanPresent)
}

// nd matches neighbour solicitations or advertisements.
func nd(kind uint64) flows.Match {
	return make(flows.Match, 0, 6).Num(flows.EthType, apps.EtherTypeIPv6).Num(flows.IPProto, apps.ProtoICMPv6).Num(flows.ICMPv6Type, kind)
}

// neighbour is what table 10 does with ARP and ND that are not answered in the switch: forward it as any frame, and tell the
// controller. What is for ourselves, the answers to our probes, goes to the controller alone.
func (b *builder) neighbour() {
	punt := []flows.Action{flows.ToMeter{ID: apps.MeterNeighbour}, flows.Controller()}
	ours := make(flows.Match, 0, 1).MAC(flows.EthDst, apps.VIPMAC)
	if b.nicira {
		b.rule(apps.TableNeighbour, 50, ours, flows.Go(apps.TableCopy))
		b.rule(apps.TableNeighbour, 0, nil, flows.Go(apps.TableForward), flows.Go(apps.TableCopy))
		return
	}
	b.rule(apps.TableNeighbour, 50, ours, punt...)
	b.rule(apps.TableNeighbour, 0, nil, append(punt, b.next(apps.TableForward))...)
}

// pass leads through the tables of the modes what is not theirs.
func (b *builder) pass() {
	b.rule(apps.TableReply, 0, nil, b.next(apps.TableVIP))
	b.rule(apps.TableVIP, 0, nil, b.next(apps.TableForward))
	b.rule(apps.TableSelect, 0, nil, b.next(apps.TableForward))
	b.rule(apps.TableEgress, prioTagged, tagged(), b.next(apps.TableOutput))
	b.rule(apps.TableEgress, 0, nil, b.next(apps.TableOutput))
}
