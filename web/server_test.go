package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/evenflow/evenflow/apps"
)

func contextWithLocal(r *http.Request, a net.Addr) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, a))
}

// serve runs a server until the test ends and returns its URL. The test fails unless it stops cleanly.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	select {
	case <-s.Listening():
	case err := <-done:
		done <- err
		t.FailNow()
	}
	return "http://" + s.Addr().String()
}

func TestRun(t *testing.T) {
	c := newClient(t, Config{})
	if c.server.Addr() != nil {
		t.Error("an address before Run")
	}
	resp, err := http.Get(serve(t, c.server) + "/api/v1/vips")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || string(b) != `{"items":[]}`+"\n" {
		t.Errorf("%d %q %v", resp.StatusCode, b, err)
	}
}

// A request that waits, and a stream, do not hold up a shutdown.
func TestShutdown(t *testing.T) {
	c := withWeb(t)
	c.eng.late = true
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.server.Run(ctx) }()
	<-c.server.Listening()
	url := "http://" + c.server.Addr().String() + "/api/v1"

	stream, err := http.NewRequest("GET", url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream.Header.Set("Accept", "text/event-stream")
	streaming, err := http.DefaultClient.Do(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer streaming.Body.Close()

	status := make(chan int, 1)
	go func() {
		r, _ := http.NewRequest("PATCH", url+"/vips/web?wait=10m", strings.NewReader(`{"scheduler": "round-robin"}`))
		r.Header.Set("Content-Type", typeJSON)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	<-c.eng.waits
	cancel()
	if got := <-status; got != http.StatusServiceUnavailable {
		t.Errorf("the waiting request: status %d, want 503", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := io.ReadAll(streaming.Body); err != nil {
		t.Errorf("the stream ended by %v", err)
	}
}

func TestListenErrors(t *testing.T) {
	if _, err := New(Config{}, newFake()); err == nil {
		t.Error("a server that listens nowhere")
	}
	run := func(cfg Config) error {
		t.Helper()
		s, err := New(cfg, newFake())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return s.Run(ctx)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if err := run(Config{Listen: taken.Addr().String()}); err == nil {
		t.Error("two listeners on one address")
	}
	wide := func() net.Listener { return wideListener{Listener: loopback(t)} }
	if err := run(Config{Listener: wide()}); err == nil || !strings.Contains(err.Error(), "token is required") {
		t.Errorf("open to other machines without a token: %v", err)
	}
	if err := run(Config{Listener: wide(), Token: "t"}); err != nil {
		t.Errorf("with a token: %v", err)
	}
	unix, err := net.Listen("unix", filepath.Join(t.TempDir(), "web"))
	if err != nil {
		t.Fatal(err)
	}
	if err := run(Config{Listener: unix}); err != nil {
		t.Errorf("unix socket without a token: %v", err)
	}
}

func loopback(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// wideListener says that it listens on all addresses.
type wideListener struct{ net.Listener }

func (wideListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 80} }

func TestHealth(t *testing.T) {
	c := newClient(t, Config{})
	if r := c.do(200, "GET", "/healthz", ""); r.at("status") != "ok" {
		t.Errorf("healthz: %s", r.Body)
	}
	if r := c.do(200, "GET", "/readyz", ""); r.at("status") != "ready" {
		t.Errorf("readyz: %s", r.Body)
	}
	if w := c.raw("HEAD", "/readyz", ""); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
	c.eng.notYet = errors.New("store is not loaded")
	if r := c.do(503, "GET", "/readyz", ""); !strings.Contains(r.at("detail").(string), "store is not loaded") {
		t.Errorf("readyz: %s", r.Body)
	}
	c.do(200, "GET", "/healthz", "")
}

func TestRequestLog(t *testing.T) {
	log, hook := test.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	c := newClient(t, Config{Log: log})
	hook.Reset()
	c.do(404, "GET", "/api/v1/vips/none", "")
	e := hook.LastEntry()
	if e == nil || e.Level != logrus.DebugLevel || e.Data["method"] != "GET" || e.Data["path"] != "/api/v1/vips/none" ||
		e.Data["status"] != 404 {
		t.Errorf("log entry %+v", e)
	}
}

// brokenEngine fails where nobody expects it.
type brokenEngine struct{ *fakeEngine }

func (brokenEngine) Links() []apps.LinkStatus { panic("broken") }

func (brokenEngine) DeleteVIP(context.Context, string, apps.WriteOptions) error {
	return errors.New("disk full")
}

func TestFailures(t *testing.T) {
	log, hook := test.NewNullLogger()
	c := withWeb(t)
	s, err := New(Config{Listen: "127.0.0.1:0", Log: log}, brokenEngine{c.eng})
	if err != nil {
		t.Fatal(err)
	}
	c.server = s
	c.do(500, "GET", "/api/v1/links", "")
	if e := hook.LastEntry(); e == nil || e.Level != logrus.ErrorLevel || e.Data["panic"] != "broken" {
		t.Errorf("log entry %+v", e)
	}
	if r := c.do(500, "DELETE", "/api/v1/vips/web", ""); r.at("detail") != "disk full" {
		t.Errorf("disk full: %s", r.Body)
	}
	if e := hook.LastEntry(); e.Level != logrus.ErrorLevel {
		t.Errorf("log entry %+v", e)
	}
}

// A wait outlives the times that a body and an answer may take, and a body that does not come does not.
func TestTimeLimits(t *testing.T) {
	c := withWeb(t)
	s, err := newServer(Config{Listen: "127.0.0.1:0"}, c.eng, limits{body: time.Second, write: 1500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c.eng.late = true
	url := serve(t, s) + "/api/v1/vips/web"
	never, _ := io.Pipe()
	for _, tc := range []struct {
		query  string
		body   io.Reader
		status int
	}{{"?wait=2s", strings.NewReader(`{}`), http.StatusGatewayTimeout}, {"", never, http.StatusRequestTimeout}} {
		r, err := http.NewRequest("PATCH", url+tc.query, tc.body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", typeJSON)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tc.status {
			t.Errorf("%q: status %d, want %d", tc.query, resp.StatusCode, tc.status)
		}
	}
}

// A body that does not come holds no connection, not even where nobody wants it: of a request that is refused, or of one that has none.
func TestBodiesThatDoNotCome(t *testing.T) {
	c := withWeb(t)
	s, err := newServer(Config{Listen: "127.0.0.1:0", Token: "secret"}, c.eng, limits{body: 100 * time.Millisecond, write: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(serve(t, s), "http://")
	for _, request := range []string{"GET /healthz", "POST /api/v1/vips", "GET /nowhere", "PUT /"} {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // a connection of a test
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{", request)
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection is still open", request)
		}
	}
}
