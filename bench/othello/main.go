// Command othello measures package othello beside other tables that a load balancer might use, in one run, and prints the
// tables of docs/othello.md. Their like is table 1 and figure 8 of Shi et al., "Concury" (SoCC 2020).
//
// Keys are random 64-bit numbers, values have 12 bits. "independent" lookups are of keys in random order, so the processor
// overlaps their waits for memory; in "batches" a table is given 2^19 keys at a time; in "dependent" ones each key is known only
// after the last answer. Best of several rounds, each behind an unmeasured one of the same table, so that what the tables before
// have left in the caches does not count. All tables hash by the same mixer, but the Go map.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/evenflow/evenflow/othello"
)

const width = 12

func main() {
	sizes := flag.String("keys", "64K,1M,16M", "numbers of keys, with commas between")
	rounds := flag.Int("rounds", 20, "rounds over all tables, of which each one's best counts")
	flag.Parse()
	if err := run(os.Stdout, *sizes, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "othello:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, sizes string, rounds int) error {
	fmt.Fprintln(out, "| keys | table | independent ns | M/s | in batches ns | dependent ns | bytes per key | stored keys answered wrongly | unknown keys found, of 1M |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|")
	for _, s := range strings.Split(sizes, ",") {
		n, err := parseSize(s)
		if err != nil {
			return err
		}
		if err := lookups(out, s, n, rounds); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "\n| states | add ns | change of one state µs | export, 16 bits ms | export, 12 bits packed ms |")
	fmt.Fprintln(out, "|---|---|---|---|---|")
	for n := 8 << 10; n <= 128<<10; n *= 2 {
		r, err := measureUpdates(n, rounds)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %dK | %d | %.2f | %.2f | %.2f |\n", n>>10, r.add.Nanoseconds(), r.change.Seconds()*1e6, r.wide.Seconds()*1e3, r.packed.Seconds()*1e3)
	}
	return nil
}

func parseSize(s string) (int, error) {
	unit := 1
	switch {
	case strings.HasSuffix(s, "K"):
		unit = 1 << 10
	case strings.HasSuffix(s, "M"):
		unit = 1 << 20
	}
	n, err := strconv.Atoi(strings.TrimRight(s, "KM"))
	if err != nil || n < 1 || n > othello.MaxKeys/unit {
		return 0, fmt.Errorf("-keys %s: want a number, with K or M", s)
	}
	return n * unit, nil
}

// lookups prints a row for each table. Rounds go over all tables in turn, so that what else the machine does meets all alike.
func lookups(out io.Writer, name string, n, rounds int) error {
	data := newData(n)
	tables := make([]table, len(kinds))
	for i, kind := range kinds {
		t, err := kind.build(data)
		if err != nil {
			return fmt.Errorf("%s of %s keys: %w", kind.name, name, err)
		}
		tables[i] = t
	}
	best := measure(tables, data, rounds)
	for i, kind := range kinds {
		t, batched, wrong, found, bytes := tables[i], "-", "-", "-", "-"
		if _, ok := t.(batcher); ok {
			batched = fmt.Sprintf("%.1f", best[i].batched)
		}
		if kind.exact {
			wrong = strconv.Itoa(data.wrong(t))
		}
		if kind.member {
			found = strconv.Itoa(found1M(t, data))
		}
		if b := t.bytes(); b > 0 {
			bytes = fmt.Sprintf("%.2f", float64(b)/float64(n))
		}
		fmt.Fprintf(out, "| %s | %s | %.1f | %.0f | %s | %.1f | %s | %s | %s |\n",
			name, kind.name, best[i].independent, 1e3/best[i].independent, batched, best[i].dependent, bytes, wrong, found)
	}
	return nil
}

// data is what the tables are filled with and asked for.
type data struct {
	keys   []uint64
	values []uint16
	asked  []uint64 // keys in random order
}

const asks = 1 << 19

func newData(n int) *data {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	d := &data{keys: make([]uint64, n), values: make([]uint16, n), asked: make([]uint64, asks)}
	for i := range d.keys {
		d.keys[i], d.values[i] = random.Uint64()|1, uint16(random.Uint32N(1<<width)) // unknown keys are even
	}
	for i := range d.asked {
		d.asked[i] = d.keys[random.IntN(n)]
	}
	return d
}

// wrong counts the keys that have another value than they were given.
func (d *data) wrong(t table) (n int) {
	answers := make([]uint16, len(d.keys))
	t.answer(d.keys, answers)
	for i, a := range answers {
		if a != d.values[i] {
			n++
		}
	}
	return n
}

// found1M counts of a million unknown keys those that the table believes to know.
func found1M(t table, d *data) (n int) {
	random := rand.New(rand.NewPCG(uint64(len(d.keys)), 2))
	unknown, answers := make([]uint64, 1_000_000), make([]uint16, 1_000_000)
	for i := range unknown {
		unknown[i] = random.Uint64() &^ 1
	}
	t.answer(unknown, answers)
	for _, a := range answers {
		if a != none {
			n++
		}
	}
	return n
}

type times struct{ independent, batched, dependent float64 } // ns per lookup

func measure(tables []table, d *data, rounds int) []times {
	runtime.GC()
	best, values := make([]times, len(tables)), make([]uint32, asks)
	for i := range best {
		best[i] = times{math.Inf(1), math.Inf(1), math.Inf(1)}
	}
	for range rounds {
		for i, t := range tables {
			runtime.KeepAlive(t.independent(d.asked)) // or the compiler may leave it out
			start := time.Now()
			runtime.KeepAlive(t.independent(d.asked))
			best[i].independent = min(best[i].independent, per(start))
			if b, ok := t.(batcher); ok {
				start = time.Now()
				b.batched(d.asked, values)
				best[i].batched = min(best[i].batched, per(start))
			}
			start = time.Now()
			runtime.KeepAlive(t.dependent(d.asked))
			best[i].dependent = min(best[i].dependent, per(start))
		}
	}
	return best
}

func per(start time.Time) float64 { return float64(time.Since(start).Nanoseconds()) / asks }

// updates are times of a control plane.
type updates struct{ add, change, wide, packed time.Duration }

// measureUpdates fills a Map, changes it, and exports data planes of it.
func measureUpdates(n, rounds int) (best updates, err error) {
	d := newData(n)
	for range rounds {
		m, err := othello.NewMap[uint64, uint16](func(k uint64) uint64 { return k }, n, nil)
		if err != nil {
			return best, err
		}
		var now updates
		start := time.Now()
		for i, k := range d.keys {
			if err := m.Set(k, d.values[i]); err != nil {
				return best, err
			}
		}
		now.add = time.Since(start) / time.Duration(n)
		const changes = 4096
		start = time.Now()
		for i := range changes { // one goes, another comes
			m.Delete(d.keys[i])
			if err := m.Set(d.keys[i], d.values[i]); err != nil {
				return best, err
			}
		}
		now.change = time.Since(start) / changes
		start = time.Now()
		runtime.KeepAlive(m.Uint16(func(_ uint64, v uint16) uint16 { return v }))
		now.wide = time.Since(start)
		start = time.Now()
		p, err := m.Packed(width, func(_ uint64, v uint16) uint32 { return uint32(v) })
		if err != nil {
			return best, err
		}
		runtime.KeepAlive(p)
		now.packed = time.Since(start)
		if best == (updates{}) {
			best = now
		}
		best = updates{min(best.add, now.add), min(best.change, now.change), min(best.wide, now.wide), min(best.packed, now.packed)}
	}
	return best, nil
}
