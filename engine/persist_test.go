package engine

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/store"
)

// Where a backend is, is stored before any rule leads there, however soon the controller is killed; of other hosts a kill may forget
// the last moments. The clock stands still, so nothing is stored for its age.
func TestPlacesOfBackendsAreStoredAtOnce(t *testing.T) {
	st := store.Memory()
	r := newDrainRig(t, st, new(atomic.Int64))
	stored := func() (b []byte) {
		t.Helper()
		if err := st.View(func(tx store.Tx) (err error) {
			b, err = tx.Get(store.BucketTopology, keyTopology)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return b
	}
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
