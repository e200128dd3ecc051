package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// agents are those of backends' hosts. But for key, refusals and what is shown only the loop touches them.
type agents struct {
	key     []byte // of their tokens
	by      map[netip.Addr]*agentHost
	dump    uint64 // the last id given
	refused refusals

	mu    sync.Mutex
	shown map[netip.Addr]apps.AgentStatus // for readers
}

// agentHost is a backend's host that has told of its connections.
type agentHost struct {
	report
	run     string // of the agent whose dump the report goes on from; "" if what it tells next must be a dump
	seq     uint64 // of the last change in the report
	ports   map[uint8][]vip.Ports
	session *agentSession // nil: it is not connected
	status  apps.AgentStatus
}

// agentPause is how long after news of an agent VIPs are looked at: more may come.
const agentPause = time.Second

func newAgents() *agents {
	return &agents{by: map[netip.Addr]*agentHost{}, shown: map[netip.Addr]apps.AgentStatus{}}
}

// AgentToken is the token by which the agent of a host is known: it says for no other.
func (e *Engine) AgentToken(host netip.Addr) string {
	m := hmac.New(sha256.New, e.agents.key)
	fmt.Fprintf(m, "agent of %s", host.Unmap())
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// Agents are the agents of backends' hosts, by address.
func (e *Engine) Agents() []apps.AgentStatus {
	e.agents.mu.Lock()
	out := slices.Collect(maps.Values(e.agents.shown))
	e.agents.mu.Unlock()
	slices.SortFunc(out, func(a, b apps.AgentStatus) int { return a.Host.Compare(b.Host) })
	return out
}

// noteAgent makes what is known of an agent readable from outside the loop.
func (e *Engine) noteAgent(host netip.Addr) {
	h := e.agents.by[host]
	e.agents.mu.Lock()
	defer e.agents.mu.Unlock()
	if h == nil {
		delete(e.agents.shown, host)
		return
	}
	s := h.status
	s.Host, s.Connected, s.Heard = host, h.session != nil, h.heard
	s.TCP = h.counts[apps.ProtoTCP]
	if h.complete.UDP {
		s.UDP = new(h.counts[apps.ProtoUDP])
	}
	e.agents.shown[host] = s
}

// agentHost is what is known of a host, which must be a backend's: else it is apps.ErrNotFound, and forgotten.
func (e *Engine) agentHost(host netip.Addr) (*agentHost, error) {
	if len(e.view.Load().ServedBy(host)) == 0 {
		e.forgetAgent(host)
		return nil, fmt.Errorf("a backend with address %s: %w", host, apps.ErrNotFound)
	}
	h := e.agents.by[host]
	if h == nil {
		h = &agentHost{status: apps.AgentStatus{Since: e.cfg.Now()}}
		h.put(time.Time{}, nil)
		e.agents.by[host] = h
	}
	return h, nil
}

// forgetAgent drops a host that is no backend's.
func (e *Engine) forgetAgent(host netip.Addr) {
	if h := e.agents.by[host]; h != nil && h.session != nil {
		h.session.end(&apps.AgentError{Reason: refusedHost, Detail: host.String() + " is the address of no backend any more"})
	}
	delete(e.agents.by, host)
	e.told.drop(host)
	e.noteAgent(host)
}

// settleAgents follows a view: who is no backend any more is dropped, and who serves other ports than before is asked anew.
func (e *Engine) settleAgents(v *apps.View, now time.Time) {
	for host, h := range e.agents.by {
		if served := v.ServedBy(host); len(served) == 0 {
			e.forgetAgent(host)
		} else if h.session != nil && !reflect.DeepEqual(h.ports, portsOf(served)) {
			e.askDump(host, h, now)
		}
	}
}

// portsOf are the ports at which a host serves VIPs, each once and in order.
func portsOf(served []apps.Served) map[uint8][]vip.Ports {
	out := map[uint8][]vip.Ports{}
	for _, s := range served {
		if p := s.VIP.Proto(); !slices.Contains(out[p], s.Listens()) {
			out[p] = append(out[p], s.Listens())
		}
	}
	for _, ports := range out {
		slices.SortFunc(ports, func(a, b vip.Ports) int { return (int(a.First)-int(b.First))<<16 + int(a.Last) - int(b.Last) })
	}
	return out
}

// askDump asks an agent for all connections, unless it is being asked.
func (e *Engine) askDump(host netip.Addr, h *agentHost, now time.Time) {
	s := h.session
	if s.asking != 0 {
		return
	}
	e.agents.dump++
	s.asking, s.asked = e.agents.dump, now
	ports := portsOf(e.view.Load().ServedBy(host))
	s.expect(s.asking, ports)
	s.order(apps.AgentOrder{Dump: s.asking, Ports: ports, Now: now.UnixNano()})
}

// OpenAgent begins a conversation with the agent of a host. It ends one that there is: an agent that connects anew has given that up.
func (e *Engine) OpenAgent(ctx context.Context, hello apps.AgentHello) (apps.AgentSession, error) {
	var s *agentSession
	var err error
	cerr := e.call(ctx, func() { s, err = e.openAgent(hello) })
	switch {
	case cerr != nil:
		return nil, cerr
	case err != nil:
		return nil, err
	}
	return s, nil
}

func (e *Engine) openAgent(hello apps.AgentHello) (*agentSession, error) {
	h, err := e.agentHost(hello.Host)
	if err != nil {
		return nil, err
	}
	if h.session != nil {
		h.session.end(&apps.AgentError{Reason: refusedReplaced, Detail: "it has connected anew"})
	}
	now := e.cfg.Now()
	s := &agentSession{e: e, host: hello.Host, run: hello.Run, orders: make(chan apps.AgentOrder, agentOrders), over: make(chan struct{})}
	resumes := h.run != "" && h.run == hello.Run && hello.First <= h.seq+1 && h.seq <= hello.Last &&
		reflect.DeepEqual(h.ports, portsOf(e.view.Load().ServedBy(hello.Host)))
	h.session, h.heard = s, now
	h.status.Since, h.status.Reason = now, ""
	if resumes {
		s.ports = h.ports
		s.order(apps.AgentOrder{Resume: true, Seq: h.seq, Now: now.UnixNano()})
		e.tell("agent", hello.Host.String(), fmt.Sprintf("is back, after change %d", h.seq))
	} else {
		h.run = "" // until its dump has come: the numbers of its changes do not go on from the report yet
		e.askDump(hello.Host, h, now)
		e.tell("agent", hello.Host.String(), "is connected")
	}
	e.noteAgent(hello.Host)
	return s, nil
}

// RefuseAgent counts an agent that was turned away before it had a session; one of a backend's host is told.
func (e *Engine) RefuseAgent(host netip.Addr, refusal *apps.AgentError) {
	e.agents.refused.add(refusal.Reason)
	if len(e.view.Load().ServedBy(host)) > 0 {
		e.tell("agent", host.String(), "is refused: "+refusal.Error())
	}
}

// agentGone takes note that a session has ended.
func (e *Engine) agentGone(s *agentSession, why string, fault bool) {
	h := e.agents.by[s.host]
	if h != nil && h.session == s {
		h.session, h.status.Since, h.status.Reason = nil, e.cfg.Now(), why
		if fault {
			h.run = "" // what else it has told is not believed to be whole
			h.complete, h.after = apps.Protocols{}, time.Time{}
			e.told.drop(s.host)
		}
		e.noteAgent(s.host)
	}
	what := "is gone: "
	if fault {
		what = "is refused: "
	}
	e.tell("agent", s.host.String(), what+why)
}
