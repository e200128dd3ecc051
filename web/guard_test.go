package web

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHost(t *testing.T) {
	c := newClient(t, Config{AllowedHosts: []string{"Evenflow.example", "lb.example:8080"}})
	for _, tc := range []struct {
		host   string
		status int
	}{
		{"localhost", 200}, {"localhost:8080", 200}, {"LOCALHOST:8080", 200}, {"localhost.", 200}, {"127.0.0.1:8080", 200}, {"127.8.8.8", 200},
		{"[::1]:8080", 200}, {"[::1]", 200}, {"evenflow.example:8080", 200}, {"lb.example", 200},
		{"", 421}, {"evil.example", 421}, {"evil.example:8080", 421}, {"localhost.evil.example", 421}, {"127.0.0.1.evil.example", 421},
		{"10.9.9.9:8080", 421}, {"sub.evenflow.example", 421}, {"0.0.0.0:8080", 421}, {"localhost@evil.example", 421},
	} {
		for _, path := range []string{"/api/v1/vips", "/metrics", "/healthz", "/api/v1/openapi.json", "/nowhere"} {
			w := c.raw("GET", path, "", "Host", tc.host)
			want := tc.status
			if want == 200 && path == "/nowhere" {
				want = 404
			}
			if w.Code != want {
				t.Errorf("Host %q, %s: status %d, want %d", tc.host, path, w.Code, want)
			}
		}
	}
}

