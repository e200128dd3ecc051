package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

func TestCreateAndRead(t *testing.T) {
	c := newClient(t, Config{})
	if got := c.do(200, "GET", "/api/v1/vips", "").Body.String(); got != `{"items":[]}`+"\n" {
		t.Errorf("no VIPs: %s", got)
	}
	made := c.do(201, "POST", "/api/v1/vips", webVIP)
	read := c.do(200, "GET", "/api/v1/vips/web", "")
	if diff := cmp.Diff(made.json, read.json); diff != "" {
		t.Errorf("the write answers another VIP than the read (-write +read):\n%s", diff)
	}
	if made.Header().Get("Location") != "/api/v1/vips/web" || made.Header().Get("ETag") != `"1"` ||
		read.Header().Get("ETag") != `"1"` {
		t.Errorf("headers: %v", made.Header())
	}
	if list := c.do(200, "GET", "/api/v1/vips", ""); !cmp.Equal(list.at("items", 0), read.json) {
		t.Errorf("the list has another VIP: %s", list.Body)
	}
	for path, want := range map[string]any{"port": "80", "version": 1.0, "origin": "api", "scheduler": "two-choices",
		"idle_timeout": "1h0m0s"} {
		if got := read.at(path); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
}

// The keys that the contract shows, each with those of its values.
func TestContractKeys(t *testing.T) {
	c := withWeb(t)
	vipKeys := []string{"name", "address", "protocol", "port", "mode", "drain_timeout", "backends", "version", "origin", "status"}
	for _, tc := range []struct {
		path  string
		at    []any
		keys  []string
		exact bool
	}{
		{"/vips/web", nil, vipKeys, false},
		{"/vips/web", []any{"backends", 0}, []string{"name", "address", "port", "weight", "admin"}, true},
		{"/vips/web", []any{"status"}, []string{"phase", "reason", "new_connections", "applied", "backends"}, true},
		{"/vips/web", []any{"status", "applied", 0}, []string{"dpid", "version", "error"}, true},
		{"/vips/web", []any{"status", "backends", 0},
			[]string{"name", "state", "reason", "since", "connections", "new_connections", "share"}, true},
		{"/switches", []any{"items", 0}, []string{"dpid", "connected", "openflow"}, false},
		{"/links", []any{"items", 0}, []string{"a", "b"}, true},
		{"/links", []any{"items", 0, "a"}, []string{"dpid", "port_no"}, true},
		{"/hosts", []any{"items", 0}, []string{"mac", "addresses", "dpid", "port_no"}, false},
		{"/switches/0000000000000001/ports", []any{"items", 0}, []string{"port_no", "name", "kind", "rx_bytes", "tx_bytes", "rx_bps", "tx_bps",
			"rx_packets", "tx_packets", "rx_pps", "tx_pps", "errors", "dropped", "up", "live"}, true},
		{"/switches/0000000000000001/flows", []any{"items", 0},
			[]string{"table", "priority", "text", "packets", "bytes", "cookie", "kind"}, false},
	} {
		got, ok := c.do(200, "GET", "/api/v1"+tc.path, "").at(tc.at...).(map[string]any)
		if !ok {
			t.Errorf("%s %v is no object", tc.path, tc.at)
			continue
		}
		for _, k := range tc.keys {
			if _, there := got[k]; !there {
				t.Errorf("%s %v lacks %q", tc.path, tc.at, k)
			}
			delete(got, k)
		}
		if tc.exact && len(got) > 0 {
			t.Errorf("%s %v has beyond the contract: %v", tc.path, tc.at, got)
		}
	}
}

func TestPortAsNumber(t *testing.T) {
	c := newClient(t, Config{})
	for i, port := range []string{`80`, `"80"`, `"8000-8010"`} {
		r := c.do(201, "POST", "/api/v1/vips",
			fmt.Sprintf(`{"name": "v%d", "address": "10.0.1.%d", "protocol": "tcp", "port": %s}`, i, i+1, port))
		if got := r.at("port"); got != strings.Trim(port, `"`) {
			t.Errorf("port %s reads as %v", port, got)
		}
	}
}

func TestRefusedSpecs(t *testing.T) {
	const good = `"name": "x", "address": "10.0.0.7", "protocol": "tcp", "port": 80`
	many := strings.Repeat(`{"name": "b", "address": "10.0.0.1"},`, 30000)
	for name, tc := range map[string]struct {
		status int
		body   string
		errs   []string
	}{
		"not JSON":   {400, `{"name": `, []string{"body: unexpected EOF"}},
		"two values": {400, `{} {}`, []string{"body: something follows the JSON value"}},
		"empty":      {400, ` `, []string{"body: EOF"}},
		"a list":     {422, `[]`, []string{"body: want an object"}},
		"too large":  {413, `{"backends": [` + many + `]}`, nil},
		"nothing": {422, `{}`,
			[]string{"body.name: is required", "body.address: is required", "body.protocol: is required", "body.port: is required"}},
		"null is absent": {422, `{"name": null, "address": "10.0.0.7", "protocol": "tcp", "port": 80}`,
			[]string{"body.name: is required"}},
		"unknown field": {422, `{` + good + `, "prot": 1}`,
			[]string{"body.prot: unknown field; known are address, affinity, backends, drain_timeout, " +
				"gateways, handover, handover_idle, handover_rate, health, idle_timeout, mode, name, on_imbalance, port, protocol, reject, scheduler"}},
		"unknown in a backend": {422, `{` + good + `, "backends": [{"name": "b", "address": "10.0.0.1", "wieght": 2}]}`,
			[]string{"body.backends[0].wieght: unknown field; known are address, admin, capacity, name, port, weight"}},
		"names are case-sensitive": {422, `{` + good + `, "Scheduler": "x"}`, []string{"body.Scheduler: unknown field"}},
		"wrong types": {422, `{"name": 1, "address": [], "protocol": {}, "port": true, "backends": {}, "idle_timeout": 5, "affinity": "x"}`,
			[]string{
				"body.address: want text", "body.affinity: want an object", "body.backends: want a list", `body.idle_timeout: want text such as "30s"`,
				"body.name: want text", "body.port: want a number or text", "body.protocol: want text"}},
		"no number": {422, `{` + good + `, "backends": [{"name": "b", "address": "10.0.0.2", "capacity": "fast"}]}`,
			[]string{"body.backends[0].capacity: want a number"}},
		"null element": {422, `{` + good + `, "backends": [null]}`, []string{"body.backends[0]: want an object"}},
		"port of backend": {422, `{` + good + `, "backends": [{"name": "a", "address": "10.0.0.1"},
			{"name": "b", "address": "10.0.0.2", "port": 70000}]}`,
			[]string{"body.backends[1].port: want a whole number from 0 to 65535"}},
		"negative port": {422, `{` + good + `, "backends": [{"name": "b", "address": "10.0.0.2", "port": -1}]}`,
			[]string{"body.backends[0].port: want a whole number from 0 to 65535"}},
		"fraction": {422, `{` + good + `, "backends": [{"name": "b", "address": "10.0.0.2", "weight": 1.5}]}`,
			[]string{"body.backends[0].weight: want a whole number from 0 to 255"}},
		"no duration": {422, `{` + good + `, "drain_timeout": "5 minutes"}`,
			[]string{`body.drain_timeout: want a duration such as "30s" or "5m"`}},
		"huge duration": {422, `{` + good + `, "drain_timeout": "9999999999h"}`, []string{`body.drain_timeout: want a duration`}},
		"bad name":      {422, strings.Replace(`{`+good+`}`, `"x"`, `"X/../y"`, 1), []string{"body.name: want 1 to 63 of"}},
		"bad address": {422, strings.Replace(`{`+good+`}`, `10.0.0.7`, `10.0.0.700`, 1),
			[]string{"body.address: want an IP address"}},
		"port 0": {422, `{"name": "x", "address": "10.0.0.7", "protocol": "tcp", "port": 0}`,
			[]string{"body.port: want 1 to 65535"}},
		"port 80.5": {422, `{"name": "x", "address": "10.0.0.7", "protocol": "tcp", "port": 80.5}`,
			[]string{"body.port: want 1 to 65535"}},
		"port backwards": {422, `{"name": "x", "address": "10.0.0.7", "protocol": "tcp", "port": "9-8"}`,
			[]string{"body.port: want 1 to 65535"}},
		"protocol": {422, strings.Replace(`{`+good+`}`, `"tcp"`, `"sctp"`, 1), []string{"body.protocol: want one of tcp, udp"}},
		"two wrong values": {422, `{` + good + `, "mode": "nat", "scheduler": "best", "backends": [{"name": "b", "address": "::1"}]}`,
			[]string{"body.scheduler: want one of", "body.backends[0].address: "}},
		"no mode": {422, `{` + good + `, "mode": "magic"}`, []string{"body.mode: want one of"}},
		"gateways": {422, `{` + good + `, "mode": "nat", "gateways": ["0000000000000001"]}`,
			[]string{"body.gateways: means nothing in mode nat"}},
		"name taken": {409, strings.Replace(`{`+good+`}`, `"x"`, `"web"`, 1), nil},
		"overlap":    {409, strings.Replace(`{`+good+`}`, `10.0.0.7`, `10.0.0.100`, 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := withWeb(t)
			r := c.do(tc.status, "POST", "/api/v1/vips", tc.body)
			got := r.errs()
			if len(got) != len(tc.errs) {
				t.Fatalf("errors %q, want %q", got, tc.errs)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tc.errs[i]) {
					t.Errorf("error %q, want %q", got[i], tc.errs[i])
				}
			}
			if n := len(c.eng.VIPs()); n != 1 {
				t.Errorf("%d VIPs after a refusal, want 1", n)
			}
		})
	}
}

