package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
)

// Imbalances are what is known of the loads of all VIPs' backends and all sets of ports, by name; with samples and history in detail.
func (e *Engine) Imbalances(detail bool) []apps.Imbalance {
	m := e.imbalance
	if m.settings.Off {
		return []apps.Imbalance{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]apps.Imbalance, 0, len(m.vips)+len(m.sets))
	for _, w := range m.vips {
		out = append(out, w.read(detail))
	}
	for _, w := range m.sets {
		out = append(out, w.read(detail))
	}
	slices.SortFunc(out, func(a, b apps.Imbalance) int {
		return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// VIPImbalance is what is known of the loads of a VIP's backends, with samples and history.
func (e *Engine) VIPImbalance(name string) (apps.Imbalance, error) {
	x, err := e.find(name)
	if err != nil {
		return apps.Imbalance{}, err
	}
	m := e.imbalance
	if m.settings.Off {
		return apps.Imbalance{}, fmt.Errorf("VIP %q: the detector is off: %w", name, apps.ErrNotFound)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.vips[x.ID]
	if w == nil { // declared since the last sample
		w = newWatcher(name, apps.KindVIP, m.settings, e.cfg.Now())
	}
	return w.read(true), nil
}

// lostCount is how many samples of loads could not be used: a counter had begun anew.
func (m *imbalance) lostCount() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.lost
	for _, w := range m.vips {
		n += w.lost
	}
	for _, w := range m.sets {
		n += w.lost
	}
	return n
}

func (w *watcher) read(detail bool) apps.Imbalance {
	s := w.state()
	nan := apps.Number(math.NaN())
	out := apps.Imbalance{Name: w.name, Kind: w.kind, Verdict: s.Verdict, Reason: s.Reason, Since: w.since, Streak: s.Streak,
		Mode: w.settings.Test.Mode, F: nan, DF1: nan, DF2: nan, P: nan, EffectSize: nan, Autocorrelation: nan, Effective: nan,
		Alpha: w.settings.Test.Alpha, Gate: w.settings.Test.GateOf(len(w.compared)),
		Matrix: [][]anova.Mark{}, Pairs: []apps.ImbalancePair{}, Ports: []apps.ImbalancePort{},
		Window: apps.ImbalanceWindow{Size: w.settings.Test.Window, Step: w.settings.Test.Step, Interval: w.settings.Interval.Seconds(),
			Restarted: w.restarted, Reason: w.reason}}
	var samples [][]float64
	var last anova.Result
	tested := false
	if w.detector != nil {
		samples = w.detector.Samples()
		out.Window.Samples = len(samples[0])
		if s.Streak > 0 {
			out.Top = w.compared[s.Top].name
		}
		if last, tested = w.detector.Last(); tested {
			w.readTest(&out, &last)
		}
	}
	for i, c := range w.compared {
		p := apps.ImbalancePort{Name: c.name, DPID: c.port.DPID, PortNo: c.port.No, Compared: true, Capacity: c.capacity,
			Mean: nan, Deviation: nan}
		if tested {
			p.Mean, p.Deviation = apps.Number(last.Means[i]), apps.Number(last.Deviations[i])
		}
		if detail && samples != nil {
			p.Samples = series(samples[i])
		}
		out.Ports = append(out.Ports, p)
	}
	for _, c := range w.candidates {
		if c.away != "" {
			out.Ports = append(out.Ports, apps.ImbalancePort{Name: c.name, DPID: c.port.DPID, PortNo: c.port.No, Reason: c.away,
				Capacity: c.capacity, Mean: nan, Deviation: nan})
		}
	}
	if detail {
		out.History = slices.Clone(w.tests)
	}
	return out
}

// readTest adds the last test.
func (w *watcher) readTest(out *apps.Imbalance, r *anova.Result) {
	at := w.tested
	out.Tested = &at
	out.F, out.P, out.EffectSize = apps.Number(r.Statistic), apps.Number(r.P), apps.Number(r.Effect)
	out.DF1, out.DF2 = apps.Number(r.DF1), apps.Number(r.DF2)
	out.Effective = apps.Number(r.Effective)
	if w.settings.Test.Mode == anova.Robust {
		out.Autocorrelation = apps.Number(r.Phi)
	}
	if r.Matrix != nil {
		out.Matrix = r.Matrix
	}
	for _, p := range r.Pairs {
		out.Pairs = append(out.Pairs, apps.ImbalancePair{A: w.compared[p.I].name, B: w.compared[p.J].name,
			Difference: apps.Number(p.Diff), P: apps.Number(p.P), Mark: out.Matrix[p.I][p.J]})
	}
}

func series(samples []float64) apps.Series {
	out := make(apps.Series, len(samples))
	for i, x := range samples {
		out[i] = float32(x)
	}
	return out
}
