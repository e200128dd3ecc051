package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/nat"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/store"
)

// burdensOf are backends of weight 10, now and declared, with so many live connections.
func burdensOf(live ...int64) []burden {
	out := make([]burden, len(live))
	for i, n := range live {
		out[i] = burden{name: fmt.Sprint("b", i), id: uint32(i + 1), declared: 10, now: 10, capacity: 10, live: n}
	}
	return out
}

func TestReweigh(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []burden
		tune func([]burden)
		want []int
	}{
		{"even", burdensOf(20, 20, 20, 20), nil, nil},
		{"too few to act on", burdensOf(9, 1, 1, 1), nil, nil},
		{"one has too many: half-way to half, the others half-way to more", burdensOf(60, 20, 20, 20), nil, []int{8, 12, 12, 12}},
		{"never below half", burdensOf(1000, 10, 10, 10), func(b []burden) { b[0].now = 6 }, []int{6, 15, 15, 15}},
		{"never above double", burdensOf(0, 100, 100, 100), func(b []burden) { b[0].now = 19 }, []int{20, 9, 9, 9}},
		{"by capacity", burdensOf(40, 20), func(b []burden) { b[0].capacity = 20 }, nil},
		{"by capacity, not by weight", burdensOf(30, 30), func(b []burden) { b[0].capacity = 30 }, []int{12, 8}},
		{"a full port gets no more", burdensOf(10, 50), func(b []burden) { b[0].full = true }, []int{10, 8}},
		{"at most 255", burdensOf(0, 100), func(b []burden) { b[0].declared, b[0].now = 200, 255 }, []int{255, 8}},
	} {
		if c.tune != nil {
			c.tune(c.all)
		}
		if got := reweigh(c.all); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Whatever the counts, weights stay between the half and the double of the declared ones, and none is 0.
func TestReweighIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		all := make([]burden, 2+r.IntN(6))
		for i := range all {
			d := vip.LeastReweighted + r.IntN(250)
			all[i] = burden{declared: d, now: (d+1)/2 + r.IntN(min(2*d, 255)-(d+1)/2+1), capacity: 1 + r.Float64(), live: r.Int64N(1000), full: r.IntN(5) == 0}
		}
		for i, w := range reweigh(all) {
			if b := all[i]; 2*w < b.declared || w > 2*b.declared || w > 255 || w < 1 || b.full && w > b.now {
				t.Fatalf("weight %d of %+v", w, b)
			}
		}
	}
}

// A slow backend, of which new connections stay longer, ends with a lower weight; that holds when it is done over and over.
func TestReweighSettles(t *testing.T) {
	all := burdensOf(0, 0, 0, 0)
	took := []float64{3, 1, 1, 1} // for a connection
	for range 10 {
		sum := 0
		for _, b := range all {
			sum += b.now
		}
		for i := range all {
			all[i].live = int64(100 * float64(all[i].now) / float64(sum) * took[i])
		}
		for i, w := range reweigh(all) {
			all[i].now = w
		}
	}
	if all[0].now > 6 || all[1].now < 10 {
		t.Errorf("weights %d, %d after ten steps", all[0].now, all[1].now)
	}
	if next := reweigh(all); next != nil {
		t.Errorf("moves on: %v", next)
	}
}

