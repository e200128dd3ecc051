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

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
)

// load gives a fresh switch rules in one bundle and says how long that took, how long the daemon computed, and by how much it has
// grown. Sleep lets the daemon finish what it does after a bundle.
func load(t *testing.T, rules []flows.Rule) (seconds float64, busy time.Duration, grown int) {
	sw := lab.New(t).Switch("s1")
	var text strings.Builder
	for i := range rules {
		text.WriteString(rules[i].String() + "\n")
	}
	file := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	before, begun, start := resident(t, sw), cpu(t, sw), time.Now()
	sw.Ofctl("--bundle", "add-flows", file)
	seconds = time.Since(start).Seconds()
	time.Sleep(2 * time.Second)
	return seconds, cpu(t, sw) - begun, resident(t, sw) - before
}

var number = regexp.MustCompile(`\d+`)

// resident is the daemon's memory in kB.
func resident(t *testing.T, sw *lab.Switch) int {
	t.Helper()
	_, rest, _ := strings.Cut(proc(t, sw, "status"), "VmRSS:")
	n, err := strconv.Atoi(number.FindString(rest))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// cpu is the time that the daemon has computed.
func cpu(t *testing.T, sw *lab.Switch) time.Duration {
	t.Helper()
	_, rest, _ := strings.Cut(proc(t, sw, "stat"), ") ")
	f := strings.Fields(rest) // from the third field on, see proc(5): utime and stime are fields 14 and 15, in 1/100 s
	if len(f) < 13 {
		t.Fatalf("stat: %q", rest)
	}
	var sum time.Duration
	for _, ticks := range f[11:13] {
		n, err := strconv.Atoi(ticks)
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum
}

// proc is what the kernel tells of the daemon.
func proc(t *testing.T, sw *lab.Switch, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(sw.ManagementSocket()), "ovs-vswitchd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	b, err = os.ReadFile("/proc/" + number.FindString(string(b)) + "/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A thousand VIPs of ten backends, weights 1 to 10, each after sixty changes, and laid out anew: rules, time and memory on one switch.
func TestThousandVIPs(t *testing.T) {
	random := rand.New(rand.NewPCG(35, 36))
	pools, tables := make([][]Share, 1000), make([]*Codes, 1000)
	for i := range pools {
		pools[i] = even(10)
		tables[i] = Pack(SizeFor(pools[i]), pools[i])
		for range 60 {
			pools[i] = around(random, pools[i], 10, 10)
			tables[i] = tables[i].Change(pools[i], nil)
		}
	}
	for _, x := range []struct {
		name  string
		table func(i int) *Codes
		most  int // rules of a VIP: as RulesStayFew has it, and a rule for each backend
	}{
		{"after 60 changes", func(i int) *Codes { return tables[i] }, 248*13/10 + 10},
		{"laid out anew", func(i int) *Codes { return Pack(SizeFor(pools[i]), pools[i]) }, 58*13/10 + 10},
	} {
		b := &builder{}
		b.base()
		for i, pool := range pools {
			id := vip.ID(i + 1)
			b.generation(&generation{vip: id, number: 1, owners: x.table(i), pins: &Pins{}})
			for _, s := range pool {
				b.chosen(id, s.Owner, macOf(s.Owner))
			}
		}
		seconds, busy, grown := load(t, b.state.Rules)
		n := len(b.state.Rules) / len(pools)
		if n > x.most {
			t.Errorf("%s: %d rules a VIP, want at most %d", x.name, n, x.most)
		}
		fmt.Printf("| %s | %d (%d a VIP) | %.2f s / %.2f s | %.0f MB |\n", x.name, len(b.state.Rules), n, seconds, busy.Seconds(), float64(grown)/1024)
	}
}
