package engine

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/topo"
)

// loads plays ports whose counters rise by rates of bits per second, read once a second, and a watcher of them.
type loads struct {
	t      *testing.T
	w      *watcher
	now    time.Time
	random *rand.Rand
	ports  []sampled
	read   []bool // whether a port's statistics come
	news   []string
}

func newLoads(t *testing.T, ports int) *loads {
	s := apps.Watching{Interval: time.Second, Test: anova.Defaults()}
	l := &loads{t: t, now: time.Unix(1_000_000, 0), random: rand.New(rand.NewPCG(1, 1))}
	l.w = newWatcher("web", apps.KindVIP, s, l.now)
	for i := range ports {
		c := sampled{candidate: candidate{name: string(rune('a' + i)), port: topo.PortID{DPID: 1, No: uint32(i + 1)}, capacity: 1, weight: 1}}
		l.ports, l.read = append(l.ports, c), append(l.read, true)
	}
	return l
}

// second lets one pass; rates in Mbit/s vary by a tenth.
func (l *loads) second(rates ...float64) {
	l.t.Helper()
	l.now = l.now.Add(time.Second)
	for i := range l.ports {
		c := &l.ports[i]
		if !l.read[i] {
			continue
		}
		c.reading.At = l.now
		c.reading.Stats.TxBytes += uint64(max(0, 1e6/8*rates[i]*(1+0.1*l.random.NormFloat64())))
	}
	l.news = append(l.news, l.w.sample(l.now, slices.Clone(l.ports))...)
}

func (l *loads) seconds(n int, rates ...float64) {
	l.t.Helper()
	for range n {
		l.second(rates...)
	}
}

func (l *loads) want(news ...string) {
	l.t.Helper()
	ok := len(news) == len(l.news)
	for i := 0; ok && i < len(news); i++ {
		ok = strings.HasPrefix(l.news[i], news[i])
	}
	if !ok {
		l.t.Errorf("told %q\nwant %q", l.news, news)
	}
	l.news = nil
}

func TestWatcherBeforeItsFirstSample(t *testing.T) {
	if got := newLoads(t, 2).w.read(true); got.Verdict != anova.Undecided || got.Reason != "no sample yet" {
		t.Errorf("%s: %q", got.Verdict, got.Reason)
	}
}

func TestWatcherTellsOfVerdicts(t *testing.T) {
	l := newLoads(t, 4)
	l.seconds(300, 10, 10, 10, 10)
	l.want()
	l.seconds(62, 10, 10, 10, 10)
	l.want("balanced: no difference beyond chance") // which has lasted for five windows
	l.seconds(90, 10, 10, 20, 10)
	l.want("imbalanced: c is ")
	r := l.w.read(true)
	if r.Verdict != anova.Imbalanced || r.Top != "c" || r.Streak < 3 || !(r.P < 0.05) || !(r.EffectSize > 0.2) || len(r.Ports) != 4 ||
		len(r.Ports[0].Samples) != 60 || len(r.Matrix) != 4 || r.Matrix[0][2] != anova.Urgent || r.Matrix[0][1] != anova.Same || len(r.Pairs) != 6 ||
		len(r.History) == 0 || r.Ports[2].Mean < 1.5e7 {
		t.Errorf("read %+v", r)
	}
	l.seconds(120, 10, 10, 10, 10)
	l.want("balanced: ")
}

// Rounds of five samples, for the paper's scheduler, ask for no more than a difference beyond chance.
func TestWatcherRounds(t *testing.T) {
	l := newLoads(t, 3)
	rejections := func(rates ...float64) (n int) {
		for range 50 {
			l.second(rates...)
			if l.w.takeRejection() {
				n++
			}
		}
		return n
	}
	if n := rejections(10, 10, 10); n > 2 {
		t.Errorf("%d of 10 rounds of equal loads rejected", n)
	}
	if n := rejections(10, 15, 10); n < 9 {
		t.Errorf("%d of 10 rounds of unequal loads rejected", n)
	}
}

