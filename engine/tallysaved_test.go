package engine

import (
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// Counts go on after a restart: what switches counted meanwhile is added, also by one that was restarted itself, and what rules that
// are gone had counted is kept.
func TestTallyOutlivesARestart(t *testing.T) {
	const (
		commit = "cookie=0xef01040000000003,table=42,ip,reg0=7 actions=drop"
		gone   = "cookie=0xef01040000000003,table=42,ip,reg0=8 actions=drop"
		other  = "cookie=0xef01040000000004,table=42,ip,reg0=9 actions=drop"
	)
	now := time.Unix(1e6, 0)
	y := countingTally()
	y.noteAll(1, now, counted(t, map[string]uint64{commit: 10, gone: 5, other: 1}))
	y.noteAll(2, now, counted(t, map[string]uint64{commit: 100}))
	saved, err := y.encode(now, false)
	if err != nil || saved == nil {
		t.Fatalf("%s, %v", saved, err)
	}
	y.noteAll(1, now, counted(t, map[string]uint64{commit: 11}))
	if b, _ := y.encode(now.Add(tallyInterval-1), false); b != nil {
		t.Error("stored again too soon")
	}
	if b, _ := y.encode(now.Add(tallyInterval-1), true); b == nil {
		t.Error("not stored at the end")
	}
	if b, _ := y.encode(now.Add(3*tallyInterval), false); b != nil {
		t.Error("stored although nothing was counted")
	}

	z := countingTally()
	if err := z.restore(saved, func(id vip.ID) bool { return id == 3 }, map[uint32]bool{7: true, 8: true}); err != nil {
		t.Fatal(err)
	}
	want := func(endpoint uint32, made int64, id vip.ID, total int64) {
		t.Helper()
		if n, _ := z.of(endpoint); n != made || z.ofVIP(id) != total {
			t.Errorf("endpoint %d: %d, VIP %d: %d; want %d and %d", endpoint, n, id, z.ofVIP(id), made, total)
		}
	}
	want(7, 110, 3, 115)
	want(9, 0, 4, 0) // deleted since
	z.noteAll(1, now, counted(t, map[string]uint64{commit: 12}))
	z.noteAll(2, now, counted(t, map[string]uint64{commit: 4})) // it was restarted
	want(7, 116, 3, 121)
	want(8, 5, 3, 121)
	if err := z.restore([]byte("{"), nil, nil); err == nil {
		t.Error("what is cut short is read")
	}
}
