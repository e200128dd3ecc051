package group

import (
	"math"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// Shares are the weights', of those that take connections; nobody can tell them where clients are shared or a switch has no
// bucket ids.
func TestShares(t *testing.T) {
	v := viewOf(true, backend(1, 1, vip.StateUp), backend(2, 3, vip.StateUp), backend(3, 5, vip.StateDraining))
	x := v.VIPs[0]
	got := New(Config{}).Shares(v, x)
	if len(got) != 3 || math.Abs(got[0]-0.25) > 1e-4 || math.Abs(got[1]-0.75) > 1e-4 || got[2] != 0 || got[1] <= 0.75 { // ties are for the last
		t.Errorf("%v", got)
	}
	if got := New(Config{}).Shares(viewOf(false, x.Backends...), x); got != nil {
		t.Errorf("OpenFlow 1.3: %v", got)
	}
	x.Spec.Affinity = &vip.Affinity{Timeout: vip.Duration(time.Minute)}
	if got := New(Config{}).Shares(v, x); got != nil {
		t.Errorf("with affinity: %v", got)
	}
}
