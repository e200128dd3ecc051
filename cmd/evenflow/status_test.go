package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestStatusWell(t *testing.T) {
	f := newFakeAPI(t, reads())
	f.answers["GET /api/v1/vips"] = answer{body: `{"items":[{"name":"web","status":{"phase":"up","reason":"a skew","backends":[{"name":"b1","state":"up"},{"name":"b2","state":"draining"}]}}]}`}
	f.answers["GET /api/v1/switches"] = answer{body: `{"items":[{"dpid":"0000000000000001","connected":true,"ready":true,"warnings":["no Nicira extensions"],"drops":[{"reason":"marker","packets":0}]}]}`}
	result{0, `controller  ` + f.URL + `, ready
switches    1 connected, 1 ready, 1 known
  - 0000000000000001 no Nicira extensions
links       1
hosts       1 live, 1 silent
vips        1 up, 1 declared
  - web up: a skew
  - loads of web imbalanced since 2026-05-01T11:59:00Z: 50 % from its fair share, p 8e-07, b1

all is well
`, ""}.check(t, command(t, f.URL, "", "status"))
}

func TestStatusNotWell(t *testing.T) {
	f := newFakeAPI(t, reads())
	f.answers["GET /readyz"] = answer{503, `{"detail":"not ready: not listening yet"}`}
	result{1, `controller  ` + f.URL + `, not ready
  ! not ready: not listening yet
switches    1 connected, 1 ready, 2 known
  ! 0000000000000002 away for 60s: echo timed out?[31m
  - 0000000000000002 no Nicira extensions
links       1
hosts       1 live, 1 silent
vips        0 up, 2 declared
  ! web degraded: 1 of 2 backends up: 1 down
  ! dns down: no backends
  - web/b2 down: port 3 of switch 0000000000000002 is down
  - loads of web imbalanced since 2026-05-01T11:59:00Z: 50 % from its fair share, p 8e-07, b1
dropped     7 packets
  - 0000000000000001 VIP source at an edge: 5
  - 0000000000000002 VIP source at an edge: 2

4 problems
`, ""}.check(t, command(t, f.URL, "", "status"))
}

// One cause is one line, whatever it befalls.
func TestStatusOneLinePerCause(t *testing.T) {
	f := newFakeAPI(t, reads())
	var items []string
	for i := range 7 {
		items = append(items, fmt.Sprintf(`{"name":"v%d","status":{"phase":"down","reason":"no switch","backends":[{"name":"b","state":"unknown","reason":"not heard"}]}}`, i))
	}
	items = append(items, `{"name":"web","status":{"phase":"pending","reason":"no switch"}}`)
	f.answers["GET /api/v1/vips"] = answer{body: `{"items":[` + strings.Join(items, ",") + `]}`}
	const want = `
vips        0 up, 8 declared
  ! v0, v1, v2, v3, v4 and 2 more down: no switch
  ! web pending: no switch
  - v0/b, v1/b, v2/b, v3/b, v4/b and 2 more unknown: not heard
`
	if got := command(t, f.URL, "", "status"); !strings.Contains(got.out, want) {
		t.Errorf("got %s\nwant%s", got.out, want)
	}
}

// Each of these alone must turn the exit code.
func TestStatusTurnsOn(t *testing.T) {
	well := func() map[string]answer {
		a := reads()
		a["GET /api/v1/vips"] = answer{body: `{"items":[]}`}
		a["GET /api/v1/switches"] = answer{body: `{"items":[{"dpid":"0000000000000001","connected":true,"ready":true}]}`}
		return a
	}
	if got := command(t, newFakeAPI(t, well()).URL, "", "status"); got.code != 0 {
		t.Fatalf("not well to begin with: %+v", got)
	}
	tests := map[string]struct {
		path   string
		answer answer
		want   string
	}{
		"no switch": {"/api/v1/switches", answer{body: `{"items":[]}`}, "! no switch has connected"},
		"switch not ready": {"/api/v1/switches", answer{body: `{"items":[{"dpid":"0000000000000001","connected":true}]}`},
			"! 0000000000000001 does not hold its rules yet"},
		"switch refuses": {"/api/v1/switches", answer{body: `{"items":[{"dpid":"0000000000000001","connected":true,"ready":true,"error":"table full"}]}`},
			"! 0000000000000001 ready: table full"},
		"something to mend": {"/api/v1/switches", answer{body: `{"items":[{"dpid":"0000000000000001","connected":true,"ready":true,"problems":["its fail_mode is not secure"]}]}`},
			"! 0000000000000001 its fail_mode is not secure"},
		"pending": {"/api/v1/vips", answer{body: `{"items":[{"name":"web","status":{"phase":"pending","reason":"not confirmed"}}]}`}, "! web pending: not confirmed"},
		"ready":   {"/readyz", answer{503, `{"detail":"loading"}`}, "! loading"},
	}
	for name, tt := range tests {
		a := well()
		a["GET "+tt.path] = tt.answer
		got := command(t, newFakeAPI(t, a).URL, "", "status")
		if got.code != 1 || !strings.Contains(got.out, tt.want) || !strings.HasSuffix(got.out, "\n1 problem\n") || got.err != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	a := well()
	a["GET /api/v1/hosts"] = answer{401, `{"detail":"want a token"}`}
	result{1, "", "evenflow: /hosts: want a token\n"}.check(t, command(t, newFakeAPI(t, a).URL, "", "status"))
}
