//go:build soak

package othello

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
	"github.com/evenflow/evenflow/othello"
)

// load gives a fresh switch rules in one bundle and says how many there are, how long that took, and by how much the daemon has
// grown. Sleep lets the daemon finish what it does after a bundle.
func load(t *testing.T, rules []flows.Rule) (seconds float64, grown int) {
	l := lab.New(t)
	sw := l.Switch("s1")
	var text strings.Builder
	for i := range rules {
		text.WriteString(rules[i].String() + "\n")
	}
	file := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	before := resident(t, sw)
	start := time.Now()
	sw.Ofctl("--bundle", "add-flows", file)
	seconds = time.Since(start).Seconds()
	time.Sleep(2 * time.Second)
	return seconds, resident(t, sw) - before
}

var pid = regexp.MustCompile(`\d+`)

// resident is the daemon's memory in kB.
func resident(t *testing.T, sw *lab.Switch) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(sw.ManagementSocket()), "ovs-vswitchd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	b, err = os.ReadFile("/proc/" + pid.FindString(string(b)) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	n, err := strconv.Atoi(pid.FindString(rest))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A thousand VIPs of ten backends, weights 1 to 10, each after sixty changes: rules, time and memory on one switch.
func TestThousandVIPs(t *testing.T) {
	random := rand.New(rand.NewPCG(35, 36))
	b := &builder{}
	b.base()
	for id := range vip.ID(1000) {
		pool := even(10)
		codes := Pack(SizeFor(pool), pool)
		for range 60 {
			pool = around(random, pool, 10, 10)
			codes = codes.Change(pool, nil)
		}
		b.generation(&generation{vip: id + 1, number: 1, owners: codes, pins: &Pins{}})
		for _, s := range pool {
			b.chosen(id+1, s.Owner, macOf(s.Owner))
		}
	}
	seconds, grown := load(t, b.state.Rules)
	if n := len(b.state.Rules) / 1000; n > 248*13/10+10 { // as RulesStayFew has it, and a rule for each backend
		t.Errorf("%d rules a VIP", n)
	}
	fmt.Printf("| %d VIPs | %d rules (%d a VIP) | %.2f s | %+.0f MB |\n", 1000, len(b.state.Rules), len(b.state.Rules)/1000, seconds, float64(grown)/1024)
}

// 100,000 live connections, one backend added to sixteen: pins in cells, beside a rule for each displaced connection, a rule for each
// connection, and an Othello of all connections.
func TestHundredThousandStates(t *testing.T) {
	random := rand.New(rand.NewPCG(37, 38))
	pool := even(16)
	codes := Pack(SizeFor(pool), pool)
	live := states(codes, tuples(random, 100_000, apps.ProtoTCP, vip4))
	codes = codes.Change(append(pool, Share{17, 1}), nil)
	start := time.Now()
	pins := mustPin(t, codes, live)
	built := time.Since(start)
	table := func(p *Pins) []flows.Rule {
		b := &builder{}
		b.base()
		if p.Rows > 0 {
			b.cellRules()
		}
		b.generation(&generation{vip: 1, number: 2, owners: codes, pins: p})
		return b.state.Rules
	}
	exact := func(all []State) *Pins {
		p := &Pins{Consult: pins.Consult, Exact: all}
		return p
	}
	var displaced []State
	for _, s := range live {
		if codes.Owner(s.Code()) != s.Owner {
			displaced = append(displaced, s)
		}
	}
	// All connections in cells, as if each were displaced: values are their backends'.
	whole := &Pins{Consult: []CodeRule{{Owner: 1}}, Rows: 100_000*cellsPer100/100/cellsInRow + 1, Values: map[uint16]uint32{}}
	for o := range uint32(17) {
		whole.Values[uint16(o+1)] = o + 1
	}
	edges := make([]othello.Edge, len(live))
	for ok := false; !ok; {
		whole.draw(whole.Rows, random)
		for i, s := range live {
			a, b := whole.cells(s.Tuple)
			edges[i] = othello.Edge{A: uint32(a), B: uint32(b), Value: s.Owner}
		}
		whole.A, whole.B = fill(whole.Bases[0], whole.Rows), fill(whole.Bases[2], whole.Rows)
		ok = othello.Assign(whole.A, whole.B, edges) == nil
	}
	fmt.Printf("%d connections, %d displaced, pins made in %d ms (checked as well)\n", len(live), len(displaced), built.Milliseconds())
	if n := len(table(pins)); n*3 > len(displaced) {
		t.Errorf("%d rules for %d displaced connections", n, len(displaced))
	}
	for _, x := range []struct {
		name string
		p    *Pins
	}{{"pins in cells", pins}, {"a rule for each displaced connection", exact(displaced)}, {"an Othello of all connections", whole},
		{"a rule for each connection", exact(live)}} {
		rules := table(x.p)
		wire := 0
		for i := range rules {
			wire += len(rules[i].String())
		}
		seconds, grown := load(t, rules)
		fmt.Printf("| %s | %d | %.2f MB | %.2f s | %+.1f MB |\n", x.name, len(rules), float64(wire)/1e6, seconds, float64(grown)/1024)
	}
}
