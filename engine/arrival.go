package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// lateLoss is how long after a switch has died the end of its session may be noticed, with a reserve.
const lateLoss = 30 * time.Second

// arrival is what a switch held when its session began, as far as that was not as it should be.
//
// OpenFlow does not show a bridge's fail_mode. Without fail_mode=secure Open vSwitch deletes all rules some time after its
// controller has gone, and forwards as any switch does; when the controller is back it drops that too, so all that can be
// seen is that our rules are gone. A restarted switch has lost them as well, but its ports are as young as its process.
type arrival struct {
	lost    bool          // the switch was known, and held none of our rules
	away    time.Duration // since the end of the last session, 0: nobody knows
	kept    bool          // lost, and it has not been restarted meanwhile
	foreign map[uint8]int // rules of others in our tables, by table
	normal  *flows.Rule   // one of these that hands all packets to the switch
}

// newArrival is the arrival of a switch that was known before, or was not.
func newArrival(f controller.Found, known bool) arrival {
	a := arrival{lost: known && f.Desired == 0, foreign: map[uint8]int{}, normal: f.Normal}
	for table, n := range f.Foreign {
		if table <= apps.TableOutput {
			a.foreign[table] = n
		}
	}
	return a
}

// arrived tells a switch that has lost its rules from one that was restarted, by the ages of its ports.
func (s *status) arrived(d flows.DPID, now time.Time, ports []openflow.PortStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[d]
	if k == nil || !k.connected || !k.arrival.lost || k.arrival.away == 0 || k.arrival.kept {
		return
	}
	for _, p := range ports {
		age := time.Duration(p.DurationSec) * time.Second
		if p.DurationSec != math.MaxUint32 && age > now.Sub(k.at)+k.arrival.away+lateLoss {
			k.arrival.kept = true
		}
	}
}

// tell adds what is to be said to a switch's status.
func (a *arrival) tell(s *apps.SwitchStatus) {
	switch {
	case a.lost && a.kept:
		s.Problems = append(s.Problems, "lost all its rules while the controller was away, without a restart: "+
			"its fail_mode is not secure, or somebody deleted them")
	case a.lost:
		s.Warnings = append(s.Warnings, "came back without any of its rules: it was restarted, or its fail_mode is not secure")
	}
	switch {
	case a.normal != nil && a.normal.Priority == 0:
		s.Problems = append(s.Problems, "forwarded by itself before it connected (priority=0 actions=NORMAL): its fail_mode is not secure")
	case a.normal != nil:
		s.Problems = append(s.Problems, fmt.Sprintf("a rule of somebody else hides the pipeline (priority=%d actions=NORMAL)", a.normal.Priority))
	}
	n, tables := 0, []string{}
	for _, t := range slices.Sorted(maps.Keys(a.foreign)) {
		n += a.foreign[t]
		tables = append(tables, fmt.Sprint(t))
	}
	if n > 0 && (a.normal == nil || n > 1) {
		s.Problems = append(s.Problems, fmt.Sprintf("rules of somebody else in our tables when it connected: %d, in %s", n, strings.Join(tables, ", ")))
	}
}
