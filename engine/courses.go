package engine

import (
	"maps"
	"math"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
)

const (
	courseInterval = time.Second * 9 / 10 // the least time between two readings
	maxCourses     = 4096                 // backends with a course of their own: 3.6 KiB each, if there is something to tell
)

// courses are the rates of the last 15 minutes of what is counted for the controller and for backends.
type courses struct {
	mu        sync.Mutex
	at        time.Time
	packetIns course
	total     course
	sessions  map[*controller.Switch]uint64
	backends  map[backendKey]*course
}

// course is a counter's last value and its rates.
type course struct {
	value int64
	known bool
	seen  time.Time // of a backend: when it was last read
	ring  *controller.Ring[float32]
}

func newCourse() course { return course{ring: controller.NewRing(float32(math.NaN()))} }

func newCourses() *courses {
	return &courses{packetIns: newCourse(), total: newCourse(), sessions: map[*controller.Switch]uint64{}, backends: map[backendKey]*course{}}
}

// grow notes how much was counted since a time.
func (c *course) grow(since, at time.Time, n int64) {
	c.ring.Put(since, at, float32(float64(n)/at.Sub(since).Seconds()))
}

// read notes a counter's value; one that falls has begun anew.
func (c *course) read(since, at time.Time, value int64) (grown int64) {
	if c.known && value >= c.value {
		grown = value - c.value
		c.grow(since, at, grown)
	}
	c.value, c.known = value, true
	return grown
}

// look is a reading of all counters under way, at most one in courseInterval.
type look struct {
	c           *courses
	since, now  time.Time
	first       bool
	packets     uint64
	connections int64
}

// begin begins a reading with what switches have counted; nil: it is too soon. VIPs and the end must follow.
func (c *courses) begin(now time.Time, switches []*controller.Switch) *look {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &look{c: c, since: c.at, now: now}
	if now.Sub(l.since) < courseInterval && !now.Before(l.since) {
		return nil
	}
	c.at = now
	if l.first = l.since.IsZero() || now.Before(l.since); l.first {
		l.since = now // nothing is known of what was before
	}
	sessions := make(map[*controller.Switch]uint64, len(switches))
	for _, sw := range switches {
		n := sw.Counters().PacketIns
		if old := c.sessions[sw]; n >= old {
			l.packets += n - old // a session that is new counts from 0
		}
		sessions[sw] = n
	}
	c.sessions = sessions
	return l
}

// note adds what a VIP's backends have counted.
func (l *look) note(x *apps.VIP, counts []vip.BackendStatus) {
	if l == nil {
		return
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	for i := range x.Backends {
		key := backendKey{x.ID, x.Backends[i].ID}
		own, known := l.c.backends[key]
		if !known && len(l.c.backends) >= maxCourses {
			continue
		} else if !known {
			k := newCourse()
			own = &k
			l.c.backends[key] = own
		}
		own.seen = l.now
		if l.first {
			own.value, own.known = counts[i].NewConnections, true
			continue
		}
		l.connections += own.read(l.since, l.now, counts[i].NewConnections)
	}
}

// end ends the reading: the courses of backends that were not in it go.
func (l *look) end() {
	if l == nil {
		return
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	maps.DeleteFunc(l.c.backends, func(_ backendKey, k *course) bool { return k.seen != l.now })
	if !l.first {
		l.c.packetIns.grow(l.since, l.now, int64(l.packets))
		l.c.total.grow(l.since, l.now, l.connections)
	}
}

// History is what the controller as a whole did in the last seconds, at most 900.
func (e *Engine) History(seconds int) apps.History {
	e.courses.mu.Lock()
	defer e.courses.mu.Unlock()
	end, packets := e.courses.packetIns.ring.Last(e.cfg.Now(), seconds)
	_, connections := e.courses.total.ring.Last(e.cfg.Now(), seconds)
	return apps.History{End: end, PacketIns: packets, NewConnections: connections}
}

// VIPHistory is how many connections a VIP's backends were given in the last seconds, at most 900.
func (e *Engine) VIPHistory(name string, seconds int) (apps.VIPHistory, error) {
	x, err := e.find(name)
	if err != nil {
		return apps.VIPHistory{}, err
	}
	e.courses.mu.Lock()
	defer e.courses.mu.Unlock()
	now := e.cfg.Now()
	h := apps.VIPHistory{End: now.Truncate(time.Second).UTC(), Backends: make([]apps.BackendHistory, 0, len(x.Backends))}
	none := newCourse()
	for i := range x.Backends {
		c := e.courses.backends[backendKey{x.ID, x.Backends[i].ID}]
		if c == nil {
			c = &none
		}
		end, rates := c.ring.Last(now, seconds)
		if end.Before(h.End) && c != &none {
			h.End = end
		}
		h.Backends = append(h.Backends, apps.BackendHistory{Name: x.Backends[i].Name, NewConnections: rates})
	}
	return h, nil
}
