package engine

import (
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// status is what is known of confirmations and of backends' histories: written by the loop and by sessions, read by
// users.
type status struct {
	mu       sync.Mutex
	seq      uint64
	acks     map[flows.DPID]map[apps.Owner]*ack
	backends map[backendKey]since
	known    map[flows.DPID]*knownSwitch
	leaving  map[string]*vip.VIP // deleted VIPs by name, until every connected switch has let go of them
	changed  chan struct{}       // closed at the next confirmation
}

// ack is an owner's state on a switch: what was sent last, and whether it is confirmed.
type ack struct {
	sent    uint64 // sequence number
	version uint64 // the VIP's version that it was made of
	done    uint64 // the newest VIP version confirmed
	pending bool
	gone    bool // the owner is no more: when this is confirmed the ack goes too
	err     string
}

type backendKey struct {
	vip     vip.ID
	backend uint32
}

// since is a backend's state and the time it began.
type since struct {
	state vip.State
	at    time.Time
}

// knownSwitch is what is remembered of a switch, connected or not.
type knownSwitch struct {
	connected bool
	ready     bool
	at        time.Time
	err       string
	arrival   arrival // of the present session
}

func newStatus() *status {
	return &status{
		acks: map[flows.DPID]map[apps.Owner]*ack{}, backends: map[backendKey]since{},
		known: map[flows.DPID]*knownSwitch{}, leaving: map[string]*vip.VIP{}, changed: make(chan struct{}),
	}
}

// sent notes that an owner's state of the view goes to a switch, and returns its sequence number. Nobody waits for a host:
// of those, which may be many, nothing is noted.
func (s *status) sent(d flows.DPID, o apps.Owner, v *apps.View) uint64 {
	if o.Kind == apps.OwnerHost {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	m := s.acks[d]
	if m == nil {
		m = map[apps.Owner]*ack{}
		s.acks[d] = m
	}
	a := m[o]
	if a == nil {
		a = &ack{}
		m[o] = a
	}
	a.sent, a.pending = s.seq, true
	switch o.Kind {
	case apps.OwnerVIP:
		if x := v.VIP(o.VIP); x != nil {
			a.version = x.Version
		} else {
			a.gone = true
		}
	case apps.OwnerAddress:
		a.gone = !v.Ours(o.Addr)
	}
	return s.seq
}

// applied notes a confirmation or refusal; those of states sent before the last are passed over. It reports whether the
// switch has now confirmed everything for the first time, and whether the error is new.
func (s *status) applied(d flows.DPID, o apps.Owner, seq uint64, err error) (ready, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Kind == apps.OwnerHost {
		return false, err != nil
	}
	a := s.acks[d][o]
	if a == nil || a.sent != seq {
		return false, false
	}
	a.pending = false
	text := ""
	if err != nil {
		text = err.Error()
	} else {
		a.done = a.version
	}
	failed = text != "" && text != a.err
	a.err = text
	if a.gone && err == nil {
		delete(s.acks[d], o)
	}
	if k := s.known[d]; k != nil && o.Kind == apps.OwnerBase && err == nil && !k.ready {
		k.ready, ready = true, true
	}
	s.wake()
	return ready, failed
}

// wake lets everyone who waits look again. The caller holds mu.
func (s *status) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// attached and detached follow a switch's connection.
func (s *status) attached(d flows.DPID, now time.Time, a arrival) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.known[d]; old != nil && !old.connected {
		a.away = now.Sub(old.at)
	}
	s.known[d] = &knownSwitch{connected: true, at: now, arrival: a}
	delete(s.acks, d)
	s.wake()
}

func (s *status) detached(d flows.DPID, now time.Time, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[d] = &knownSwitch{at: now, err: reason}
	delete(s.acks, d)
	s.wake()
}

// forget drops what is known of a VIP that has been deleted.
func (s *status) forget(x *vip.VIP) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.backends {
		if k.vip == x.ID {
			delete(s.backends, k)
		}
	}
	for name, y := range s.leaving {
		if s.left(y) {
			delete(s.leaving, name)
		}
	}
	s.leaving[x.Spec.Name] = x
}

// left reports whether every connected switch has let go of a deleted VIP. The caller holds mu.
func (s *status) left(x *vip.VIP) bool {
	for _, m := range s.acks {
		if m[vipOwner(x)] != nil {
			return false
		}
		if a := m[addressOwner(x.Address)]; a != nil && a.pending {
			return false
		}
	}
	return true
}

// appliedTo says what each connected switch has confirmed of a VIP, and whether all have confirmed at least version. A VIP
// stands on two owners: itself and its address.
func (s *status) appliedTo(x *apps.VIP, switches []flows.DPID, version uint64) (out []vip.Applied, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all = true
	for _, d := range switches {
		r := vip.Applied{DPID: d}
		own, address := s.acks[d][vipOwner(x.VIP)], s.acks[d][addressOwner(x.Address)]
		ok := own != nil && address != nil && own.err == "" && address.err == "" && !address.pending && own.done >= version
		if own != nil {
			r.Version, r.Error = own.done, own.refusal()
		}
		if address != nil && r.Error == "" {
			r.Error = address.refusal()
		}
		all = all && ok
		out = append(out, r)
	}
	return out, all
}

// refusal is the switch's last word if it was a refusal; "" while something newer is on its way.
func (a *ack) refusal() string {
	if a.pending {
		return ""
	}
	return a.err
}

// refused reports whether a switch's last answer for the VIP was a refusal.
func refused(applied []vip.Applied) bool {
	for _, a := range applied {
		if a.Error != "" {
			return true
		}
	}
	return false
}
