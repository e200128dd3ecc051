package controller

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// rateText shows bits received per second, "-" where nothing is known.
func rateText(h PortHistory) string {
	var words []string
	for _, r := range h.Rates {
		w := "-"
		if v := float64(r.RxBits); !math.IsNaN(v) {
			w = strconv.FormatFloat(v, 'f', -1, 32)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestStats(t *testing.T) {
	type reading struct {
		at    float64 // seconds after noon
		bytes uint64
		age   float64 // seconds; 0: one that the switch does not keep
	}
	gone := reading{bytes: math.MaxUint64 - 1} // the port is not in the answer
	for _, c := range []struct {
		name     string
		readings []reading
		now      float64
		want     string // the last 8 seconds
	}{
		{"one reading is no rate", []reading{{0.5, 1000, 0}}, 0.6, "- - - - - - - -"},
		{"a rate a second", []reading{{0.5, 0, 0}, {1.5, 100, 0}, {2.5, 300, 0}}, 2.6, "- - - - - - 800 1600"},
		{"time is measured", []reading{{0, 0, 0}, {1.6, 100, 0}}, 1.7, "- - - - - - - 500"},
		{"the switch's own time goes before ours", []reading{{0, 0, 10.25}, {1.6, 100, 11.25}}, 1.7, "- - - - - - - 800"},
		{"but not whole seconds", []reading{{0, 0, 10}, {1.6, 100, 11}}, 1.7, "- - - - - - - 500"},
		{"nor nonsense", []reading{{0, 0, 10.25}, {1.6, 100, 99.25}}, 1.7, "- - - - - - - 500"},
		{"a late answer is a mean", []reading{{0, 0, 0}, {1, 100, 0}, {4, 400, 0}}, 4.5, "- - - - 800 800 800 800"},
		{"twice in a second", []reading{{0, 0, 0}, {1.1, 110, 0}, {1.9, 910, 0}}, 2, "- - - - - - - 8000"},
		{"counters reset", []reading{{0, 900, 0}, {1, 1000, 0}, {2, 10, 0}, {3, 110, 0}}, 3, "- - - - - 800 - 800"},
		{"a port that came anew with higher counters", []reading{{0, 0, 9.5}, {1, 100, 10.5}, {2, 500, 0.5}, {3, 600, 1.5}}, 3,
			"- - - - - 800 - 800"},
		{"a port gone and back", []reading{{0, 0, 0}, {1, 100, 0}, gone, {4, 100, 0}, {5, 200, 0}}, 5, "- - - 800 - - - 800"},
		{"a counter not kept", []reading{{0, math.MaxUint64, 0}, {1, math.MaxUint64, 0}}, 1, "- - - - - - - -"},
		{"minutes without a reading", []reading{{0, 0, 0}, {1, 100, 0}, {101, 10100, 0}}, 101, "- - - - - - - 800"},
		{"the clock set back", []reading{{5, 0, 0}, {6, 100, 0}, {2, 200, 0}, {3, 300, 0}}, 6, "- - - - - - - 800"},
		{"not read any more", []reading{{0, 0, 0}, {1, 100, 0}}, 4, "- - - - 800 - - -"},
		{"longer than the history", []reading{{0, 0, 0}, {1, 100, 0}, {2000, 200, 0}, {2001, 300, 0}}, 2001, "- - - - - - 0.4002001 800"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewStats()
			for _, r := range c.readings {
				at := noon.Add(time.Duration(r.at * 1e9))
				if r == gone {
					s.Note(1, noon.Add(2*time.Second), nil)
					continue
				}
				st := openflow.PortStats{No: 7, RxBytes: r.bytes, DurationSec: math.MaxUint32}
				if r.age > 0 {
					whole, part := math.Modf(r.age)
					st.DurationSec, st.DurationNsec = uint32(whole), uint32(part*1e9)
				}
				s.Note(1, at, []openflow.PortStats{st})
			}
			if got := rateText(s.History(1, 7, noon.Add(time.Duration(c.now*1e9)), 8)); got != c.want {
				t.Errorf("history %q, want %q", got, c.want)
			}
		})
	}
}

// What passes while there is no session is unknown, however the counters go on.
func TestStatsPause(t *testing.T) {
	s := NewStats()
	at := func(sec int) time.Time { return noon.Add(time.Duration(sec) * time.Second) }
	note := func(sec int, bytes uint64) {
		s.Note(1, at(sec), []openflow.PortStats{{No: 7, RxBytes: bytes, DurationSec: math.MaxUint32}})
	}
	note(0, 0)
	note(1, 100)
	if _, r := s.Port(1, 7); r.RxBits != 800 {
		t.Errorf("rate %v", r)
	}
	s.Pause(1)
	if st, r := s.Port(1, 7); r.RxBits != 0 || st.RxBytes != 100 {
		t.Errorf("after the session: %v at %v", st, r)
	}
	note(4, 900)
	note(5, 1000)
	if got, want := rateText(s.History(1, 7, at(5), 6)), "- 800 - - - 800"; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
	s.Pause(1)
	s.Expire(at(5 + HistoryLen - 1))
	if s.histories != 1 {
		t.Error("forgotten too early")
	}
	s.Expire(at(5 + HistoryLen))
	if len(s.switches) != 0 || s.histories != 0 {
		t.Errorf("not forgotten: %d switches, %d histories", len(s.switches), s.histories)
	}
}

// Ports beyond the bound have rates and no history.
func TestStatsBound(t *testing.T) {
	s := NewStats()
	all := make([]openflow.PortStats, maxHistories+1)
	for sec := range 2 {
		for i := range all {
			all[i] = openflow.PortStats{No: uint32(i + 1), RxBytes: uint64(sec * 100)}
		}
		s.Note(1, noon.Add(time.Duration(sec)*time.Second), all)
	}
	histories := 0
	for _, p := range all {
		if _, r := s.Port(1, p.No); r.RxBits != 800 {
			t.Fatalf("port %d: rate %v", p.No, r)
		}
		if rateText(s.History(1, p.No, noon.Add(time.Second), 1)) == "800" {
			histories++
		}
	}
	if histories != maxHistories {
		t.Errorf("%d histories, want %d", histories, maxHistories)
	}
}

// BenchmarkStats is the work of one reading of all ports: 20 ports on each of 50 switches.
func BenchmarkStats(b *testing.B) {
	s, all := NewStats(), make([]openflow.PortStats, 20)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for j := range all {
			all[j] = openflow.PortStats{No: uint32(j + 1), RxBytes: uint64(i) * 1000, TxBytes: uint64(i)}
		}
		for d := range flows.DPID(50) {
			s.Note(d, noon.Add(time.Duration(i)*time.Second), all)
		}
	}
}

// A switch that makes up ports does not fill the memory.
func TestStatsOfTooManyPorts(t *testing.T) {
	s := NewStats()
	at := time.Unix(1000, 0)
	for round := range 3 {
		all := make([]openflow.PortStats, portsMax)
		for i := range all {
			all[i].No = uint32(round*portsMax + i)
		}
		s.Note(1, at.Add(time.Duration(round)*time.Millisecond), all)
		if n := len(s.switches[1]); n > portsMax {
			t.Fatalf("round %d: %d ports are kept", round, n)
		}
	}
}
