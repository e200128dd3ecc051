package engine

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
)

// divided is a VIP of backends with these shares in a hundred, a to z; 0: drained.
func divided(percent ...int) *watch {
	w := &watch{of: &apps.VIP{VIP: &vip.VIP{ID: 3, Spec: vip.Spec{Name: "web"}}}, base: make([]int64, len(percent))}
	for i, p := range percent {
		w.of.Backends = append(w.of.Backends, apps.Backend{Backend: &vip.Backend{Name: string(rune('a' + i))}, Endpoint: uint32(i + 1)})
		w.expect = append(w.expect, float64(p)/100)
	}
	return w
}

// What chance may do is not told of, and what it may not is.
func TestDeviation(t *testing.T) {
	for _, tt := range []struct {
		counts  []int64
		percent []int
		tells   string
	}{
		{[]int64{0, 0, 0}, []int{25, 25, 50}, ""},
		{[]int64{9, 0}, []int{50, 50}, ""}, // too few
		{[]int64{330, 340, 665}, []int{25, 25, 50}, ""},
		{[]int64{300, 370, 665}, []int{25, 25, 50}, ""},
		{[]int64{100, 205, 195}, []int{20, 40, 40}, ""},
		{[]int64{1000, 0, 0}, []int{25, 25, 50}, "a has had 1000 of 1000, and its share is 25.0%"},
		{[]int64{500, 250, 250}, []int{25, 25, 50}, "a has had 500 of 1000"},
		{[]int64{554, 446}, []int{18, 82}, "a has had 554 of 1000, and its share is 18.0%"}, // as Open vSwitch multiplies weight 2 among nine of 1
		{[]int64{1000000, 1003000}, []int{50, 50}, ""},
		{[]int64{1000}, []int{100}, ""},
		{[]int64{500, 500, 700}, []int{50, 50, 0}, ""}, // who is drained has nothing to do with it
	} {
		got, _ := divided(tt.percent...).deviation(tt.counts)
		if (got != "") != (tt.tells != "") || !strings.Contains(got, tt.tells) {
			t.Errorf("%v by shares %v: %q", tt.counts, tt.percent, got)
		}
	}
}

// A skew is found in a window, is told once and stays the VIP's reason until a whole window is as it should be; what came before
// the window does not hide it, and neither does what a switch brings that was away.
func TestSharesAreWatched(t *testing.T) {
	now := time.Unix(1e6, 0)
	log := logrus.New()
	log.SetOutput(io.Discard)
	e, err := New(Config{Store: store.Memory(), Log: log, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	e.tally.know(map[backendKey]uint32{{3, 1}: 1, {3, 2}: 2})
	w := divided(50, 50)
	e.shares.watched = map[vip.ID]*watch{3: w}
	w.since = now
	var made [2]uint64
	step := func(after time.Duration, a, b uint64) {
		t.Helper()
		now = now.Add(after)
		made[0], made[1] = made[0]+a, made[1]+b
		var rules []flows.InstalledRule
		for i, n := range made {
			rules = append(rules, counted(t, map[string]uint64{fmt.Sprintf("cookie=0xef01040000000003,table=42,ip,reg0=%d actions=drop", i+1): n})...)
		}
		e.tally.noteAll(1, now, rules)
		e.watchShares(w, now)
	}
	wants := func(when string, skewed bool) {
		t.Helper()
		if got := e.shares.skewOf(w.of); (got != "") != skewed {
			t.Errorf("%s: %q", when, got)
		}
	}
	step(time.Second, 500, 0) // still from before the change
	step(2*time.Second, 500, 0)
	step(time.Second, 100000, 100200)
	wants("all is well", false)
	step(shareWindow, 10, 12)
	step(time.Second, 100, 0) // the window before would have hidden it
	wants("a new window", true)
	step(time.Second, 100, 101)
	wants("not for a whole window", true)
	step(time.Second, 300, 0)
	wants("it goes on", true)
	step(shareWindow, 100, 100)
	wants("the window was wrong", true)
	step(shareWindow, 3, 2)
	wants("too few to tell", true)
	step(time.Second, 50, 50)
	wants("a window that is right", false)
	e.shares.reset(now)
	step(time.Second, 9000, 0)
	step(time.Second, 0, 0)
	step(time.Second, 100, 101)
	wants("a switch was away", false)
	var told []string
	e.events.write()
	for _, ev := range e.Events(0, 100) {
		if ev.Kind == "vip" {
			told = append(told, ev.Message)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "a has had 100 of 100") || !strings.Contains(told[1], "again") {
		t.Errorf("told %q", told)
	}
}
