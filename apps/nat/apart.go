package nat

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// apart keeps what a backend sends past its VIPs apart from its answers in Open vSwitch's cache, on all switches.
//
// The cache holds a packet's way for all packets that agree in the fields which were looked at, and for some milliseconds after
// a new rule it goes before it. Where a backend has no reverse rule to a client nobody looks at ports; so while the client
// also talks to the backend itself, the answers of a new connection would take the cached way, and come from the backend's
// address. A rule that copies the client's port, to a register that nobody reads, makes it one of those fields.
func apart(v *apps.View, mac flows.MAC) map[flows.DPID]flows.State {
	type sender struct {
		addr  address
		proto uint8
		port  vip.PortMask
	}
	seen := map[sender]bool{}
	var s flows.State
	for _, x := range v.VIPs {
		if !handles(x) {
			continue
		}
		for i := range x.Backends {
			b := &x.Backends[i]
			if b.Host == nil || b.Host.MAC != mac {
				continue
			}
			for _, p := range (apps.Served{VIP: x, Backend: b}).Listens().Masks() {
				if from := (sender{b.Address.As16(), x.Proto(), p}); !seen[from] {
					seen[from] = true
					s.Rules = append(s.Rules, lookAtClientPort(from.addr, from.proto, p))
				}
			}
		}
	}
	if len(s.Rules) == 0 {
		return nil
	}
	out := make(map[flows.DPID]flows.State, len(v.Switches))
	for d, i := range v.Switches {
		if i.Nicira {
			out[d] = s
		}
	}
	return out
}

func lookAtClientPort(from address, proto uint8, p vip.PortMask) flows.Rule {
	f, ip := portFields(proto), from.family()
	m := make(flows.Match, 0, 4).Num(flows.EthType, uint64(ip.ethType)).Exact(ip.src, ip.value(from)).Num(flows.IPProto, uint64(proto))
	m = m.NumMasked(f.src, uint64(p.Port), uint64(p.Mask))
	look := flows.Move{Src: flows.Span{Field: f.dst, Bits: 16}, Dst: flows.Span{Field: apps.RegIgnored, Bits: 16}}
	return flows.Rule{Table: apps.TableEgress, Priority: prioApart, Cookie: apps.Cookie(apps.KindDesired, apps.ClassNAT, 0), Match: m,
		Actions: []flows.Action{look, flows.Go(apps.TableOutput)}}
}
