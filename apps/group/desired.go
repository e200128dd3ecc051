package group

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Priorities of rules.
const (
	prioVIP     = 100 // table 30
	prioRelated = 95
	prioReset   = 41
	prioDirect  = 40

	prioHairback = 100 // table 20, below the exact rules of mode nat
	prioUnknown  = 110 // table 21
	prioStep     = 100 // tables 21, 22

	prioBegins    = 140 // table 41
	prioSelf      = 130
	prioEndpoint  = 120
	prioUntracked = 110
	prioNew       = 100
	prioInvalid   = 10

	prioChosen = 100 // table 42

	prioAnswer  = 90 // table 70
	prioRouters = 89
	prioApart   = 20

	prioOpens      = 121 // table 71
	prioStateless  = 120
	prioTranslated = 100
)

// replicas is how far apart the bucket ids of backends are: each can have so many buckets.
const replicas = 256

// base is what all VIPs share. What table 41 does not know is of an endpoint that has gone: its VIP's name is not known any
// more, and conntrack has translated the packet already.
func (b *builder) base(v *apps.View) {
	b.rule(apps.TableHairpin, 0, 0, nil, flows.Go(apps.TableVIP))
	b.rule(apps.TableHairback, 0, 0, nil, flows.Go(apps.TableVIP))
	b.rule(apps.TableGroup, prioInvalid, 0, flows.Match{}.Num(flows.CTMark, 0))
	b.rule(apps.TableGroup, 0, 0, nil, flows.ToMeter{ID: apps.MeterReject}, flows.Controller())
	b.rule(apps.TableCommit, 0, 0, nil)
	b.rule(apps.TableUnNAT, 0, 0, nil, flows.Go(apps.TableOutput))
	b.apart(v)
}

// address is what the VIPs of an address share: ICMP that is about their connections, fragments, and the end of the way of
// translated answers.
func (b *builder) address(a netip.Addr) {
	f := apps.FamilyOf(a)
	for _, kind := range f.Errors {
		b.rule(apps.TableVIP, prioRelated, 0, apps.To(a).Num(flows.IPProto, f.ICMP).Num(f.ICMPType, kind), apps.Known(b.zone, apps.TableGroup))
	}
	b.rule(apps.TableVIP, prioRelated, 0, apps.Fragment(apps.To(a)), apps.Known(b.zone, apps.TableGroup))
	if _, behind := b.view.Routes.Via(a); behind { // an answer to the VIP that nobody knows is none to who is behind the gateway
		b.rule(apps.TableHairpin, prioUnknown, 0, apps.To(a), flows.Go(apps.TableVIP))
	}
	b.rule(apps.TableUnNAT, prioTranslated, 0, apps.From(a), flows.SetMAC(flows.EthSrc, apps.VIPMAC), flows.Go(apps.TableOutput))
}

// vip is a VIP's way through tables 30, 41 and 42, and its group. While no backend takes connections new ones are refused, by
// a rule: a group without buckets would let clients hang.
func (b *builder) vip(v *apps.View, x *apps.VIP) {
	reject := apps.Refusal(x.ID, true)
	b.state.Meters = append(b.state.Meters, apps.RefusalMeter(x.ID))
	begin, enter := reject, reject
	if k := buckets(x); len(k) > 0 {
		begin = []flows.Action{flows.ToGroup{ID: apps.GroupOfVIP(x.ID)}}
		b.state.Groups = append(b.state.Groups, b.group(x, k))
	}
	for i := range x.Backends {
		y := &x.Backends[i]
		if y.Endpoint != 0 {
			b.commit(x, y)
		}
		if serves(v, y) {
			b.endpoint(x, y)
			enter = []flows.Action{apps.Known(b.zone, apps.TableGroup)}
		}
	}
	if len(b.state.Groups) == 0 {
		b.state.Rules = append(b.state.Rules, apps.RefusalRules(x, apps.Cookie(apps.KindDesired, apps.ClassGroup, x.ID))...)
	}
	for _, p := range x.Ports.Masks() {
		b.rule(apps.TableVIP, prioVIP, x.ID, apps.ToVIP(x, p), enter...)
		m := apps.ToVIP(x, p).NumMasked(flows.CTState, apps.CTTracked, apps.CTTracked|apps.CTInvalid).Num(flows.CTMark, 0)
		b.rule(apps.TableGroup, prioNew, x.ID, m, begin...)
	}
}

