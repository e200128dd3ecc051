package nat

import "github.com/evenflow/evenflow/flows"

// maxLeftovers bounds the pairs that wait for Sync; what is beyond ends by its own timeout.
const maxLeftovers = 1 << 14

// leftover is a pair at a switch that its client has left. A packet-in can be answered at its own switch only, so Sync takes
// these away: a client that moves changes the view.
type leftover struct {
	service *service
	key     key
	dpid    flows.DPID
	backend uint32
	forward flows.Rule
	reverse flows.Rule
}

func (s *service) leave(p *plan, t *target, k key, d flows.DPID, x *scratch) {
	a := s.app
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.leftovers) < maxLeftovers {
		l := leftover{service: s, key: k, dpid: d, backend: t.id, forward: clone(x.half(p, t, k, forward))}
		l.reverse = clone(x.half(p, t, k, reverse))
		a.leftovers = append(a.leftovers, l)
	}
}

// takeLeftovers adds the rules to delete. The client may have come back meanwhile.
func (a *App) takeLeftovers(out map[flows.DPID][]flows.Rule) {
	a.mu.Lock()
	list := a.leftovers
	a.leftovers = nil
	a.mu.Unlock()
	for _, l := range list {
		sh, hash := l.service.shard(l.key)
		sh.mu.Lock()
		e, known := sh.conns.get(hash, l.key)
		sh.mu.Unlock()
		back := known && e.dpid == l.dpid
		if !back {
			out[l.dpid] = append(out[l.dpid], l.forward)
		}
		if !back || e.backend != l.backend {
			out[l.dpid] = append(out[l.dpid], l.reverse)
		}
	}
}
