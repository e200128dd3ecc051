package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/topo"
)

const (
	maxTests  = 360 // kept for each watcher: an hour by default
	staleRows = 5   // intervals without a reading after which a port is not compared any more
	leastRows = 10 * time.Second
	// lastWindows is how many windows a verdict that is no alarm must hold to be told.
	lastWindows = 5
)

// watcher compares the loads of some ports: those of a VIP's backends, or a set's.
type watcher struct {
	name, kind string
	settings   apps.Watching
	damper     damper
	candidates []candidate // as last seen, compared or not
	compared   []sampled   // those that are, joined by port
	detector   *anova.Detector
	rest       int                  // samples without an alarm, for the next detector
	rounds     *anova.Detector      // of the paper's scheduler; nil: there is none
	rejected   bool                 // by the last round
	crowd      crowd                // of a VIP that wants its weights moved
	previous   []controller.Reading // of compared; nil: none yet
	restarted  time.Time
	reason     string // of that
	verdict    anova.Verdict
	why        string // while there is no detector
	since      time.Time
	told       anova.Verdict
	tested     time.Time
	tests      []apps.ImbalanceResult
	lost       uint64 // rows that could not be used
}

// candidate is a port that may be compared.
type candidate struct {
	name     string // the backend's, or the port's own
	port     topo.PortID
	capacity float64
	limit    float64 // capacity in bits per second; 0: not known
	weight   int     // in effect; 0 for a set's
	away     string  // why it is not compared; empty: it is
}

// sampled is a candidate with its port's counters, if they are known.
type sampled struct {
	candidate
	reading controller.Reading
}

func newWatcher(name, kind string, s apps.Watching, now time.Time) *watcher {
	return &watcher{name: name, kind: kind, settings: s, damper: damper{window: time.Duration(s.Test.Window) * s.Interval},
		verdict: anova.Undecided, told: anova.Undecided, since: now, restarted: now, reason: "begun"}
}

// stale is the age of a reading from which on it is none.
func (w *watcher) stale() time.Duration { return max(staleRows*w.settings.Interval, leastRows) }

// sample takes the ports as they are now, and tells what has happened. The list is used up, its room the caller's again.
func (w *watcher) sample(now time.Time, candidates []sampled) (news []string) {
	news = w.admit(now, candidates)
	if row := w.row(); row != nil {
		if tested, err := w.detector.Add(row); err != nil {
			w.lost++
		} else if tested {
			w.tested = now
			w.keep(now)
		}
		w.round(row)
	}
	return append(news, w.follow(now)...)
}

// round adds a row to the present round of the paper's scheduler.
func (w *watcher) round(row []float64) {
	if w.rounds == nil {
		return
	}
	if tested, err := w.rounds.Add(row); err == nil && tested {
		r, _ := w.rounds.Last()
		w.rejected = r.Verdict == anova.Imbalanced
	}
}

// paperRounds are how the paper's scheduler tests: each 5 samples anew, whatever the size of the difference.
var paperRounds = anova.Settings{Mode: anova.Paper, Window: 5, Step: 5, Alpha: 0.05, Streak: 1, Release: 1}

// takeRejection reports whether a round has rejected that loads are equal, once for each. From the first call on there are rounds.
func (w *watcher) takeRejection() bool {
	if w.rounds == nil && w.detector != nil {
		w.rounds, _ = anova.NewDetector(paperRounds, w.detector.Capacities()) // which took these capacities already
	}
	rejected := w.rejected
	w.rejected = false
	return rejected
}

// row is the load of each port since the last row; nil while not all have been read again, or if it cannot be known.
func (w *watcher) row() []float64 {
	if w.detector == nil {
		return nil
	}
	if w.previous == nil {
		w.previous = readings(w.compared)
		return nil
	}
	row := make([]float64, len(w.compared))
	whole := true
	for i, c := range w.compared {
		if !c.reading.At.After(w.previous[i].At) {
			return nil // the row will be longer
		}
		load, ok := c.reading.Load(w.previous[i])
		row[i], whole = load, whole && ok
	}
	w.previous = readings(w.compared)
	if !whole {
		w.lost++
		return nil
	}
	return row
}

func readings(list []sampled) []controller.Reading {
	out := make([]controller.Reading, len(list))
	for i, c := range list {
		out[i] = c.reading
	}
	return out
}

// admit decides which candidates are compared, and begins anew if they are others than before.
func (w *watcher) admit(now time.Time, candidates []sampled) (news []string) {
	for i := range candidates {
		c := &candidates[i]
		if c.away == "" && now.Sub(c.reading.At) > w.stale() {
			c.away = "no statistics of its port"
		}
		var place topo.PortID
		if c.away == "" {
			place = c.port
		}
		until, fresh := w.damper.steady(now, c.name, w.placeBefore(i, c.name, place), place)
		if fresh {
			news = append(news, fmt.Sprintf("%s comes and goes: not compared until it has stayed for %s", c.name, until.Sub(now)))
		}
		if c.away == "" && now.Before(until) {
			c.away = "comes and goes: set aside until " + until.UTC().Format(time.RFC3339)
		}
	}
	w.candidates = slices.Grow(w.candidates[:0], len(candidates))
	for _, c := range candidates {
		w.candidates = append(w.candidates, c.candidate)
	}
	w.damper.keep(w.candidates)
	next := joinPorts(candidates)
	if same := slices.EqualFunc(w.compared, next, sampled.same); !same || w.detector == nil && w.why == "" {
		reason := difference(w.compared, next)
		w.compared = slices.Clone(next)
		w.restart(now, reason)
	} else {
		copy(w.compared, next)
	}
	return news
}

