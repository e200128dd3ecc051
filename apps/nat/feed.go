package nat

import (
	"maps"
	"math"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

var _ apps.LoadTaker = (*App)(nil)

// TakeLoads gives the scheduler of a VIP the loads of its backends' ports, if it goes by them.
func (a *App) TakeLoads(id vip.ID, loads map[uint32]float64, rejected bool) {
	s := (*a.services.Load())[id]
	if s == nil {
		return
	}
	s.mu.Lock()
	s.loads = maps.Clone(loads)
	s.mu.Unlock()
	s.feed(s.plan.Load(), rejected)
}

// feed hands the last loads to the scheduler of a plan.
func (s *service) feed(p *plan, rejected bool) {
	fed, ok := p.scheduler.(vip.Fed)
	if !ok {
		return
	}
	list := make([]float64, len(p.vip.Backends))
	s.mu.Lock()
	for i := range p.vip.Backends {
		var known bool
		if list[i], known = s.loads[p.vip.Backends[i].ID]; !known {
			list[i] = math.NaN()
		}
	}
	s.mu.Unlock()
	fed.Feed(p.candidates, list, rejected)
}
