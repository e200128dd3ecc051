package web

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
)

// imbalanceOf is an alarm on the first of two ports.
func imbalanceOf(name, kind string, detail bool) apps.Imbalance {
	at := start.Add(time.Minute)
	r := apps.Imbalance{Name: name, Kind: kind, Verdict: anova.Imbalanced, Reason: "50 % from its fair share", Since: start, Top: "b1", Streak: 3,
		Mode: anova.Robust, Tested: &at, F: 19.25, DF1: 1, DF2: 26.5, P: 8e-7, EffectSize: 0.5, Gate: 0.2, Autocorrelation: 0.25, Effective: 36,
		Window: apps.ImbalanceWindow{Samples: 60, Size: 60, Step: 10, Interval: 1, Restarted: start, Reason: "begun"},
		Ports: []apps.ImbalancePort{{Name: "b1", DPID: s1, PortNo: 1, Compared: true, Capacity: 1, Mean: 3e6, Deviation: 0.5},
			{Name: "b2", DPID: s1, PortNo: 2, Compared: true, Capacity: 1, Mean: 1e6, Deviation: -0.5},
			{Name: "b3", DPID: s2, PortNo: 1, Reason: "down", Capacity: 1, Mean: apps.Number(math.NaN()), Deviation: apps.Number(math.NaN())}},
		Matrix: [][]anova.Mark{{"", "**"}, {"**", ""}}, Pairs: []apps.ImbalancePair{{A: "b1", B: "b2", Difference: 1, P: 8e-7, Mark: "**"}}}
	if detail {
		r.Ports[0].Samples, r.Ports[1].Samples = apps.Series{3e6, 3.1e6}, apps.Series{1e6, 0.9e6}
		r.History = []apps.ImbalanceResult{{Time: at, F: apps.Number(math.Inf(1)), P: 0, EffectSize: 0.5, Verdict: anova.Imbalanced}}
	}
	return r
}

func TestImbalance(t *testing.T) {
	c := newClient(t, Config{})
	c.do(http.StatusCreated, "POST", "/api/v1/vips", webVIP)
	r := c.do(http.StatusOK, "GET", "/api/v1/vips/web/imbalance", "")
	for _, tc := range []struct {
		at   []any
		want any
	}{
		{[]any{"verdict"}, "imbalanced"}, {[]any{"f"}, 19.25}, {[]any{"df1"}, 1.}, {[]any{"df2"}, 26.5}, {[]any{"p"}, 8e-7},
		{[]any{"effect_size"}, 0.5}, {[]any{"streak"}, 3.}, {[]any{"top"}, "b1"}, {[]any{"matrix", 0, 1}, "**"}, {[]any{"ports", 0, "mean"}, 3e6},
		{[]any{"ports", 0, "samples", 1}, 3.1e6}, {[]any{"ports", 2, "mean"}, nil}, {[]any{"ports", 2, "reason"}, "down"},
		{[]any{"window", "size"}, 60.}, {[]any{"history", 0, "f"}, nil}, {[]any{"history", 0, "p"}, 0.},
	} {
		if diff := cmp.Diff(tc.want, r.at(tc.at...)); diff != "" {
			t.Errorf("%v: %s", tc.at, diff)
		}
	}
	c.do(http.StatusNotFound, "GET", "/api/v1/vips/none/imbalance", "")
	list := c.do(http.StatusOK, "GET", "/api/v1/imbalance", "")
	if got := list.at("items", 0, "name"); got != "web" || list.at("items", 0, "history") != nil {
		t.Errorf("list: %v, %v", got, list.at("items", 0, "history"))
	}
	if list = c.do(http.StatusOK, "GET", "/api/v1/imbalance?detail=true", ""); list.at("items", 0, "history", 0, "verdict") != "imbalanced" {
		t.Error("no detail")
	}
}