// One slow switch delays rows, which are over a longer time then; it makes none of its own.
func TestWatcherWaitsForAllReadings(t *testing.T) {
	l := newLoads(t, 2)
	for i := range 130 {
		l.read[1] = i%2 == 0
		l.second(10, 10)
		if l.read[1] {
			l.ports[1].reading.Stats.TxBytes += 1e6 / 8 * 10 // of the second before
		}
	}
	r := l.w.read(true)
	if r.Window.Samples < 58 || r.Window.Reason != "begun" {
		t.Errorf("%d samples since %q", r.Window.Samples, r.Window.Reason)
	}
	for _, x := range r.Ports[1].Samples {
		if x > 1.5e7 || x < 0.4e7 {
			t.Errorf("a rate of %v: not over the time measured", x)
		}
	}
}

func TestWatcherDropsRowsOfCountersBegunAnew(t *testing.T) {
	l := newLoads(t, 2)
	l.seconds(30, 10, 10)
	held := l.w.read(false).Window.Samples
	l.ports[0].reading.Stats.TxBytes = 0
	l.second(10, 10)
	l.second(10, 10)
	if r := l.w.read(true); r.Window.Samples != held+1 || l.w.lost != 1 || slices.Max(r.Ports[0].Samples) > 2e7 {
		t.Errorf("%d samples after %d, %d lost, largest %v", r.Window.Samples, held, l.w.lost, slices.Max(r.Ports[0].Samples))
	}
}

func TestWatcherBeginsAnew(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(l *loads)
		want   string
		ports  int
	}{
		{"weight", func(l *loads) { l.ports[0].weight = 2 }, "a weight has changed", 3},
		{"capacity", func(l *loads) { l.ports[0].capacity = 2 }, "a weight has changed", 3},
		{"moved", func(l *loads) { l.ports[0].port.No = 9 }, "the ports compared have changed", 3},
		{"down", func(l *loads) { l.ports[0].away = "down" }, "the ports compared have changed", 2},
		{"joined", func(l *loads) { l.ports[0].port = l.ports[1].port }, "the ports compared have changed", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLoads(t, 3)
			l.seconds(90, 10, 10, 10)
			c.change(l)
			l.seconds(2, 10, 10, 10)
			if r := l.w.read(false); r.Window.Reason != c.want || r.Window.Samples > 2 || len(l.w.compared) != c.ports {
				t.Errorf("window of %d begun for %q with %d ports", r.Window.Samples, r.Window.Reason, len(l.w.compared))
			}
		})
	}
}

// A port whose switch is not read any more is left out, and the others are compared.
func TestWatcherLeavesOutWhatIsNotRead(t *testing.T) {
	l := newLoads(t, 3)
	l.seconds(30, 10, 10, 10)
	l.read[2] = false
	l.seconds(12, 10, 10, 10)
	r := l.w.read(false)
	if p := r.Ports[2]; p.Name != "c" || p.Compared || p.Reason != "no statistics of its port" {
		t.Errorf("the port not read: %+v", p)
	}
	l.seconds(70, 10, 10, 10)
	if r := l.w.read(false); r.Window.Samples != 60 {
		t.Errorf("%d samples of the others", r.Window.Samples)
	}
	l.read = []bool{true, false, false}
	l.seconds(12, 10, 10, 10)
	if r := l.w.read(false); r.Verdict != anova.Undecided || r.Reason != "1 of 3 ports can be compared: two are needed" {
		t.Errorf("one left: %s, %s", r.Verdict, r.Reason)
	}
}

