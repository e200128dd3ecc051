// Package arp is the app that answers for VIPs and known hosts: ARP and ping in the switch itself, also while the
// controller is away, and by the controller where a switch cannot. What else is sent to a VIP's address is refused.
package arp

import (
	"net/netip"
	"sync"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// App is the answers. It has no state.
type App struct{ buffers sync.Pool }

var (
	_ apps.App             = (*App)(nil)
	_ apps.PacketInHandler = (*App)(nil)
)

// New makes the app.
func New() *App {
	return &App{buffers: sync.Pool{New: func() any { return new([]byte) }}}
}

// Name is "arp".
func (a *App) Name() string { return "arp" }

// Priorities in tables 10 and 30.
const (
	prioVIPClaimed = 120
	prioAnnounced  = 110
	prioAsked      = 100
	prioEcho       = 90
	prioClosed     = 50
)

// Desired is, for an address of VIPs, all that its VIPs share; for a live host, the answers in its place.
func (a *App) Desired(v *apps.View, o apps.Owner) map[flows.DPID]flows.State {
	var with, without flows.State
	switch {
	case o.Kind == apps.OwnerAddress && o.Addr.Is4() && len(v.VIPsAt(o.Addr)) > 0:
		with.Rules, without.Rules = address(o.Addr, true), address(o.Addr, false)
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
	return make(flows.Match, 0, 5).Num(flows.EthType, apps.EtherTypeIPv4).Addr(flows.IPv4Dst, dst)
}

func punt(meter uint32) []flows.Action {
	return []flows.Action{flows.ToMeter{ID: meter}, flows.Controller()}
}

// address are the rules of a VIPs' address. ARP in its name is a claim, which only the controller hears.
func address(a netip.Addr, nicira bool) []flows.Rule {
	claimed := rule(apps.TableNeighbour, prioVIPClaimed, arp().Addr(flows.ARPSPA, a), punt(apps.MeterNeighbour)...)
	asked := rule(apps.TableNeighbour, prioAsked, arp().Num(flows.ARPOp, apps.ARPRequest).Addr(flows.ARPTPA, a), punt(apps.MeterNeighbour)...)
	echo := rule(apps.TableVIP, prioEcho, ip(a).Num(flows.IPProto, apps.ProtoICMP).Num(flows.ICMPv4Type, echoRequest).Num(flows.ICMPv4Code, 0),
		punt(apps.MeterOther)...)
	closed := rule(apps.TableVIP, prioClosed, ip(a), punt(apps.MeterReject)...)
	closed.Cookie = apps.Cookie(apps.KindDesired, apps.ClassNAT, 0) // whose app refuses
	if nicira {
		asked.Actions = answerARP(a, apps.VIPMAC)
		echo.Actions = answerEcho(a)
	}
	return []flows.Rule{claimed, asked, echo, closed}
}

// host are the answers for a live host, but not to its own probes and announcements, nor to announcements by others, which
// may be claims: those go on as any ARP does.
func host(v *apps.View, m flows.MAC) []flows.Rule {
	h, ok := v.Topo.Host(m)
	if !ok || !h.Live {
		return nil
	}
	goOn := []flows.Action{flows.Go(apps.TableForward), flows.Go(apps.TableCopy)}
	var out []flows.Rule
	for _, a := range h.Addresses {
		if !a.Is4() || len(v.VIPsAt(a)) > 0 {
			continue
		}
		out = append(out,
			rule(apps.TableNeighbour, prioAnnounced, arp().MAC(flows.EthSrc, h.MAC).Addr(flows.ARPTPA, a), goOn...),
			rule(apps.TableNeighbour, prioAnnounced, arp().Addr(flows.ARPSPA, a).Addr(flows.ARPTPA, a), goOn...),
			rule(apps.TableNeighbour, prioAsked, arp().Num(flows.ARPOp, apps.ARPRequest).Addr(flows.ARPTPA, a), answerARP(a, h.MAC)...))
	}
	return out
}
