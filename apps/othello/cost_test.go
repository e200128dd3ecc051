//go:build soak

package othello

import (
	"context"
	"encoding/binary"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/othello"
)

var (
	costFile  = flag.String("csv", "", "file for what pins cost")
	costSeeds = flag.Uint64("seeds", 1, "how often what pins cost is measured, each time with other connections")
)

const (
	costStates = 100_000
	costProbes = 400 // connections of each kind whose first packets are timed
)

// way is how live connections may be kept when a change moves their Dcodes.
type way struct {
	name  string
	codes *Codes
	pins  *Pins
	keeps bool // those that are displaced
}

// 100,000 live connections, one backend added to sixteen: pins in cells, beside a rule for each displaced connection, an Othello of
// all connections, a rule for each, and the table alone, which keeps none. Each goes into a fresh Open vSwitch in one bundle; then
// first packets are timed, of connections that are new and of such as the change has displaced.
func TestHundredThousandStates(t *testing.T) {
	rows := [][]string{{"seed", "way", "displaced", "build_ms", "rules", "wire_bytes", "seconds", "cpu_seconds", "rss_kb",
		"new_first_us", "new_p99_us", "displaced_first_us", "displaced_p99_us", "later_us"}}
	for seed := range *costSeeds {
		random := rand.New(rand.NewPCG(37, 38+seed))
		pool := even(16)
		before := Pack(SizeFor(pool), pool)
		live := states(before, tuples(random, costStates, apps.ProtoTCP, vip4))
		codes := before.Change(append(pool, Share{17, 1}), nil)
		start := time.Now()
		pins, err := Pin(codes, live, 7)
		if err != nil {
			t.Fatal(err)
		}
		built := time.Since(start)
		mustPin(t, codes, live)
		var displaced []State
		for _, s := range live {
			if codes.Owner(s.Code()) != s.Owner {
				displaced = append(displaced, s)
			}
		}
		for _, w := range []way{
			{"the table alone", codes, &Pins{}, false},
			{"pins in cells", codes, pins, true},
			{"a rule for each displaced", codes, &Pins{Consult: pins.Consult, Exact: displaced}, true},
			{"an Othello of all", codes, ofAll(live, random), true},
			{"a rule for each", codes, &Pins{Consult: []CodeRule{{Owner: 1}}, Exact: live}, true},
		} {
			row := append([]string{fmt.Sprint(seed + 1), w.name, fmt.Sprint(len(displaced)), fmt.Sprintf("%.1f", built.Seconds()*1e3)}, measureCost(t, w, displaced, random)...)
			fmt.Println(strings.Join(row, " | "))
			rows = append(rows, row)
		}
	}
	if *costFile == "" {
		return
	}
	out, err := os.Create(*costFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := csv.NewWriter(out).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// ofAll has all connections in cells, as if each were displaced: values are their backends'.
func ofAll(live []State, random *rand.Rand) *Pins {
	p := &Pins{Consult: []CodeRule{{Owner: 1}}, Rows: rowsFor(len(live)), Values: map[uint16]uint32{}}
	for o := range uint32(17) {
		p.Values[uint16(o+1)] = o + 1
	}
	edges := make([]othello.Edge, len(live))
	for ok := false; !ok; {
		p.draw(p.Rows, random)
		for i, s := range live {
			a, b := p.cells(s.Tuple)
			edges[i] = othello.Edge{A: uint32(a), B: uint32(b), Value: s.Owner}
		}
		p.A, p.B = fill(p.Bases[0], p.Rows), fill(p.Bases[2], p.Rows)
		ok = othello.Assign(p.A, p.B, edges) == nil
	}
	return p
}

// measureCost gives a fresh switch a VIP's rules and says how many, how many bytes to the switch they were, how long that took, by how
// much the daemon has grown, and how long packets take.
func measureCost(t *testing.T, w way, displaced []State, random *rand.Rand) (row []string) {
	n := newBench(t)
	x := &enter{generation{vip: 1, number: 2, owners: w.codes, pins: w.pins}, vip4, apps.ProtoTCP}
	file, rules := n.write(x)
	before, busy := resident(t, n.sw), cpu(t, n.sw)
	start := time.Now()
	wire := addFlows(t, n.sw.ManagementSocket(), file)
	seconds := time.Since(start).Seconds()
	time.Sleep(2 * time.Second) // what the daemon does after a bundle
	grown, used := resident(t, n.sw)-before, cpu(t, n.sw)-busy
	fresh := tuples(random, costProbes, apps.ProtoTCP, vip4)
	first, later := n.time(fresh, nil)
	kept := make([]Tuple, 0, costProbes)
	want := map[Tuple]uint32{}
	for _, i := range random.Perm(len(displaced))[:costProbes] {
		kept = append(kept, displaced[i].Tuple)
		if w.keeps {
			want[displaced[i].Tuple] = displaced[i].Owner
		}
	}
	firstKept, laterKept := n.time(kept, want)
	return []string{fmt.Sprint(rules), fmt.Sprint(wire), fmt.Sprintf("%.3f", seconds), fmt.Sprintf("%.2f", used.Seconds()), fmt.Sprint(grown),
		at(first, 50), at(first, 99), at(firstKept, 50), at(firstKept, 99), at(slices.Concat(later, laterKept), 50)}
}

// at is a percentile in µs.
func at(all []time.Duration, percent int) string {
	slices.Sort(all)
	return fmt.Sprint(all[(len(all)-1)*percent/100].Microseconds())
}

// addFlows adds the rules in a file in one bundle, and counts what the switch is sent for it.
func addFlows(t *testing.T, socket, file string) int64 {
	t.Helper()
	relay := filepath.Join(t.TempDir(), "relay")
	l, err := net.Listen("unix", relay)
	if err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64
	var relays sync.WaitGroup
	relays.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("unix", socket)
			if err != nil {
				_ = c.Close()
				continue
			}
			relays.Go(func() { _, _ = io.Copy(c, s) })
			relays.Go(func() {
				k, _ := io.Copy(s, c)
				sent.Add(k)
				_ = s.Close()
				_ = c.Close()
			})
		}
	})
	if out, err := exec.Command("ovs-ofctl", "-O", "OpenFlow15", "--bundle", "add-flows", "unix:"+relay, file).CombinedOutput(); err != nil {
		t.Fatalf("add-flows: %v: %s", err, out)
	}
	_ = l.Close()
	relays.Wait()
	return sent.Load()
}

// time sends four packets of each connection, one after the other, and says how long the first took, and the quickest of the others. Those
// with a backend named must reach it.
func (n *bench) time(all []Tuple, want map[Tuple]uint32) (first, later []time.Duration) {
	n.t.Helper()
	for number, x := range all {
		frame := n.frame(x, number)
		best := time.Hour
		for i := range 4 {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			start := time.Now()
			if err := n.in.Send(frame); err != nil {
				n.t.Fatal(err)
			}
			f, err := n.out.Receive(ctx, func(f []byte) bool {
				return len(f) > 60 && f[0] == 0x02 && f[1] == 9 && int(binary.BigEndian.Uint32(f[len(f)-4:])) == number
			})
			took := time.Since(start)
			cancel()
			if err != nil {
				n.t.Fatal(err)
			}
			if owner := binary.BigEndian.Uint32(f[2:]); want != nil && want[x] != 0 && owner != want[x] {
				n.t.Fatalf("%v of %d goes to %d", x, want[x], owner)
			}
			if i == 0 {
				first = append(first, took)
			} else {
				best = min(best, took)
			}
		}
		later = append(later, best)
	}
	return first, later
}
