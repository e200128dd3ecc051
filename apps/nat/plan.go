package nat

import (
	"sync/atomic"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// plan is what the view says of a VIP, made ready for packet-ins. It is immutable.
type plan struct {
	vip        *apps.VIP
	proto      uint8
	addr       address
	idle       uint16 // seconds
	fin        uint16 // seconds
	affinity   uint32 // seconds, 0: none
	cookie     uint64 // of the rules of connections
	scheduler  vip.Scheduler
	candidates *vip.Candidates
	targets    []target                         // in the order of the VIP's backends; then those that have just been removed
	index      map[uint32]int                   // of targets by id; nil while they are few
	actions    [2]atomic.Pointer[[]pairActions] // of the targets, without and with Nicira's extensions; made when first asked for
}

// fewTargets are looked through as fast as a map.
const fewTargets = 16

// target is a backend as the rules of its connections have it.
type target struct {
	place  int // in the plan's targets
	id     uint32
	name   string
	addr   address
	port   uint16 // 0: the VIP's
	at     topo.PortID
	mac    flows.MAC // the last one known
	placed bool      // at and mac are known
	takes  bool      // new connections
	cut    bool      // its connections have ended
	counts *counts
}

// newPlan follows old, which is nil for a VIP that is new.
func newPlan(s *service, v *apps.View, x *apps.VIP, old *plan) *plan {
	p := &plan{vip: x, proto: x.Proto(), addr: x.Address.As16(), idle: idleSeconds(x), fin: s.app.cfg.FinTimeout,
		cookie: apps.Cookie(apps.KindConnection, apps.ClassNAT, x.ID), targets: make([]target, 0, len(x.Backends))}
	all := make([]vip.Candidate, len(x.Backends))
	for i := range x.Backends {
		b := &x.Backends[i]
		t := target{id: b.ID, name: b.Name, addr: b.Address.As16(), port: b.Port, takes: takes(b), cut: !v.Keeps(b),
			counts: s.counted(b.ID, len(x.Backends))}
		if b.Host != nil {
			t.at, t.mac, t.placed = b.Host.At, b.Host.MAC, true
		} else if was := old.target(b.ID); was != nil {
			t.mac = was.mac
		}
		all[i] = vip.Candidate{ID: b.ID, Weight: b.Weight, Up: t.takes, Live: &t.counts.live}
		p.add(t)
	}
	p.affinity = affinitySeconds(&x.Spec)
	p.candidates = vip.NewCandidates(all)
	p.scheduler = s.scheduler(x, old)
	s.feed(p, false)
	if old == nil {
		return p
	}
	for _, t := range old.targets {
		if p.target(t.id) == nil && !(t.cut && !t.takes && t.counts.live.Load() == 0) {
			t.cut, t.takes = true, false
			p.add(t)
		}
	}
	return p
}

func (p *plan) add(t target) {
	t.place = len(p.targets)
	p.targets = append(p.targets, t)
	if p.index != nil {
		p.index[t.id] = t.place
	} else if len(p.targets) > fewTargets {
		p.index = make(map[uint32]int, cap(p.targets))
		for i := range p.targets {
			p.index[p.targets[i].id] = i
		}
	}
}

// target is the backend with an id, nil if it left long ago. A nil plan has none.
func (p *plan) target(id uint32) *target {
	if p == nil {
		return nil
	}
	if p.index != nil {
		if i, ok := p.index[id]; ok {
			return &p.targets[i]
		}
		return nil
	}
	for i := range p.targets {
		if p.targets[i].id == id {
			return &p.targets[i]
		}
	}
	return nil
}

// listening is the backend that has an address and port, as a packet to the VIP's port vport reaches it.
func (p *plan) listening(a address, port, vport uint16) *target {
	for i := range p.targets {
		if t := &p.targets[i]; t.addr == a && t.listens(vport) == port {
			return t
		}
	}
	return nil
}

// listens is the backend's port for the VIP's port vport.
func (t *target) listens(vport uint16) uint16 {
	if t.port != 0 {
		return t.port
	}
	return vport
}

// serves reports whether a frame is for the VIP.
func (p *plan) serves(f *apps.Frame) bool {
	return f.Dst == p.vip.Address && f.Proto == p.proto && p.vip.Ports.First <= f.DstPort && f.DstPort <= p.vip.Ports.Last
}

// idleSeconds is the VIP's idle timeout as OpenFlow has it, 16 bits.
func idleSeconds(x *apps.VIP) uint16 { return uint16(min(max(x.Idle.Seconds(), 1), 65535)) }

// pairActions are the actions of a backend's rules. Those of the reverse rules are nil where they depend on the connection:
// when several ports of the VIP lead to one of the backend.
type pairActions struct {
	forward, reverse    []flows.Action
	hairpin, hairback   []flows.Action
	first, firstHairpin []flows.Action // for the first packet, which is sent through no rule
}

// pair are the actions of a backend's rules.
func (p *plan) pair(t *target, nicira bool) *pairActions {
	made := &p.actions[variant(nicira)]
	all := made.Load()
	if all == nil {
		list := make([]pairActions, len(p.targets))
		for i := range p.targets {
			list[i] = p.pairActions(&p.targets[i], nicira)
		}
		all = &list
		made.Store(all) // another may have done so meanwhile: they are equal
	}
	return &(*all)[t.place]
}

func (p *plan) pairActions(t *target, nicira bool) (out pairActions) {
	if !t.placed {
		return out
	}
	out.forward, out.hairpin = p.forwardActions(t, nicira, false), p.forwardActions(t, nicira, true)
	if ports := p.vip.Ports; t.port == 0 || ports.First == ports.Last {
		out.reverse, out.hairback = p.reverseActions(t, nicira, false, ports.First), p.reverseActions(t, nicira, true, ports.First)
	}
	out.first, out.firstHairpin = out.forward, out.hairpin
	switch {
	case !nicira:
		out.first = []flows.Action{flows.Output{Port: flows.PortTable}} // a packet-out has no goto_table
		out.firstHairpin = out.first
	case p.proto == apps.ProtoTCP:
		out.first, out.firstHairpin = out.forward[1:], out.hairpin[1:] // no fin_timeout, which means a rule
	}
	return out
}

// forwardActions lead a packet of a client to the backend; in a hairpin it looks like one of the VIP, so that the backend
// answers to the VIP and not to itself.
func (p *plan) forwardActions(t *target, nicira, hairpin bool) []flows.Action {
	ip := p.addr.family()
	out := p.begin(nicira)
	if hairpin {
		out = append(out, flows.SetMAC(flows.EthSrc, apps.VIPMAC))
	}
	out = append(out, flows.SetMAC(flows.EthDst, t.mac))
	if hairpin {
		out = append(out, setAddr(ip.src, p.addr))
	}
	out = append(out, setAddr(ip.dst, t.addr))
	if ports := p.vip.Ports; t.port != 0 && (ports.First != ports.Last || ports.First != t.port) {
		out = append(out, flows.SetNum(portFields(p.proto).dst, uint64(t.port)))
	}
	return end(out, apps.TableForward, nicira, hairpin)
}

// reverseActions give an answer of the backend the VIP's address and port.
func (p *plan) reverseActions(t *target, nicira, hairpin bool, vport uint16) []flows.Action {
	ip := p.addr.family()
	out := append(p.begin(nicira), setAddr(ip.src, p.addr))
	if t.port != 0 && t.port != vport {
		out = append(out, flows.SetNum(portFields(p.proto).src, uint64(vport)))
	}
	out = append(out, flows.SetMAC(flows.EthSrc, apps.VIPMAC))
	if !hairpin {
		return end(out, apps.TableOutput, nicira, false)
	}
	out = append(out, setAddr(ip.dst, t.addr), flows.SetMAC(flows.EthDst, t.mac))
	return end(out, apps.TableForward, nicira, true)
}

func (p *plan) begin(nicira bool) []flows.Action {
	out := make([]flows.Action, 0, 8)
	if nicira && p.proto == apps.ProtoTCP {
		out = append(out, flows.FinTimeout{Idle: p.fin})
	}
	return out
}

// end sends the packet on to a table, in a hairpin so that it may leave by the port it came in by.
func end(out []flows.Action, table uint8, nicira, hairpin bool) []flows.Action {
	switch {
	case !hairpin:
		return append(out, to(table, nicira))
	case nicira:
		return append(out, flows.BackToInPort(), to(table, nicira))
	}
	return append(out, flows.Output{Port: flows.PortIn})
}

func setAddr(f flows.Field, a address) flows.SetField {
	return flows.SetField{Field: f, Value: a.family().value(a)}
}
