package topo

import (
	"testing"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// While a switch is behind, silence by way of it is no sign of anything, for a time.
func TestSilenceOfABusySwitch(t *testing.T) {
	start := func(t *testing.T, lag time.Duration) *network {
		n := pair(t, Config{Lag: func(d flows.DPID) time.Duration {
			if d == 1 {
				return lag
			}
			return 0
		}})
		n.events()
		return n
	}
	for _, tc := range []struct {
		lag, link, moved, gone time.Duration // gone: after the first probe unanswered
	}{
		{0, 6500 * time.Millisecond, time.Second, 3 * time.Second},
		{4 * time.Second, 10500 * time.Millisecond, 5 * time.Second, 15 * time.Second},
		{time.Hour, 21500 * time.Millisecond, 16 * time.Second, 48 * time.Second}, // no longer than the grace of a switch that is away
	} {
		t.Run("link, "+tc.lag.String(), func(t *testing.T) {
			n := start(t, tc.lag)
			n.topo.Sighting(n.now, Sighting{At: at(1, 2), LLDP: n.topo.lldp.append(nil, at(2, 2), ownMAC, n.now)})
			n.topo.Sighting(n.now, Sighting{At: at(2, 2), LLDP: n.topo.lldp.append(nil, at(1, 2), ownMAC, n.now)})
			clear(n.peer)
			n.pass(tc.link - time.Millisecond)
			n.wantEvents()
			n.pass(time.Millisecond)
			n.wantEvents("link s1:2 - s2:2 down")
		})
		t.Run("LLDP late, "+tc.lag.String(), func(t *testing.T) {
			n := start(t, tc.lag)
			hear := func(age time.Duration) {
				n.topo.Sighting(n.now, Sighting{At: at(1, 2), LLDP: n.topo.lldp.append(nil, at(2, 2), ownMAC, n.now.Add(-age))})
			}
			hear(tc.link)
			n.wantEvents()
			hear(tc.link + time.Millisecond)
			n.wantEvents("port s1:2 forged or replayed LLDP refused")
		})
		t.Run("move, "+tc.lag.String(), func(t *testing.T) {
			n := start(t, tc.lag)
			h := n.station(at(1, 1), 1)
			n.speaks(at(1, 1), h, 0)
			n.events()
			h.mute = true
			n.speaks(at(2, 1), h, -1)
			n.pass(tc.moved - time.Millisecond)
			n.wantEvents()
			n.pass(time.Millisecond)
			n.wantEvents("host h1 moved from s1:1 to s2:1")
		})
		t.Run("host, "+tc.lag.String(), func(t *testing.T) {
			n := start(t, tc.lag)
			h := n.station(at(1, 1), 1)
			n.speaks(at(1, 1), h, 0)
			n.events()
			h.mute = true
			n.pass(30*time.Second + tc.gone - time.Millisecond)
			n.wantEvents()
			n.pass(time.Millisecond)
			n.wantEvents("host h1 gone from s1:1: does not answer")
		})
	}
}
