package group

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// listener is a range of a host's ports that serves a VIP of any mode.
type listener struct {
	apps.Served
	addr  netip.Addr
	proto uint8
	ports vip.Ports
	alone bool // no other VIP, and no other port of this one, has any of the ports
	mixed bool // a VIP of another mode has some of them
}

// hostOf are a host's listeners, if one of them is of this mode.
func hostOf(v *apps.View, h *topo.Host) (all []listener) {
	ours := false
	for _, a := range v.AddressesOf(h) {
		for _, s := range v.ServedBy(a) {
			if p := s.VIP.Proto(); p != 0 && s.Backend.Host != nil && s.Backend.Host.MAC == h.MAC {
				all = append(all, listener{Served: s, addr: a, proto: p, ports: s.Listens(), alone: s.OneToOne()})
				ours = ours || handles(s.VIP)
			}
		}
	}
	if !ours {
		return nil
	}
	slices.SortStableFunc(all, func(a, b listener) int {
		return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.proto, b.proto), cmp.Compare(a.ports.First, b.ports.First),
			cmp.Compare(a.ports.Last, b.ports.Last), cmp.Compare(a.VIP.ID, b.VIP.ID))
	})
	for i := range all {
		for j := i + 1; j < len(all) && all[j].addr == all[i].addr && all[j].proto == all[i].proto && all[j].ports.First <= all[i].ports.Last; j++ {
			mixed := handles(all[i].VIP) != handles(all[j].VIP)
			all[i].alone, all[j].alone = false, false
			all[i].mixed, all[j].mixed = all[i].mixed || mixed, all[j].mixed || mixed
		}
	}
	return slices.DeleteFunc(all, func(l listener) bool { return !handles(l.VIP) })
}

// host are the rules for a host's answers: through conntrack where they leave for their client, and back to the host itself
// where they are for itself. Several VIPs may share a listener and its rules.
func (b *builder) host(h *topo.Host, all []listener) {
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
		if !addrs[l.addr] {
			addrs[l.addr] = true
			b.related(l.addr)
			if h.At.DPID == b.dpid {
				b.hairback(h, l.addr, b.view.Beside(l.Backend), beside)
			}
		}
		for _, m := range l.ports.Masks() {
			p := port{l.addr, l.proto, m}
			if !answers[p] {
				answers[p] = true
				b.rule(apps.TableEgress, prioAnswer, 0, l.from(m), l.through(b.zone, apps.TableUnNAT)...)
			}
			if s := (self{p, l.VIP.Address}); h.At.DPID == b.dpid && !selves[s] {
				selves[s] = true
				to := l.from(m).Addr(apps.FamilyOf(l.addr).Dst, l.VIP.Address)
				b.rule(apps.TableReply, prioHairback, 0, to, l.through(l.VIP.Hairpin, apps.TableHairpin)...)
			}
		}
		if f := apps.FamilyOf(l.addr); l.Backend.Via.IsValid() && !routers[f] {
			routers[f] = true
			b.errors(f, prioRouters, func() flows.Match { return f.IP().MAC(flows.EthSrc, h.MAC) })
		}
		b.untracked(h, l)
	}
}

// from matches what the listener sends.
func (l *listener) from(m vip.PortMask) flows.Match {
	src, _ := apps.PortFields(l.proto)
	return apps.AtPorts(apps.From(l.addr), l.proto, src, m)
}

// through passes an answer through conntrack to a table. Where mode nat has exact rules for answers from the same port, the client's port
// is made one of the fields that Open vSwitch's cache distinguishes; else a new rule would be passed by for some milliseconds.
func (l *listener) through(zone uint16, table uint8) (out []flows.Action) {
	if l.mixed {
		out = append(out, lookAtClientPort(l.proto))
	}
	return append(out, apps.Known(zone, table))
}

// related is what an address of a host has whatever its ports: errors that it sends about connections, and fragments.
func (b *builder) related(a netip.Addr) {
	b.errors(apps.FamilyOf(a), prioAnswer, func() flows.Match { return apps.From(a) })
	b.rule(apps.TableEgress, prioAnswer, 0, apps.Fragment(apps.From(a)), apps.Known(b.zone, apps.TableUnNAT))
}

