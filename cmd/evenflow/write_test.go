package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrites(t *testing.T) {
	f := newFakeAPI(t, map[string]answer{
		"POST /api/v1/vips":                      {201, webRead},
		"PATCH /api/v1/vips/web":                 {200, strings.Replace(webRead, `"version":7,"origin"`, `"version":8,"origin"`, 1)},
		"DELETE /api/v1/vips/web":                {204, ""},
		"POST /api/v1/vips/web/backends":         {201, "{}"},
		"PATCH /api/v1/vips/web/backends/b1":     {200, "{}"},
		"DELETE /api/v1/vips/web/backends/b%2F1": {204, ""},
	})
	const json, patch = " application/json ", " application/merge-patch+json "
	tests := []struct{ args, out, sent string }{
		{"vip create web --address 10.0.0.100 --port 80", "vip web created: 10.0.0.100:80/tcp, version 7",
			"POST /api/v1/vips" + json + `{"name":"web","address":"10.0.0.100","protocol":"tcp","port":"80","backends":[]}`},
		{"vip create web --address 10.0.0.100 --port 80-90 --protocol udp --mode nat --scheduler source-hash --idle-timeout 30s --drain-timeout 1m " +
			"--backend b1=10.0.0.1:8080,weight=0 --backend b2=10.0.0.2 --wait 30s", "vip web created: 10.0.0.100:80/tcp, version 7",
			"POST /api/v1/vips?wait=30s" + json + `{"name":"web","address":"10.0.0.100","protocol":"udp","port":"80-90","mode":"nat",` +
				`"scheduler":"source-hash","idle_timeout":"30s","drain_timeout":"1m0s","backends":[` +
				`{"name":"b1","address":"10.0.0.1","port":8080,"weight":0},{"name":"b2","address":"10.0.0.2"}]}`},
		{"vip create web --address 10.0.0.100 --port 80 --health tcp --health-interval 5s --health-rise 1", "vip web created: 10.0.0.100:80/tcp, version 7",
			"POST /api/v1/vips" + json + `{"name":"web","address":"10.0.0.100","protocol":"tcp","port":"80",` +
				`"health":{"type":"tcp","interval":"5s","rise":1},"backends":[]}`},
		{"vip create web --address 10.0.0.100 --port 80 --dry-run", "vip web would be created: 10.0.0.100:80/tcp, version 7",
			"POST /api/v1/vips?dry_run=true" + json + `{"name":"web","address":"10.0.0.100","protocol":"tcp","port":"80","backends":[]}`},
		{"vip create web --address 10.0.0.100 --port 80 --mode deferred --gateways 1,2 --handover 8 --handover-idle 10m --affinity 0",
			"vip web created: 10.0.0.100:80/tcp, version 7", "POST /api/v1/vips" + json + `{"name":"web","address":"10.0.0.100","protocol":"tcp",` +
				`"port":"80","mode":"deferred","gateways":["1","2"],"handover":8,"handover_idle":"10m0s","backends":[]}`},
		{"vip set web --health tcp --health-fall 4 --affinity 30s --idle-timeout 0 --wait 2s", "vip web changed, version 8",
			"PATCH /api/v1/vips/web?wait=2s" + patch + `{"affinity":{"timeout":"30s"},"health":{"fall":4,"type":"tcp"},"idle_timeout":"0s"}`},
		{"vip set web --affinity 0 --gateways= --force", "vip web changed, version 8",
			"PATCH /api/v1/vips/web?force=true" + patch + `{"affinity":null,"gateways":null}`},
		{"vip delete web --force --wait 1s", "vip web deleted", "DELETE /api/v1/vips/web?force=true&wait=1s"},
		{"backend add web b1 --address 10.0.0.1 --port 8080 --weight 0", "backend b1 of vip web added",
			"POST /api/v1/vips/web/backends" + json + `{"name":"b1","address":"10.0.0.1","port":8080,"weight":0,"admin":"enabled"}`},
		{"backend add web b1=10.0.0.1:8080,weight=2 --wait 3", "backend b1 of vip web added",
			"POST /api/v1/vips/web/backends?wait=3s" + json + `{"name":"b1","address":"10.0.0.1","port":8080,"weight":2,"admin":"enabled"}`},
		{"backend set web b1 --weight 0", "backend b1 of vip web changed", "PATCH /api/v1/vips/web/backends/b1" + patch + `{"weight":0}`},
		{"backend set web b1 --port 0 --admin disabled --address 10.0.0.2", "backend b1 of vip web changed",
			"PATCH /api/v1/vips/web/backends/b1" + patch + `{"address":"10.0.0.2","admin":"disabled","port":0}`},
		{"backend drain web b1 --dry-run", "backend b1 of vip web would be set to drain",
			"PATCH /api/v1/vips/web/backends/b1?dry_run=true" + patch + `{"admin":"draining"}`},
		{"backend remove web b/1", "backend b/1 of vip web removed", "DELETE /api/v1/vips/web/backends/b%2F1"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			f.requests = nil
			result{0, tt.out + "\n", ""}.check(t, command(t, f.URL, "", strings.Fields(tt.args)...))
			if got := f.writes(); got != tt.sent {
				t.Errorf("sent %s\nwant %s", got, tt.sent)
			}
		})
	}
}

