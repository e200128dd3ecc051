package engine

import (
	"context"
	"io"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// Where a backend is, is stored before any rule leads there, however soon the controller is killed; of other hosts a kill may forget
// the last moments. The clock stands still, so nothing is stored for its age.
func TestPlacesOfBackendsAreStoredAtOnce(t *testing.T) {
	st := store.Memory()
	r := newDrainRig(t, st, new(atomic.Int64))
	stored := func() []byte { return storedTopology(t, st) }
	if b := stored(); b != nil {
		t.Errorf("no backend, and stored at once: %s", b)
	}
	if _, err := r.CreateVIP(context.Background(), spec("web", "10.0.0.100", "b1=10.0.0.1"), apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.do(func() {})
	if b := string(stored()); !strings.Contains(b, "10.0.0.1") {
		t.Errorf("a backend takes connections, and its place is not stored: %q", b)
	}
}

// What could not be stored is stored later, though nothing changes any more.
func TestTopologyIsStoredAfterAFailure(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	now := time.Unix(1000, 0)
	st := &brokenStore{Store: store.Memory()}
	e, err := New(Config{Store: st, Log: log, Now: func() time.Time { return now },
		Topo: topo.Config{Ports: map[topo.PortID]topo.Fixed{{DPID: 1, No: 1}: {Kind: topo.Edge}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.createVIP(spec("web", "10.0.0.100", "b1=10.0.0.1"), apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	stored := func() []byte { return storedTopology(t, st) }
	st.broken = true
	e.topo.SwitchUp(now, 1, []topo.Port{{No: 1, Up: true}})
	e.topo.Sighting(now, topo.Sighting{At: topo.PortID{DPID: 1, No: 1}, MAC: flows.MAC{2, 1}, Addr: netip.MustParseAddr("10.0.0.1")})
	e.settle()
	if b := string(stored()); strings.Contains(b, "10.0.0.1") {
		t.Fatalf("stored in a store that is broken: %s", b)
	}
	st.broken = false
	now = now.Add(e.nextTurn(now))
	for until := now.Add(saveRetry); !now.After(until); now = now.Add(e.nextTurn(now)) {
		e.settle()
	}
	if b := string(stored()); !strings.Contains(b, "10.0.0.1") {
		t.Errorf("not stored: %q", b)
	}
}

// storedTopology is the topology as the store has it, nil if it has none.
func storedTopology(t *testing.T, st store.Store) (b []byte) {
	t.Helper()
	if err := st.View(func(tx store.Tx) (err error) {
		b, err = tx.Get(store.BucketTopology, keyTopology)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return b
}
