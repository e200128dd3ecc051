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
	changed  chan struct{} // closed at the next confirmation
}

// ack is an owner's state on a switch: what was sent last, and whether it is confirmed.
type ack struct {
	sent    uint64 // sequence number
	version uint64 // the VIP's version that it was made of
	done    uint64 // the newest VIP version confirmed
	pending bool
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
}

func newStatus() *status {
	return &status{
		acks: map[flows.DPID]map[apps.Owner]*ack{}, backends: map[backendKey]since{},
		known: map[flows.DPID]*knownSwitch{}, changed: make(chan struct{}),
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
	if o.Kind == apps.OwnerVIP {
		if x := v.VIP(o.VIP); x != nil {
			a.version = x.Version
		}
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
func (s *status) attached(d flows.DPID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[d] = &knownSwitch{connected: true, at: now}
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

// forget drops what is known of a VIP that has gone.
func (s *status) forget(x *vip.VIP) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.backends {
		if k.vip == x.ID {
			delete(s.backends, k)
		}
	}
}

// appliedTo says what each connected switch has confirmed of a VIP, and whether all have confirmed at least version. A VIP
// stands on two owners: itself and its address.
func (s *status) appliedTo(x *apps.VIP, switches []flows.DPID, version uint64) (out []vip.Applied, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all = true
	for _, d := range switches {
		r := vip.Applied{DPID: d}
		own, address := s.acks[d][apps.Owner{Kind: apps.OwnerVIP, VIP: x.ID}], s.acks[d][apps.Owner{Kind: apps.OwnerAddress, Addr: x.Address}]
		ok := own != nil && address != nil && own.err == "" && address.err == "" && !address.pending && own.done >= version
		if own != nil {
			r.Version, r.Error = own.done, own.err
		}
		if address != nil && r.Error == "" {
			r.Error = address.err
		}
		all = all && ok
		out = append(out, r)
	}
	return out, all
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
