package controller_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// manyRules are rules of VIPs as a switch may have by the hundred thousand, of ten owners.
func manyRules(t testing.TB, n int) (all []controller.OwnerState) {
	t.Helper()
	for o := range 10 {
		var s flows.State
		for i := o; i < n; i += 10 {
			m := make(flows.Match, 0, 5).Num(flows.EthType, 0x0800).Num(flows.IPProto, 6).Num(flows.TCPDst, 80).
				NumMasked(flows.IPv4Dst, uint64(10<<24|i), 0xffffffff).Num(flows.TCPSrc, uint64(i&0xff))
			s.Rules = append(s.Rules, flows.Rule{Table: uint8(30 + i%3), Priority: 100, Cookie: 0xef01 << 48, Match: m,
				Actions: []flows.Action{flows.Resubmit{Table: 40}}})
		}
		all = append(all, controller.OwnerState{Owner: owner(fmt.Sprint("o", o)), Version: 1, State: made(s)})
	}
	return all
}

// load puts all that owners want into a switch.
func load(fake *controllertest.Switch, all []controller.OwnerState) {
	for _, s := range all {
		fake.PutState(s.State.Plain())
	}
}

// A switch that comes back with 100,000 of our rules, of which some are wrong, some are missing, some are nobody's any more and
// some are others', is told what differs and nothing else.
func TestManyRulesOnReconnect(t *testing.T) {
	for v, n := range map[openflow.Version]int{openflow.V15: 100_000, openflow.V13: 20_000} {
		t.Run(v.String(), func(t *testing.T) {
			all := manyRules(t, n)
			fake := controllertest.NewSwitch(1, controllertest.Versions(v))
			load(fake, all)
			const foreign = 500
			var right, strange flows.State
			for i := range foreign {
				r := flows.MustParseRule(fmt.Sprintf("table=30, priority=%d,ip actions=output:1", i+200))
				strange.Rules = append(strange.Rules, r)
				r.Cookie, r.Priority = 0xef01<<48, r.Priority+1000 // ours, and nobody wants it
				fake.PutState(flows.State{Rules: []flows.Rule{r}})
			}
			fake.PutState(strange)
			second, third := all[1].State.Plain().Rules, all[2].State.Plain().Rules
			for i := range 300 {
				wrong := second[i]
				wrong.Actions = []flows.Action{flows.Output{Port: 9}}
				fake.PutState(flows.State{Rules: []flows.Rule{wrong}})
				missing := third[i]
				fake.Remove(missing.String())
			}
			for _, s := range all {
				right.Append(s.State.Plain())
			}
			right.Append(strange)
			right.Sort()

			var cfg controller.Config
			patient(&cfg)
			h := start(t, cfg)
			for round, want := range []int{foreign + 300 + 300, 0} {
				fake.Forget()
				end := h.connect(fake)
				for i := range all {
					all[i].Version = uint64(round)
				}
				h.ctl.Replace(1, all)
				for _, s := range all {
					h.until(t, fmt.Sprintf("applied %s %d", s.Owner, round))
				}
				if got := len(fake.Modifications()); got != want {
					t.Errorf("%d modifications, want %d", got, want)
				}
				if c := h.session().Counters(); c.Modifications != uint64(want) || c.Errors != 0 {
					t.Errorf("%+v", c)
				}
				got := fake.State()
				if !slices.EqualFunc(got.Rules, right.Rules, func(a, b flows.Rule) bool { return a.Cookie == b.Cookie && a.Equal(b) }) {
					t.Errorf("the switch holds %d rules, want %d; or others", len(got.Rules), len(right.Rules))
				}
				fake.Disconnect()
				<-end
			}
		})
	}
}

// BenchmarkReconnect is the time from a connection to the confirmation of 100,000 rules that are right already.
func BenchmarkReconnect(b *testing.B) {
	all := manyRules(b, 100_000)
	fake := controllertest.NewSwitch(1)
	load(fake, all)
	h := start(b, controller.Config{})
	done := 0
	for b.Loop() {
		end := h.connect(fake)
		h.ctl.Replace(1, all)
		done++
		h.untilNth(b, "applied o9", done)
		b.StopTimer()
		if n := len(fake.Modifications()); n > 0 {
			b.Fatalf("%d modifications", n)
		}
		fake.Disconnect()
		<-end
		b.StartTimer()
	}
}
