package web

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
)

type imbalancesInput struct {
	Detail bool `query:"detail" doc:"With the samples of the window and the last tests"`
}

type imbalanceOutput struct{ Body apps.Imbalance }

func (s *Server) registerImbalance(a api) {
	get(a, "list-imbalances", "/imbalance", "How evenly ports are loaded: those of each VIP's backends, and each set of the configuration",
		s.listImbalances)
	get(a, "get-vip-imbalance", "/vips/{vip}/imbalance", "How evenly the ports of a VIP's backends are loaded, with samples and the last tests",
		s.vipImbalance)
}

func (s *Server) listImbalances(_ context.Context, in *imbalancesInput) (*listOutput[apps.Imbalance], error) {
	return listOf(s.eng.Imbalances(in.Detail)), nil
}

func (s *Server) vipImbalance(_ context.Context, in *vipPath) (*imbalanceOutput, error) {
	r, err := s.eng.VIPImbalance(in.VIP)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	return &imbalanceOutput{r}, nil
}

var (
	loadVerdict = desc("load_verdict", "1 for the verdict on how evenly the ports are loaded, 0 for the others.", "kind", "name", "verdict")
	loadF       = desc("load_f", "F of the last test of loads; infinite where no port's load varies.", "kind", "name")
	loadP       = desc("load_p", "Probability of such an F among equally loaded ports.", "kind", "name")
	loadEffect  = desc("load_effect_size", "Deviation of the port farthest from its fair share, as a part of that.", "kind", "name")
	loadStreak  = desc("load_streak", "Tests in a row that found the same port out of balance.", "kind", "name")
)

func collectImbalance(put putMetric, r *apps.Imbalance) {
	for _, v := range []anova.Verdict{anova.Balanced, anova.Imbalanced, anova.Undecided} {
		put(loadVerdict, prometheus.GaugeValue, number(r.Verdict == v), r.Kind, r.Name, string(v))
	}
	put(loadStreak, prometheus.GaugeValue, float64(r.Streak), r.Kind, r.Name)
	if r.Tested == nil {
		return
	}
	put(loadF, prometheus.GaugeValue, float64(r.F), r.Kind, r.Name)
	put(loadP, prometheus.GaugeValue, float64(r.P), r.Kind, r.Name)
	put(loadEffect, prometheus.GaugeValue, float64(r.EffectSize), r.Kind, r.Name)
}
