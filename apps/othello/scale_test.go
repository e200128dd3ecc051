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
