package nat

import "github.com/evenflow/evenflow/apps"

var _ apps.Prefetcher = (*App)(nil)

// Prefetch has the processor fetch what the tables will show of a packet's connection, and of its backend's answers if that
// listens at the same port as the VIP's first one: waits for memory are half of what a new connection costs when there are many.
func (a *App) Prefetch(v *apps.View, in *apps.Punted) {
	id, _ := a.addressee(v, in)
	s := (*a.services.Load())[id]
	if s == nil {
		return
	}
	f, p := in.Frame, s.plan.Load()
	k := key{f.Src.As16(), f.SrcPort, f.DstPort}
	sh, hash := s.shard(k)
	sh.prefetch(hash)
	if len(p.targets) > 0 {
		a.tuples.prefetch(p.answer(&p.targets[0], k))
	}
}

func (sh *shard) prefetch(hash uint32) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.conns.prefetch(hash)
}
