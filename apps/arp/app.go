// Package arp is the app that answers for VIPs, routers and known hosts: ARP, ND and ping in the switch itself, also while the
// controller is away, and by the controller where a switch cannot. What else is sent to a VIP's address is refused.
package arp

import (
	"net/netip"
	"sync"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// maxAnswer is room for any answer.
const maxAnswer = 128

// App is the answers. It has no state.
type App struct{ buffers sync.Pool }

var (
	_ apps.App             = (*App)(nil)
	_ apps.PacketInHandler = (*App)(nil)
)

// New makes the app.
func New() *App {
	return &App{buffers: sync.Pool{New: func() any { b := make([]byte, 0, maxAnswer); return &b }}}
}

// Name is "arp".
func (a *App) Name() string { return "arp" }

// Priorities in tables 10 and 30.
const (
	prioVIPClaimed = 120
	prioVIPProbed  = 115
	prioAnnounced  = 110
	prioAsked      = 100
	prioAskedOddly = 95
	prioEcho       = 90
	prioClosed     = 50
)

// Desired is, for an address of VIPs or a router, all that is answered there; for a live host, the answers in its place; for
// the base, ND of no address in particular.
func (a *App) Desired(v *apps.View, o apps.Owner) map[flows.DPID]flows.State {
	var with, without flows.State
	switch {
	case o.Kind == apps.OwnerBase:
		with.Rules, without.Rules = ndBase(true), ndBase(false)
	case o.Kind == apps.OwnerAddress && v.Ours(o.Addr):
		_, router := v.Router(o.Addr)
		with.Rules, without.Rules = address(o.Addr, router, true), address(o.Addr, router, false)
	case o.Kind == apps.OwnerHost:
		if with.Rules = host(v, o.MAC); with.Rules == nil {
			return nil
		}
	default:
		return nil
	}
	out := make(map[flows.DPID]flows.State, len(v.Switches))
	for d, info := range v.Switches {
		out[d] = without
		if info.Nicira {
			out[d] = with
		}
	}
	return out
}

func rule(table uint8, priority uint16, m flows.Match, actions ...flows.Action) flows.Rule {
	return flows.Rule{Table: table, Priority: priority, Cookie: apps.Cookie(apps.KindDesired, apps.ClassARP, 0), Match: m, Actions: actions}
}

func arp() flows.Match { return make(flows.Match, 0, 3).Num(flows.EthType, apps.EtherTypeARP) }

func ip(dst netip.Addr) flows.Match {
	if dst.Is4() {
		return make(flows.Match, 0, 5).Num(flows.EthType, apps.EtherTypeIPv4).Addr(flows.IPv4Dst, dst)
	}
	return make(flows.Match, 0, 5).Num(flows.EthType, apps.EtherTypeIPv6).Addr(flows.IPv6Dst, dst)
}

func punt(meter uint32) []flows.Action {
	return []flows.Action{flows.ToMeter{ID: meter}, flows.Controller()}
}

// goOn lets a packet go on as any of its kind does: forwarded, and told to the controller.
var goOn = []flows.Action{flows.Go(apps.TableForward), flows.Go(apps.TableCopy)}

// address are the rules of an address of VIPs or a router. ARP and ND in its name is a claim, which only the controller hears.
func address(a netip.Addr, router, nicira bool) []flows.Rule {
	closed := rule(apps.TableVIP, prioClosed, ip(a), punt(apps.MeterReject)...)
	closed.Cookie = apps.Cookie(apps.KindDesired, apps.ClassNAT, 0) // whose app refuses
	if !a.Is4() {
		return append(ndAddress(a, apps.VIPMAC, router, nicira), echo(a, nicira), closed)
	}
	claimed := rule(apps.TableNeighbour, prioVIPClaimed, arp().Addr(flows.ARPSPA, a), punt(apps.MeterNeighbour)...)
	asked := rule(apps.TableNeighbour, prioAsked, arp().Num(flows.ARPOp, apps.ARPRequest).Addr(flows.ARPTPA, a), punt(apps.MeterNeighbour)...)
	if nicira {
		asked.Actions = answerARP(a, apps.VIPMAC)
	}
	return []flows.Rule{claimed, asked, echo(a, nicira), closed}
}

// echo answers a ping.
func echo(a netip.Addr, nicira bool) flows.Rule {
	m := ip(a)
	if a.Is4() {
		m = m.Num(flows.IPProto, apps.ProtoICMP).Num(flows.ICMPv4Type, echoRequest).Num(flows.ICMPv4Code, 0)
	} else {
		m = m.Num(flows.IPProto, apps.ProtoICMPv6).Num(flows.ICMPv6Type, echoRequestIPv6).Num(flows.ICMPv6Code, 0)
	}
	if nicira {
		return rule(apps.TableVIP, prioEcho, m, answerEcho(a)...)
	}
	return rule(apps.TableVIP, prioEcho, m, punt(apps.MeterOther)...)
}

// host are the answers for a live host, but not to its own probes and announcements, nor to announcements by others, which
// may be claims: those go on as any ARP does.
func host(v *apps.View, m flows.MAC) []flows.Rule {
	h, ok := v.Topo.Host(m)
	if !ok || !h.Live {
		return nil
	}
	var out []flows.Rule
	for _, a := range h.Addresses {
		switch {
		case v.Ours(a):
		case !a.Is4():
			out = append(out, ndHost(a, h.MAC))
		default:
			out = append(out,
				rule(apps.TableNeighbour, prioAnnounced, arp().MAC(flows.EthSrc, h.MAC).Addr(flows.ARPTPA, a), goOn...),
				rule(apps.TableNeighbour, prioAnnounced, arp().Addr(flows.ARPSPA, a).Addr(flows.ARPTPA, a), goOn...),
				rule(apps.TableNeighbour, prioAsked, arp().Num(flows.ARPOp, apps.ARPRequest).Addr(flows.ARPTPA, a), answerARP(a, h.MAC)...))
		}
	}
	return out
}
