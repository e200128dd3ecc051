package web

import "testing"

func TestExplain(t *testing.T) {
	c := newClient(t, Config{})
	const path = "/api/v1/explain"
	for query, want := range map[string]string{
		"?src=10.0.0.9:40000&dst=10.0.0.100:80":             "{6 10.0.0.9:40000 10.0.0.100:80}",
		"?src=[fd00::9]:40000&dst=[fd00::100]:80&proto=udp": "{17 [fd00::9]:40000 [fd00::100]:80}",
		"?src=[::ffff:10.0.0.9]:1&dst=10.0.0.100:80":        "{6 10.0.0.9:1 10.0.0.100:80}",
	} {
		if r := c.do(200, "GET", path+query, ""); r.at("backend") != want || r.at("dpid") != "" || r.at("switches") == nil {
			t.Errorf("%s: %s", query, r.Body)
		}
	}
	c.do(404, "GET", path+"?src=10.0.0.9:40000&dst=10.0.0.100:81", "")
	for query, location := range map[string]string{
		"?dst=10.0.0.100:80":                               "query.src",
		"?src=10.0.0.9&dst=10.0.0.100:80":                  "query.src",
		"?src=10.0.0.9:1&dst=web:80":                       "query.dst",
		"?src=[fe80::1%25eth0]:1&dst=[fd00::100]:80":       "query.src",
		"?src=[fd00::9]:1&dst=10.0.0.100:80":               "query.src",
		"?src=10.0.0.9:1&dst=10.0.0.100:80&proto=sctp":     "query.proto",
		"?src=10.0.0.9:1&dst=10.0.0.100:80&protocol=query": "query.protocol",
	} {
		if r := c.do(422, "GET", path+query, ""); r.at("errors", 0, "location") != location {
			t.Errorf("%s: %s", query, r.Body)
		}
	}
}
