package web

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEvents(t *testing.T) {
	c := newClient(t, Config{})
	if got := c.do(200, "GET", "/api/v1/events", "").Body.String(); got != `{"items":[]}`+"\n" {
		t.Errorf("no events: %s", got)
	}
	for _, name := range []string{"a", "b", "c"} {
		c.eng.tell("vip", name, "is up")
	}
	for query, want := range map[string]string{"": "abc", "?since=0": "abc", "?since=1": "bc", "?since=3": "", "?since=77": "abc",
		"?last=2": "bc", "?last=9": "abc", "?since=2&last=2": "c"} {
		got := ""
		for _, e := range c.do(200, "GET", "/api/v1/events"+query, "").at("items").([]any) {
			got += e.(map[string]any)["subject"].(string)
		}
		if got != want {
			t.Errorf("events%s: %q, want %q", query, got, want)
		}
	}
	want := map[string]any{"id": 3.0, "time": "2026-01-02T03:04:05Z", "kind": "vip", "subject": "c", "message": "is up"}
	if diff := cmp.Diff(want, c.do(200, "GET", "/api/v1/events?since=2", "").at("items", 0)); diff != "" {
		t.Error(diff)
	}
	c.do(422, "GET", "/api/v1/events?since=-1", "")
	c.do(422, "GET", "/api/v1/events?since=yesterday", "")
}

// next reads the data line of the next event, passing over comments.
func next(t *testing.T, r *bufio.Reader) (id, data string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		case line == "" && data != "":
			return id, data
		}
	}
}

func TestEventStream(t *testing.T) {
	c := newClient(t, Config{})
	url := serve(t, c.server)
	c.eng.tell("vip", "a", "is up")
	c.eng.tell("vip", "b", "is up")
	open := func(query string, header ...string) *bufio.Reader {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/api/v1/events"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("status %d, %v", resp.StatusCode, resp.Header)
		}
		return bufio.NewReader(resp.Body)
	}
	all, later, again := open(""), open("?since=1"), open("?since=0", "Last-Event-ID", "2")
	if id, data := next(t, all); id != "1" || !strings.Contains(data, `"subject":"a"`) {
		t.Errorf("first event: %s %s", id, data)
	}
	if id, _ := next(t, all); id != "2" {
		t.Errorf("second event: %s", id)
	}
	if id, _ := next(t, later); id != "2" {
		t.Errorf("since=1: %s", id)
	}
	c.eng.tell("vip", "c", "is up")
	for name, r := range map[string]*bufio.Reader{"all": all, "later": later, "again": again} {
		if id, data := next(t, r); id != "3" || !strings.Contains(data, `"subject":"c"`) {
			t.Errorf("%s: a new event: %s %s", name, id, data)
		}
	}
}

// What is kept no more is told of, not passed over.
func TestEventStreamLoss(t *testing.T) {
	c := newClient(t, Config{})
	url := serve(t, c.server)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		c.eng.tell("vip", name, "is up")
	}
	c.eng.lose(3)
	for query, want := range map[string]string{"?since=1": "event: lost\ndata: {\"lost\": 2}\n\nid: 4\n", "?since=3": "id: 4\n", "": "id: 4\n"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/api/v1/events"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		want = ": events\n\n" + want
		got := make([]byte, len(want))
		_, err = io.ReadFull(resp.Body, got)
		resp.Body.Close()
		if err != nil || string(got) != want {
			t.Errorf("events%s: %q, %v", query, got, err)
		}
	}
}

func TestStreamLimit(t *testing.T) {
	c := newClient(t, Config{})
	c.server.streams.Store(maxStreams)
	c.do(503, "GET", "/api/v1/events", "", "Accept", "text/event-stream")
	if got := c.server.streams.Load(); got != maxStreams {
		t.Errorf("%d streams counted after a refusal", got)
	}
	c.do(200, "GET", "/api/v1/events", "")
}
