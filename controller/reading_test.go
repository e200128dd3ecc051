package controller

import (
	"math"
	"testing"
	"time"

	"github.com/evenflow/evenflow/openflow"
)

func TestReadingLoad(t *testing.T) {
	at := func(after time.Duration, rx, tx uint64, age time.Duration) Reading {
		return Reading{time.Unix(1000, 0).Add(after), openflow.PortStats{No: 1, RxBytes: rx, TxBytes: tx,
			DurationSec: uint32(age / time.Second), DurationNsec: uint32(age % time.Second)}}
	}
	first := at(0, 1e6, 2e6, 10*time.Second+1)
	for _, c := range []struct {
		name string
		now  Reading
		want float64
		ok   bool
	}{
		{"over the time that the switch measured", at(2*time.Second, 1e6+1000, 2e6+3000, 11600*time.Millisecond+1), 20000, true},
		{"over ours, if the switch's is far off", at(2*time.Second, 1e6+1000, 2e6+3000, 100*time.Second), 16000, true},
		{"nothing passed", at(time.Second, 1e6, 2e6, 11*time.Second+1), 0, true},
		{"a counter has fallen", at(time.Second, 5, 2e6, 11*time.Second), 0, false},
		{"the port is younger", at(time.Second, 2e6, 3e6, time.Second), 0, false},
		{"not kept", at(time.Second, math.MaxUint64, 3e6, 11*time.Second), 0, false},
		{"no time", at(0, 1e6+1, 2e6, 10*time.Second+1), 0, false},
	} {
		if got, ok := c.now.Load(first); ok != c.ok || math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestStatsReading(t *testing.T) {
	s := NewStats()
	if _, ok := s.Reading(1, 1); ok {
		t.Error("a reading of a port never read")
	}
	at := time.Unix(1000, 0)
	s.Note(1, at, []openflow.PortStats{{No: 1, RxBytes: 7}})
	if r, ok := s.Reading(1, 1); !ok || r.At != at || r.Stats.RxBytes != 7 {
		t.Errorf("got %+v, %v", r, ok)
	}
	s.Pause(1)
	if _, ok := s.Reading(1, 1); ok {
		t.Error("a reading of a switch that has gone")
	}
}
