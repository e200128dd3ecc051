package vip

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDrained(t *testing.T) {
	tests := []struct {
		live   int64
		want   State
		reason string
	}{
		{3, StateDraining, "connections left: 3"},
		{0, StateDrained, "no connections are left"},
	}
	for _, tt := range tests {
		if s, reason := Drained(tt.live); s != tt.want || reason != tt.reason {
			t.Errorf("%d: %s %q, want %s %q", tt.live, s, reason, tt.want, tt.reason)
		}
	}
	for unseen, want := range map[time.Duration]State{0: StateDraining, 5*time.Minute - 1: StateDraining, 5 * time.Minute: StateDrained} {
		if s, _ := DrainedUnseen(unseen); s != want {
			t.Errorf("no packet for %s: %s, want %s", unseen, s, want)
		}
	}
}

// A drain begins when the operator says so, by admin or by weight, goes on over other changes and a restart, and ends with a
// change of mind.
func TestBeginDrains(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	v := create(t, webText) // b2 weighs 0
	if d := v.Drain(&v.Backends[1]); d != nil {
		t.Errorf("without a beginning: %+v", d)
	}
	v.BeginDrains(nil, at(100))
	began := func() (out []int) {
		for i := range v.Backends {
			d := v.Drain(&v.Backends[i])
			switch {
			case d == nil:
				out = append(out, 0)
			case !d.Ends.Equal(d.Since.Add(time.Duration(v.Spec.DrainTimeout))):
				t.Errorf("%s: %+v with a drain_timeout of %s", v.Backends[i].Name, d, v.Spec.DrainTimeout)
			default:
				out = append(out, int(d.Since.Unix()))
			}
		}
		return out
	}
	steps := []struct {
		what   string
		mutate func(*Spec)
		want   []int // seconds
	}{
		{"created", nil, []int{0, 100}},
		{"another drains", func(s *Spec) { s.Backends[0].Admin = Draining }, []int{201, 100}},
		{"one way to drain for another", func(s *Spec) { *s.Backends[1].Weight, s.Backends[1].Admin = 5, Draining }, []int{201, 100}},
		{"another drain_timeout", func(s *Spec) { s.DrainTimeout = Duration(time.Hour) }, []int{201, 100}},
		{"one is wanted again", func(s *Spec) { s.Backends[1].Admin = Enabled }, []int{201, 0}},
		{"disabled", func(s *Spec) { s.Backends[0].Admin = Disabled }, []int{0, 0}},
		{"both", func(s *Spec) { s.Backends[0].Admin, s.Backends[1].Admin = Draining, Draining }, []int{206, 206}},
		{"one removed", func(s *Spec) { s.Backends = s.Backends[1:] }, []int{206}},
		{"and back", func(s *Spec) {
			s.Backends = append([]BackendSpec{{Name: "b1", Address: "10.0.0.1", Admin: Draining}}, s.Backends...)
		}, []int{208, 206}},
	}
	for i, step := range steps {
		if step.mutate != nil {
			next := update(t, v, step.mutate)
			next.BeginDrains(v, at(200+i))
			v = next
		}
		if diff := cmp.Diff(step.want, began()); diff != "" {
			t.Errorf("%s: drains since (-want +got)\n%s", step.what, diff)
		}
		b, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		again.BeginDrains(again, at(1000))
		if diff := cmp.Diff(v, again, sameAddr, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: stored and read\n%s", step.what, diff)
		}
	}
}
