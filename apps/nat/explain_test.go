package nat

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// What lives is named; a new connection only where the scheduler needs to know nothing else.
func TestExplain(t *testing.T) {
	tuple := apps.Tuple{Proto: apps.ProtoTCP, Src: netip.MustParseAddrPort(client), Dst: netip.MustParseAddrPort(web)}
	for _, scheduler := range []string{vip.TwoChoices, vip.SourceHash} {
		x := newVIP(3, func(x *apps.VIP) { x.Spec.Scheduler = scheduler })
		r := newRig(t, x)
		before, reason := r.app.Explain(view(x), x, 1, tuple)
		if (before == nil) != (scheduler == vip.TwoChoices) || (before == nil) != strings.Contains(reason, scheduler) {
			t.Errorf("%s: %v, %q", scheduler, before, reason)
		}
		got := chosen(r.in(syn(client)))
		after, reason := r.app.Explain(view(x), x, 1, tuple)
		if after == nil || int(after.ID) != got || reason != "" || before != nil && before != after {
			t.Errorf("%s: at backend %d, explained as %v, %q; before as %v", scheduler, got, after, reason, before)
		}
	}
	x := newVIP(3, bound(time.Minute))
	r := newRig(t, x)
	got := chosen(r.in(syn(client)))
	tuple.Src = netip.AddrPortFrom(tuple.Src.Addr(), 1)
	if b, reason := r.app.Explain(view(x), x, 1, tuple); b == nil || int(b.ID) != got {
		t.Errorf("bound to backend %d, explained as %v, %q", got, b, reason)
	}
	none := newVIP(1, state(1, vip.StateDown), func(x *apps.VIP) { x.Spec.Scheduler = vip.SourceHash })
	if b, reason := newRig(t, none).app.Explain(view(none), none, 1, tuple); b != nil || !strings.Contains(reason, "refused") {
		t.Errorf("no backend: %v, %q", b, reason)
	}
}
