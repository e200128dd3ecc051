package engine

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/store"
)

// start runs an engine on a store; no switch connects.
func start(t *testing.T, st store.Store, file []vip.Spec) *Engine {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	e, err := New(Config{Store: st, Log: log, FileVIPs: file})
	if err != nil {
		t.Fatal(err)
	}
	run(t, e)
	return e
}

// run runs an engine until the test ends.
func run(t *testing.T, e *Engine) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func spec(name, address string, backends ...string) vip.Spec {
	s := vip.Spec{Name: name, Address: address, Protocol: vip.TCP, Port: "80", Mode: vip.ModeNAT, Backends: []vip.BackendSpec{}}
	for _, b := range backends {
		n, a, _ := strings.Cut(b, "=")
		s.Backends = append(s.Backends, vip.BackendSpec{Name: n, Address: a, Port: 8080})
	}
	return s
}

func TestWrites(t *testing.T) {
	e := start(t, store.Memory(), nil)
	ctx := context.Background()
	r, err := e.CreateVIP(ctx, spec("web", "10.0.0.100", "b1=10.0.0.1"), apps.WriteOptions{})
	if err != nil || r.Version != 1 || r.Origin != vip.OriginAPI || r.Status.Backends[0].State != vip.StateUnknown {
		t.Fatalf("create: %+v, %v", r, err)
	}
	if got, err := e.VIP("web"); err != nil || got.Version != 1 {
		t.Errorf("a write that is answered is not read back: %+v, %v", got, err)
	}
	add := func(s *vip.Spec) error {
		s.Backends = append(s.Backends, vip.BackendSpec{Name: "b2", Address: "10.0.0.2", Port: 8080})
		return nil
	}
	wrong := errors.New("mutation gives up")
	steps := []struct {
		name string
		do   func() (vip.Read, error)
		want error
	}{
		{"same name", func() (vip.Read, error) { return e.CreateVIP(ctx, spec("web", "10.0.0.101"), apps.WriteOptions{}) }, apps.ErrExists},
		{"overlap", func() (vip.Read, error) { return e.CreateVIP(ctx, spec("web2", "10.0.0.100"), apps.WriteOptions{}) }, apps.ErrConflict},
		{"stale version", func() (vip.Read, error) { return e.UpdateVIP(ctx, "web", apps.WriteOptions{IfVersion: 7}, add) }, apps.ErrVersion},
		{"unknown", func() (vip.Read, error) { return e.UpdateVIP(ctx, "nix", apps.WriteOptions{}, add) }, apps.ErrNotFound},
		{"fixed field", func() (vip.Read, error) {
			return e.UpdateVIP(ctx, "web", apps.WriteOptions{}, func(s *vip.Spec) error { s.Port = "81"; return nil })
		}, vip.ErrFixed},
		{"mutation fails", func() (vip.Read, error) {
			return e.UpdateVIP(ctx, "web", apps.WriteOptions{}, func(s *vip.Spec) error { s.Backends[0].Name = "x"; return wrong })
		}, wrong},
		{"dry run", func() (vip.Read, error) { return e.UpdateVIP(ctx, "web", apps.WriteOptions{DryRun: true}, add) }, nil},
	}
	for _, s := range steps {
		if _, err := s.do(); !errors.Is(err, s.want) {
			t.Errorf("%s: error %v, want %v", s.name, err, s.want)
		}
	}
	if got, _ := e.VIP("web"); got.Version != 1 || len(got.Backends) != 1 || got.Backends[0].Name != "b1" {
		t.Errorf("refused writes and dry runs left a trace: %+v", got)
	}
	if r, err := e.UpdateVIP(ctx, "web", apps.WriteOptions{IfVersion: 1}, add); err != nil || r.Version != 2 || len(r.Status.Backends) != 2 {
		t.Errorf("update: %+v, %v", r, err)
	}
	if err := e.DeleteVIP(ctx, "web", apps.WriteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := e.VIP("web"); !errors.Is(err, apps.ErrNotFound) {
		t.Errorf("a deleted VIP is read: %v", err)
	}
}

// A restart finds what was answered, with the same ids, and gives no id twice.
func TestRestart(t *testing.T) {
	st := store.Memory()
	ctx := context.Background()
	e := start(t, st, nil)
	for _, s := range []vip.Spec{spec("a", "10.0.0.100", "b1=10.0.0.1"), spec("b", "10.0.0.101")} {
		if _, err := e.CreateVIP(ctx, s, apps.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.DeleteVIP(ctx, "b", apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := start(t, st, nil)
	if got := again.VIPs(); len(got) != 1 || got[0].Name != "a" || len(got[0].Backends) != 1 {
		t.Fatalf("after a restart: %+v", got)
	}
	if _, err := again.CreateVIP(ctx, spec("c", "10.0.0.102"), apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	x, err := again.find("c")
	if err != nil || x.ID != 3 {
		t.Errorf("id of the third VIP ever: %d, want 3 (%v)", x.ID, err)
	}
}

// The file's VIPs are applied when their list has changed, and writes to them from the API need force.
func TestFileVIPs(t *testing.T) {
	st := store.Memory()
	ctx := context.Background()
	e := start(t, st, []vip.Spec{spec("a", "10.0.0.100", "b1=10.0.0.1"), spec("b", "10.0.0.101")})
	drop := func(s *vip.Spec) error { s.Backends = nil; return nil }
	if _, err := e.UpdateVIP(ctx, "a", apps.WriteOptions{}, drop); !errors.Is(err, apps.ErrFileVIP) {
		t.Errorf("write to a VIP of the file: %v", err)
	}
	if r, err := e.UpdateVIP(ctx, "a", apps.WriteOptions{Force: true}, drop); err != nil || r.Origin != vip.OriginFile {
		t.Errorf("forced write: %+v, %v", r, err)
	}
	same := start(t, st, []vip.Spec{spec("a", "10.0.0.100", "b1=10.0.0.1"), spec("b", "10.0.0.101")})
	if r, _ := same.VIP("a"); len(r.Backends) != 0 {
		t.Error("an unchanged file was applied again over a forced write")
	}
	changed := start(t, st, []vip.Spec{spec("a", "10.0.0.100", "b1=10.0.0.1", "b2=10.0.0.2")})
	if r, _ := changed.VIP("a"); len(r.Backends) != 2 {
		t.Error("a changed file was not applied")
	}
	if _, err := changed.VIP("b"); !errors.Is(err, apps.ErrNotFound) {
		t.Error("a VIP that has left the file is still there")
	}
}

// A VIP that leaves the file makes way for one that comes in its place, and for a host at its address.
func TestFileVIPsGiveWay(t *testing.T) {
	for name, next := range map[string][]vip.Spec{
		"another name":            {spec("b", "10.0.0.100", "b1=10.0.0.1")},
		"a backend's address now": {spec("b", "10.0.0.101", "b1=10.0.0.100")},
		"a backend's address":     {spec("b", "10.0.0.1")},
	} {
		t.Run(name, func(t *testing.T) {
			st := store.Memory()
			start(t, st, []vip.Spec{spec("a", "10.0.0.100", "b1=10.0.0.1")})
			e := start(t, st, next)
			if _, err := e.VIP("b"); err != nil {
				t.Error(err)
			}
			if _, err := e.VIP("a"); !errors.Is(err, apps.ErrNotFound) {
				t.Errorf("the VIP that has left: %v", err)
			}
		})
	}
	// After an error what is in nobody's way stays.
	st := store.Memory()
	start(t, st, []vip.Spec{spec("a", "10.0.0.100"), spec("b", "10.0.0.101")})
	if _, err := New(Config{Store: st, Log: logrus.New(), FileVIPs: []vip.Spec{spec("b", "10.0.0.102")}}); err == nil {
		t.Fatal("a VIP has got another address")
	}
	if _, err := start(t, st, nil).VIP("a"); err != nil {
		t.Errorf("a VIP that is in nobody's way: %v", err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	e := start(t, store.Memory(), nil)
	ctx := context.Background()
	r, err := e.CreateVIP(ctx, spec("web", "10.0.0.100"), apps.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.WaitVIP(ctx, "web", r.Version); err != nil {
		t.Errorf("with no switch there is nothing to wait for: %v", err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.WaitVIP(short, "web", r.Version+1); !errors.Is(err, context.Canceled) {
		t.Errorf("wait for a version that never comes: %v", err)
	}
}

// When all ids of VIPs have been given, that is said by its name.
func TestIDsOfVIPsUsedUp(t *testing.T) {
	st := store.Memory()
	if err := st.Update(func(tx store.Tx) (err error) {
		for range maxVIPID {
			if _, err = store.NextID(tx, sequenceVIPs, maxVIPID); err != nil {
				break
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	e := start(t, st, nil)
	if _, err := e.CreateVIP(context.Background(), spec("web", "10.0.0.100"), apps.WriteOptions{}); !errors.Is(err, vip.ErrExhausted) {
		t.Errorf("got %v", err)
	}
}
