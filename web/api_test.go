package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// client sends requests to a server, and holds each answer of the API against the OpenAPI document.
type client struct {
	t      *testing.T
	eng    *fakeEngine
	server *Server
	routes routers.Router
	header map[string]string // with each request
}

func newClient(t *testing.T, cfg Config) *client {
	t.Helper()
	eng := newFake()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	s, err := New(cfg, eng)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, eng: eng, server: s, header: map[string]string{}}
	if cfg.Token != "" {
		c.header["Authorization"] = "Bearer " + cfg.Token
	}
	if c.routes, err = document(); err != nil {
		t.Fatal(err)
	}
	return c
}

// document is the OpenAPI document as served, checked and ready to look up operations. It is the same for all servers but for
// what it says of a token, which the tests of the token are about.
var document = sync.OnceValues(func() (routers.Router, error) {
	s, err := New(Config{Listen: "127.0.0.1:0"}, newFake())
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/api/v1/openapi.json", nil))
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%d: %w", w.Code, err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	return gorillamux.NewRouter(doc)
})

// reply is a response with its body as plain JSON values.
type reply struct {
	*httptest.ResponseRecorder
	t    *testing.T
	json any
}

func (c *client) raw(method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:8080"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", typeJSON)
	}
	for k, v := range c.header {
		r.Header.Set(k, v)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			r.Header.Del(header[i])
		}
	}
	w := httptest.NewRecorder()
	c.server.Handler().ServeHTTP(w, r)
	return w
}

// do sends a request, wants a status, and checks the answer against the document.
func (c *client) do(status int, method, path, body string, header ...string) reply {
	c.t.Helper()
	w := c.raw(method, path, body, header...)
	if w.Code != status {
		c.t.Fatalf("%s %s: status %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
	out := reply{ResponseRecorder: w, t: c.t}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &out.json); err != nil {
			c.t.Fatalf("%s %s: %v: %s", method, path, err, w.Body)
		}
	}
	if status >= 400 {
		c.isProblem(out)
	}
	if strings.HasPrefix(path, base) {
		c.conforms(method, path, w)
	}
	return out
}

// isProblem checks what RFC 9457 wants of an error.
func (c *client) isProblem(r reply) {
	c.t.Helper()
	if got := r.Header().Get("Content-Type"); got != "application/problem+json" {
		c.t.Errorf("an error of Content-Type %s: %s", got, r.Body)
	}
	if r.at("status") != float64(r.Code) || r.at("title") == nil || r.at("detail") == nil {
		c.t.Errorf("not a whole problem document: %s", r.Body)
	}
}

func (c *client) conforms(method, path string, w *httptest.ResponseRecorder) {
	c.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	route, params, err := c.routes.FindRoute(r)
	if err != nil {
		if w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
			c.t.Errorf("%s %s is not in the OpenAPI document: %v", method, path, err)
		}
		return
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(c.t.Context(), in); err != nil {
		c.t.Errorf("%s %s: the answer is not what the OpenAPI document says: %v", method, path, err)
	}
}

// at is the value at a path of keys and indexes.
func (r reply) at(path ...any) any {
	r.t.Helper()
	v := r.json
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			a, _ := v.([]any)
			if p >= len(a) {
				r.t.Fatalf("no element %d of %v in %s", p, path, r.Body)
			}
			v = a[p]
		}
	}
	return v
}

// errs are the errors of a problem document, as "location: message".
func (r reply) errs() (out []string) {
	list, _ := r.at("errors").([]any)
	for _, e := range list {
		m := e.(map[string]any)
		out = append(out, m["location"].(string)+": "+m["message"].(string))
	}
	return out
}

const webVIP = `{"name": "web", "address": "10.0.0.100", "protocol": "tcp", "port": "80", "mode": "nat",
	"backends": [{"name": "b1", "address": "10.0.0.1", "port": 8080, "weight": 1, "admin": "enabled"},
		{"name": "b2", "address": "10.0.0.2"}]}`

// withWeb is a client of a server that has the VIP "web".
func withWeb(t *testing.T) *client {
	t.Helper()
	c := newClient(t, Config{})
	c.do(http.StatusCreated, "POST", "/api/v1/vips", webVIP)
	return c
}
