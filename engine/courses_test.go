package engine

import (
	"math"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

func TestCourses(t *testing.T) {
	c := newCourses()
	read := func(sec float64, counts map[string]int64) {
		x := &apps.VIP{VIP: &vip.VIP{ID: 1}}
		var status []vip.BackendStatus
		for i, name := range []string{"b1", "b2"} {
			if n, ok := counts[name]; ok {
				x.Backends = append(x.Backends, apps.Backend{Backend: &vip.Backend{ID: uint32(i + 1)}})
				status = append(status, vip.BackendStatus{Name: name, NewConnections: n})
			}
		}
		l := c.begin(noon.Add(time.Duration(sec*1e9)), nil)
		l.note(x, status)
		l.end()
	}
	read(0, map[string]int64{"b1": 1000, "b2": 0})
	read(1, map[string]int64{"b1": 1010, "b2": 4})
	read(1.5, map[string]int64{"b1": 1020, "b2": 4}) // too soon: what it tells comes with the next
	read(3, map[string]int64{"b1": 1050, "b2": 2})   // b2 has begun anew
	read(4, map[string]int64{"b1": 1050})
	now := noon.Add(4 * time.Second)
	nan := float32(math.NaN())
	for key, want := range map[backendKey][]float32{{1, 1}: {nan, 10, 20, 20, 0}} {
		_, got := c.backends[key].ring.Last(now, 5)
		for i := range want {
			if got[i] != want[i] && !(math.IsNaN(float64(got[i])) && math.IsNaN(float64(want[i]))) {
				t.Errorf("%v: %v, want %v", key, got, want)
				break
			}
		}
	}
	if c.backends[backendKey{1, 2}] != nil {
		t.Error("a backend that is gone has a course")
	}
	if _, got := c.total.ring.Last(now, 4); got[0] != 14 || got[1] != 20 || got[3] != 0 {
		t.Errorf("all together: %v", got)
	}
}
