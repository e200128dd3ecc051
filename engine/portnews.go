package engine

import (
	"maps"
	"slices"
	"sync"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/topo"
)

// portNews is what a session has told of its ports since the loop last looked, in order of the ports. Of a port that changes
// faster than that only the first changes are kept, and how it is in the end, so that the loop has no more work for it.
type portNews struct {
	mu    sync.Mutex
	ports map[uint32][]portChange
}

// portChange is a port after a change.
type portChange struct {
	topo.Port
	reason openflow.PortReason
}

// down reports whether nothing that was through the port is any more.
func (c portChange) down() bool { return !c.Up || c.reason == openflow.PortDeleted }

const maxChangesOfPort = 4

// add notes a change and reports whether it is the first since take.
func (n *portNews) add(c portChange) (first bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if first = len(n.ports) == 0; first {
		n.ports = map[uint32][]portChange{}
	}
	list := n.ports[c.No]
	switch last := len(list) - 1; {
	case len(list) < maxChangesOfPort, list[last].down() && !c.down() && len(list) == maxChangesOfPort:
		list = append(list, c) // an up after a down is told as one
	default:
		list[last] = c
	}
	n.ports[c.No] = list
	return first
}

// take removes all.
func (n *portNews) take() (out []portChange) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, no := range slices.Sorted(maps.Keys(n.ports)) {
		out = append(out, n.ports[no]...)
	}
	n.ports = nil
	return out
}

// PortStatus follows a port.
func (e *Engine) PortStatus(sw *controller.Switch, reason openflow.PortReason, p openflow.Port) {
	q, ok := topoPort(p)
	s := e.session(sw)
	if !ok || s == nil || !s.news.add(portChange{q, reason}) {
		return
	}
	e.post(func() {
		if e.switches[s.dpid] != s {
			return
		}
		for _, c := range s.news.take() {
			id := topo.PortID{DPID: s.dpid, No: c.No}
			e.tellPort(id, c.Port, c.reason)
			e.topo.PortStatus(e.cfg.Now(), s.dpid, c.Port, c.reason == openflow.PortDeleted)
		}
	})
}
