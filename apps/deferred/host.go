package deferred

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Priorities of a host's rules.
const (
	prioMirrored = 95 // table 20, below those of modes nat and group, which are exact in more
	prioAnswers  = 90
	prioRouters  = 89

	prioSkip = 60 // table 77
)

// listenersOf are a host's ports that serve VIPs of this mode.
func listenersOf(v *apps.View, h *topo.Host) (all []apps.Served) {
	for _, a := range v.AddressesOf(h) {
		for _, s := range v.ServedBy(a) {
			if s.VIP.Deferred() && s.Backend.Host != nil && s.Backend.Host.MAC == h.MAC {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b apps.Served) int { return cmp.Compare(a.VIP.ID, b.VIP.ID) })
	return all
}

// host is what a host has for being a backend: on its own switch its answers pass conntrack. By each MAC that it has for that within the fabric
// there is a way to it.
func (b *builder) host(h *topo.Host, all []apps.Served) {
	b.pick(h, h.MAC)
	for _, l := range all {
		if l.Backend.Aliased {
			b.pick(h, l.Backend.Way())
			b.toward(h, l.Backend.Way())
		}
	}
	if h.At.DPID != b.at.DPID {
		return
	}

	type port struct {
		addr  netip.Addr
		proto uint8
		mask  vip.PortMask
	}
	type self struct {
		port
		vip netip.Addr
	}
	answers, selves, addrs, beside := map[port]bool{}, map[self]bool{}, map[netip.Addr]bool{}, map[netip.Prefix]bool{}
	routers := map[*apps.Family]bool{}
	for _, l := range all {
		a := l.Backend.Address
		if !addrs[a] {
			addrs[a] = true
			b.returns(h, a)
		}
		if f := apps.FamilyOf(a); l.Backend.Via.IsValid() && !routers[f] {
			routers[f] = true
			b.errors(f, prioRouters, func() flows.Match { return f.IP().MAC(flows.EthSrc, h.MAC) })
		}
		for _, p := range b.view.Beside(l.Backend) {
			if !beside[p] {
				beside[p] = true
				b.mirrored(h, p)
			}
		}
		if alone(b.view, l) {
			b.around(h, l)
		}
		src, _ := apps.PortFields(l.VIP.Proto())
		for _, m := range l.Listens().Masks() {
			p := port{a, l.VIP.Proto(), m}
			from := func() flows.Match { return apps.AtPorts(apps.From(a).MAC(flows.EthSrc, h.MAC), p.proto, src, m) }
			if !answers[p] {
				answers[p] = true
				b.rule(apps.TableReply, prioAnswers, 0, from(), apps.Known(b.at.Deferred, apps.TableAnswer))
			}
			if s := (self{p, l.VIP.Address}); !selves[s] {
				selves[s] = true
				b.rule(apps.TableReply, prioMirrored, 0, from().Addr(apps.FamilyOf(a).Dst, l.VIP.Address), apps.Known(b.at.Mirror, apps.TableMirror))
			}
		}
	}
}

// pick is what becomes of a walk that comes to a host by a MAC: here the host is skipped, for that has just been asked, or accepts what belongs to
// it; elsewhere it is skipped if its edge has been asked.
func (b *builder) pick(h *topo.Host, mac flows.MAC) {
	skip := []flows.Action{noMAC, chosen}
	if h.At.DPID == b.at.DPID {
		b.rule(apps.TablePick, prioSkip, 0, walking().MAC(flows.EthDst, mac), skip...)
		b.rule(apps.TablePick, prioSkip, 0, flows.Match{}.Num(apps.RegPurpose, apps.PurposeOwn).MAC(flows.EthDst, mac), flows.Go(apps.TableAccept))
	} else if n, ok := b.view.Edges[h.At.DPID]; ok && n < apps.MaxEdgeBits {
		b.rule(apps.TablePick, prioSkip, 0, walking().NumMasked(apps.RegEdges, 1<<n, 1<<n).MAC(flows.EthDst, mac), skip...)
	}
}

// toward is the way to a host by a MAC that no host has.
func (b *builder) toward(h *topo.Host, mac flows.MAC) {
	no, ok := b.view.Topo.Toward(b.at.DPID, h)
	if !ok {
		return
	}
	next := flows.Go(apps.TableOutput)
	if h.At.DPID == b.at.DPID {
		next = flows.Go(apps.TableEgress)
	}
	b.rule(apps.TableForward, prioGateway, 0, flows.Match{}.MAC(flows.EthDst, mac), flows.SetNum(apps.RegOutput, uint64(no)), next)
}

// returns is what an address has whatever its ports: errors about its connections, and fragments.
func (b *builder) returns(h *topo.Host, a netip.Addr) {
	f := apps.FamilyOf(a)
	b.errors(f, prioAnswers, func() flows.Match { return apps.From(a).MAC(flows.EthSrc, h.MAC) })
	b.rule(apps.TableReply, prioAnswers, 0, apps.Fragment(apps.From(a).MAC(flows.EthSrc, h.MAC)), apps.Known(b.at.Deferred, apps.TableAnswer))
}

// errors are those about connections from a sender: a backend, or a gateway, who also brings those of routers behind it.
func (b *builder) errors(f *apps.Family, priority uint16, from func() flows.Match) {
	for _, kind := range f.Errors {
		b.rule(apps.TableReply, priority, 0, from().Num(flows.IPProto, f.ICMP).Num(f.ICMPType, kind), apps.Known(b.at.Deferred, apps.TableAnswer))
	}
}

// mirrored is the way of a host's answers to itself, or of one behind it to another, back through both zones.
func (b *builder) mirrored(h *topo.Host, to netip.Prefix) {
	f := apps.FamilyOf(to.Addr())
	back := func() flows.Match { return apps.In(f.IP().MAC(flows.EthSrc, h.MAC), f.Dst, to) }
	mirrored := apps.Known(b.at.Deferred, apps.TableMirrored)
	b.rule(apps.TableMirror, prioStep, 0, state(back(), apps.CTReply, apps.CTInvalid), mirrored)
	b.rule(apps.TableMirror, prioInvert, 0, state(back(), apps.CTInvalid, 0), mirrored)
	b.rule(apps.TableMirrored, prioStep, 0, back(), flows.SetMAC(flows.EthDst, h.MAC),
		flows.SetMAC(flows.EthSrc, apps.VIPMAC), flows.BackToInPort(), flows.SetNum(apps.RegOutput, uint64(h.At.No)), flows.Go(apps.TableOutput))
}
