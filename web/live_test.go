package web

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// message is one server-sent event.
type message struct {
	name string
	json map[string]any
}

// messages reads a stream up to and with the next tick.
func messages(t *testing.T, r *bufio.Reader) (out []message) {
	t.Helper()
	name := ""
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := strings.CutPrefix(line, "event: "); ok {
			name = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			m := message{name: name}
			if err := json.Unmarshal([]byte(v), &m.json); err != nil {
				t.Fatalf("%s: %v: %s", name, err, v)
			}
			out = append(out, m)
			if name == "tick" {
				return out
			}
		}
	}
}

// changed reads a stream up to the tick by which some messages have come, which may be of two ticks if the test comes between; ticks
// without any, of before, are passed over.
func changed(t *testing.T, r *bufio.Reader, want string) (out []message) {
	t.Helper()
	for len(out) < len(strings.Fields(want)) {
		ms := messages(t, r)
		out = append(out, ms[:len(ms)-1]...)
	}
	if got := names(out); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	return out
}

func names(ms []message) string {
	var out []string
	for _, m := range ms {
		out = append(out, m.name)
	}
	return strings.Join(out, " ")
}

func find(t *testing.T, ms []message, name string) map[string]any {
	t.Helper()
	for _, m := range ms {
		if m.name == name {
			return m.json
		}
	}
	t.Fatalf("no %s in %s", name, names(ms))
	return nil
}

// All comes at first, then what has changed.
func TestLive(t *testing.T) {
	c := withWeb(t)
	c.server.tick = 50 * time.Millisecond
	url := serve(t, c.server)
	c.eng.tell("vip", "web", "is up")
	open := func(query string) *bufio.Reader {
		t.Helper()
		resp, err := http.Get(url + "/api/v1/live" + query)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("status %d, %v", resp.StatusCode, resp.Header)
		}
		return bufio.NewReader(resp.Body)
	}
	plain, all, gone := open(""), open("?vip=web&dpid=0000000000000001&topology=true&last=5"), open("?vip=nix")
	if got := names(messages(t, plain)); got != "hello switches vips tick" {
		t.Errorf("first: %s", got)
	}
	if got := names(messages(t, gone)); got != "hello switches vips gone tick" {
		t.Errorf("of a VIP that is not there: %s", got)
	}
	first := messages(t, all)
	if got := names(first); got != "hello event switches vips vip ports links hosts tick" {
		t.Errorf("first of all: %s", got)
	}
	if v := find(t, first, "vips")["items"].([]any)[0].(map[string]any); v["name"] != "web" || v["connections"] != 24.0 ||
		v["new_connections"] != 680.0 || !cmp.Equal(v["backends"], any([]any{"up", "up"})) {
		t.Errorf("VIP %v", v)
	}
	if s := find(t, first, "switches")["items"].([]any)[0].(map[string]any); s["ports"] != 1.0 || s["ports_up"] != 1.0 || s["rx_bps"] != 1.5 {
		t.Errorf("switch %v", s)
	}
	if k := find(t, first, "links")["items"].([]any)[0].(map[string]any); k["a_to_b_bps"] != 0.0 {
		t.Errorf("link %v", k)
	}
	if got := names(messages(t, all)); got != "tick" {
		t.Errorf("nothing has changed: %s", got)
	}
	if _, err := c.eng.UpdateVIP(t.Context(), "web", apps.WriteOptions{}, func(s *vip.Spec) error { s.Backends = s.Backends[:1]; return nil }); err != nil {
		t.Fatal(err)
	}
	if v := find(t, changed(t, all, "vips vip"), "vip"); len(v["backends"].([]any)) != 1 {
		t.Errorf("after a change: %v", v)
	}
	if err := c.eng.DeleteVIP(t.Context(), "web", apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if v := find(t, changed(t, all, "vips gone"), "vips"); !cmp.Equal(v["gone"], any([]any{"web"})) {
		t.Errorf("after the end: %v", v)
	}
	c.eng.tell("vip", "web", "is gone")
	changed(t, all, "event")
	c.do(422, "GET", "/api/v1/live?dpid=7", "")
	c.server.streams.Store(maxStreams)
	c.do(503, "GET", "/api/v1/live", "")
}
