package engine

import (
	"maps"
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
	acks     acks
	shown    *apps.View               // the newest of which all has been handed to the controller
	backends map[vip.ID][]since       // by backend id
	drained  map[backendKey]time.Time // when the drain began of which it is known that it has ended
	known    map[flows.DPID]*knownSwitch
	leaving  map[string]*vip.VIP // deleted VIPs by name, until every connected switch has let go of them
	changed  chan struct{}       // closed at the next confirmation
}

type backendKey struct {
	vip     vip.ID
	backend uint32
}

// since is a backend's state and the time it began.
type since struct {
	backend uint32
	state   vip.State
	at      time.Time
}

// knownSwitch is what is remembered of a switch, connected or not.
type knownSwitch struct {
	connected bool
	ready     bool
	at        time.Time
	err       string
	arrival   arrival // of the present session
	hash      hashKnown
}

func newStatus() *status {
	return &status{
		acks: newAcks(), backends: map[vip.ID][]since{}, drained: map[backendKey]time.Time{},
		known: map[flows.DPID]*knownSwitch{}, leaving: map[string]*vip.VIP{}, changed: make(chan struct{}),
	}
}

// sent notes that owners' states of the view go to its switches, and returns their sequence number.
func (s *status) sent(v *apps.View, owners []apps.Owner) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acks.send(v, owners)
}

// applied notes a confirmation or refusal; those of states sent before the last are passed over. It reports whether the
// switch has now confirmed everything for the first time, and whether the error is new.
func (s *status) applied(d flows.DPID, o apps.Owner, seq uint64, err error) (ready, failed bool) {
	if !awaited(o) {
		return false, err != nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	counts, failed := s.acks.confirm(d, o, seq, err)
	if !counts {
		return false, false
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
	s.known[d] = &knownSwitch{connected: true, at: now, arrival: a, hash: s.lastHash(d)}
	s.acks.drop(d)
	s.wake()
}

func (s *status) detached(d flows.DPID, now time.Time, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[d] = &knownSwitch{at: now, err: reason, hash: s.lastHash(d)}
	s.acks.drop(d)
	s.wake()
}

// lastHash is what was known of a switch's hash when its session began or ended. The caller holds mu.
func (s *status) lastHash(d flows.DPID) hashKnown {
	if k := s.known[d]; k != nil {
		return hashKnown{build: k.hash.build}
	}
	return hashKnown{}
}

// forget drops what is known of a VIP that has been deleted.
func (s *status) forget(x *vip.VIP) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.backends, x.ID)
	maps.DeleteFunc(s.drained, func(k backendKey, _ time.Time) bool { return k.vip == x.ID })
	for name, y := range s.leaving {
		if s.left(y) {
			delete(s.leaving, name)
		}
	}
	s.leaving[x.Spec.Name] = x
}

// left reports whether every connected switch has let go of a deleted VIP. The caller holds mu.
func (s *status) left(x *vip.VIP) bool {
	if s.acks.sent[vipOwner(x)] != nil {
		return false
	}
	for _, m := range s.acks.open {
		if m[addressOwner(x.Address)].pending {
			return false
		}
	}
	return true
}

// pushed notes that what a view's owners want is on its way to the switches.
func (s *status) pushed(v *apps.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = v
	s.wake()
}

// appliedTo says what each connected switch has confirmed of a VIP, and whether all have confirmed at least version, and of that
// what has followed from it since, such as a backend that has come up. A VIP stands on two owners: itself and its address.
func (s *status) appliedTo(x *apps.VIP, switches []flows.DPID, version uint64, room []vip.Applied) (out []vip.Applied, all bool) {
	out = room[:0]
	s.mu.Lock()
	defer s.mu.Unlock()
	all = s.shown == nil || s.shown.VIP(x.ID) == nil || s.shown.VIP(x.ID) == x // else nothing has been sent of it yet
	for _, d := range switches {
		done, own, known := s.acks.of(d, vipOwner(x.VIP))
		_, address, both := s.acks.of(d, addressOwner(x.Address))
		ok := known && both && own.err == "" && address.err == "" && !address.pending && done >= version &&
			!(own.pending && s.acks.versionOf(vipOwner(x.VIP)) == version)
		r := vip.Applied{DPID: d, Version: done, Error: own.refusal()}
		if r.Error == "" {
			r.Error = address.refusal()
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
