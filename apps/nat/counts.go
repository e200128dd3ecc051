package nat

import "github.com/evenflow/evenflow/apps"

var _ apps.Counted = (*App)(nil)

// Counts are the packet-ins that led to no connection.
func (a *App) Counts() []apps.Count {
	c := a.Counters()
	var out []apps.Count
	for _, x := range []struct {
		reason string
		n      uint64
	}{
		{"closed port", c.Closed}, {"no backend", c.NoBackend}, {"unknown connection", c.Unknown}, {"table full", c.Full},
		{"client port in use", c.Clash}, {"backend's address elsewhere", c.Astray}, {"fragment", c.Fragments},
		{"no room for affinity", c.Unbound}, {"begins anew", c.Anew},
	} {
		out = append(out, apps.Count{Part: a.Name(), Reason: x.reason, N: x.n})
	}
	return out
}