// Weights that were moved are in effect, outlive a restart, and end with the declared ones that they were made for.
func TestWeightsInEffect(t *testing.T) {
	st := store.Memory()
	begin := func() *Engine {
		log := logrus.New()
		log.SetOutput(new(strings.Builder))
		e, err := New(Config{Store: st, Log: log, Apps: []Mount{{apps.ClassNAT, nat.New(nat.Config{})}}})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := begin()
	in := func(e *Engine) string {
		t.Helper()
		e.settle()
		x, err := e.find("web")
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, b := range x.Backends {
			out = append(out, fmt.Sprint(b.Weight))
		}
		return strings.Join(out, " ")
	}
	s := spec("web", "10.0.0.100", "b1=10.0.0.1", "b2=10.0.0.2")
	s.OnImbalance = vip.Reweight
	for i := range s.Backends {
		s.Backends[i].Weight = new(10)
	}
	if _, err := e.createVIP(s, apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	x := e.model.byName["web"]
	all := []burden{{name: "b1", id: 1, declared: 10, now: 10, live: 30}, {name: "b2", id: 2, declared: 10, now: 10, live: 5}}
	e.setWeights(x, all, []int{8, 12}, "why: ")
	e.events.write()
	if got := in(e); got != "8 12" {
		t.Errorf("in effect: %s", got)
	}
	if ev := e.Events(0, 100); !strings.Contains(ev[len(ev)-1].Message, "why: weights moved by live connections: b1 10 → 8 (30 live), b2 10 → 12 (5 live)") {
		t.Errorf("told: %+v", ev[len(ev)-1])
	}
	if r, _ := e.VIP("web"); *r.Backends[0].Weight != 10 || r.Version != 1 {
		t.Errorf("what was declared has changed: %+v", r.Spec)
	}
	again := begin()
	if got := in(again); got != "8 12" {
		t.Errorf("after a restart: %s", got)
	}
	change := func(mutate func(*vip.Spec)) {
		t.Helper()
		if _, err := again.updateVIP("web", apps.WriteOptions{}, func(s *vip.Spec) error { mutate(s); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	again.setWeights(x, all, []int{5, 20}, "") // of a VIP that is not the present one: x is e's
	if got := in(again); got != "8 12" {
		t.Errorf("moved by a decision on another version: %s", got)
	}
	change(func(s *vip.Spec) { s.Backends[0].Weight = new(20) })
	if got := in(again); got != "20 12" {
		t.Errorf("after one was declared anew: %s", got)
	}
	change(func(s *vip.Spec) { s.OnImbalance = vip.Alarm })
	if got := in(again); got != "20 10" {
		t.Errorf("with alarm alone: %s", got)
	}
	change(func(s *vip.Spec) { s.OnImbalance = vip.Reweight })
	if got := in(again); got != "20 10" {
		t.Errorf("with reweight again: %s", got)
	}
	if got := in(begin()); got != "20 10" {
		t.Errorf("after another restart: %s", got)
	}
	if err := again.deleteVIP("web", apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := st.View(func(tx store.Tx) error {
		return tx.List(store.BucketWeights, func(key string, _ []byte) error { return fmt.Errorf("%s is left", key) })
	}); err != nil {
		t.Error(err)
	}
}

func TestCrowd(t *testing.T) {
	s := anova.Defaults()
	var c crowd
	for range 2 {
		c.test(burdensOf(60, 20, 20, 20), s)
	}
	if c.streak != 2 || c.String() != "live connections are uneven: b0 has 50 % of them and 25 % of the capacity, p 1.1e-08" {
		t.Errorf("%d in a row: %s", c.streak, c)
	}
	for name, all := range map[string][]burden{
		"even": burdensOf(30, 31, 29, 30), "too few": burdensOf(9, 1, 1, 1),
		"beyond chance, but little": burdensOf(11000, 10000, 10000, 10000), "much, but chance": burdensOf(9, 5, 5, 5),
	} {
		if c.test(all, s); c != (crowd{}) {
			t.Errorf("%s: %s", name, c)
		}
		c.streak = 2
	}
	all := burdensOf(40, 20, 20)
	all[0].capacity = 20
	if c.test(all, s); c != (crowd{}) {
		t.Errorf("as capacities are: %s", c)
	}
}

// After an alarm a VIP that wants it has its weights moved, and the window begins anew.
func TestAlarmMovesWeights(t *testing.T) {
	e := &Engine{}
	l := newLoads(t, 2)
	l.seconds(90, 10, 30)
	if l.w.verdict != anova.Imbalanced {
		t.Fatal("no alarm")
	}
	x := &apps.VIP{VIP: &vip.VIP{}}
	if e.reaction(x, l.w) != nil {
		t.Error("weights are moved though only an alarm is wanted")
	}
}
