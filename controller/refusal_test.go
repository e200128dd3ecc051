package controller_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/google/go-cmp/cmp"
)

// One owner's mistake leaves that owner as it was and hinders nobody else, wherever the switch notices it. A bundle alone would
// install nothing.
func TestRefusedOwnerIsLeftOut(t *testing.T) {
	const (
		oldBad = `meter=109 pktps bands=type=drop rate=1
group_id=109,type=indirect,bucket=bucket_id:0,actions=output:9
` + cD + `priority=90,ip actions=meter:109,group:109
` + cD + `priority=91,ip actions=drop`
		newBad = `meter=109 pktps bands=type=drop rate=2
meter=110 pktps bands=type=drop rate=3
group_id=109,type=indirect,bucket=bucket_id:0,actions=output:8
group_id=110,type=indirect,bucket=bucket_id:0,actions=output:7
` + cD + `priority=90,ip actions=meter:110,group:110
` + cD + `priority=92,ip actions=drop
` + cD + `priority=66,ip actions=output:66`
		good  = cD + "priority=5,ip actions=output:5"
		wrong = cD + "priority=66,ip actions=output:66"
	)
	isBad := func(m controllertest.Message) bool { return strings.Contains(m.String(), "output:66") }
	badAction := &openflow.Error{Type: openflow.ErrBadAction, Code: 10}
	refuseAt := func(stage controllertest.Stage) func(controllertest.Message) controllertest.Verdict {
		return func(m controllertest.Message) (v controllertest.Verdict) {
			if isBad(m) && m.Stage == stage {
				v.Refuse = badAction
			}
			return v
		}
	}
	for _, c := range []struct {
		name   string
		opts   []controllertest.Option
		refuse func(controllertest.Message) controllertest.Verdict
		target error
		what   string
	}{
		{"when it is added to the bundle", nil, refuseAt(controllertest.Adding), badAction, wrong},
		{"when the bundle is committed", nil, refuseAt(controllertest.Committed), badAction, wrong},
		{
			"when the bundle is committed, without a word on which", []controllertest.Option{controllertest.VagueCommits()},
			refuseAt(controllertest.Committed), &openflow.Error{Type: openflow.ErrBundleFailed, Code: 13}, "",
		},
		{"1.3", []controllertest.Option{controllertest.Versions(openflow.V13)}, refuseAt(controllertest.Plainly), badAction, wrong},
		{"no bundles", []controllertest.Option{controllertest.NoBundles()}, refuseAt(controllertest.Plainly), badAction, wrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, controller.Config{})
			fake := controllertest.NewSwitch(1, c.opts...)
			h.connect(fake)
			h.ctl.Replace(1, []controller.OwnerState{want(t, "bad", 1, oldBad), want(t, "good", 1, cD+"priority=4,ip actions=drop")})
			h.until(t, "applied bad 1")
			fake.Intercept(c.refuse)
			h.ctl.Update(1, []controller.OwnerState{want(t, "bad", 2, newBad), want(t, "good", 2, good)})
			h.until(t, "refused bad 2")
			h.until(t, "applied good 2")
			if diff := cmp.Diff(sorted(t, oldBad+"\n"+good), fake.Dump()); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
			err := h.refusal("bad")
			mustBe(t, err, c.target)
			var refused *controller.RefusedError
			if !errors.As(err, &refused) || refused.DPID != 1 || refused.Owner != owner("bad") || c.what != "" && refused.What != c.what {
				t.Errorf("%#v", refused)
			} else if text := err.Error(); !strings.HasPrefix(text, "switch 0000000000000001: bad: "+c.what) {
				t.Error(text)
			}
			if !strings.Contains(h.logs.String(), "desired state refused") {
				t.Error("not logged")
			}

			// It is not tried again by itself, but with the owner's next change.
			fake.Forget()
			h.ctl.Update(1, []controller.OwnerState{want(t, "good", 3, good)})
			h.until(t, "applied good 3")
			if mods := fake.Modifications(); mods != nil {
				t.Errorf("sent %v", mods)
			}
			fake.Intercept(nil)
			h.ctl.Update(1, []controller.OwnerState{want(t, "bad", 3, newBad)})
			h.until(t, "applied bad 3")
			if diff := cmp.Diff(sorted(t, newBad+"\n"+good), fake.Dump()); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// Several owners may be wrong at once, in the first load too; what the refused already have stays.
func TestManyRefused(t *testing.T) {
	for _, stage := range []controllertest.Stage{controllertest.Adding, controllertest.Committed} {
		h := start(t, controller.Config{})
		fake := controllertest.NewSwitch(1)
		fake.Put(cD + "priority=1,ip actions=drop\n" + cD + "priority=2,ip actions=drop\n" + cD + "priority=3,ip actions=drop")
		h.connect(fake)
		fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
			if m.Stage == stage && strings.Contains(m.String(), "output:66") {
				v.Refuse = &openflow.Error{Type: openflow.ErrFlowModFailed, Code: 1}
			}
			return v
		})
		const bad = "ip actions=output:66"
		h.ctl.Replace(1, []controller.OwnerState{
			want(t, "a", 1, cD+"priority=1,ip actions=drop\n"+cD+"priority=11,"+bad),
			want(t, "b", 1, cD+"priority=2,"+bad),
			want(t, "c", 1, cD+"priority=13,ip actions=output:1"),
		})
		h.until(t, "refused a 1")
		h.until(t, "refused b 1")
		h.until(t, "applied c 1")
		expect := cD + "priority=1,ip actions=drop\n" + cD + "priority=2,ip actions=drop\n" + cD + "priority=13,ip actions=output:1"
		if diff := cmp.Diff(sorted(t, expect), fake.Dump()); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		if n := h.session().Counters().Refusals; n != 2 {
			t.Errorf("%d refusals counted", n)
		}
	}
}

