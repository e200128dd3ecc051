package web

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBackends(t *testing.T) {
	c := withWeb(t)
	const all, one = "/api/v1/vips/web/backends", "/api/v1/vips/web/backends/b3"
	status := map[string]any{"name": "b3", "state": "up", "reason": "", "since": "2026-01-02T03:04:05Z", "connections": 12.0,
		"new_connections": 340.0, "share": 0.25}
	want := map[string]any{"name": "b3", "address": "10.0.0.3", "weight": 0.0, "admin": "enabled", "status": status}

	made := c.do(201, "POST", all, `{"name": "b3", "address": "10.0.0.3", "weight": 0, "port": 0}`)
	if diff := cmp.Diff(want, made.json); diff != "" {
		t.Error(diff)
	}
	if made.Header().Get("Location") != one || made.Header().Get("ETag") != `"2"` {
		t.Errorf("headers: %v", made.Header())
	}
	if r := c.do(200, "GET", one, ""); !cmp.Equal(r.json, made.json) || r.Header().Get("ETag") != `"2"` {
		t.Errorf("reads as %s", r.Body)
	}
	if r := c.do(200, "GET", all, ""); len(r.at("items").([]any)) != 3 || !cmp.Equal(r.at("items", 2), made.json) {
		t.Errorf("list: %s", r.Body)
	}

	r := c.do(200, "PATCH", one, `{"admin": "draining", "port": 8080}`)
	if r.at("admin") != "draining" || r.at("port") != 8080.0 || r.at("weight") != 0.0 {
		t.Errorf("patched: %s", r.Body)
	}
	if r = c.do(200, "PATCH", one, `{"weight": null}`); r.at("weight") != 1.0 {
		t.Errorf("weight null: %s", r.Body)
	}
	if r = c.do(200, "PATCH", one, `{"admin": "disabled"}`); r.at("status", "connections") != nil {
		t.Errorf("unknown connections are not null: %s", r.Body)
	}
	r = c.do(200, "PUT", one, `{"address": "10.0.0.4"}`)
	if r.at("address") != "10.0.0.4" || r.at("admin") != "enabled" || r.at("port") != nil {
		t.Errorf("replaced: %s", r.Body)
	}
	if r = c.do(201, "PUT", all+"/b4", `{"address": "10.0.0.5"}`); r.at("name") != "b4" || r.Header().Get("Location") != all+"/b4" {
		t.Errorf("put anew: %s", r.Body)
	}
	c.do(204, "DELETE", one, "")
	c.do(404, "GET", one, "")
	c.do(404, "DELETE", one, "")
	if r := c.do(200, "GET", "/api/v1/vips/web", ""); len(r.at("backends").([]any)) != 3 {
		t.Errorf("after all: %s", r.Body)
	}
}

func TestRefusedBackends(t *testing.T) {
	const all, one = "/api/v1/vips/web/backends", "/api/v1/vips/web/backends/b2"
	for name, tc := range map[string]struct {
		method, path, body string
		status             int
		location           any
	}{
		"exists":                 {"POST", all, `{"name": "b1", "address": "10.0.0.9"}`, 409, nil},
		"no such VIP":            {"POST", "/api/v1/vips/none/backends", `{"name": "b1", "address": "10.0.0.9"}`, 404, nil},
		"no such VIP to read":    {"GET", "/api/v1/vips/none/backends", ``, 404, nil},
		"no such VIP's backend":  {"GET", "/api/v1/vips/none/backends/b1", ``, 404, nil},
		"no such backend":        {"PATCH", all + "/none", `{}`, 404, nil},
		"bad name":               {"POST", all, `{"name": "B 1", "address": "10.0.0.9"}`, 422, "body.name"},
		"bad weight":             {"PATCH", one, `{"weight": 256}`, 422, "body.weight"},
		"bad address":            {"PATCH", one, `{"address": "nowhere"}`, 422, "body.address"},
		"bad admin":              {"PATCH", one, `{"admin": "off"}`, 422, "body.admin"},
		"the VIP's own address":  {"PUT", one, `{"address": "10.0.0.100"}`, 422, "body.address"},
		"unknown field":          {"PATCH", one, `{"wieght": 1}`, 422, "body.wieght"},
		"unknown field, null":    {"PATCH", one, `{"wieght": null}`, 422, "body.wieght"},
		"required":               {"POST", all, `{"name": "b9"}`, 422, "body.address"},
		"renamed by PATCH":       {"PATCH", one, `{"name": "b9"}`, 409, "body.name"},
		"renamed by PUT":         {"PUT", one, `{"name": "b9", "address": "10.0.0.2"}`, 409, "body.name"},
		"same address and port":  {"POST", all, `{"name": "b9", "address": "10.0.0.1", "port": 8080}`, 422, "body.port"},
		"port out of range":      {"PATCH", one, `{"port": 65536}`, 422, "body.port"},
		"port as text":           {"PATCH", one, `{"port": "8080"}`, 422, "body.port"},
		"not an object":          {"PATCH", one, `[{"op": "remove"}]`, 422, "body"},
		"a patch of nothing":     {"PATCH", one, `null`, 422, "body"},
		"clash with another one": {"PATCH", one, `{"address": "10.0.0.1", "port": 8080}`, 422, "body.port"},
	} {
		t.Run(name, func(t *testing.T) {
			c := withWeb(t)
			r := c.do(tc.status, tc.method, tc.path, tc.body)
			if tc.location != nil && r.at("errors", 0, "location") != tc.location {
				t.Errorf("location %v, want %v: %s", r.at("errors", 0, "location"), tc.location, r.Body)
			}
			if v, err := c.eng.VIP("web"); err != nil || v.Version != 1 {
				t.Errorf("after a refusal: version %d, %v", v.Version, err)
			}
		})
	}
}
