package main

import (
	"strings"
	"testing"
)

// What the tables promise and do not depend on the machine: memory, and answers.
func TestTablesAnswerAsTheyPromise(t *testing.T) {
	d := newData(64 << 10)
	for _, kind := range kinds {
		table, err := kind.build(d)
		if err != nil {
			t.Fatal(err)
		}
		wrong := d.wrong(table)
		per := float64(table.bytes()) / float64(len(d.keys))
		switch {
		case strings.HasPrefix(kind.name, "Othello") && wrong != 0:
			t.Errorf("%s: %d stored keys answered wrongly", kind.name, wrong)
		case strings.Contains(kind.name, "packed") && per > 3.8:
			t.Errorf("%s: %.2f bytes per key, want at most 3.8", kind.name, per)
		case strings.HasPrefix(kind.name, "digest"), strings.HasPrefix(kind.name, "the same"):
			if found := found1M(table, d); found < 50 || found > 250 || wrong > 20 { // some 7.6/2^16 of a million
				t.Errorf("%s: %d unknown keys found, %d stored ones wrong: it is no fair table", kind.name, found, wrong)
			}
		case kind.name == "Go map" && (wrong != 0 || found1M(table, d) != 0):
			t.Errorf("%s: not exact", kind.name)
		}
	}
}

// Whoever can be asked for many keys at a time answers as for one after the other.
func TestBatchesAnswerAlike(t *testing.T) {
	d := newData(1000)
	for _, kind := range kinds {
		table, err := kind.build(d)
		if err != nil {
			t.Fatal(err)
		}
		b, ok := table.(batcher)
		if !ok {
			continue
		}
		one, many := make([]uint16, len(d.keys)), make([]uint32, len(d.keys))
		table.answer(d.keys, one)
		b.batched(d.keys, many)
		for i := range one {
			if uint32(one[i]) != many[i] {
				t.Fatalf("%s: key %d gives %d alone, %d in a batch", kind.name, i, one[i], many[i])
			}
		}
	}
}

func TestRunPrintsATable(t *testing.T) {
	var out strings.Builder
	if err := run(&out, "1K", 1); err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(out.String(), "\n|"); rows != 1+len(kinds)+2+5 {
		t.Errorf("%d rows:\n%s", rows, out.String())
	}
	for _, bad := range []string{"", "0", "x", "1G", "-1K", "4096M"} {
		if err := run(&out, bad, 1); err == nil {
			t.Errorf("%q keys pass", bad)
		}
	}
}
