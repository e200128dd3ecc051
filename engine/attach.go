package engine

import (
	"fmt"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/topo"
)

// Connected takes a switch in: its packet-ins find a session, its connections are adopted, and the loop gives it everything.
func (e *Engine) Connected(sw *controller.Switch, conns []flows.InstalledRule) {
	info := sw.Info()
	s := &session{engine: e, sw: sw, dpid: info.DPID}
	sw.Attach(s)
	for _, r := range e.adopt(s.dpid, conns) {
		sw.DeleteStrict(&r)
	}
	sw.Flush()
	ports := make([]topo.Port, 0, len(info.Ports))
	for _, p := range info.Ports {
		if q, ok := topoPort(p); ok {
			ports = append(ports, q)
		}
	}
	e.post(func() {
		e.switches[s.dpid] = s
		delete(e.generations.missing, s.dpid)
		a := newArrival(sw.Found(), e.topo.Knows(s.dpid))
		e.topo.SwitchUp(e.cfg.Now(), s.dpid, ports)
		e.status.attached(s.dpid, e.cfg.Now(), a)
		e.settled.stale = true
		if e.settled.attached == nil {
			e.settled.attached = map[flows.DPID]bool{}
		}
		e.settled.attached[s.dpid] = true
		e.tell("switch", s.dpid.String(), fmt.Sprintf("connected from %s, OpenFlow %s, %s", info.Remote, info.Version, info.Desc.Software))
		if a.lost {
			e.tell("switch", s.dpid.String(), "came back without any of its rules")
		}
	})
}

// adopt shares the connection rules found in a switch out to their apps; what no app wants is to be deleted.
func (e *Engine) adopt(d flows.DPID, conns []flows.InstalledRule) (remove []flows.Rule) {
	byClass := map[apps.Class][]flows.InstalledRule{}
	for _, r := range conns {
		_, class, _, _ := apps.SplitCookie(r.Cookie)
		byClass[class] = append(byClass[class], r)
	}
	v := e.view.Load()
	for class, h := range e.connections {
		if h != nil {
			remove = append(remove, h.Adopt(v, d, byClass[apps.Class(class)])...)
			delete(byClass, apps.Class(class))
		}
	}
	for _, rules := range byClass {
		for _, r := range rules {
			remove = append(remove, r.Rule)
		}
	}
	return remove
}

// Disconnected forgets a switch's session. Its rules go on working, and the topology keeps its place for a while.
func (e *Engine) Disconnected(sw *controller.Switch, err error) {
	reason := "connection closed"
	if err != nil {
		reason = err.Error()
	}
	d := sw.Info().DPID
	sw.Attach(nil)
	e.post(func() {
		if s := e.switches[d]; s == nil || s.sw != sw {
			return // a newer session has taken over
		}
		delete(e.switches, d)
		e.owed.drop(d)
		e.generations.missing[d] = e.cfg.Now().Add(absence)
		e.topo.SwitchDown(e.cfg.Now(), d)
		e.status.detached(d, e.cfg.Now(), reason)
		e.stats.Pause(d)
		e.settled.stale = true
		e.tell("switch", d.String(), "disconnected: "+reason)
	})
}

// tellPort tells of a port that has come, gone, or changed between up and down. The topology is as before.
func (e *Engine) tellPort(id topo.PortID, p topo.Port, reason openflow.PortReason) {
	state := func(up bool) string {
		if up {
			return "up"
		}
		return "down"
	}
	old, known := e.topo.Port(id)
	switch {
	case reason == openflow.PortDeleted:
		e.tell("port", id.String(), fmt.Sprintf("%s removed", p.Name))
	case !known:
		e.tell("port", id.String(), fmt.Sprintf("%s added, %s", p.Name, state(p.Up)))
	case old.Up != p.Up:
		e.tell("port", id.String(), fmt.Sprintf("%s is %s", p.Name, state(p.Up)))
	}
}

// Applied notes that a switch has confirmed or refused what an owner wants.
func (e *Engine) Applied(d flows.DPID, o controller.Owner, version uint64, err error) {
	owner, ok := o.(apps.Owner)
	if !ok {
		return
	}
	ready, failed := e.status.applied(d, owner, version, err)
	if err == nil {
		e.settleDebts(d, owner, version)
		e.generations.confirmedOne()
	}
	if ready {
		e.askHash(d)
		e.askCodes(d)
		e.tell("switch", d.String(), "ready: holds its desired state")
	}
	if failed {
		e.tell("error", d.String(), err.Error())
	}
}

// Refused tells of an error that answers a connection rule or a packet-out.
func (e *Engine) Refused(sw *controller.Switch, what string, err error) {
	e.tell("error", sw.DPID().String(), fmt.Sprintf("refused %s: %v", what, err))
}

// topoPort is a physical port as the topology sees it; ok is false for reserved ports.
func topoPort(p openflow.Port) (topo.Port, bool) {
	return topo.Port{No: p.No, Name: p.Name, MAC: p.MAC, Up: p.Up(), Live: p.State&openflow.PortLive != 0}, p.No != 0 && p.No < flows.PortMax
}
