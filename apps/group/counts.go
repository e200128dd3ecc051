package group

import (
	"sync/atomic"

	"github.com/evenflow/evenflow/apps"
)

var _ apps.Counted = (*App)(nil)

// counters count packet-ins by what came of them.
type counters struct{ refused, silent, ended, forgot, late, fragments atomic.Uint64 }

// Counts are the packet-ins by reason: all are of connections that there are not, or not any more.
func (a *App) Counts() []apps.Count {
	c := &a.counters
	var out []apps.Count
	for _, x := range []struct {
		reason string
		n      *atomic.Uint64
	}{
		{"no backend", &c.refused}, {"no backend, not answered", &c.silent}, {"backend gone", &c.ended}, {"begins anew", &c.forgot},
		{"begins anew, one too many", &c.late}, {"fragment", &c.fragments},
	} {
		out = append(out, apps.Count{Part: a.Name(), Reason: x.reason, N: x.n.Load()})
	}
	return out
}