// placeBefore is where a candidate was compared when last looked at, the zero PortID if it was not: most often it was at the same place
// of the list. One that is new has been where it is now.
func (w *watcher) placeBefore(i int, name string, now topo.PortID) topo.PortID {
	if i >= len(w.candidates) || w.candidates[i].name != name {
		i = slices.IndexFunc(w.candidates, func(c candidate) bool { return c.name == name })
	}
	switch {
	case i < 0:
		return now
	case w.candidates[i].away != "":
		return topo.PortID{}
	}
	return w.candidates[i].port
}

// joinPorts makes one of candidates behind the same port, in the room of their list.
func joinPorts(candidates []sampled) (out []sampled) {
	at := make(map[topo.PortID]int)
	out = candidates[:0]
	for _, c := range candidates {
		if c.away != "" {
			continue
		}
		i, there := at[c.port]
		if !there {
			at[c.port] = len(out)
			out = append(out, c)
			continue
		}
		out[i].name += ", " + c.name
		out[i].capacity += c.capacity
		out[i].limit += c.limit
		out[i].weight += c.weight
	}
	return out
}

// same reports whether samples of a port as c and as o are comparable.
func (c sampled) same(o sampled) bool {
	return c.samePort(o) && c.capacity == o.capacity && c.weight == o.weight
}

func (c sampled) samePort(o sampled) bool { return c.name == o.name && c.port == o.port }

// difference is why samples of the ports compared now are not compared with those so far.
func difference(before, now []sampled) string {
	switch {
	case len(before) == 0:
		return "begun"
	case slices.EqualFunc(before, now, sampled.samePort):
		return "a weight has changed"
	}
	return "the ports compared have changed"
}

// restart begins a window for the ports that are compared now.
func (w *watcher) restart(now time.Time, reason string) {
	if w.detector != nil {
		w.detector.Restart("")
		w.rest = w.detector.Resting()
	}
	w.restarted, w.reason, w.previous, w.detector, w.tested, w.why = now, reason, nil, nil, time.Time{}, ""
	w.rounds, w.rejected, w.crowd = nil, false, crowd{}
	if len(w.compared) < 2 {
		w.why = fmt.Sprintf("%d of %d ports can be compared: two are needed", len(w.compared), len(w.candidates))
		return
	}
	capacities := make([]float64, len(w.compared))
	for i, c := range w.compared {
		capacities[i] = c.capacity
	}
	d, err := anova.NewDetector(w.settings.Test, capacities)
	if err != nil {
		w.why = err.Error()
		return
	}
	d.Rest(w.rest)
	w.detector = d
}

// keep remembers the last test.
func (w *watcher) keep(now time.Time) {
	r, ok := w.detector.Last()
	if !ok {
		return
	}
	if len(w.tests) == maxTests {
		w.tests = slices.Delete(w.tests, 0, 1)
	}
	w.tests = append(w.tests, apps.ImbalanceResult{Time: now, F: apps.Number(r.Statistic), P: apps.Number(r.P),
		EffectSize: apps.Number(r.Effect), Verdict: r.Verdict})
}

// follow takes over the detector's verdict. A change is told: the beginning and the end of an alarm at once, one between balanced and
// undecided when it has lasted, for samples near the border go to and fro. That a window is being filled is none.
func (w *watcher) follow(now time.Time) (news []string) {
	s := w.state()
	if s.Verdict != w.verdict {
		w.verdict, w.since = s.Verdict, now
	}
	alarm := s.Verdict == anova.Imbalanced || w.told == anova.Imbalanced
	lasting := s.Tests > 0 && now.Sub(w.since) >= lastWindows*w.damper.window
	if s.Verdict == w.told || !alarm && !lasting {
		return nil
	}
	w.told = s.Verdict
	reason := s.Reason
	if s.Tests == 0 {
		reason = w.reason
	}
	return []string{w.describe(s, reason)}
}

// state is the detector's, or why there is none.
func (w *watcher) state() anova.State {
	if w.detector == nil {
		return anova.State{Verdict: anova.Undecided, Reason: cmp.Or(w.why, "no sample yet")}
	}
	return w.detector.State()
}

// describe is a verdict for the log of events.
func (w *watcher) describe(s anova.State, reason string) string {
	if s.Verdict != anova.Imbalanced {
		return withReason(string(s.Verdict), reason)
	}
	r, ok := w.detector.Last()
	if !ok {
		return withReason(string(s.Verdict), reason)
	}
	side := "above"
	if r.Deviations[s.Top] < 0 {
		side = "below"
	}
	return fmt.Sprintf("%s: %s is %.0f %% %s its fair share of the load, F %.3g, p %.2g", s.Verdict, w.compared[s.Top].name,
		100*max(r.Deviations[s.Top], -r.Deviations[s.Top]), side, r.Statistic, r.P)
}
