package engine

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
)

const (
	courseInterval = time.Second * 9 / 10 // the least time between two readings
	maxCourses     = 4096                 // backends with a course of their own: 3.6 KiB each
)

// courses are the rates of the last 15 minutes of what is counted for the controller and for backends.
type courses struct {
	mu        sync.Mutex
	at        time.Time
	packetIns course
	total     course
	sessions  map[*controller.Switch]uint64
	backends  map[string]*course // "vip/backend"
}

// course is a counter's last value and its rates.
type course struct {
	value int64
	known bool
	ring  *controller.Ring[float32]
}

func newCourse() course { return course{ring: controller.NewRing(float32(math.NaN()))} }

func newCourses() *courses {
	return &courses{packetIns: newCourse(), total: newCourse(), sessions: map[*controller.Switch]uint64{}, backends: map[string]*course{}}
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

// note reads all counters, if it is time.
func (c *courses) note(now time.Time, switches []*controller.Switch, vips []vip.Read) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.at
	if now.Sub(since) < courseInterval && !now.Before(since) {
		return
	}
	c.at = now
	first := since.IsZero() || now.Before(since)
	if first {
		since = now // nothing is known of what was before
	}
	sessions := make(map[*controller.Switch]uint64, len(switches))
	var packets uint64
	for _, sw := range switches {
		n := sw.Counters().PacketIns
		if old := c.sessions[sw]; n >= old {
			packets += n - old // a session that is new counts from 0
		}
		sessions[sw] = n
	}
	c.sessions = sessions
	var connections int64
	there := make(map[string]*course, len(c.backends))
	for i := range vips {
		for _, b := range vips[i].Status.Backends {
			name := vips[i].Name + "/" + b.Name
			own := c.backends[name]
			if own == nil && len(there) < maxCourses {
				k := newCourse()
				own = &k
			}
			if own == nil {
				continue
			}
			there[name] = own
			if first {
				own.value, own.known = b.NewConnections, true
				continue
			}
			connections += own.read(since, now, b.NewConnections)
		}
	}
	c.backends = there
	if !first {
		c.packetIns.grow(since, now, int64(packets))
		c.total.grow(since, now, connections)
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
		c := e.courses.backends[fmt.Sprintf("%s/%s", name, x.Backends[i].Name)]
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
