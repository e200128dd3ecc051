package web

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps/vip"
)

func TestMetrics(t *testing.T) {
	c := newClient(t, Config{Version: "1.2.3"})
	c.do(201, "POST", "/api/v1/vips", webVIP)
	c.do(200, "PATCH", "/api/v1/vips/web/backends/b2", `{"admin": "disabled"}`)
	c.do(404, "GET", "/api/v1/vips/no-such-name", "")
	c.do(404, "GET", "/somewhere/else", "")
	want := `# TYPE evenflow_agent_changes_total counter
evenflow_agent_changes_total{host="10.0.0.1"} 9
evenflow_agent_changes_total{host="10.0.0.2"} 0
# TYPE evenflow_agent_connected gauge
evenflow_agent_connected{host="10.0.0.1"} 1
evenflow_agent_connected{host="10.0.0.2"} 0
# TYPE evenflow_agent_dumps_total counter
evenflow_agent_dumps_total{host="10.0.0.1"} 1
evenflow_agent_dumps_total{host="10.0.0.2"} 0
# TYPE evenflow_agent_states gauge
evenflow_agent_states{host="10.0.0.1",protocol="tcp"} 3
evenflow_agent_states{host="10.0.0.1",protocol="udp"} 2
evenflow_agent_states{host="10.0.0.2",protocol="tcp"} 0
# TYPE evenflow_backend_up gauge
evenflow_backend_up{backend="b1",vip="web"} 1
evenflow_backend_up{backend="b2",vip="web"} 0
# TYPE evenflow_dropped_packets_total counter
evenflow_dropped_packets_total{dpid="0000000000000001",reason="marker from an edge"} 3
# TYPE evenflow_flow_mods_total counter
evenflow_flow_mods_total{dpid="0000000000000001"} 9
evenflow_flow_mods_total{dpid="0000000000000002"} 0
# TYPE evenflow_health_probes_answered_total counter
evenflow_health_probes_answered_total{type="tcp"} 7
# TYPE evenflow_health_probes_failed_total counter
evenflow_health_probes_failed_total{reason="timeout",type="tcp"} 2
# TYPE evenflow_health_probes_sent_total counter
evenflow_health_probes_sent_total{type="tcp"} 10
# TYPE evenflow_health_targets gauge
evenflow_health_targets{state="down",type="tcp"} 1
evenflow_health_targets{state="suspended",type="tcp"} 0
evenflow_health_targets{state="up",type="tcp"} 3
# TYPE evenflow_http_requests_total counter
evenflow_http_requests_total{code="200",method="PATCH",route="/api/v1/vips/:vip/backends/:backend"} 1
evenflow_http_requests_total{code="201",method="POST",route="/api/v1/vips"} 1
evenflow_http_requests_total{code="404",method="GET",route="/api/v1/vips/:vip"} 1
evenflow_http_requests_total{code="404",method="GET",route="none"} 1
# TYPE evenflow_load_effect_size gauge
evenflow_load_effect_size{kind="vip",name="web"} 0.5
# TYPE evenflow_load_f gauge
evenflow_load_f{kind="vip",name="web"} 19.25
# TYPE evenflow_load_p gauge
evenflow_load_p{kind="vip",name="web"} 8e-07
# TYPE evenflow_load_streak gauge
evenflow_load_streak{kind="vip",name="web"} 3
# TYPE evenflow_load_verdict gauge
evenflow_load_verdict{kind="vip",name="web",verdict="balanced"} 0
evenflow_load_verdict{kind="vip",name="web",verdict="imbalanced"} 1
evenflow_load_verdict{kind="vip",name="web",verdict="undecided"} 0
# TYPE evenflow_modifications_total counter
evenflow_modifications_total{dpid="0000000000000001"} 5
evenflow_modifications_total{dpid="0000000000000002"} 0
# TYPE evenflow_packet_ins_dropped_total counter
evenflow_packet_ins_dropped_total{dpid="0000000000000001"} 1
evenflow_packet_ins_dropped_total{dpid="0000000000000002"} 0
# TYPE evenflow_packet_ins_total counter
evenflow_packet_ins_total{dpid="0000000000000001"} 7
evenflow_packet_ins_total{dpid="0000000000000002"} 0
# TYPE evenflow_refused_total counter
evenflow_refused_total{part="nat",reason="closed port"} 7
# TYPE evenflow_switch_ready gauge
evenflow_switch_ready{dpid="0000000000000001"} 1
evenflow_switch_ready{dpid="0000000000000002"} 0
# TYPE evenflow_switch_rules gauge
evenflow_switch_rules{dpid="0000000000000001"} 42
evenflow_switch_rules{dpid="0000000000000002"} 0
# TYPE evenflow_switches_connected gauge
evenflow_switches_connected 1
# TYPE evenflow_vip_connections gauge
evenflow_vip_connections{backend="b1",vip="web"} 12
# TYPE evenflow_vip_new_connections_total counter
evenflow_vip_new_connections_total{backend="b1",vip="web"} 340
evenflow_vip_new_connections_total{backend="b2",vip="web"} 340
# TYPE evenflow_vip_phase gauge
evenflow_vip_phase{phase="degraded",vip="web"} 0
evenflow_vip_phase{phase="down",vip="web"} 0
evenflow_vip_phase{phase="pending",vip="web"} 0
evenflow_vip_phase{phase="up",vip="web"} 1
`
	text := c.raw("GET", "/metrics", "").Body.String()
	var got strings.Builder
	for line := range strings.Lines(text) {
		name := strings.TrimPrefix(line, "# TYPE ")
		if strings.HasPrefix(name, "evenflow_") && !strings.Contains(name, "_duration_seconds") && !strings.Contains(name, "_build_info") {
			got.WriteString(line)
		}
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{`evenflow_build_info{go_version="go`, `version="1.2.3"} 1`, "go_goroutines ", "process_open_fds ",
		`evenflow_http_request_duration_seconds_count{method="POST",route="/api/v1/vips"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// Two VIPs that a scrape sees in the midst of a change must not fail the scrape.
func TestMetricsOfNothing(t *testing.T) {
	c := newClient(t, Config{})
	c.eng.vips["bare"] = &vip.VIP{Spec: vip.Spec{Name: "bare"}}
	if w := c.raw("GET", "/metrics", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `evenflow_vip_phase{phase="up",vip="bare"} 1`) {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}

// A VIP of mode othello tells how its last change went.
func TestMetricsOfOthello(t *testing.T) {
	c := newClient(t, Config{})
	c.do(201, "POST", "/api/v1/vips", strings.Replace(webVIP, `"nat"`, `"othello"`, 1))
	body := c.raw("GET", "/metrics", "").Body.String()
	for _, want := range []string{"generation", "generations", "pins", "cells", "settle_seconds"} {
		value := map[string]string{"generation": "5", "generations": "2", "pins": "1200", "cells": "3360", "settle_seconds": "0.412"}[want]
		if line := "\nevenflow_vip_" + want + `{vip="web"} ` + value + "\n"; !strings.Contains(body, line) {
			t.Errorf("no line %q", line)
		}
	}
}