// A meter that is refused holds its owner back before anything else of its is sent.
func TestMeterRefused(t *testing.T) {
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
			if m.Type == openflow.TypeMeterMod && strings.Contains(m.String(), "meter=101") {
				v.Refuse = &openflow.Error{Type: openflow.ErrMeterModFailed, Code: 10}
			}
			return v
		})
		const good = "meter=102 pktps bands=type=drop rate=1\n" + cD + "priority=5,ip actions=meter:102"
		h.ctl.Replace(1, []controller.OwnerState{
			want(t, "a", 1, "meter=101 pktps bands=type=drop rate=1\n"+cD+"priority=6,ip actions=meter:101"), want(t, "b", 1, good),
		})
		h.until(t, "refused a 1")
		h.until(t, "applied b 1")
		if diff := cmp.Diff(sorted(t, good), fake.Dump()); diff != "" {
			t.Error(diff)
		}
		if err := h.refusal("a"); !strings.Contains(err.Error(), "meter=101 pktps bands=type=drop rate=1: OFPMMFC_OUT_OF_METERS") {
			t.Error(err)
		}
	})
}

// What cannot be sent, or wanted twice, is refused without asking the switch.
func TestRefusedWithoutAsking(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{"a meter without a rate", "", "", "rate 0"},
		{"two things in one place", cD + "priority=5,ip actions=drop\n" + cD + "priority=5,ip actions=output:1", "", "its identity is taken: a wants"},
		{"the same thing as another owner", cD + "priority=4,ip actions=drop", cD + "priority=4,ip actions=drop", ""},
		{"another owner's place", cD + "priority=4,ip actions=output:1", cD + "priority=4,ip actions=drop", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, controller.Config{})
			fake := controllertest.NewSwitch(1)
			h.connect(fake)
			a := want(t, "a", 1, c.a)
			if c.a == "" {
				a.State = made(flows.State{Meters: []flows.Meter{{ID: 101}}})
			}
			h.ctl.Replace(1, []controller.OwnerState{a, want(t, "b", 1, c.b), want(t, "c", 1, cD+"priority=1,ip actions=drop")})
			h.until(t, "applied c 1")
			culprit, text := owner("a"), c.want
			if c.want == "" {
				culprit, text = "b", "its identity is taken: a wants "+c.a
			}
			if err := h.refusal(culprit); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v", err)
			}
			h.until(t, "refused "+string(culprit))
		})
	}
}

// A place that another owner holds cannot be taken, not even by the same thing, unless that owner gives it up at the same time.
func TestPlacesOfOthers(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1)
	h.connect(fake)
	const rule = cD + "priority=5,ip actions=drop"
	h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 1, rule)})
	h.until(t, "applied a 1")
	for version, theirs := range []string{rule, cD + "priority=5,ip actions=output:1"} {
		h.ctl.Update(1, []controller.OwnerState{want(t, "b", uint64(version), theirs)})
		h.until(t, "refused b "+text(uint64(version)))
		if err := h.refusal("b"); !strings.HasSuffix(err.Error(), "its identity is taken: a has "+rule) {
			t.Error(err)
		}
	}
	h.ctl.Update(1, []controller.OwnerState{want(t, "b", 7, cD+"priority=5,ip actions=output:1"), want(t, "a", 7, "")})
	h.until(t, "applied a 7")
	if diff := cmp.Diff(cD+"priority=5,ip actions=output:1\n", fake.Dump()); diff != "" {
		t.Error(diff)
	}
}

