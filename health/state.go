package health

import (
	"fmt"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// failure is why a probe has failed, in words that are a metric's label.
type failure string

const (
	timedOut          failure = "timeout"
	refusedConnection failure = "refused"
)

// Damping: a target that goes down again soon after it was up is held down, each time twice as long.
const (
	holdIntervals = 5  // of the second time, in intervals
	calmIntervals = 60 // up for so many, a target's past is forgotten
	maxHold       = 5 * time.Minute

	backInterval = time.Second
)

// state is when a target is down and up. The zero state is up: a target is innocent until its probes have failed.
type state struct {
	down    bool
	reason  string    // why it is down
	gone    bool      // it is down for having been gone, and no probe has failed since
	streak  int       // probes in a row that speak against the state
	lenient bool      // the next failure does not count: what brings answers may not have been there yet
	falls   int       // times it has gone down without a calm time between
	rose    time.Time // when it last came up
	until   time.Time // held down
}

// passed notes an answer, and reports whether what is to be told has changed.
func (s *state) passed(now time.Time, t target) (changed bool) {
	s.lenient = false
	if !s.down {
		s.streak = 0
		if s.falls > 0 && now.Sub(s.rose) >= max(calmIntervals*t.interval, 2*hold(s.falls, t.interval)) {
			s.falls = 0
		}
		return false
	}
	if s.streak++; s.streak < t.rise {
		return false
	}
	if now.Before(s.until) {
		return s.tell("answers again" + s.held(now, t))
	}
	*s = state{falls: s.falls, rose: now}
	return true
}

// failed notes a probe that has failed, and reports whether what is to be told has changed.
func (s *state) failed(now time.Time, t target, why failure) (changed bool) {
	if s.lenient {
		s.lenient = false
		return false
	}
	if s.down {
		s.streak, s.gone = 0, false
		return s.tell(describe(t, why) + s.held(now, t))
	}
	if s.streak++; s.streak < t.fall {
		return false
	}
	s.fall(now, t, describe(t, why))
	return true
}

// lost notes that the target is gone. Back again, it is up when it has answered.
func (s *state) lost(now time.Time, t target) (changed bool) {
	s.streak = 0
	if s.down {
		return false
	}
	s.fall(now, t, fmt.Sprintf("was gone, and has not answered %d probes since", t.rise))
	s.gone = true
	return true
}

// pace is the time between two probes: one that is back is asked often, so that it need not wait long to be up.
func (s *state) pace(t target) time.Duration {
	if s.gone {
		return min(t.interval, backInterval)
	}
	return t.interval
}

func (s *state) fall(now time.Time, t target, reason string) {
	s.down, s.streak = true, 0
	s.falls++
	s.until = now.Add(hold(s.falls, t.interval))
	s.reason = reason + s.held(now, t)
}

// tell sets the reason, and reports whether it is another one.
func (s *state) tell(reason string) (changed bool) {
	changed, s.reason = reason != s.reason, reason
	return changed
}

// held says that a target is held down, if it is.
func (s *state) held(now time.Time, t target) string {
	if !now.Before(s.until) {
		return ""
	}
	return fmt.Sprintf("; flapping: down %d times in short order, so held down for %s", s.falls, hold(s.falls, t.interval))
}

// hold is how long a target is held down that has gone down for the nth time: the first time not at all.
func hold(n int, interval time.Duration) time.Duration {
	if n < 2 {
		return 0
	}
	d, most := holdIntervals*interval, max(maxHold, holdIntervals*interval)
	for range n - 2 {
		if d = 2 * d; d >= most {
			return most
		}
	}
	return d
}

// describe says why a target is down.
func describe(t target, why failure) string {
	switch {
	case why == refusedConnection:
		return fmt.Sprintf("tcp probe: port %d refuses connections", t.Port)
	case t.Type == vip.HealthTCP:
		return fmt.Sprintf("tcp probe: no answer from port %d within %s", t.Port, t.timeout)
	case t.Type == vip.HealthARP && !t.Address.Is4():
		return fmt.Sprintf("ND probe: no answer within %s", t.timeout)
	}
	return fmt.Sprintf("%s probe: no answer within %s", t.Type, t.timeout)
}
