package web

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"testing/fstest"
)

var built = fstest.MapFS{
	"index.html":      {Data: []byte("<!doctype html><script type=module src=/assets/app-1.js></script>")},
	"favicon.svg":     {Data: []byte("<svg/>")},
	"assets/app-1.js": {Data: []byte(strings.Repeat("let x = 1;\n", 100))},
}

func TestPage(t *testing.T) {
	c := newClient(t, Config{Dashboard: built, Token: "secret"})
	c.header = nil // the page itself needs no token
	for _, tc := range []struct{ path, kind, cache string }{
		{"/", "text/html; charset=utf-8", "no-cache"},
		{"/favicon.svg", "image/svg+xml", "no-cache"},
		{"/assets/app-1.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
	} {
		w := c.raw("GET", tc.path, "")
		h := w.Header()
		if w.Code != 200 || h.Get("Content-Type") != tc.kind || h.Get("Cache-Control") != tc.cache || h.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %v", tc.path, w.Code, h)
		}
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(h.Get("Content-Security-Policy"), part) {
				t.Errorf("%s: policy %q lacks %q", tc.path, h.Get("Content-Security-Policy"), part)
			}
		}
		if again := c.raw("GET", tc.path, "", "If-None-Match", h.Get("Etag")); again.Code != 304 || again.Body.Len() > 0 {
			t.Errorf("%s again: %d", tc.path, again.Code)
		}
	}
	w := c.raw("GET", "/assets/app-1.js", "", "Accept-Encoding", "br, gzip")
	z, err := gzip.NewReader(w.Body)
	if err != nil || w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v, %v", err, w.Header())
	}
	if data, err := io.ReadAll(z); err != nil || string(data) != string(built["assets/app-1.js"].Data) {
		t.Errorf("unpacked: %q, %v", data, err)
	}
	for path, status := range map[string]int{"/assets/": 404, "/assets/app-2.js": 404, "/assets/../index.html": 404, "/index.html": 401, "/vips": 401,
		"/api/v1/vips": 401, "/assets/%2e%2e/%2e%2e/etc/passwd": 404} {
		if w := c.raw("GET", path, ""); w.Code != status {
			t.Errorf("%s: %d, want %d", path, w.Code, status)
		}
	}
	if w := c.raw("POST", "/", "{}"); w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestPageNotBuilt(t *testing.T) {
	c := newClient(t, Config{Dashboard: fstest.MapFS{".gitkeep": {}}})
	if w := c.raw("GET", "/", ""); w.Code != 503 || !strings.Contains(w.Body.String(), "make build") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
