package apps

import (
	"sync"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// Allowance bounds how often a second something is done for each switch. The zero Allowance is ready; it may be used by many goroutines.
type Allowance struct {
	mu       sync.Mutex
	switches map[flows.DPID]*allowance
}

// allowance is what is left of a rate in the present second.
type allowance struct {
	second int64
	left   int
}

// Take takes one of so many a second; false if there is none left.
func (a *Allowance) Take(d flows.DPID, now time.Time, rate int) bool {
	second := now.Unix()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.switches == nil {
		a.switches = map[flows.DPID]*allowance{}
	}
	x := a.switches[d]
	if x == nil {
		x = &allowance{}
		a.switches[d] = x
	}
	if x.second != second {
		*x = allowance{second, rate}
	}
	if x.left == 0 {
		return false
	}
	x.left--
	return true
}