const declared = `vips:
- {name: web, address: 10.0.0.100, protocol: tcp, port: 80}
- {name: new, address: 10.0.0.101, protocol: tcp, port: 80, backends: [{name: b1, address: 10.0.0.1}]}
`

// The server holds web (version 7), dns (of its configuration file), old, and taken, which has the address of new.
func applyAPI(t *testing.T) *fakeAPI {
	other := func(name, address string) string {
		return `{"name":"` + name + `","address":"` + address + `","protocol":"tcp","port":"80","version":1,"origin":"api","backends":[]}`
	}
	return newFakeAPI(t, map[string]answer{
		"GET /api/v1/vips": {body: `{"items":[` + webRead + `,` + dnsRead + `,` + other("old", "10.0.0.102") + `,` +
			other("taken", "10.0.0.101") + `]}`},
		"PUT /api/v1/vips/web":      {200, strings.Replace(webRead, `"version":7,"origin"`, `"version":8,"origin"`, 1)},
		"PUT /api/v1/vips/new":      {201, `{"name":"new","version":1}`},
		"DELETE /api/v1/vips/old":   {204, ""},
		"DELETE /api/v1/vips/taken": {204, ""},
		"DELETE /api/v1/vips/dns":   {204, ""},
	})
}

const (
	putWeb = `PUT /api/v1/vips/web application/json {"name":"web","address":"10.0.0.100","protocol":"tcp","port":"80","backends":null}`
	putNew = `PUT /api/v1/vips/new application/json {"name":"new","address":"10.0.0.101","protocol":"tcp","port":"80","backends":[{"name":"b1","address":"10.0.0.1"}]}`
)

func TestApply(t *testing.T) {
	tests := []struct{ name, args, out, sent string }{
		{"create and change", "", "vip web changed, version 8\nvip new created\n", putWeb + "\n" + putNew},
		{"dry run", "--dry-run", "vip web would be changed, version 8\nvip new would be created\n",
			strings.NewReplacer("/web app", "/web?dry_run=true app", "/new app", "/new?dry_run=true app").Replace(putWeb + "\n" + putNew)},
		{"prune", "--prune", // what is in the way goes first, the rest when all is well
			"vip dns kept: the server's configuration file declares it\nvip taken deleted\nvip web changed, version 8\nvip new created\nvip old deleted\n",
			"DELETE /api/v1/vips/taken\n" + putWeb + "\n" + putNew + "\nDELETE /api/v1/vips/old"},
		{"wait", "--wait 30s", "vip web changed, version 8\nvip new created\n",
			strings.NewReplacer("/web app", "/web?wait=30s app", "/new app", "/new?wait=30s app").Replace(putWeb + "\n" + putNew)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := applyAPI(t)
			result{0, tt.out, ""}.check(t, command(t, f.URL, declared, append([]string{"apply", "-f", "-"}, strings.Fields(tt.args)...)...))
			if got := f.writes(); got != tt.sent {
				t.Errorf("sent\n%s\nwant\n%s", got, tt.sent)
			}
		})
	}
}