// endpoint sends what conntrack knows to its backend. A backend that has been given its own connection is called from the
// VIP's address, or it would answer itself past the VIP; one behind a gateway, by whoever is behind it too.
func (b *builder) endpoint(x *apps.VIP, y *apps.Backend) {
	mark := flows.Match{}.Num(flows.CTMark, uint64(y.Endpoint))
	mac := flows.SetMAC(flows.EthDst, y.Host.MAC)
	b.rule(apps.TableGroup, prioEndpoint, x.ID, mark, mac, flows.Go(apps.TableForward))
	f := apps.FamilyOf(y.Address)
	for _, p := range b.view.Beside(y) {
		b.rule(apps.TableGroup, prioSelf, x.ID, apps.In(f.IP(), f.Src, p).Num(flows.CTMark, uint64(y.Endpoint)),
			mac, flows.SetMAC(flows.EthSrc, apps.VIPMAC), flows.BackToInPort(),
			flows.CT{Commit: true, Table: apps.TableForward, Zone: x.Hairpin, Actions: []flows.Action{flows.NATTo(flows.NATSrc, x.Address, 0)}})
	}
	if y.State == vip.StateDraining && x.Spec.Protocol == vip.TCP {
		// A port used again whose last connection conntrack takes for alive: it is made to forget that. A SYN sent again while the
		// connection is being made is not invalid.
		const invalid = apps.CTTracked | apps.CTInvalid
		begins := apps.FamilyOf(x.Address).IP().Num(flows.IPProto, apps.ProtoTCP).Num(flows.CTMark, uint64(y.Endpoint))
		begins = begins.NumMasked(flows.CTState, invalid, invalid)
		b.rule(apps.TableGroup, prioBegins, x.ID, begins.NumMasked(flows.TCPFlags, apps.SYN, apps.SYN|apps.ACK),
			flows.ToMeter{ID: apps.MeterVIPReject + uint32(x.ID)}, flows.Controller())
	}
}

// commit is what follows the group's choice. It stays while the backend is the VIP's, for its counter: a packet is a connection.
func (b *builder) commit(x *apps.VIP, y *apps.Backend) {
	chosen := apps.FamilyOf(x.Address).IP().Num(apps.RegEndpoint, uint64(y.Endpoint)) // NAT needs to know the family
	b.rule(apps.TableCommit, prioChosen, x.ID, chosen,
		flows.CT{Commit: true, Table: apps.TableGroup, Zone: b.zone, Actions: []flows.Action{
			flows.NATTo(flows.NATDst, y.Address, y.Port), flows.SetNum(flows.CTMark, uint64(y.Endpoint))}})
	b.state.Rules[len(b.state.Rules)-1].Flags = flows.SendFlowRemoved // so that the last of what it has counted is told
}

// buckets are the buckets of the backends that take connections, by id.
func buckets(x *apps.VIP) (out []flows.Bucket) {
	for i := range x.Backends {
		y := &x.Backends[i]
		if !takes(y) || y.Endpoint == 0 {
			continue
		}
		choose := []flows.Action{flows.SetNum(apps.RegEndpoint, uint64(y.Endpoint)), flows.Go(apps.TableCommit)}
		for r := range min(y.Weight, replicas) {
			out = append(out, flows.NewBucket(y.ID*replicas+uint32(r), 1, choose...))
		}
	}
	slices.SortFunc(out, func(a, b flows.Bucket) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// group is the VIP's group. Without bucket ids the switch numbers buckets, and hashes, in its own way.
func (b *builder) group(x *apps.VIP, k []flows.Bucket) flows.Group {
	g := flows.Group{ID: apps.GroupOfVIP(x.ID), Type: flows.GroupSelect, Buckets: k}
	if b.ids {
		g.Method = "hash"
		g.Fields, _ = selection(x)
	}
	return g
}

// Stale lists, for UDP, the endpoints that have gone: as long as their clients send, conntrack would keep them there. TCP is
// ended by the controller instead, which its clients are told.
func (a *App) Stale(old, now *apps.View, o apps.Owner, at apps.SwitchInfo) (out []apps.Forget) {
	zone := at.Zone
	x := old.VIP(o.VIP)
	if o.Kind != apps.OwnerVIP || !handles(x) || x.Spec.Protocol != vip.UDP || zone == 0 {
		return nil
	}
	stays := map[uint32]bool{}
	if y := now.VIP(o.VIP); y != nil {
		for i := range y.Backends {
			if k := &y.Backends[i]; serves(now, k) {
				stays[k.Endpoint] = true
			}
		}
	}
	for i := range x.Backends {
		y := &x.Backends[i]
		if !serves(old, y) || stays[y.Endpoint] {
			continue
		}
		f := apps.Forget{Zone: zone, Proto: apps.ProtoUDP, VIP: netip.AddrPortFrom(x.Address, 0), Backend: netip.AddrPortFrom(y.Address, y.Port)}
		if x.Ports.Single() {
			f.VIP = netip.AddrPortFrom(x.Address, x.Ports.First)
		}
		out = append(out, f)
	}
	return out
}