// Null is as good as left out, whatever the field's type.
func TestNullIsAbsent(t *testing.T) {
	c := withWeb(t)
	r := c.do(201, "POST", "/api/v1/vips", `{"name": "x", "address": "10.0.0.7", "protocol": "tcp", "port": 80, "mode": null, "scheduler": null,
		"idle_timeout": null, "drain_timeout": null, "reject": null, "on_imbalance": null, "gateways": null, "handover": null, "handover_idle": null,
		"affinity": {"timeout": null}, "health": {"type": "tcp", "interval": null, "timeout": null, "rise": null, "fall": null},
		"backends": [{"name": "b", "address": "10.0.0.1", "port": null, "weight": null, "capacity": null, "admin": null}]}`)
	if r.at("drain_timeout") != "5m0s" || r.at("health", "interval") != "2s" || r.at("backends", 0, "weight") != 1.0 {
		t.Errorf("defaults: %s", r.Body)
	}
}

func TestErrorValue(t *testing.T) {
	c := withWeb(t)
	r := c.do(422, "PATCH", "/api/v1/vips/web", `{"backends": [{"name": "b", "address": "10.0.0.1", "port": 70000}]}`)
	want := []any{map[string]any{"location": "body.backends[0].port", "message": "want a whole number from 0 to 65535", "value": 70000.0}}
	if diff := cmp.Diff(want, r.at("errors")); diff != "" {
		t.Error(diff)
	}
}

