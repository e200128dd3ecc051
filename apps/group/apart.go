package group

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// apart keeps what comes from a port that serves VIPs, but from no backend of theirs, apart from answers in Open vSwitch's cache.
//
// The cache holds a packet's way for all packets that agree in the fields that were looked at. When a backend goes, the way of its
// answers is changed for all its clients into the way of what is no answer, and stays for as long as it would have otherwise; when it
// comes again, that way goes before the new rules for some tenths of a second. Its first answers would come from its own address. A
// copy of the client's port, to a register that nobody reads, makes that one of those fields: then the way is no longer one for
// all clients, so the cache drops it. Answers themselves are still cached for all clients together.
func (b *builder) apart(v *apps.View) {
	type service struct {
		family *apps.Family
		proto  uint8
		port   vip.PortMask
	}
	seen := map[service]bool{}
	for _, x := range v.VIPs {
		if !handles(x) {
			continue
		}
		for _, p := range x.Listens() {
			for _, m := range p.Masks() {
				s := service{apps.FamilyOf(x.Address), x.Proto(), m}
				if !seen[s] {
					seen[s] = true
					src, _ := apps.PortFields(s.proto)
					b.rule(apps.TableEgress, prioApart, 0, apps.AtPorts(s.family.IP(), s.proto, src, m),
						lookAtClientPort(s.proto), flows.Go(apps.TableOutput))
				}
			}
		}
	}
}

// lookAtClientPort makes the client's port, of an answer, one of the fields that the cache distinguishes.
func lookAtClientPort(proto uint8) flows.Move {
	_, dst := apps.PortFields(proto)
	return flows.Move{Src: flows.Whole(dst), Dst: flows.Span{Field: apps.RegIgnored, Bits: 16}}
}
