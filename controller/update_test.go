package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/openflow"
	"github.com/google/go-cmp/cmp"
)

func TestUpdate(t *testing.T) {
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		update := func(states ...controller.OwnerState) []string {
			t.Helper()
			fake.Forget()
			h.ctl.Update(1, states)
			for _, s := range states {
				h.until(t, fmt.Sprintf("applied %s %d", s.Owner, s.Version))
			}
			return fake.Modifications()
		}
		expect := func(got []string, want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		h.ctl.Update(1, []controller.OwnerState{want(t, "a", 1, cD+"priority=1,ip actions=drop")}) // before Replace: nothing
		h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 2, cD+"priority=2,ip actions=drop"), want(t, "b", 2, "")})
		h.until(t, "applied b 2")
		expect(fake.Modifications(), "ADD "+cD+"priority=2,ip actions=drop")
		expect(update(want(t, "b", 3, cD+"priority=3,ip actions=drop\n"+cD+"priority=4,ip actions=drop")),
			"ADD "+cD+"priority=4,ip actions=drop", "ADD "+cD+"priority=3,ip actions=drop")
		expect(update(want(t, "b", 4, cD+"priority=4,ip actions=drop\n"+cD+"priority=3,ip actions=drop"))) // another order
		expect(update(want(t, "b", 5, cD+"priority=4,ip actions=output:1")),
			"ADD "+cD+"priority=4,ip actions=output:1", "DEL_STRICT "+cD+"priority=3,ip actions=drop")
		if rules, groups, meters := h.session().Desired(); rules != 2 || groups != 0 || meters != 0 {
			t.Errorf("%d rules, %d groups, %d meters desired", rules, groups, meters)
		}
		// A rule goes from one owner to another without being touched, and belongs to the new one from then on.
		expect(update(want(t, "b", 6, ""), want(t, "c", 6, cD+"priority=4,ip actions=output:1")))
		expect(update(want(t, "b", 7, "")))
		expect(update(want(t, "c", 7, "")), "DEL_STRICT "+cD+"priority=4,ip actions=drop")
		// Whom a later Replace does not name wants nothing any more.
		h.ctl.Replace(1, []controller.OwnerState{want(t, "d", 8, cD+"priority=8,ip actions=drop")})
		fake.Forget()
		h.until(t, "applied d 8")
		if diff := cmp.Diff(cD+"priority=8,ip actions=drop\n", fake.Dump()); diff != "" {
			t.Error(diff)
		}
		h.ctl.Replace(99, nil)
		h.ctl.Update(99, nil)
	})
}

// While a transaction is under way updates gather, and of each owner only the newest is sent.
func TestUpdatesCoalesce(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1)
	h.connect(fake)
	var commit uint32 // xid of the commit that is held back
	fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
		c, err := openflow.ParseBundleControl(m.Raw)
		if err != nil || c.Type != openflow.BundleCommit || commit != 0 {
			return controllertest.Verdict{}
		}
		commit = m.XID
		return controllertest.Verdict{Ignore: true}
	})
	rule := func(o owner, n int) controller.OwnerState {
		return want(t, o, uint64(n), fmt.Sprintf("%stable=%d, priority=%d,ip actions=drop", cD, o[0]-'a', n))
	}
	h.ctl.Replace(1, []controller.OwnerState{rule("a", 1)})
	h.await(fake, "commit", func() bool { return strings.Contains(strings.Join(steps(fake), "\n"), "commit") })
	fake.Forget()
	for n := 2; n <= 100; n++ {
		h.ctl.Update(1, []controller.OwnerState{rule("a", n), rule("b", n)})
	}
	h.ctl.Update(1, []controller.OwnerState{rule("b", 101)})
	fake.Write(openflow.AppendBundleControl(nil, openflow.V15, commit, 1, openflow.BundleCommitted, 0))
	h.until(t, "applied b 101")
	want := []string{
		"bundle 2 open", "  ADD " + cD + "table=1, priority=101,ip actions=drop", "  ADD " + cD + "priority=100,ip actions=drop",
		"  DEL_STRICT " + cD + "priority=1,ip actions=drop", "bundle 2 close", "bundle 2 commit",
	}
	if diff := cmp.Diff(want, steps(fake)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"connected []", "applied a 1", "applied a 100", "applied b 101"}, h.log()); diff != "" {
		t.Error(diff)
	}
}

// The first load of a large state goes in bundles of bounded size.
func TestBundlesAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 250 {
		fmt.Fprintf(&text, "%spriority=%d,ip actions=drop\n", cD, i+1)
	}
	for _, c := range []struct {
		name  string
		cfg   controller.Config
		sizes []int
	}{
		{"by messages", controller.Config{BundleMax: 100}, []int{100, 100, 50}},
		{"by bytes", controller.Config{BundleBytes: 100 * 80}, []int{100, 100, 50}},
		{"one message is too much", controller.Config{BundleBytes: 1}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, c.cfg)
			fake := controllertest.NewSwitch(1)
			h.connect(fake)
			fake.Forget()
			h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 1, text.String())})
			h.until(t, "applied a 1")
			var sizes []int
			for _, s := range steps(fake) {
				switch {
				case strings.HasSuffix(s, "open"):
					sizes = append(sizes, 0)
				case strings.HasPrefix(s, "  "):
					sizes[len(sizes)-1]++
				}
			}
			if c.sizes == nil {
				for range 250 {
					c.sizes = append(c.sizes, 1)
				}
			}
			if diff := cmp.Diff(c.sizes, sizes); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(sorted(t, text.String()), fake.Dump()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An update does not wait for a switch.
func TestUpdateDoesNotBlock(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1)
	h.connect(fake)
	fake.Mute(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 0, cD+"priority=1,ip actions=drop")})
		for i := range uint64(1000) {
			h.ctl.Update(1, []controller.OwnerState{{Owner: owner("a"), Version: i}})
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("blocked")
	}
}