func TestPatchVIP(t *testing.T) {
	for name, tc := range map[string]struct {
		patch  string
		status int
		path   []any
		want   any
	}{
		"a field":              {`{"scheduler": "round-robin"}`, 200, []any{"scheduler"}, "round-robin"},
		"null is the default":  {`{"scheduler": null}`, 200, []any{"scheduler"}, "two-choices"},
		"a list is replaced":   {`{"backends": [{"name": "b9", "address": "10.0.0.9"}]}`, 200, []any{"backends", 0, "name"}, "b9"},
		"nothing":              {`{}`, 200, []any{"version"}, 1.0},
		"the same":             {`{"port": 80, "mode": "nat"}`, 200, []any{"version"}, 1.0},
		"part of an object":    {`{"health": {"type": "none"}}`, 200, []any{"health", "type"}, "none"},
		"unknown, though null": {`{"shceduler": null}`, 422, []any{"errors", 0, "location"}, "body.shceduler"},
		"required, but null":   {`{"address": null}`, 422, []any{"errors", 0, "location"}, "body.address"},
		"not valid":            {`{"scheduler": "best"}`, 422, []any{"errors", 0, "location"}, "body.scheduler"},
		"another name":         {`{"name": "other"}`, 409, []any{"status"}, 409.0},
		"another address":      {`{"address": "10.0.0.200"}`, 409, []any{"status"}, 409.0},
		"another port":         {`{"port": 81}`, 409, []any{"status"}, 409.0},
		"another mode":         {`{"mode": "group"}`, 409, []any{"status"}, 409.0},
	} {
		t.Run(name, func(t *testing.T) {
			c := withWeb(t)
			for _, ct := range []string{typeJSON, typePatch, "application/json; charset=utf-8"} {
				r := c.do(tc.status, "PATCH", "/api/v1/vips/web", tc.patch, "Content-Type", ct)
				if got := r.at(tc.path...); got != tc.want && tc.path[0] != "version" {
					t.Errorf("%v = %v, want %v", tc.path, got, tc.want)
				}
			}
			if tc.path[0] == "version" {
				if r := c.do(200, "GET", "/api/v1/vips/web", ""); r.at("version") != tc.want {
					t.Errorf("version %v, want %v", r.at("version"), tc.want)
				}
			}
		})
	}
	newClient(t, Config{}).do(404, "PATCH", "/api/v1/vips/none", `{}`)
}

