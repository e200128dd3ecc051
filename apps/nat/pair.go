package nat

import (
	"encoding/binary"
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// address is an IP address; of IPv4 the mapped one. Without a pointer, unlike netip.Addr, maps of it cost the garbage
// collector nothing.
type address [16]byte

func (a address) addr() netip.Addr { return netip.AddrFrom16(a).Unmap() }

// family is what rules of IPv4 and of IPv6 differ in.
type family struct {
	ethType  uint16
	src, dst flows.Field
	first    int // of the bytes of an address that its fields hold
}

var (
	ipv4 = family{apps.EtherTypeIPv4, flows.IPv4Src, flows.IPv4Dst, 12}
	ipv6 = family{apps.EtherTypeIPv6, flows.IPv6Src, flows.IPv6Dst, 0}

	mapped = [12]byte{10: 0xff, 11: 0xff} // what an IPv4 address begins with
)

func (a *address) family() *family {
	if [12]byte(a[:12]) == mapped {
		return &ipv4
	}
	return &ipv6
}

// value is an address as a field value.
func (f *family) value(a address) (v flows.Value) {
	copy(v[:], a[f.first:])
	return v
}

// address is the reverse of value.
func (f *family) address(v flows.Value) (a address) {
	if f == &ipv4 {
		copy(a[:], mapped[:])
	}
	copy(a[f.first:], v[:])
	return a
}

type ports struct{ src, dst flows.Field }

func portFields(proto uint8) ports {
	if proto == apps.ProtoUDP {
		return ports{flows.UDPSrc, flows.UDPDst}
	}
	return ports{flows.TCPSrc, flows.TCPDst}
}

// halves is a set of the two rules of a connection.
type halves uint8

const (
	forward halves = 1 << iota
	reverse
	both = forward | reverse
)

// scratch is where rules are built to be handed to a Reply, which keeps none.
type scratch struct {
	rule  flows.Rule
	conds [6]flows.Cond
}

// half makes the identity and the cookie of one rule of the connection k to t.
func (x *scratch) half(p *plan, t *target, k key, h halves) *flows.Rule {
	hairpin := t.addr == k.client
	r := &x.rule
	*r = flows.Rule{Cookie: p.cookie, Flags: flows.SendFlowRemoved}
	switch {
	case h == forward:
		r.Table, r.Priority = apps.TableSelect, prioForward
		x.match(p.proto, k.client, p.addr, k.port, k.vport)
	case hairpin:
		r.Table, r.Priority = apps.TableReply, prioHairback
		x.match(p.proto, t.addr, p.addr, t.listens(k.vport), k.port)
	default:
		r.Table, r.Priority = apps.TableEgress, prioReverse
		x.match(p.proto, t.addr, k.client, t.listens(k.vport), k.port)
	}
	r.Match = x.conds[:]
	return r
}

// match is every field of a 5-tuple, in canonical order.
func (x *scratch) match(proto uint8, src, dst address, sport, dport uint16) {
	f, ip := portFields(proto), dst.family()
	x.conds = [6]flows.Cond{
		{Field: flows.EthType, Value: flows.Value{byte(ip.ethType >> 8), byte(ip.ethType)}},
		{Field: ip.src, Value: ip.value(src)},
		{Field: ip.dst, Value: ip.value(dst)},
		{Field: flows.IPProto, Value: flows.Value{proto}},
		{Field: f.src, Value: flows.Value{byte(sport >> 8), byte(sport)}},
		{Field: f.dst, Value: flows.Value{byte(dport >> 8), byte(dport)}},
	}
}

// whole is half with its actions; nil while the backend's place is not known.
func (x *scratch) whole(p *plan, t *target, k key, h halves, nicira bool, idle uint16) *flows.Rule {
	if !t.placed {
		return nil
	}
	r := x.half(p, t, k, h)
	r.IdleTimeout = idle
	r.Actions = p.actionsOf(t, k, h, nicira)
	return r
}

func (p *plan) actionsOf(t *target, k key, h halves, nicira bool) []flows.Action {
	pair, hairpin := p.pair(t, nicira), t.addr == k.client
	switch {
	case h == forward && hairpin:
		return pair.hairpin
	case h == forward:
		return pair.forward
	case pair.reverse == nil:
		return p.reverseActions(t, nicira, hairpin, k.vport)
	case hairpin:
		return pair.hairback
	}
	return pair.reverse
}

func variant(nicira bool) int {
	if nicira {
		return 1
	}
	return 0
}

// fiveTuple is what an exact match says.
type fiveTuple struct {
	src, dst     address
	sport, dport uint16
	proto        uint16 // a byte would make padding, which is slow to hash
}

// tupleOf reads a match that [scratch.match] has made.
func tupleOf(m flows.Match) (t fiveTuple, ok bool) {
	if len(m) != 6 {
		return t, false
	}
	f, ip := portFields(m[3].Value[0]), &ipv4
	if number(m[0].Value) == ipv6.ethType {
		ip = &ipv6
	}
	for i, want := range [6]flows.Field{flows.EthType, ip.src, ip.dst, flows.IPProto, f.src, f.dst} {
		if m[i].Field != want || m[i].Masked {
			return t, false
		}
	}
	t = fiveTuple{ip.address(m[1].Value), ip.address(m[2].Value), number(m[4].Value), number(m[5].Value), uint16(m[3].Value[0])}
	return t, true
}

func number(v flows.Value) uint16 { return binary.BigEndian.Uint16(v[:2]) }

// clone is a rule that outlives its scratch space.
func clone(r *flows.Rule) flows.Rule {
	out := *r
	out.Match = append(flows.Match(nil), r.Match...)
	return out
}
