package web

import (
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps"
)

func TestReportsOfAgents(t *testing.T) {
	c := newClient(t, Config{})
	good := `{"protocol": "tcp", "client": "10.0.0.9:40000", "local": "10.0.0.1:8080"}`
	r := c.do(200, "POST", "/api/v1/agents/10.0.0.1/states", `{"after": 7, "states": [`+good+`, {"protocol": "udp", "client": "10.0.0.9:1", "local": "10.0.0.1:53"}]}`)
	if r.at("after") != 1.0 {
		t.Errorf("%s", r.Body)
	}
	got := c.eng.reports[0]
	if got.After != 7 || len(got.States) != 2 || got.States[0].Proto != apps.ProtoTCP || got.States[1].Proto != apps.ProtoUDP ||
		got.States[0].Client.String() != "10.0.0.9:40000" || got.States[0].Local.String() != "10.0.0.1:8080" {
		t.Errorf("%+v", got)
	}
	c.do(200, "POST", "/api/v1/agents/10.0.0.1/states", `{"states": []}`)
	for body, where := range map[string]string{
		`{"states": [` + strings.Replace(good, "tcp", "sctp", 1) + `]}`:                  "protocol",
		`{"states": [` + good + `, ` + strings.Replace(good, ":40000", "", 1) + `]}`:     "body.states[1].client",
		`{"states": [` + strings.Replace(good, "10.0.0.1:8080", "localhost:1", 1) + `]}`: "body.states[0].local",
		`{}`: "states",
	} {
		if r := c.do(422, "POST", "/api/v1/agents/10.0.0.1/states", body); !strings.Contains(r.Body.String(), where) {
			t.Errorf("%s: %s, want %s named", body, r.Body, where)
		}
	}
	c.do(422, "POST", "/api/v1/agents/web/states", `{"states": []}`)
	c.do(404, "POST", "/api/v1/agents/10.0.0.2/states", `{"states": []}`)
}
