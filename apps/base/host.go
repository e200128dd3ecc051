package base

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// host are a host's rules: known as a sender at its port while it is live, also of requests from its addresses, and the way to
// it by its MAC, whether it is live or not. to is the match on that MAC, which all switches share.
func (b *builder) host(h *topo.Host, to flows.Match) {
	edge := h.At.DPID == b.dpid && b.topo.Kind(h.At) == topo.Edge
	if edge && h.Live {
		b.rule(apps.TableSource, prioKnown, inPort(h.At.No).MAC(flows.EthSrc, h.MAC), b.next(apps.TableKind))
		if b.nicira {
			for _, a := range h.Addresses {
				sender := flows.IPv6Src
				if a.Is4() {
					sender = flows.ARPSPA
				}
				from := asking(a.Is4()).Port(h.At.No).MAC(flows.EthSrc, h.MAC).Addr(sender, a)
				b.rule(apps.TableSource, prioAskingFrom, from, b.next(apps.TableKind))
			}
		}
	}
	if no, ok := b.topo.Toward(b.dpid, h); ok {
		b.rule(apps.TableForward, prioHost, to, b.towards(no, h)...)
	}
	if edge && !b.nicira {
		b.rule(apps.TableOutput, 100, to, flows.Output{Port: h.At.No})
	}
}

// towards sends a packet to a host out of a port: of a host here through the egress tables, else by the way to its switch, or out
// of the link at once while it keeps to the tree. A switch without registers finds the port again in table 80 by eth_dst.
func (b *builder) towards(no uint32, h *topo.Host) []flows.Action {
	here := h.At.DPID == b.dpid
	n, way := b.numbers[h.At.DPID]
	switch {
	case !b.nicira && here:
		return []flows.Action{b.next(apps.TableEgress)}
	case !b.nicira:
		return []flows.Action{flows.Output{Port: no}}
	case here:
		return []flows.Action{flows.SetNum(apps.RegOutput, uint64(no)), b.next(apps.TableEgress)}
	case way && h.Settled:
		return []flows.Action{flows.SetNum(apps.RegOutput, uint64(apps.WayTo(n))), b.next(apps.TableOutput)}
	}
	return []flows.Action{flows.SetNum(apps.RegOutput, uint64(no)), b.next(apps.TableOutput)}
}
