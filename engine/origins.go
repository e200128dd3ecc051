package engine

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

const (
	// originsAtOnce is how many connections of a VIP are asked about at a time: Open vSwitch drops what comes to a controller that has a
	// hundred packets waiting.
	originsAtOnce = 64

	// originsAgain is when those are asked again whose answers have not come.
	originsAgain = time.Second

	originsPatience = 10 * time.Second
)

// origins are connections as their clients have them, by VIP, and as hosts told of them: conntrack gives a client's port that it takes
// for used another number, and that is what a backend's host sees. The switches beside the backends are asked when it matters.
// Only the loop touches them.
type origins struct {
	last  uint32 // question
	of    map[vip.ID]*originsOf
	asked map[uint32]originQuestion
}

// originsOf are a VIP's, as asked since a generation is in effect.
type originsOf struct {
	generation uint32
	known      map[othello.State]clientSide
	left       int       // questions of the last round without an answer
	at         time.Time // of that round
	since      time.Time // when the last answer came, or a first question went
}

// clientSide is the client and where it has connected to.
type clientSide struct{ client, to netip.AddrPort }

type originQuestion struct {
	vip  vip.ID
	told othello.State
	at   flows.DPID
}

func newOrigins() *origins {
	return &origins{of: map[vip.ID]*originsOf{}, asked: map[uint32]originQuestion{}}
}

// forget drops what is known of a deleted VIP.
func (o *origins) forget(id vip.ID) {
	delete(o.of, id)
	o.recall(id)
}

// recall gives up questions about a VIP's connections.
func (o *origins) recall(id vip.ID) {
	for n, q := range o.asked {
		if q.vip == id {
			delete(o.asked, n)
		}
	}
}

// resolve has connections that hosts told of as their clients have them, without those that are another VIP's. unsure are those of
// which that is not known yet; they are among live as they were told. An answer holds for a generation: a connection that has taken
// the place of another since has begun in it.
func (o *origins) resolve(x *apps.VIP, generation uint32, told []othello.State) (live, unsure []othello.State) {
	of := o.of[x.ID]
	if of == nil || of.generation != generation {
		o.recall(x.ID)
		of = &originsOf{generation: generation}
		o.of[x.ID] = of
	}
	known := make(map[othello.State]clientSide, len(of.known))
	live = make([]othello.State, 0, len(told))
	for _, s := range told {
		a, has := of.known[s]
		if !has {
			unsure = append(unsure, s)
			live = append(live, s)
			continue
		}
		known[s] = a
		switch {
		case a.to == backendOf(x, s): // no connection of conntrack's: it may be past the VIP
			live = append(live, s)
		case a.to.Addr() == x.Address && x.Ports.Contains(a.to.Port()):
			live = append(live, othello.State{Tuple: othello.Tuple{Proto: s.Proto, Src: a.client, Dst: a.to}, Owner: s.Owner})
		}
	}
	of.known = known
	return live, unsure
}

// backendOf is the backend's end of a connection to a VIP.
func backendOf(x *apps.VIP, s othello.State) netip.AddrPort {
	b := x.BackendByID(s.Owner)
	if b == nil {
		return netip.AddrPort{}
	}
	if b.Port == 0 {
		return netip.AddrPortFrom(b.Address, s.Dst.Port())
	}
	return netip.AddrPortFrom(b.Address, b.Port)
}

// askOrigins asks the backends' switches about connections, some at a time. It is an error if none has answered for long.
func (e *Engine) askOrigins(v *apps.View, x *apps.VIP, unsure []othello.State, now time.Time) error {
	o := e.origins
	of := o.of[x.ID]
	if of.left == 0 {
		of.since = now
	}
	if again := of.at.Add(originsAgain); of.left == 0 || !now.Before(again) {
		e.putOrigins(v, x, unsure[:min(len(unsure), originsAtOnce)], now)
	}
	e.generations.lookAt(of.at.Add(originsAgain))
	if now.Sub(of.since) > originsPatience {
		return fmt.Errorf("switches have not said which ports clients have of %d connections, among them that from %s", len(unsure), unsure[0].Src)
	}
	return nil
}

// putOrigins puts questions in the place of those before.
func (e *Engine) putOrigins(v *apps.View, x *apps.VIP, some []othello.State, now time.Time) {
	o := e.origins
	of := o.of[x.ID]
	o.recall(x.ID)
	of.left, of.at = len(some), now
	asked := map[flows.DPID]*session{}
	for _, s := range some {
		b := x.BackendByID(s.Owner)
		if b == nil || b.Host == nil {
			continue
		}
		at := b.Host.At.DPID
		beside, zone := e.switches[at], v.Switches[at].Deferred
		if beside == nil || zone == 0 {
			continue
		}
		o.last++
		o.asked[o.last] = originQuestion{x.ID, s, at}
		frame, actions := othello.AskOrigin(o.last, zone, s.Src, backendOf(x, s))
		beside.PacketOut(flows.PortController, actions, frame)
		asked[at] = beside
	}
	for _, s := range asked {
		s.sw.Flush()
	}
}

// originAnswer takes a packet-in if it is an answer. It runs in the session's reader.
func (e *Engine) originAnswer(s *session, in *openflow.PacketIn) bool {
	if in.InPort != flows.PortController {
		return false
	}
	n, client, to, ok := othello.OriginOf(in.Data)
	if ok {
		e.post(func() { e.originFound(s.dpid, n, clientSide{client, to}) })
	}
	return ok
}

func (e *Engine) originFound(at flows.DPID, n uint32, a clientSide) {
	q, has := e.origins.asked[n]
	if !has || q.at != at {
		return
	}
	delete(e.origins.asked, n)
	of, now := e.origins.of[q.vip], e.cfg.Now()
	of.known[q.told] = a
	of.since = now
	if of.left--; of.left == 0 {
		e.generations.lookAt(now)
	}
}
