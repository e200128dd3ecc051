package health

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Priorities of rules: in table 10 above all others; in table 20 above the answers of mode group, and below the exact rules of
// connections of mode nat.
const (
	prioNeighbour = 130
	prioReply     = 105
)

var _ apps.App = (*Prober)(nil)

// Name is "health".
func (p *Prober) Name() string { return "health" }

// Desired is, of a host that is a backend, what brings its answers to probes to the controller, at its port and from there alone.
func (p *Prober) Desired(v *apps.View, o apps.Owner) map[flows.DPID]flows.State {
	if o.Kind != apps.OwnerHost {
		return nil
	}
	h, ok := v.Topo.Host(o.MAC)
	if !ok || v.Topo.Kind(h.At) != topo.Edge {
		return nil
	}
	sw, connected := v.Switches[h.At.DPID]
	if !connected {
		return nil
	}
	type asked struct {
		what
		source netip.Addr
	}
	var s flows.State
	first, seen := map[target]bool{}, map[asked]bool{}
	for _, a := range v.AddressesOf(h) {
		for _, served := range v.ServedBy(a) {
			t, probed := targetOf(served.VIP.VIP, served.Backend.Backend)
			if !probed || first[t] || served.Backend.Host == nil || served.Backend.Host.MAC != h.MAC || beyond(t.what, served.Backend) {
				continue
			}
			first[t] = true
			q := asked{t.what, source(v, served.VIP.Address, served.Backend)}
			if t.Type == vip.HealthARP {
				q.source = netip.Addr{}
			}
			if !seen[q] {
				seen[q] = true
				s.Rules = append(s.Rules, answerRule(q.what, q.source, h.At.No, sw.Nicira))
			}
		}
	}
	if len(s.Rules) == 0 {
		return nil
	}
	return map[flows.DPID]flows.State{h.At.DPID: s}
}

// answerRule sends a target's answers to the controller, by the meter of their port: whoever sends too many loses their own.
func answerRule(w what, source netip.Addr, port uint32, nicira bool) flows.Rule {
	meter := uint32(apps.MeterProbe)
	if own, ok := apps.MeterOfPort(port); ok && nicira {
		meter = own
	}
	r := flows.Rule{Table: apps.TableReply, Priority: prioReply, Cookie: apps.Cookie(apps.KindDesired, apps.ClassHealth, 0),
		Actions: []flows.Action{flows.ToMeter{ID: meter}, flows.Controller()}}
	if w.Type == vip.HealthARP {
		r.Table, r.Priority = apps.TableNeighbour, prioNeighbour
	}
	m := make(flows.Match, 0, 8).Port(port)
	switch {
	case w.Type == vip.HealthARP && w.Address.Is4():
		m = m.MAC(flows.EthDst, apps.ProbeMAC).Num(flows.EthType, apps.EtherTypeARP).Num(flows.ARPOp, apps.ARPReply).Addr(flows.ARPSPA, w.Address)
	case w.Type == vip.HealthARP:
		m = m.MAC(flows.EthDst, apps.ProbeMAC).Num(flows.EthType, apps.EtherTypeIPv6).Num(flows.IPProto, apps.ProtoICMPv6)
		m = m.Num(flows.ICMPv6Type, apps.NeighbourAdvertisement).Addr(flows.NDTarget, w.Address)
	case w.Address.Is4():
		m = m.Num(flows.EthType, apps.EtherTypeIPv4).Addr(flows.IPv4Src, w.Address).Addr(flows.IPv4Dst, source)
	default:
		m = m.Num(flows.EthType, apps.EtherTypeIPv6).Addr(flows.IPv6Src, w.Address).Addr(flows.IPv6Dst, source)
	}
	switch {
	case w.Type == vip.HealthTCP:
		m = m.Num(flows.IPProto, apps.ProtoTCP).Num(flows.TCPSrc, uint64(w.Port))
		m = m.NumMasked(flows.TCPDst, uint64(apps.ProbePorts.Port), uint64(apps.ProbePorts.Mask))
	case w.Type == vip.HealthICMP && w.Address.Is4():
		m = m.Num(flows.IPProto, apps.ProtoICMP).Num(flows.ICMPv4Type, apps.EchoReply)
	case w.Type == vip.HealthICMP:
		m = m.Num(flows.IPProto, apps.ProtoICMPv6).Num(flows.ICMPv6Type, apps.EchoReplyIPv6)
	}
	r.Match = m
	return r
}