// What was read can be written: what a read adds is passed over.
func TestWriteWhatWasRead(t *testing.T) {
	c := withWeb(t)
	const web, b1 = "/api/v1/vips/web", "/api/v1/vips/web/backends/b1"
	was := c.do(200, "GET", web, "")
	for _, method := range []string{"PUT", "PATCH"} {
		if r := c.do(200, method, web, was.Body.String(), "If-Match", was.Header().Get("ETag")); !cmp.Equal(r.json, was.json) {
			t.Errorf("%s: %s", method, cmp.Diff(was.json, r.json))
		}
		r := c.do(200, method, b1, c.do(200, "GET", b1, "").Body.String())
		if r.Header().Get("ETag") != was.Header().Get("ETag") {
			t.Errorf("%s of a backend: version %s", method, r.Header().Get("ETag"))
		}
	}
	r := c.do(200, "PUT", web, strings.Replace(was.Body.String(), "two-choices", "round-robin", 1))
	if r.at("scheduler") != "round-robin" || r.at("version") != 2.0 || r.at("origin") != "api" {
		t.Errorf("edited: %s", r.Body)
	}
}

func TestPutVIP(t *testing.T) {
	c := withWeb(t)
	r := c.do(200, "PUT", "/api/v1/vips/web", `{"address": "10.0.0.100", "protocol": "tcp", "port": 80, "scheduler": "source-hash"}`)
	if r.at("scheduler") != "source-hash" || len(r.at("backends").([]any)) != 0 || r.at("version") != 2.0 {
		t.Errorf("not replaced whole: %s", r.Body)
	}
	c.do(409, "PUT", "/api/v1/vips/web", `{"name": "other", "address": "10.0.0.100", "protocol": "tcp", "port": 80}`)
	c.do(422, "PUT", "/api/v1/vips/web", `{"scheduler": "source-hash"}`)
	made := c.do(201, "PUT", "/api/v1/vips/new", `{"address": "10.0.0.101", "protocol": "udp", "port": 53}`)
	if made.Header().Get("Location") != "/api/v1/vips/new" || made.at("name") != "new" {
		t.Errorf("created: %v %s", made.Header(), made.Body)
	}
	c.do(404, "PUT", "/api/v1/vips/newer", `{"address": "10.0.0.102", "protocol": "udp", "port": 53}`, "If-Match", "*")
	c.do(422, "PUT", "/api/v1/vips/BAD", `{"address": "10.0.0.102", "protocol": "udp", "port": 53}`)
	c.do(409, "PUT", "/api/v1/vips/newer", `{"address": "10.0.0.101", "protocol": "udp", "port": 53}`)
}

func TestDeleteVIP(t *testing.T) {
	c := withWeb(t)
	if r := c.do(204, "DELETE", "/api/v1/vips/web", ""); r.Body.Len() != 0 {
		t.Errorf("204 with a body: %s", r.Body)
	}
	c.do(404, "GET", "/api/v1/vips/web", "")
	c.do(404, "DELETE", "/api/v1/vips/web", "")
}

func TestWaitForDeletion(t *testing.T) {
	c := withWeb(t)
	c.do(204, "DELETE", "/api/v1/vips/web?wait=30s", "")
	c.do(201, "POST", "/api/v1/vips", webVIP)
	c.eng.late = true
	r := c.do(504, "DELETE", "/api/v1/vips/web?wait=1ms", "")
	if r.at("errors", 0, "value") != "0000000000000001" || !strings.Contains(r.at("detail").(string), "is deleted and stays so") {
		t.Errorf("not confirmed: %s", r.Body)
	}
	c.do(404, "GET", "/api/v1/vips/web", "")
}

