package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// desired is what a switch holds for long: all its rules but those of connections, its groups and meters.
func desired(s *lab.Switch) (all []string) {
	for _, f := range s.DumpFlows() {
		if !strings.Contains(f, "cookie=0xef02") {
			all = append(all, f)
		}
	}
	all = append(all, s.DumpGroups()...)
	return append(all, meters(s)...)
}

func meters(s *lab.Switch) []string {
	_, list, _ := strings.Cut(s.Ofctl("dump-meters"), "\n") // the heading has a number of its own
	all := strings.Split(strings.TrimSpace(strings.ReplaceAll(list, "\ntype=", "type=")), "\n\n")
	slices.Sort(all)
	return all
}

// awaitDesired waits until a switch holds what it is to hold.
func (w *network) awaitDesired(s *lab.Switch, want []string) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		if diff := cmp.Diff(want, desired(s)); diff != "" {
			return fmt.Errorf("%s holds something else (-want +got):\n%s", s.Name(), diff)
		}
		return nil
	})
}

// A switch that was killed is whole again by itself, with the connections that begin from then on.
func TestSwitchKilled(t *testing.T) {
	w := line(t, 2, "")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 3)
	serve(8080, b1, b2)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Scheduler: vip.RoundRobin}, 8080, b1, b2)
	for range 2 {
		w.who(w.dial(client, "tcp", "", address+":80"))
	}
	w.known(client, b1, b2)
	for _, s := range w.switches {
		want := desired(s)
		s.Restart()
		w.awaitReady()
		w.awaitDesired(s, want)
		answered := map[string]bool{}
		for range 4 {
			answered[w.who(w.dial(client, "tcp", "", address+":80"))] = true
		}
		if len(answered) != 2 {
			t.Errorf("%s has been killed: answers of %v", s.Name(), answered)
		}
	}
	// What the client's switch had when it was killed is over; what it has had since then is not, though the other was killed.
	w.awaitLive("web", 8)
}

// What somebody does to our rules while the switch is away is mended when it is back; what is nobody's business stays.
func TestRulesMended(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"OpenFlow15", "OpenFlow13"} {
		t.Run(version, func(t *testing.T) {
			w := line(t, 1, version)
			client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2)
			serve(8080, backend)
			w.start()
			w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, backend)
			c := w.dial(client, "tcp", "", address+":80")
			w.who(c)
			w.known(client, backend)
			s := w.sw(1)
			want := desired(s)
			s.SetController("unix:" + s.ControllerSocket() + ".none") // without any, Open vSwitch empties its tables
			w.Eventually(patience, func() error {
				if all, err := w.api.switches(); err != nil || all[0].Connected {
					return fmt.Errorf("%+v, %v", all, err)
				}
				return nil
			})

			const foreign, ours = "table=30,priority=7,ip,nw_dst=10.9.9.9,actions=drop", "cookie=0xef01030000000001,"
			rule := func(part string) string { // one of ours, without its cookie
				for _, r := range want {
					if strings.Contains(r, part) {
						return strings.TrimSpace(r[strings.Index(r, ",")+1:])
					}
				}
				t.Fatalf("no rule has %q in\n%s", part, strings.Join(want, "\n"))
				return ""
			}
			match := func(rule string) string {
				m, _, _ := strings.Cut(rule, " actions=")
				return strings.ReplaceAll(m, " ", "")
			}
			s.Ofctl("add-flow", foreign)
			s.Ofctl("add-flow", ours+match(rule("table=30, priority=100"))+",actions=drop")                        // wrong
			s.Ofctl("--strict", "del-flows", match(rule("table=70, priority=0")))                                  // missing
			s.Ofctl("add-flow", ours+"table=30,priority=99,tcp,nw_dst=10.0.0.100,tp_dst=81,actions=resubmit(,40)") // wanted by nobody
			s.Ofctl("del-groups", "group_id=1")                                                                    // with the rules that name it
			s.Ofctl("add-group", "group_id=1,type=all,bucket=output:2")                                            // wrong
			s.Ofctl("add-group", "group_id=16777299,type=indirect,bucket=output:2")                                // wanted by nobody
			s.Ofctl("add-group", "group_id=77,type=indirect,bucket=output:2")                                      // foreign
			s.Ofctl("mod-meter", "meter=3,pktps,bands=type=drop,rate=1")                                           // wrong
			s.Ofctl("del-meter", "meter=5")                                                                        // with its rule
			s.Ofctl("add-meter", "meter=1999,pktps,bands=type=drop,rate=1")                                        // wanted by nobody
			s.Ofctl("add-meter", "meter=777777,pktps,bands=type=drop,rate=1")                                      // foreign
			if diff := cmp.Diff(want, desired(s)); diff == "" {
				t.Fatal("nothing was changed")
			}

			s.SetController("unix:" + s.ControllerSocket())
			w.awaitReady()
			w.Eventually(patience, func() error {
				got := desired(s)
				kept := got[:0:0]
				foreigners := 0
				for _, r := range got {
					if strings.Contains(r, "nw_dst=10.9.9.9") || strings.Contains(r, "meter=777777") || strings.Contains(r, "group_id=77,") {
						foreigners++
						continue
					}
					kept = append(kept, r)
				}
				if diff := cmp.Diff(want, kept); diff != "" {
					return fmt.Errorf("(-want +got):\n%s", diff)
				}
				if foreigners != 3 {
					return fmt.Errorf("%d of three foreigners are left", foreigners)
				}
				return nil
			})
			w.who(c)
			w.who(w.dial(client, "tcp", "", address+":80"))
		})
	}
}
