package nat

import (
	"net/netip"
	"slices"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// List is the live connections of a VIP, at most max of them unless max is 0, sorted by client.
func (a *App) List(id vip.ID, max int) []apps.Connection {
	s := (*a.services.Load())[id]
	if s == nil {
		return nil
	}
	var out []apps.Connection
	shards, ahead := s.shards(), a.clockAhead()
	for i := range shards {
		out = s.list(&shards[i], out, max, ahead)
	}
	slices.SortFunc(out, func(x, y apps.Connection) int {
		if c := x.Client.Compare(y.Client); c != 0 {
			return c
		}
		return int(x.VIPPort) - int(y.VIPPort)
	})
	return out
}

func (s *service) list(sh *shard, out []apps.Connection, max int, ahead int64) []apps.Connection {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := s.plan.Load()
	for k, e := range sh.conns.all {
		if max > 0 && len(out) == max {
			break
		}
		t := p.target(e.backend)
		if t == nil {
			continue
		}
		client := netip.AddrPortFrom(k.client.addr(), k.port)
		since := time.Unix(int64(e.since)+ahead, 0)
		out = append(out, apps.Connection{Client: client, VIPPort: k.vport, Backend: t.name, DPID: e.dpid, Since: since})
	}
	return out
}