// errors are those about connections from a sender: a backend, or a gateway, who also brings those of routers behind it.
func (b *builder) errors(f *apps.Family, priority uint16, from func() flows.Match) {
	for _, kind := range f.Errors {
		b.rule(apps.TableEgress, priority, 0, from().Num(flows.IPProto, f.ICMP).Num(f.ICMPType, kind), apps.Known(b.zone, apps.TableUnNAT))
	}
}

// hairback is the steps back from an address to itself, or to whoever is behind the same gateway. Those that have a second step are in done.
func (b *builder) hairback(h *topo.Host, a netip.Addr, beside []netip.Prefix, done map[netip.Prefix]bool) {
	f := apps.FamilyOf(a)
	for _, to := range beside {
		b.rule(apps.TableHairpin, prioStep, 0, apps.In(apps.From(a), f.Dst, to), apps.Known(b.zone, apps.TableHairback))
		if !done[to] {
			done[to] = true
			b.rule(apps.TableHairback, prioStep, 0, apps.In(f.IP(), f.Dst, to), flows.SetMAC(flows.EthSrc, apps.VIPMAC),
				flows.SetMAC(flows.EthDst, h.MAC), flows.BackToInPort(), flows.Go(apps.TableForward))
		}
	}
}

// untracked is what is done with packets of an endpoint that conntrack does not know: because it has no room, has forgotten
// them, or the switch was restarted. TCP is translated all the same if a port means one VIP's port; connections past the VIP
// are told apart by being tracked too, under a mark of their own. What cannot be translated must not leave untranslated.
//
// A RST begins no connection. If it were noted as one it could take the answers of another from conntrack: a client resets what
// has come to it untranslated, and then tries again.
//
// Over UDP a backend may well send from its port to others who are no clients, as time servers do, so nothing is translated there.
func (b *builder) untracked(h *topo.Host, l listener) {
	x, y := l.VIP, l.Backend
	chosen := flows.Match{}.Num(apps.RegEndpoint, uint64(y.Endpoint)).Num(flows.CTMark, 0)
	if l.proto != apps.ProtoTCP || !l.alone || y.Endpoint == 0 {
		b.rule(apps.TableGroup, prioUntracked, x.ID, chosen)
		return
	}
	f := apps.FamilyOf(l.addr)
	src, dst := apps.PortFields(l.proto)
	forward := []flows.Action{flows.CTClear{}, apps.SetAddr(f.Dst, l.addr)}
	reverse := []flows.Action{flows.CTClear{}, apps.SetAddr(f.Src, x.Address)}
	if y.Port != 0 && y.Port != x.Ports.First {
		forward = append(forward, flows.SetNum(dst, uint64(y.Port)))
		reverse = append(reverse, flows.SetNum(src, uint64(x.Ports.First)))
	}
	forward = append(forward, flows.SetMAC(flows.EthDst, h.MAC), flows.Go(apps.TableForward))
	reverse = append(reverse, flows.SetMAC(flows.EthSrc, apps.VIPMAC), flows.Go(apps.TableOutput))
	chosen = chosen.Num(flows.EthType, f.EthType).Num(flows.IPProto, uint64(l.proto))
	b.rule(apps.TableGroup, prioUntracked, x.ID, chosen, forward...)
	for _, m := range l.ports.Masks() {
		b.rule(apps.TableUnNAT, prioStateless, x.ID, l.from(m).Num(flows.CTMark, 0), reverse...)
		b.rule(apps.TableUnNAT, prioOpens, x.ID, l.from(m).Num(flows.CTMark, 0).NumMasked(flows.TCPFlags, apps.SYN, apps.SYN|apps.ACK),
			noted(b.zone, apps.TableOutput))
		b.rule(apps.TableVIP, prioDirect, x.ID, apps.AtPorts(apps.To(l.addr), l.proto, dst, m), noted(b.zone, apps.TableForward))
		b.rule(apps.TableVIP, prioReset, x.ID, apps.AtPorts(apps.To(l.addr), l.proto, dst, m).NumMasked(flows.TCPFlags, apps.RST, apps.RST),
			flows.CT{Table: apps.TableForward, Zone: b.zone})
	}
}
