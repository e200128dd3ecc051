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
		family *family
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
				s := service{familyOf(x.Address), protocol(x), m}
				if !seen[s] {
					seen[s] = true
					b.rule(apps.TableEgress, prioApart, 0, at(s.family.ip(), s.proto, fieldsOf(s.proto).src, m),
						lookAtClientPort(s.proto), flows.Go(apps.TableOutput))
				}
			}
		}
	}
}

// lookAtClientPort makes the client's port, of an answer, one of the fields that the cache distinguishes.
func lookAtClientPort(proto uint8) flows.Move {
	return flows.Move{Src: flows.Whole(fieldsOf(proto).dst), Dst: flows.Span{Field: apps.RegIgnored, Bits: 16}}
}