func TestApplyUnchanged(t *testing.T) {
	f := applyAPI(t)
	f.answers["PUT /api/v1/vips/web"] = answer{200, webRead}
	result{0, "vip web unchanged\n", ""}.check(t, command(t, f.URL, "{name: web, address: 10.0.0.100, protocol: tcp, port: 80}", "apply", "-f", "-"))
}

// What get prints can be applied.
func TestApplyWhatWasRead(t *testing.T) {
	f := applyAPI(t)
	f.answers["PUT /api/v1/vips/web"], f.answers["PUT /api/v1/vips/dns"] = answer{200, webRead}, answer{200, dnsRead}
	for _, args := range []string{"get vip web -o yaml", "get vip web -o json", "get vips -o yaml", "get vips -o json"} {
		reader := newFakeAPI(t, reads())
		text := command(t, reader.URL, "", strings.Fields(args)...)
		want := "vip web unchanged\n"
		if strings.Contains(args, "vips") {
			want += "vip dns unchanged\n"
		}
		result{0, want, ""}.check(t, command(t, f.URL, text.out, "apply", "-f", "-"))
	}
}

// The server's word for a VIP begins with its name as often as not; it is said once.
func TestApplyNamesOnce(t *testing.T) {
	for detail, want := range map[string]string{
		`{"detail":"VIP \"web\": declared in the configuration file"}`:              `VIP "web": declared in the configuration file`,
		`{"detail":"vip \"web\": mode is group and fixed for life, not to be nat"}`: `vip "web": mode is group and fixed for life, not to be nat`,
		`{"detail":"conflict: VIP \"old\" has 10.0.0.100 tcp port 80 already"}`:     `vip web: conflict: VIP "old" has 10.0.0.100 tcp port 80 already`,
	} {
		f := applyAPI(t)
		f.answers["PUT /api/v1/vips/web"] = answer{http.StatusConflict, detail}
		result{1, "", "evenflow: " + want + "\n"}.check(t,
			command(t, f.URL, "{name: web, address: 10.0.0.100, protocol: tcp, port: 80}", "apply", "-f", "-"))
	}
}

// A refused VIP does not stop the others, but nothing is pruned then.
func TestApplyGoesOnAfterError(t *testing.T) {
	f := applyAPI(t)
	f.answers["PUT /api/v1/vips/web"] = answer{http.StatusConflict, `{"detail":"conflict"}`}
	result{1, "vip dns kept: the server's configuration file declares it\nvip taken deleted\nvip new created\n",
		"evenflow: vip web: conflict\nnot pruned after that: old\n"}.check(t, command(t, f.URL, declared, "apply", "-f", "-", "--prune"))
}

func TestApplyChecksFilesFirst(t *testing.T) {
	f := applyAPI(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, bad := write("good.yaml", declared), write("bad.yaml", "name: x\naddress: 10.0.0.1\nprotocol: tcp\nport: 70000\nbackend: []\n")
	result{1, "", "evenflow: " + bad + ":5: backend: unknown key; want one of name, address, protocol, port, mode, scheduler, idle_timeout, " +
		"gateways, handover, handover_idle, handover_rate, affinity, health, drain_timeout, reject, on_imbalance, backends\n"}.check(t, command(t, f.URL, "", "apply", "-f", good, "-f", bad))
	bad = write("bad.yaml", "name: x\naddress: 10.0.0.1\nprotocol: tcp\nport: 70000\nscheduler: best\nmode: nat\n")
	result{1, "", "evenflow: " + bad + ":4: port: 70000: want 1 to 65535, or a range such as \"8000-8010\"\n" + bad +
		":5: scheduler: best: want one of two-choices, round-robin, weighted-round-robin, least-connections, source-hash, greedy, roulette, sticky-roulette\n"}.check(t,
		command(t, f.URL, "", "apply", "-f", good, "-f", bad))
	twice := write("twice.yaml", declared)
	result{1, "", "evenflow: " + twice + ": vip \"web\" is also declared in " + good + "\n"}.check(t, command(t, f.URL, "", "apply", "-f", good, "-f", twice))
	if len(f.requests) != 0 {
		t.Errorf("sent %v", f.requests)
	}
}