// When the switch is not as it was left, a change that fails for that reason is made after another look.
func TestRefusedForStaleState(t *testing.T) {
	const before = `meter=101 pktps bands=type=drop rate=1
group_id=101,type=indirect,bucket=bucket_id:0,actions=output:1
` + cD + "priority=5,ip actions=meter:101,group:101"
	const after = `meter=101 pktps bands=type=drop rate=2
group_id=101,type=indirect,bucket=bucket_id:0,actions=output:2
` + cD + "priority=5,ip actions=meter:101,group:101"
	for _, c := range []struct{ name, removed, put, first, then string }{
		{"group gone", "group_id=101,type=indirect", "", before, after},
		{"meter gone", "meter=101 pktps bands=type=drop rate=1", "", before, after},
		{"group there already", "", "group_id=101,type=indirect,bucket=bucket_id:0,actions=output:5", cD + "priority=5,ip actions=drop", after},
		{"meter there already", "", "meter=101 pktps bands=type=drop rate=9", cD + "priority=5,ip actions=drop", after},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
				h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 1, c.first)})
				h.until(t, "applied a 1")
				if c.removed != "" {
					fake.Remove(c.removed)
				}
				fake.Put(c.put)
				h.ctl.Update(1, []controller.OwnerState{want(t, "a", 2, c.then)})
				h.until(t, "applied a 2")
				if diff := cmp.Diff(sorted(t, c.then), fake.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// An error that precedes a barrier's reply in the stream is known when the barrier is.
func TestErrorsBeforeBarrier(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1, controllertest.Versions(openflow.V13))
	h.connect(fake)
	fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
		if m.Type == openflow.TypeFlowMod {
			v.Refuse = &openflow.Error{Type: openflow.ErrFlowModFailed, Code: 1}
		}
		return v
	})
	h.ctl.Replace(1, nil)
	for n := range uint64(500) {
		h.ctl.Update(1, []controller.OwnerState{want(t, "a", n, cD+"priority=1,ip actions=drop")})
		for !strings.HasSuffix(last(h.log()), " "+text(n)) {
			h.untilNth(t, "refused a", int(n)+1)
		}
	}
	for _, e := range h.log() {
		if strings.HasPrefix(e, "applied") {
			t.Fatal(e)
		}
	}
}

// A switch that does not answer a transaction loses its session: nobody knows what it holds.
func TestTransactionUnanswered(t *testing.T) {
	for _, c := range []struct {
		deaf openflow.BundleType
		want string
	}{
		{openflow.BundleClose, "no answer to bundle close within 30s"},
		{openflow.BundleCommit, "no answer to bundle commit within 30s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := start(t, controller.Config{})
			fake := controllertest.NewSwitch(1)
			end := h.connect(fake)
			fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
				b, err := openflow.ParseBundleControl(m.Raw)
				return controllertest.Verdict{Ignore: err == nil && b.Type == c.deaf}
			})
			h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 1, cD+"priority=1,ip actions=drop")})
			if err := <-end; err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			h.until(t, "disconnected: "+c.want)
		})
	}
}

// Changes of a switch without the extensions are refused one by one, and what needs none is applied.
func TestPlainSwitch(t *testing.T) {
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		const plain = cD + "priority=5,ip actions=goto_table:1\n" + cD + "table=1, priority=5,ip actions=output:1"
		h.ctl.Replace(1, []controller.OwnerState{
			want(t, "group", 1, cD+"priority=6,ip actions=resubmit(,1)"), want(t, "nat", 1, plain),
			want(t, "reg", 1, cD+"table=1, priority=7,reg0=1 actions=drop"),
		})
		h.until(t, "refused group 1")
		h.until(t, "applied nat 1")
		h.until(t, "refused reg 1")
		if diff := cmp.Diff(sorted(t, plain), fake.Dump()); diff != "" {
			t.Error(diff)
		}
	}, controllertest.Plain())
}