func TestIfMatch(t *testing.T) {
	c := withWeb(t)
	c.do(200, "PATCH", "/api/v1/vips/web", `{"scheduler": "round-robin"}`, "If-Match", `"1"`)
	for _, tc := range []struct {
		tag    string
		status int
	}{{`"1"`, 412}, {`W/"2"`, 412}, {`2`, 412}, {`"x"`, 412}, {`"2"`, 200}, {`"7", "2"`, 200}, {`*`, 200}} {
		c.do(tc.status, "PATCH", "/api/v1/vips/web", `{"scheduler": "round-robin"}`, "If-Match", tc.tag)
		c.do(tc.status, "PATCH", "/api/v1/vips/web/backends/b1", `{"weight": 1}`, "If-Match", tc.tag)
	}
	c.do(412, "PUT", "/api/v1/vips/web", `{"address": "10.0.0.100", "protocol": "tcp", "port": 80}`, "If-Match", `"1"`)
	c.do(412, "DELETE", "/api/v1/vips/web", "", "If-Match", `"1"`)
	c.do(404, "DELETE", "/api/v1/vips/none", "", "If-Match", `"1"`)
	c.do(204, "DELETE", "/api/v1/vips/web", "", "If-Match", `"2"`)
}

// rivalEngine has someone else write first, after the request's If-Match was looked at.
type rivalEngine struct{ *fakeEngine }

func (e rivalEngine) rival(ctx context.Context, name string) {
	_, err := e.fakeEngine.UpdateVIP(ctx, name, apps.WriteOptions{}, func(s *vip.Spec) error { s.Scheduler = vip.SourceHash; return nil })
	if err != nil {
		panic(err)
	}
}

func (e rivalEngine) UpdateVIP(ctx context.Context, name string, opt apps.WriteOptions, m func(*vip.Spec) error) (vip.Read, error) {
	e.rival(ctx, name)
	return e.fakeEngine.UpdateVIP(ctx, name, opt, m)
}

func (e rivalEngine) DeleteVIP(ctx context.Context, name string, opt apps.WriteOptions) error {
	e.rival(ctx, name)
	return e.fakeEngine.DeleteVIP(ctx, name, opt)
}

func TestIfMatchRace(t *testing.T) {
	for method, body := range map[string]string{"PATCH": `{"drain_timeout": "1m"}`, "DELETE": ""} {
		c := withWeb(t)
		s, err := New(Config{Listen: "127.0.0.1:0"}, rivalEngine{c.eng})
		if err != nil {
			t.Fatal(err)
		}
		c.server = s
		c.do(412, method, "/api/v1/vips/web", body, "If-Match", `"1"`)
	}
}

func TestFileVIPs(t *testing.T) {
	c := withWeb(t)
	c.eng.vips["web"].Origin = vip.OriginFile
	c.do(409, "PATCH", "/api/v1/vips/web", `{"scheduler": "round-robin"}`)
	c.do(409, "DELETE", "/api/v1/vips/web/backends/b1", "")
	c.do(409, "PATCH", "/api/v1/vips/web?force=false", `{"scheduler": "round-robin"}`)
	c.do(200, "PATCH", "/api/v1/vips/web?force=true", `{"scheduler": "round-robin"}`)
	c.do(204, "DELETE", "/api/v1/vips/web?force=true", "")
}

func TestDryRun(t *testing.T) {
	c := withWeb(t)
	before := c.do(200, "GET", "/api/v1/vips", "").Body.String()
	dry := strings.NewReplacer("web", "dry", "0.100", "0.101").Replace(webVIP)
	if r := c.do(200, "POST", "/api/v1/vips?dry_run=true", dry); r.at("name") != "dry" {
		t.Errorf("a dry run answers %s", r.Body)
	}
	if r := c.do(200, "PATCH", "/api/v1/vips/web?dry_run=true", `{"scheduler": "round-robin"}`); r.at("scheduler") != "round-robin" {
		t.Errorf("a dry run answers %s", r.Body)
	}
	c.do(200, "POST", "/api/v1/vips/web/backends?dry_run=true", `{"name": "b3", "address": "10.0.0.3"}`)
	c.do(200, "PUT", "/api/v1/vips/dry?dry_run=true", `{"address": "10.0.0.101", "protocol": "udp", "port": 53}`)
	c.do(204, "DELETE", "/api/v1/vips/web?dry_run=true", "")
	c.do(409, "POST", "/api/v1/vips?dry_run=true", webVIP)
	// What looks like a dry run must not write.
	for _, q := range []string{"?dry_run", "?dry_run=", "?dryrun=true", "?dry_run=perhaps", "?dry_run=true&dry_run=false"} {
		c.do(422, "PATCH", "/api/v1/vips/web"+q, `{"scheduler": "source-hash"}`)
		c.do(422, "DELETE", "/api/v1/vips/web"+q, "")
	}
	if after := c.do(200, "GET", "/api/v1/vips", "").Body.String(); after != before {
		t.Errorf("a dry run wrote: %s, before %s", after, before)
	}
}

