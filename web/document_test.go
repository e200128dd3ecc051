package web

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What clients are made from: the types of the model as the document names them.
func TestDocument(t *testing.T) {
	c := newClient(t, Config{Token: "t", Version: "1.2.3"})
	doc := reply{ResponseRecorder: c.raw("GET", "/api/v1/openapi.json", ""), t: t}
	if err := json.Unmarshal(doc.Body.Bytes(), &doc.json); err != nil {
		t.Fatal(err)
	}
	spec := []any{"components", "schemas", "VIPSpec", "properties"}
	for _, tc := range []struct {
		at   []any
		want any
	}{
		{[]any{"openapi"}, "3.1.0"},
		{[]any{"info", "version"}, "1.2.3"},
		{[]any{"servers", 0, "url"}, "/api/v1"},
		{[]any{"security", 0, "token"}, []any{}},
		{[]any{"components", "schemas", "VIPSpec", "required"}, []any{"name", "address", "protocol", "port"}},
		{[]any{"components", "schemas", "VIPSpec", "additionalProperties"}, false},
		{[]any{"components", "schemas", "VIPPatch", "required"}, nil},
		{append(spec, "port", "oneOf", 0, "type"), "integer"},
		{append(spec, "port", "oneOf", 1, "type"), "string"},
		{append(spec, "protocol", "enum"), []any{"tcp", "udp"}},
		{append(spec, "mode", "enum"), []any{"nat", "group", "deferred", "othello"}},
		{append(spec, "drain_timeout", "type"), "string"},
		{append(spec, "backends", "type"), "array"},
		{[]any{"components", "schemas", "Host", "properties", "mac", "type"}, "string"},
		{[]any{"components", "schemas", "Host", "properties", "addresses", "items", "type"}, "string"},
		{[]any{"components", "schemas", "PortID", "properties", "dpid", "pattern"}, dpidPattern},
		{[]any{"components", "schemas", "BackendStatus", "properties", "connections", "type"}, []any{"integer", "null"}},
		{[]any{"components", "schemas", "Connection", "properties", "client", "type"}, "string"},
		{[]any{"paths", "/vips/{vip}", "patch", "requestBody", "content", typePatch, "schema", "$ref"}, "#/components/schemas/VIPPatch"},
		{[]any{"paths", "/vips", "post", "requestBody", "content", typeJSON, "schema", "$ref"}, "#/components/schemas/VIPSpec"},
		{[]any{"paths", "/vips", "post", "requestBody", "content", typePatch}, nil},
	} {
		if diff := cmp.Diff(tc.want, doc.at(tc.at...)); diff != "" {
			t.Errorf("%v: %s", tc.at, diff)
		}
	}
}
