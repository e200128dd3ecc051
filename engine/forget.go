package engine

import (
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// cacheLag is how long Open vSwitch's cache may still follow rules that it has confirmed to be gone.
const cacheLag = 100 * time.Millisecond

// cacheLagMost is when it has caught up on a busy machine too: a packet that took a cached way has made a switch know what it was
// told to forget.
const cacheLagMost = 2 * time.Second

// forgetInterval is between the requests to forget the same, of which there are ten: Open vSwitch's userspace datapath (3.1) goes
// through its table of connections while it deletes, and passes over some, up to half of what is left, when the table shrinks.
const forgetInterval = 200 * time.Millisecond

// owed are the connections that switches are to forget once they have confirmed what an owner wants. A switch that goes away
// meanwhile is not asked later, but for what is stored (see debts): what its clients still send to endpoints that have gone comes to
// the controller.
type owed struct {
	mu  sync.Mutex
	all map[flows.DPID]map[apps.Owner]debt
}

type debt struct {
	seq     uint64 // of the state to be confirmed
	forgets []apps.Forget
}

func (o *owed) add(d flows.DPID, owner apps.Owner, seq uint64, f []apps.Forget) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[flows.DPID]map[apps.Owner]debt{}
	}
	if o.all[d] == nil {
		o.all[d] = map[apps.Owner]debt{}
	}
	o.all[d][owner] = debt{seq, append(o.all[d][owner].forgets, f...)}
}

// take is what is due when a switch has confirmed an owner's state.
func (o *owed) take(d flows.DPID, owner apps.Owner, seq uint64) []apps.Forget {
	o.mu.Lock()
	defer o.mu.Unlock()
	x, ok := o.all[d][owner]
	if !ok || seq < x.seq {
		return nil
	}
	delete(o.all[d], owner)
	return x.forgets
}

func (o *owed) drop(d flows.DPID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, d)
}

// settleDebts has a switch forget what is due, when its cache has followed the rules.
func (e *Engine) settleDebts(d flows.DPID, owner apps.Owner, seq uint64) {
	due := e.owed.take(d, owner, seq)
	if len(due) == 0 {
		return
	}
	forget := func() {
		list := e.gone(e.view.Load(), d, due)
		if sw, ok := e.ctl.Switch(d); ok && len(list) > 0 {
			for i := range list {
				sw.Forget(ctFlush(list[i]))
			}
			sw.Flush()
		}
	}
	for at := cacheLag; at < cacheLagMost; at += forgetInterval {
		time.AfterFunc(at, forget)
	}
	time.AfterFunc(cacheLagMost, func() { e.post(func() { forget(); e.paid(d, due) }) })
}

func ctFlush(f apps.Forget) *openflow.CTFlush {
	return &openflow.CTFlush{Zone: f.Zone, Proto: f.Proto,
		Original: openflow.CTTuple{Src: f.Client.Addr(), SrcPort: f.Client.Port(), Dst: f.VIP.Addr(), DstPort: f.VIP.Port()},
		Reply:    openflow.CTTuple{Src: f.Backend.Addr(), SrcPort: f.Backend.Port()}}
}

// Forget is part of a session's Reply.
func (s *session) Forget(f apps.Forget) { s.sw.Forget(ctFlush(f)) }