// A client may name the address that its connection goes to, whatever it is.
func TestHostOfListener(t *testing.T) {
	c := newClient(t, Config{})
	h := c.server.Handler()
	for host, want := range map[string]int{"10.1.2.3:8080": 200, "10.1.2.4:8080": 421} {
		r := httptest.NewRequest("GET", "/api/v1/vips", nil)
		r.Host = host
		ctx := contextWithLocal(r, &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8080})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, ctx)
		if w.Code != want {
			t.Errorf("Host %s: status %d, want %d", host, w.Code, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	c := withWeb(t)
	for _, tc := range []struct {
		origin  string
		allowed bool
	}{
		{"http://localhost:8080", true}, {"https://localhost:8080", true}, {"http://LOCALHOST:8080", true},
		{"http://localhost", false}, {"http://localhost:9090", false}, {"http://evil.example", false}, {"null", false},
		{"http://localhost:8080.evil.example", false}, {"file://localhost:8080", false}, {"http://", false}, {"localhost:8080", false},
		{"http://evil.example/http://localhost:8080", false}, {"http://127.0.0.1:8080", false},
	} {
		for method, body := range map[string]string{"GET": "", "PATCH": `{}`} {
			want := http.StatusOK
			if !tc.allowed {
				want = http.StatusForbidden
			}
			c.do(want, method, "/api/v1/vips/web", body, "Origin", tc.origin, "Host", "localhost:8080")
		}
	}
	c.do(403, "DELETE", "/api/v1/vips/web", "", "Origin", "http://evil.example")
	c.do(200, "GET", "/api/v1/vips/web", "")
	// No page gets leave to read answers or to send what needs it.
	w := c.raw("OPTIONS", "/api/v1/vips", "", "Origin", "http://evil.example", "Access-Control-Request-Method", "POST")
	if w.Code != 403 || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
}

func TestContentType(t *testing.T) {
	for _, tc := range []struct {
		method, path, body, contentType string
		status                          int
	}{
		{"PATCH", "/vips/web", `{}`, "application/json", 200},
		{"PATCH", "/vips/web", `{}`, "Application/JSON; charset=UTF-8", 200},
		{"PATCH", "/vips/web", `{}`, "application/merge-patch+json", 200},
		{"PATCH", "/vips/web", `{}`, "application/json-patch+json", 415},
		{"PATCH", "/vips/web", `{}`, "application/json; charset=utf-16", 415},
		{"PATCH", "/vips/web", `{}`, "text/plain", 415},
		{"PATCH", "/vips/web", `{}`, "", 415},
		{"POST", "/vips", webVIP, "text/plain", 415},
		{"POST", "/vips", webVIP, "application/x-www-form-urlencoded", 415},
		{"POST", "/vips", webVIP, "multipart/form-data; boundary=x", 415},
		{"POST", "/vips", webVIP, "application/merge-patch+json", 415},
		{"POST", "/vips", webVIP, "application/problem+json", 415},
		{"POST", "/vips", webVIP, "", 415},
		{"POST", "/vips", "", "", 415},
		{"POST", "/vips", "", "application/json", 400},
		{"PUT", "/vips/web", webVIP, "application/merge-patch+json", 415},
		{"PUT", "/vips/web/backends/b1", `{"address": "10.0.0.1"}`, "text/plain", 415},
		{"DELETE", "/vips/web", `{}`, "text/plain", 415},
	} {
		c := withWeb(t)
		c.do(tc.status, tc.method, base+tc.path, tc.body, "Content-Type", tc.contentType)
		if v, err := c.eng.VIP("web"); err != nil || v.Version != 1 {
			t.Errorf("%s as %q: version %d, %v", tc.method, tc.contentType, v.Version, err)
		}
	}
}

func TestToken(t *testing.T) {
	c := newClient(t, Config{Token: "s3cret"})
	for _, tc := range []struct {
		header string
		status int
	}{
		{"", 401}, {"Bearer", 401}, {"Bearer ", 401}, {"Bearer s3cre", 401}, {"Bearer s3crets", 401}, {"Bearer S3CRET", 401},
		{"Basic s3cret", 401}, {"s3cret", 401}, {"Bearer s3cret", 200}, {"bearer s3cret", 200},
	} {
		for _, path := range []string{"/api/v1/vips", "/metrics", "/api/v1/openapi.json", "/api/v1/events"} {
			w := c.raw("GET", path, "", "Authorization", tc.header)
			if w.Code != tc.status {
				t.Errorf("%q: %s: status %d, want %d", tc.header, path, w.Code, tc.status)
			}
			if (w.Header().Get("WWW-Authenticate") != "") != (w.Code == 401) {
				t.Errorf("%d with WWW-Authenticate %q", w.Code, w.Header().Get("WWW-Authenticate"))
			}
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			c.do(200, "GET", path, "", "Authorization", tc.header)
		}
	}
	c.do(401, "GET", "/nowhere", "", "Authorization", "") // nor does it tell what there is
	c.do(401, "POST", "/api/v1/vips", webVIP, "Authorization", "Bearer nope")
	if len(c.eng.VIPs()) != 0 {
		t.Error("written without the token")
	}
}

func TestSecurityHeaders(t *testing.T) {
	c := newClient(t, Config{})
	for _, path := range []string{"/api/v1/vips", "/metrics", "/healthz", "/nowhere", "/api/v1/vips/none"} {
		h := c.raw("GET", path, "").Header()
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer",
			"Cache-Control":   "no-store", "Cross-Origin-Resource-Policy": "same-origin",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), want)
			}
		}
	}
}

func TestUnknownPaths(t *testing.T) {
	c := withWeb(t)
	for _, path := range []string{"/api", "/api/v1", "/api/v2/vips", "/api/v1/vips/", "/docs", "/schemas/VIP.json", "/api/v1/docs",
		"/api/v1/vips/web/none"} {
		c.do(404, "GET", path, "")
	}
	c.do(405, "DELETE", "/api/v1/vips", "")
	c.do(405, "POST", "/api/v1/switches", `{}`)
	if got := c.raw("PUT", "/api/v1/vips", `{}`).Header().Get("Allow"); got == "" {
		t.Error("405 without Allow")
	}
	c.do(422, "GET", "/api/v1/vips?limit=1", "") // an unknown parameter is no parameter
}
