package nat

import (
	"fmt"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Explain says where a connection is that lives, and of a new one what affinity or source-hash would choose. The other schedulers take what
// has come before into account.
func (a *App) Explain(v *apps.View, x *apps.VIP, _ flows.DPID, t apps.Tuple) (*apps.Backend, string) {
	if !handles(x) {
		return nil, ""
	}
	s := a.service(v, x.ID)
	if s == nil {
		return nil, "the VIP is being deleted"
	}
	p := s.plan.Load()
	if y := s.connected(p, key{t.Src.Addr().As16(), t.Src.Port(), t.Dst.Port()}); y != nil {
		return backendOf(x, y.id), ""
	}
	if y := s.bound(p, t.Src.Addr().As16()); y != nil {
		return backendOf(x, y.id), ""
	}
	if x.Spec.Scheduler != vip.SourceHash {
		return nil, fmt.Sprintf("no such connection lives; for a new one the controller chooses by %s when its first packet comes", x.Spec.Scheduler)
	}
	i, ok := p.scheduler.Pick(p.candidates, vip.Flow{Client: t.Src.Addr(), ClientPort: t.Src.Port(), VIPPort: t.Dst.Port()})
	if !ok {
		return nil, "no backend takes connections: it is refused"
	}
	return backendOf(x, p.targets[i].id), ""
}

// connected is the backend of a live connection, nil if there is none.
func (s *service) connected(p *plan, k key) *target {
	sh, hash := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e, ok := sh.conns.get(hash, k)
	if !ok {
		return nil
	}
	return p.target(e.backend)
}

func backendOf(x *apps.VIP, id uint32) *apps.Backend {
	for i := range x.Backends {
		if x.Backends[i].ID == id {
			return &x.Backends[i]
		}
	}
	return nil
}
