package controller_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/sirupsen/logrus"
)

// running is a controller in Run.
type running struct {
	*recorder
	ctl  *controller.Controller
	stop func() error // returns what Run returned
}

func run(t *testing.T, cfg controller.Config) *running {
	t.Helper()
	r := &running{recorder: &recorder{changed: make(chan struct{}), errs: map[owner]error{}}}
	log := logrus.New()
	log.SetOutput(t.Output())
	cfg.Log = log
	patient(&cfg)
	r.ctl = controller.New(cfg, r.recorder)
	ctx, cancel := context.WithCancel(context.Background())
	end := make(chan error, 1)
	go func() { end <- r.ctl.Run(ctx) }()
	stopped := false
	r.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-end
	}
	t.Cleanup(func() { _ = r.stop() })
	select {
	case <-r.ctl.Listening():
	case err := <-end:
		t.Fatalf("Run: %v", err)
	}
	return r
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	unix := filepath.Join(dir, "one.sock")
	r := run(t, controller.Config{Listen: []string{"127.0.0.1:0", "unix:" + unix, "tcp:127.0.0.1:0", "unix:" + filepath.Join(dir, "two.sock")}})
	addrs := r.ctl.Addrs()
	if len(addrs) != 4 || addrs[1].String() != unix {
		t.Fatalf("listening at %v", addrs)
	}
	var fakes []*controllertest.Switch
	for i, a := range addrs {
		fake := controllertest.NewSwitch(flows.DPID(i + 1))
		if err := fake.Dial(t.Context(), a.Network(), a.String()); err != nil {
			t.Fatal(err)
		}
		r.untilNth(t, "connected", i+1)
		fakes = append(fakes, fake)
		info := r.session().Info()
		if a.Network() == "unix" && info.Remote != a.String() || a.Network() == "tcp" && !strings.HasPrefix(info.Remote, "127.0.0.1:") {
			t.Errorf("remote %q on %v", info.Remote, a)
		}
	}
	if n := len(r.ctl.Switches()); n != 4 {
		t.Errorf("%d switches", n)
	}
	if err := r.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	r.untilNth(t, "disconnected: the controller is shutting down", 4)
	for _, f := range fakes {
		if err := f.Await(t.Context(), func() bool { return f.Connected() == 0 }); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := net.Dial("tcp", addrs[0].String()); err == nil {
		t.Error("still listening")
	}
}

func TestListenErrors(t *testing.T) {
	dir := t.TempDir()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	living, err := net.Listen("unix", filepath.Join(dir, "living.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		listen string
		want   error
	}{
		{busy.Addr().String(), syscall.EADDRINUSE},
		{"unix:" + living.Addr().String(), syscall.EADDRINUSE},
		{"unix:" + file, nil},
		{"unix:" + filepath.Join(dir, "none", "x.sock"), fs.ErrNotExist},
		{"unix:" + filepath.Join(dir, strings.Repeat("x", 120)), syscall.EINVAL},
		{"6653", nil},
		{"ssl:127.0.0.1:0", nil},
		{"", nil},
	} {
		ctl := controller.New(controller.Config{Listen: []string{"127.0.0.1:0", c.listen}}, &recorder{})
		err := ctl.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.listen) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%q: %v", c.listen, err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
		t.Errorf("the file: %q, %v", b, err)
	}
	if conn, err := net.Dial("unix", living.Addr().String()); err != nil {
		t.Errorf("another's socket: %v", err)
	} else {
		_ = conn.Close()
	}
}

// The socket of a process that was killed does not hinder the next.
func TestStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	r := run(t, controller.Config{Listen: []string{"unix:" + path}})
	if err := controllertest.NewSwitch(1).Dial(t.Context(), "unix", path); err != nil {
		t.Fatal(err)
	}
	r.until(t, "connected")
}

func TestMaxSessions(t *testing.T) {
	r := run(t, controller.Config{Listen: []string{"127.0.0.1:0"}, MaxSessions: 1})
	address := r.ctl.Addrs()[0].String()
	fake := controllertest.NewSwitch(1)
	if err := fake.Dial(t.Context(), "tcp", address); err != nil {
		t.Fatal(err)
	}
	r.until(t, "connected")
	second := controllertest.NewSwitch(2)
	if err := second.Dial(t.Context(), "tcp", address); err != nil {
		t.Fatal(err)
	}
	if err := second.Await(t.Context(), func() bool { return second.Connected() == 0 }); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); r.ctl.Endings()["too many switches"] != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) { // it is counted a little later than the connection is closed
			t.Fatalf("%v", r.ctl.Endings())
		}
	}
	fake.Disconnect()
	r.until(t, "disconnected")
	// The place is free again, a little later than Disconnected is told.
	for range 1000 {
		if err := fake.Dial(t.Context(), "tcp", address); err != nil {
			t.Fatal(err)
		}
		if err := fake.Await(t.Context(), func() bool { return fake.Connected() == 0 || len(r.ctl.Switches()) == 1 }); err != nil {
			t.Fatal(err)
		}
		if len(r.ctl.Switches()) == 1 {
			return
		}
	}
	t.Error("no place")
}
