package base

import (
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// PacketIn hands what changes the topology to the engine: LLDP, and senders that are not known at their place; and it tells of
// those that were dropped for what they are.
func (a *App) PacketIn(v *apps.View, in *apps.Punted, out apps.Reply) bool {
	if in.Table == apps.TableClassify && apps.Drops(in.Cookie) {
		if reason := forbiddenSender(in.Frame.EthSrc); reason != "" {
			out.Sighted(topo.Sighting{At: in.At, MAC: in.Frame.EthSrc, Forbidden: reason})
		}
		return true
	}
	if in.Frame.EthType == etherTypeLLDP {
		out.Sighted(topo.Sighting{At: in.At, LLDP: slices.Clone(in.Frame.Data)})
		return true
	}
	if s, ok := apps.HostSighting(v, in); ok {
		out.Sighted(s)
	}
	return true
}

// DropReason names what a rule of the base that drops is for; not ok for any other rule.
func DropReason(r *flows.Rule) (reason string, ok bool) {
	kind, class, _, ours := apps.SplitCookie(r.Cookie)
	if !ours || kind != apps.KindDesired || class != apps.ClassBase || !apps.Drops(r.Cookie) {
		return "", false
	}
	switch {
	case r.Table == apps.TableClassify && r.Priority == prioForbid:
		src, _ := r.Match.Get(flows.EthSrc)
		for _, f := range forbidden {
			if src.Value == f.mac.Value() {
				return f.reason, true
			}
		}
	case r.Table == apps.TableClassify:
		return "port not known to be edge or link", true
	case r.Table == apps.TableReply:
		return "to be routed, but its TTL has expired", true
	case r.Table == apps.TableRoute:
		return "a backend's answer, but there is no gateway to its client", true
	case r.Table == apps.TableForward && r.Priority == prioOwn:
		if dst, _ := r.Match.Get(flows.EthDst); dst.Value == apps.ProbeMAC.Value() {
			return "to the MAC of probes, but no answer", true
		}
		return "to a VIP's MAC, but to no VIP", true
	case r.Table == apps.TableForward && r.Priority == prioOffTree:
		return "flooded by a link that is not on the spanning tree", true
	case r.Table == apps.TableForward:
		return "no port to flood to", true
	case r.Table == apps.TableOutput:
		return "output port is gone, or there is no way to the switch", true
	}
	return "", false
}