func TestWait(t *testing.T) {
	c := withWeb(t)
	if r := c.do(200, "PATCH", "/api/v1/vips/web?wait=30s", `{"scheduler": "round-robin"}`); r.at("version") != 2.0 {
		t.Errorf("confirmed: %s", r.Body)
	}
	for _, q := range []string{"?wait=soon", "?wait=-1s", "?wait=11m", "?wait"} {
		r := c.do(422, "PATCH", "/api/v1/vips/web"+q, `{"scheduler": "source-hash"}`)
		if got := r.at("errors", 0, "location"); got != "query.wait" {
			t.Errorf("%s: %s", q, r.Body)
		}
	}

	c.eng.late = true
	r := c.do(504, "PATCH", "/api/v1/vips/web?wait=1ms", `{"scheduler": "source-hash"}`)
	want := []any{map[string]any{"location": "status.applied", "message": "has confirmed version 2, not 3", "value": "0000000000000001"}}
	if diff := cmp.Diff(want, r.at("errors")); diff != "" {
		t.Error(diff)
	}
	detail := r.at("detail").(string)
	if !strings.Contains(detail, "version 3 is written and stays") || !strings.Contains(detail, "0000000000000001") {
		t.Errorf("detail: %s", detail)
	}
	if r.Header().Get("ETag") != `"3"` {
		t.Errorf("ETag %s", r.Header().Get("ETag"))
	}
	c.do(504, "POST", "/api/v1/vips?wait=1ms", strings.NewReplacer("web", "late", "0.100", "0.101").Replace(webVIP))
	c.do(200, "GET", "/api/v1/vips/late", "") // it is written
	c.do(504, "POST", "/api/v1/vips/web/backends?wait=1ms", `{"name": "b3", "address": "10.0.0.3"}`)
	c.do(200, "GET", "/api/v1/vips/web/backends/b3", "")

	c.eng.late, c.eng.refuses = false, "table full"
	r = c.do(502, "PATCH", "/api/v1/vips/web?wait=30s", `{"scheduler": "two-choices"}`)
	if detail := r.at("errors", 0, "message").(string); !strings.HasSuffix(detail, ": table full") {
		t.Errorf("refused: %s", r.Body)
	}
}

func TestConcurrentPatches(t *testing.T) {
	c := withWeb(t)
	const n = 40
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := fmt.Sprintf("c%d", i)
			if w := c.raw("POST", "/api/v1/vips/web/backends", fmt.Sprintf(`{"name": %q, "address": "10.0.2.%d"}`, name, i)); w.Code != 201 {
				t.Errorf("POST %s: %d: %s", name, w.Code, w.Body)
			}
			if w := c.raw("PATCH", "/api/v1/vips/web/backends/"+name, fmt.Sprintf(`{"weight": %d}`, i)); w.Code != 200 {
				t.Errorf("PATCH %s: %d: %s", name, w.Code, w.Body)
			}
		})
	}
	wg.Wait()
	r, err := c.eng.VIP("web")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		j := slices.IndexFunc(r.Spec.Backends, func(b vip.BackendSpec) bool { return b.Name == fmt.Sprintf("c%d", i) })
		if j < 0 || *r.Spec.Backends[j].Weight != i {
			t.Errorf("backend c%d is lost or has lost its weight", i)
		}
	}
	// One backend is made with weight 1, which is a PATCH that changes nothing.
	if want := uint64(1 + 2*n - 1); r.Version != want {
		t.Errorf("version %d, want %d", r.Version, want)
	}
}

func TestConnections(t *testing.T) {
	c := withWeb(t)
	r := c.do(http.StatusOK, "GET", "/api/v1/vips/web/connections", "")
	want := map[string]any{"items": []any{map[string]any{"client": "10.0.0.9:40000", "vip_port": 80.0, "backend": "b1",
		"dpid": "0000000000000001", "since": "2026-01-02T03:04:05Z"}}}
	if diff := cmp.Diff(want, r.json); diff != "" {
		t.Error(diff)
	}
	c.do(404, "GET", "/api/v1/vips/none/connections", "")
}
