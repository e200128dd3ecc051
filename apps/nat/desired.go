package nat

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Priorities of rules. In table 40 a SYN is punted past the forward rule of its connection: a client that uses its port
// again would else inherit a rule whose timeout a FIN has lowered, and be cut off at its first pause.
const (
	prioVIP      = 100 // table 30
	prioMiss     = 50  // table 40
	prioForward  = 100
	prioSYN      = 150
	prioReverse  = 100 // table 70
	prioApart    = 50
	prioHairback = 110 // table 20
)

// Desired is, on each switch, the way of the VIP's packets to table 40 and from there, for want of a connection, to the
// controller. While no backend is up they are refused; without a backend that could have connections, at once.
//
// For a host that is a backend it is what apart says.
func (a *App) Desired(v *apps.View, o apps.Owner) map[flows.DPID]flows.State {
	if o.Kind == apps.OwnerHost {
		return apart(v, o.MAC)
	}
	if o.Kind != apps.OwnerVIP {
		return nil
	}
	x := v.VIP(o.VIP)
	if !handles(x) {
		return nil
	}
	with, without := desired(v, x, true), desired(v, x, false)
	out := make(map[flows.DPID]flows.State, len(v.Switches))
	for d, i := range v.Switches {
		out[d] = without
		if i.Nicira {
			out[d] = with
		}
	}
	return out
}

func desired(v *apps.View, x *apps.VIP, nicira bool) flows.State {
	cookie := apps.Cookie(apps.KindDesired, apps.ClassNAT, x.ID)
	reject := apps.Refusal(x.ID, nicira)
	punt := []flows.Action{flows.ToMeter{ID: apps.MeterVIP}, flows.Controller()}
	enter := []flows.Action{to(apps.TableSelect, nicira)}
	kept := false
	usable := false
	for i := range x.Backends {
		kept = kept || v.Keeps(&x.Backends[i])
		usable = usable || takes(&x.Backends[i])
	}
	if !usable {
		punt = reject
	}
	if !kept {
		enter = reject
	}
	s := flows.State{Meters: []flows.Meter{apps.RefusalMeter(x.ID)}}
	rule := func(table uint8, priority uint16, m flows.Match, actions []flows.Action) {
		s.Rules = append(s.Rules, flows.Rule{Table: table, Priority: priority, Cookie: cookie, Match: m, Actions: actions})
	}
	for _, p := range x.Ports.Masks() {
		m := toVIP(x, p)
		rule(apps.TableVIP, prioVIP, m, enter)
		if !kept {
			continue
		}
		rule(apps.TableSelect, prioMiss, m, punt)
		if nicira && x.Spec.Protocol == vip.TCP {
			const syn, ack = apps.SYN, apps.ACK
			rule(apps.TableSelect, prioSYN, m.Clone().NumMasked(flows.TCPFlags, syn, syn|ack), punt)
		}
	}
	if !usable {
		s.Rules = append(s.Rules, apps.RefusalRules(x, cookie)...)
	}
	return s
}

// takes reports whether a backend is given new connections.
func takes(b *apps.Backend) bool { return b.State == vip.StateUp && b.Weight > 0 && b.Host != nil }

// to continues in a table, as a rule's last action.
func to(table uint8, nicira bool) flows.Action {
	if nicira {
		return flows.Go(table)
	}
	return flows.GotoTable{Table: table}
}

// toVIP matches packets to some of a VIP's ports.
func toVIP(x *apps.VIP, p vip.PortMask) flows.Match {
	addr := address(x.Address.As16())
	ip := addr.family()
	m := make(flows.Match, 0, 5).Num(flows.EthType, uint64(ip.ethType)).Exact(ip.dst, ip.value(addr)).Num(flows.IPProto, uint64(x.Proto()))
	return m.NumMasked(portFields(x.Proto()).dst, uint64(p.Port), uint64(p.Mask))
}
