package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// counters are what changes in a dump by itself.
var counters = regexp.MustCompile(`(n_packets|n_bytes|idle_age|packet_count|byte_count|flow_count|packet_in_count|byte_in_count)[=:][0-9]+,? ?|\b[0-9]+:packet_count:\S*`)

var age = regexp.MustCompile(`duration[=:]([0-9.]+)s`)

// dump is everything that a switch holds: rules with their age, groups and meters with theirs.
type dump struct {
	begun, done time.Time
	ages        map[string]float64 // seconds, by the text without counters
}

func dumpOf(t *testing.T, s *lab.Switch) dump {
	t.Helper()
	d := dump{begun: time.Now(), ages: map[string]float64{}}
	for _, command := range []string{"dump-flows", "dump-group-stats", "dump-groups", "meter-stats", "dump-meters"} {
		for line := range strings.Lines(s.Ofctl(command)) {
			line = strings.TrimSpace(counters.ReplaceAllString(line, ""))
			if line == "" || strings.Contains(line, "reply (OF") {
				continue
			}
			seconds := 0.0
			if m := age.FindStringSubmatch(line); m != nil {
				var err error
				if seconds, err = strconv.ParseFloat(m[1], 64); err != nil {
					t.Fatal(err)
				}
				line = age.ReplaceAllString(line, "")
			}
			d.ages[command+": "+line] = seconds
		}
	}
	d.done = time.Now()
	return d
}

// sameAs fails the test unless the switch has held all along what it held at an earlier dump, and nothing else.
func (d dump) sameAs(t *testing.T, name string, before dump) {
	t.Helper()
	keys := func(d dump) (all []string) {
		for k := range d.ages {
			all = append(all, k)
		}
		slices.Sort(all)
		return all
	}
	if diff := cmp.Diff(keys(before), keys(d)); diff != "" {
		t.Errorf("%s holds something else (-before +after):\n%s", name, diff)
	}
	between := d.begun.Sub(before.done).Seconds()
	for k, was := range before.ages {
		if now, there := d.ages[k]; was > 0 && there && now < was+between-0.01 {
			t.Errorf("%s: %s: %.3f s old, after %.3f s it should be more than %.3f", name, k, now, between, was+between)
		}
	}
}

// dumps are what all switches hold.
func (w *network) dumps() (all []dump) {
	for _, s := range w.switches {
		all = append(all, dumpOf(w.t, s))
	}
	return all
}

// unchanged fails the test unless the next controller has left all switches as they were, and found nothing to do.
func (w *network) unchanged(when string, before []dump) {
	w.t.Helper()
	all, err := w.api.switches()
	if err != nil {
		w.t.Fatal(err)
	}
	for i, s := range all {
		if s.Modifications != 0 || s.FlowMods != 0 {
			w.t.Errorf("%s: %d modifications of switch %s and %d flow-mods", when, s.Modifications, s.DPID, s.FlowMods)
		}
		dumpOf(w.t, w.sw(i+1)).sameAs(w.t, when+": "+w.sw(i+1).Name(), before[i])
	}
}

// A controller that is killed takes no connection with it. The next one adopts them all and changes nothing.
func TestControllerKilled(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.version+" "+way.name, func(t *testing.T) {
			w := line(t, 2, way.version)
			w.family = way.family
			client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 3)
			serve(8080, b1, b2)
			w.start()
			web := vip.Spec{Name: "web", Address: way.vip, Protocol: vip.TCP, Port: "80", Scheduler: vip.RoundRobin}
			w.service(web, 8080, b1, b2)
			held := map[*conn]string{}
			for range 20 {
				c := w.dial(client, "tcp", "", way.web(80))
				held[c] = w.who(c)
			}
			if way.family == ipv6 {
				w.learnLinkLocal(client, b1, b2)
			}
			quiet(w)
			before := w.dumps()
			sameBackends := func(when string) {
				t.Helper()
				for c, name := range held {
					if now := w.who(c); now != name {
						t.Errorf("%s: a connection has gone from %s to %s", when, name, now)
					}
				}
			}
			adopted := func(when string) {
				t.Helper()
				w.awaitReady()
				sameBackends(when)
				if n, err := w.live("web"); err != nil || n != 20 {
					t.Errorf("%s: %d connections adopted, %v", when, n, err)
				}
				w.unchanged(when, before)
			}

			w.ctl.kill()
			sameBackends("without a controller")
			w.ctl.start()
			adopted("after a kill")
			w.ctl.stop()
			sameBackends("without a controller again")
			w.ctl.start()
			adopted("after a stop")

			perBackend := map[string]int{}
			for range 4 {
				perBackend[w.who(w.dial(client, "tcp", "", way.web(80)))]++
			}
			if perBackend["b1"] != 2 || perBackend["b2"] != 2 {
				t.Errorf("new connections went to %v", perBackend)
			}
			for c := range held {
				_ = c.Close()
			}
			w.awaitLive("web", 4)
		})
	}
}

// quiet waits until the controller has nothing more to write: no new events, and the topology stored, which is done at most
// two seconds late and without a word.
func quiet(w *network) {
	w.t.Helper()
	last, since := "", time.Now()
	w.Eventually(patience, func() error {
		hosts, err := w.hosts()
		if err != nil {
			return err
		}
		links, err := w.links()
		if err != nil {
			return err
		}
		if now := fmt.Sprint(hosts, links); now != last {
			last, since = now, time.Now()
		}
		if d := time.Since(since); d < 3*time.Second {
			return fmt.Errorf("quiet for %v only", d)
		}
		return nil
	})
}