// A host that bounces its port for an hour has the window begun anew a few times, is told of a few times, and hides nothing: that
// another port is busy is found in the first minutes, and stays found most of the time.
func TestWatcherAndABouncingPort(t *testing.T) {
	l := newLoads(t, 4)
	restarts, alarmed, found := 0, 0, 0
	last := l.w.restarted
	for i := range 3600 {
		l.ports[3].away = ""
		if i%4 < 2 {
			l.ports[3].away = "down"
		}
		l.second(10, 20, 10, 10)
		if l.w.restarted != last {
			last = l.w.restarted
			restarts++
		}
		if l.w.verdict == anova.Imbalanced {
			alarmed++
			if found == 0 {
				found = i
			}
		}
	}
	if restarts > 5 || found == 0 || found > 150 || alarmed < 3400 || len(l.news) > 5 {
		t.Errorf("%d restarts, found after %d s, alarmed for %d s, told %q", restarts, found, alarmed, l.news)
	}
	t.Logf("%d restarts, found after %d s, alarmed for %d s, told %q", restarts, found, alarmed, l.news)
}

// The best a bouncing host can do is to wait until it is compared again, and bounce then. It is away longer each time.
func TestDamper(t *testing.T) {
	d := damper{window: time.Minute}
	here, now := topo.PortID{DPID: 1, No: 1}, time.Unix(1_000_000, 0)
	place, before, changes := here, here, 0
	var holds []time.Duration
	for end := now.Add(2 * time.Hour); now.Before(end); now = now.Add(time.Second) {
		until, fresh := d.steady(now, "b", before, place)
		before = place
		if fresh {
			holds = append(holds, until.Sub(now))
		}
		if !now.Before(until) {
			changes++
			if place == here {
				place = topo.PortID{}
			} else {
				place = here
			}
		}
	}
	const m = time.Minute
	want := []time.Duration{m, 2 * m, 4 * m, 8 * m, 16 * m, 16 * m, 16 * m, 16 * m, 16 * m}
	if !slices.Equal(holds[:min(len(holds), len(want))], want) || changes > 14 {
		t.Errorf("set aside for %v, %d changes let through", holds, changes)
	}
	// Who stays for long begins anew.
	d.steady(now, "b", place, here)
	for range 3 * 3600 {
		now = now.Add(time.Second)
		d.steady(now, "b", here, here)
	}
	if len(d.seen) != 0 {
		t.Error("a name that has not moved for hours takes room")
	}
	if until, fresh := d.steady(now, "b", here, topo.PortID{}); fresh || now.Before(until) {
		t.Error("set aside at the first change after hours")
	}
	d.keep(nil)
	if len(d.seen) != 0 {
		t.Error("a name that is no more is kept")
	}
}

// BenchmarkWatch is what comparing 1,000 ports on 50 switches costs, as 50 VIPs of 20 backends each, beside the reading of them
// (BenchmarkPoll): one second's samples, and the tests of a tenth of the VIPs.
func BenchmarkWatch(b *testing.B) {
	const vips, ports = 50, 20
	s := apps.Watching{Interval: time.Second, Test: anova.Defaults()}
	random := rand.New(rand.NewPCG(1, 1))
	now := time.Unix(1_000_000, 0)
	watchers, all := make([]*watcher, vips), make([][]sampled, vips)
	for i := range watchers {
		watchers[i] = newWatcher("web", apps.KindVIP, s, now)
		for p := range ports {
			all[i] = append(all[i], sampled{candidate: candidate{name: string(rune('a' + p)), port: topo.PortID{DPID: 1, No: uint32(p + 1)}, capacity: 1,
				weight: 1}})
		}
	}
	second := func(n int) {
		now = now.Add(time.Second)
		for i, w := range watchers {
			if n < 10 && i%10 > n {
				continue // so that not all are tested in the same second
			}
			for p := range all[i] {
				c := &all[i][p]
				c.reading.At = now
				c.reading.Stats.TxBytes += uint64(1e6 * (1 + 0.2*random.Float64()))
			}
			w.sample(now, slices.Clone(all[i]))
		}
	}
	n := 0
	for ; n < 100; n++ {
		second(n)
	}
	b.ReportAllocs()
	for b.Loop() {
		second(n)
		n++
	}
}
