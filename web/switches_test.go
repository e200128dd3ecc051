package web

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
)

func TestSwitches(t *testing.T) {
	c := newClient(t, Config{})
	const one = "/api/v1/switches/0000000000000001"
	list := c.do(200, "GET", "/api/v1/switches", "")
	if list.at("items", 0, "dpid") != "0000000000000001" || list.at("items", 1, "connected") != false {
		t.Errorf("list: %s", list.Body)
	}
	for _, none := range []string{"problems", "warnings"} {
		if v, ok := list.at("items", 0, none).([]any); !ok || len(v) != 0 {
			t.Errorf("no %s are %v, want []", none, list.at("items", 0, none))
		}
	}
	if r := c.do(200, "GET", one, ""); !cmp.Equal(r.json, list.at("items", 0)) {
		t.Errorf("one: %s", r.Body)
	}
	ports := c.do(200, "GET", one+"/ports", "")
	if ports.at("items", 0, "name") != "s1-eth1" {
		t.Errorf("ports: %s", ports.Body)
	}
	wantFlows := []any{
		map[string]any{"about": "the way in", "table": 30.0, "priority": 100.0, "text": "cookie=0xef01030000000001, table=30, idle_timeout=60, " +
			"priority=100,ip,nw_dst=10.0.0.100 actions=resubmit(,40)",
			"table_name": "vip", "match": "ip,nw_dst=10.0.0.100", "actions": "resubmit(,40)", "packets": 5.0, "bytes": 500.0, "cookie": "0xef01030000000001",
			"kind": "desired", "class": "nat", "idle_timeout": 60.0, "hard_timeout": 0.0, "duration": 9.0},
		map[string]any{"about": "", "table": 0.0, "priority": 0.0, "text": "cookie=0x2a, priority=0 actions=drop",
			"table_name": "classify", "match": "", "actions": "drop", "packets": 0.0, "bytes": 0.0, "cookie": "0x2a", "kind": "foreign", "class": "",
			"idle_timeout": 0.0, "hard_timeout": 0.0, "duration": 0.0},
	}
	if diff := cmp.Diff(wantFlows, c.do(200, "GET", one+"/flows", "").at("items")); diff != "" {
		t.Error(diff)
	}
	groups := c.do(200, "GET", one+"/groups", "")
	wantBuckets := []any{map[string]any{"bucket_id": 256.0, "weight": 1.0, "actions": "output:2", "packets": 8.0, "bytes": 80.0}}
	if groups.at("items", 0, "group_id") != 7.0 || groups.at("items", 0, "about") != "group 7" || groups.at("items", 0, "type") != "select" ||
		groups.at("items", 0, "bytes") != 80.0 ||
		groups.at("items", 1, "packets") != nil || !cmp.Equal(groups.at("items", 0, "buckets"), any(wantBuckets)) {
		t.Errorf("groups: %s", groups.Body)
	}
	wantMeters := []any{map[string]any{"meter_id": 1.0, "rate": 100.0, "burst": 10.0,
		"text": "meter=1 pktps burst bands=type=drop rate=100 burst_size=10", "name": "LLDP", "packets": 30.0, "dropped": 3.0}}
	if diff := cmp.Diff(wantMeters, c.do(200, "GET", one+"/meters", "").at("items")); diff != "" {
		t.Error(diff)
	}
}

func TestSwitchErrors(t *testing.T) {
	c := newClient(t, Config{})
	for _, what := range []string{"", "/ports", "/flows", "/groups", "/meters"} {
		c.do(404, "GET", "/api/v1/switches/00000000000000ff"+what, "")
		for _, bad := range []string{"1", "000000000000000g", "0x00000000000001", "00000000000000001"} {
			r := c.do(422, "GET", "/api/v1/switches/"+bad+what, "")
			if r.at("errors", 0, "location") != "path.dpid" {
				t.Errorf("dpid %s: %s", bad, r.Body)
			}
		}
	}
	for _, tc := range []struct {
		err    error
		status int
	}{
		{fmt.Errorf("switch 1: %w", apps.ErrClosed), 503},
		{fmt.Errorf("switch 1: %w", apps.ErrRefused), 502},
		{errors.New("switch 1: no answer"), 502},
		{fmt.Errorf("switch 1: %w", t.Context().Err()), 502},
	} {
		for _, what := range []string{"/flows", "/groups", "/meters"} {
			c.eng.readErr = nil
			c.do(503, "GET", "/api/v1/switches/0000000000000002"+what, "") // known, but away
			c.eng.readErr = tc.err
			c.do(tc.status, "GET", "/api/v1/switches/0000000000000001"+what, "")
		}
	}
}

func TestHistory(t *testing.T) {
	c := newClient(t, Config{})
	const one = "/api/v1/switches/0000000000000001"
	r := c.do(200, "GET", one+"/ports/1/history?seconds=3", "")
	if r.at("port_no") != 1.0 || r.at("end") != "2026-01-02T03:04:05Z" || !cmp.Equal(r.at("rx_bps"), any([]any{nil, 1.235e9, 1.235e9})) {
		t.Errorf("history: %s", r.Body)
	}
	if r := c.do(200, "GET", one+"/history", ""); len(r.at("items", 0, "tx_pps").([]any)) != 900 {
		t.Errorf("histories: %s", r.Body)
	}
	c.do(404, "GET", one+"/ports/2/history", "")
	if r := c.do(200, "GET", "/api/v1/history?seconds=2", ""); !cmp.Equal(r.at("new_connections"), any([]any{2.0, 2.0})) {
		t.Errorf("of all: %s", r.Body)
	}
	c.do(404, "GET", "/api/v1/vips/nix/history", "")
	if r := withWeb(t).do(200, "GET", "/api/v1/vips/web/history?seconds=2", ""); !cmp.Equal(r.at("backends", 1, "new_connections"), any([]any{7.5, 7.5})) {
		t.Errorf("of a VIP: %s", r.Body)
	}
	c.do(404, "GET", "/api/v1/switches/00000000000000ff/history", "")
	for _, bad := range []string{"/history?seconds=0", "/history?seconds=901", "/ports/0/history", "/ports/x/history"} {
		c.do(422, "GET", one+bad, "")
	}
}

func TestTopology(t *testing.T) {
	c := newClient(t, Config{})
	links, hosts := c.do(200, "GET", "/api/v1/links", ""), c.do(200, "GET", "/api/v1/hosts", "")
	wantLinks := []any{map[string]any{"a": map[string]any{"dpid": "0000000000000001", "port_no": 2.0},
		"b": map[string]any{"dpid": "0000000000000002", "port_no": 10.0}}}
	if diff := cmp.Diff(wantLinks, links.at("items")); diff != "" {
		t.Error(diff)
	}
	wantHosts := []any{
		map[string]any{"mac": "02:00:00:00:00:09", "addresses": []any{"10.0.0.9"}, "dpid": "0000000000000001", "port_no": 1.0, "live": true},
		map[string]any{"mac": "02:00:00:00:00:08", "addresses": []any{}, "dpid": "0000000000000001", "port_no": 3.0, "live": false}}
	if diff := cmp.Diff(wantHosts, hosts.at("items")); diff != "" {
		t.Error(diff)
	}
	whole := c.do(200, "GET", "/api/v1/topology", "")
	if !cmp.Equal(whole.at("links"), links.at("items")) || !cmp.Equal(whole.at("hosts"), hosts.at("items")) ||
		!cmp.Equal(whole.at("switches"), c.do(200, "GET", "/api/v1/switches", "").at("items")) {
		t.Errorf("topology: %s", whole.Body)
	}
}
