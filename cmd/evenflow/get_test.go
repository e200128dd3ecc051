package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

const webRead = `{"name":"web","address":"10.0.0.100","protocol":"tcp","port":"80","mode":"nat","scheduler":"two-choices","idle_timeout":"1h0m0s",
	"health":{"type":"tcp","interval":"2s","timeout":"1s","rise":2,"fall":3},"drain_timeout":"5m0s","backends":[
	{"name":"b1","address":"10.0.0.1","port":8080,"weight":1,"admin":"enabled"},
	{"name":"b2","address":"10.0.0.2","weight":3,"admin":"enabled"},
	{"name":"b3","address":"10.0.0.3","weight":0,"admin":"draining"}],
	"version":7,"origin":"api","status":{"phase":"degraded","reason":"1 of 2 backends up: 1 down","applied":[
	{"dpid":"0000000000000001","version":7,"error":""},{"dpid":"0000000000000002","version":6,"error":"table full"}],"backends":[
	{"name":"b1","state":"up","reason":"","since":"2026-05-01T11:00:00Z","connections":12,"new_connections":340,"share":1},
	{"name":"b2","state":"down","reason":"port 3 of switch 0000000000000002 is down","since":"2026-05-01T11:59:18Z","connections":3,"new_connections":9,"share":0},
	{"name":"b3","state":"draining","reason":"weight 0","since":"2026-04-28T12:00:00Z","connections":null,"new_connections":2,"share":0,
	"drain":{"since":"2026-05-01T11:56:00Z","ends":"2026-05-01T12:01:00Z"}}]}}`

const dnsRead = `{"name":"dns","address":"10.0.0.100","protocol":"udp","port":"53-54","mode":"nat","scheduler":"source-hash","idle_timeout":"1m0s",
	"backends":[],"affinity":{"timeout":"10m0s"},"reject":"drop","on_imbalance":"reweight",
	"version":1,"origin":"file","status":{"phase":"down","reason":"no backends","applied":[],"backends":[]}}`

const gatewayRead = `{"name":"far","address":"10.0.0.102","protocol":"tcp","port":"80","mode":"deferred","gateways":["0000000000000001","0000000000000002"],
	"backends":[{"name":"b1","address":"10.8.0.5","port":8080}],"version":2,"origin":"api","status":{"phase":"up","reason":"","applied":[],"backends":[
	{"name":"b1","state":"up","reason":"","via":"10.0.0.1","since":"2026-05-01T11:00:00Z","connections":null,"new_connections":0,"share":1}],
	"handover":{"step":"flip","generation":9,"generations":3,"pins":1007,"cells":2820,"settle_time":"412ms","waiting":"for switch 0000000000000002"}}}`

const switchesRead = `{"items":[
	{"dpid":"0000000000000001","connected":true,"ready":true,"openflow":"1.5","hash":"murmur","address":"127.0.0.1:40000","since":"2026-05-01T10:30:00Z","error":"",
	"rules":42,"packet_ins":1000,"packet_ins_dropped":3,"drops":[{"reason":"VIP source at an edge","packets":5},{"reason":"marker","packets":0}],"warnings":[]},
	{"dpid":"0000000000000002","connected":false,"ready":false,"openflow":"","address":"","since":"2026-05-01T11:59:00Z","error":"echo timed out\u001b[31m",
	"rules":0,"drops":[{"reason":"VIP source at an edge","packets":2}],"warnings":["no Nicira extensions"]}]}`

const imbalanceRead = `{"name":"web","kind":"vip","verdict":"imbalanced","reason":"50 % from its fair share, p 8e-07","since":"2026-05-01T11:59:00Z",
	"top":"b1","streak":3,"mode":"robust","tested":"2026-05-01T11:59:59Z","f":19.25,"df1":1,"df2":26.5,"p":8e-7,"effect_size":0.5,"gate":0.2,
	"autocorrelation":0.25,"effective_samples":36,"window":{"samples":60,"size":60,"step":10,"interval":1,"restarted":"2026-05-01T11:30:00Z","reason":"begun"},
	"ports":[{"name":"b1","dpid":"0000000000000001","port_no":1,"compared":true,"reason":"","capacity":1,"mean":3e6,"deviation":0.5,"samples":[3e6,null]},
	{"name":"b2","dpid":"0000000000000001","port_no":2,"compared":true,"reason":"","capacity":1,"mean":1e6,"deviation":-0.5},
	{"name":"b3","dpid":"0000000000000002","port_no":1,"compared":false,"reason":"down","capacity":1,"mean":null,"deviation":null}],
	"matrix":[["","**"],["**",""]],"pairs":[{"a":"b1","b":"b2","difference":1,"p":8e-7,"mark":"**"}]}`

const untestedRead = `{"name":"dns","kind":"vip","verdict":"undecided","reason":"7 of 60 samples","since":"2026-05-01T11:59:53Z","top":"","streak":0,
	"mode":"robust","tested":null,"f":null,"df1":null,"df2":null,"p":null,"effect_size":null,"gate":0.2,
	"window":{"samples":7,"size":60,"step":10,"interval":1,"restarted":"2026-05-01T11:59:53Z","reason":"begun"},
	"ports":[{"name":"b1","dpid":"0000000000000000","port_no":0,"compared":false,"reason":"not heard yet","capacity":1,"mean":null,"deviation":null}],
	"matrix":[],"pairs":[]}`

func reads() map[string]answer {
	return map[string]answer{
		"GET /api/v1/vips":       {body: `{"items":[` + webRead + `,` + dnsRead + `]}`},
		"GET /api/v1/vips/web":   {body: webRead},
		"GET /api/v1/vips/a%2Fb": {body: dnsRead},
		"GET /api/v1/vips/far":   {body: gatewayRead},
		"GET /api/v1/switches":   {body: switchesRead},
		"GET /api/v1/switches/0000000000000001/ports": {body: `{"items":[
			{"port_no":1,"name":"s1-eth1","kind":"edge","rx_bps":0,"tx_bps":1234567,"rx_packets":10,"tx_packets":20,"errors":0,"up":true,"live":true},
			{"port_no":2,"name":"s1\teth2","kind":"link","rx_bps":999,"tx_bps":5e9,"up":false}]}`},
		"GET /api/v1/switches/0000000000000001/flows": {body: `{"items":[{"text":"table=0, priority=1 actions=drop","packets":5}]}`},
		"GET /api/v1/hosts": {body: `{"items":[
			{"mac":"02:00:00:00:00:01","addresses":["10.0.0.1","10.0.0.9"],"dpid":"0000000000000001","port_no":1,"live":true},
			{"mac":"02:00:00:00:00:02","addresses":[],"dpid":"0000000000000002","port_no":3,"live":false}]}`},
		"GET /api/v1/agents": {body: `{"items":[{"host":"10.0.0.1","connected":true,"reason":"","tcp":12,"udp":3},
			{"host":"10.0.0.2","connected":false,"reason":"it has hung up","tcp":0,"udp":null}]}`},
		"GET /api/v1/links": {body: `{"items":[{"a":{"dpid":"0000000000000001","port_no":2},"b":{"dpid":"0000000000000002","port_no":10}}]}`},
		"GET /api/v1/vips/web/connections": {body: `{"items":[
			{"client":"10.0.0.9:40000","vip_port":80,"backend":"b1","dpid":"0000000000000001","since":"2026-05-01T11:59:00Z"}]}`},
		"GET /api/v1/events":             {body: `{"items":[{"id":1,"time":"2026-05-01T11:59:00Z","kind":"vip","subject":"web","message":"created"}]}`},
		"GET /api/v1/imbalance":          {body: `{"items":[` + imbalanceRead + `,` + untestedRead + `]}`},
		"GET /api/v1/vips/web/imbalance": {body: imbalanceRead},
		"GET /api/v1/vips/dns/imbalance": {body: untestedRead},
		"GET /api/v1/explain": {body: `{"vip":"web","mode":"group","dpid":"0000000000000001","backend":"b1","via":"10.0.0.1","reason":"","switches":[
			{"dpid":"0000000000000001","hash":"murmur","backend":"b1","reason":""},
			{"dpid":"0000000000000002","hash":"","backend":"","reason":"its hash is not known"}]}`},
		"GET /readyz": {body: `{"status":"ready"}`},
	}
}

// A reason that holds for all switches is said once.
func TestExplainSaysAReasonOnce(t *testing.T) {
	f := newFakeAPI(t, map[string]answer{"GET /api/v1/explain": {body: `{"vip":"web","mode":"nat","dpid":"","backend":"","reason":"nobody knows","switches":[
		{"dpid":"0000000000000001","hash":"","backend":"","reason":"nobody knows"},
		{"dpid":"0000000000000002","hash":"","backend":"","reason":"nobody knows"}]}`}})
	result{0, `connection  10.0.0.9:40000 to 10.0.0.100:80/tcp
vip         web, mode nat
client      not a known host: what all switches would choose
backend     - nobody knows

SWITCH            HASH  BACKEND  REASON
0000000000000001  -     -        as above
0000000000000002  -     -        as above
`, ""}.check(t, command(t, f.URL, "", "explain", "--src", "10.0.0.9:40000", "--dst", "10.0.0.100:80"))
}

func TestGetTables(t *testing.T) {
	f := newFakeAPI(t, reads())
	tests := []struct{ args, want string }{
		{"get vips", `
NAME  SERVICE               MODE  PHASE     UP   CONNECTIONS  VERSION  ORIGIN  REASON
web   10.0.0.100:80/tcp     nat   degraded  1/3  15           7        api     1 of 2 backends up: 1 down
dns   10.0.0.100:53-54/udp  nat   down      0/0  0            1        file    no backends
`},
		{"get agents", `
HOST      STATE      TCP  UDP       REASON
10.0.0.1  connected  12   3         -
10.0.0.2  gone       0    not told  it has hung up
`},
		{"get vip web", `
name          web
service       10.0.0.100:80/tcp
mode          nat two-choices
phase         degraded: 1 of 2 backends up: 1 down
version       7, declared by api
idle timeout  1h0m0s
health        tcp probes every 2s, timeout 1s, rise 2, fall 3

BACKEND  ADDRESS        WEIGHT  ADMIN     STATE     SINCE  CONNECTIONS  NEW  SHARE   REASON
b1       10.0.0.1:8080  1       enabled   up        60m    12           340  100.0%  -
b2       10.0.0.2       3       enabled   down      42s    3            9    0.0%    port 3 of switch 0000000000000002 is down
b3       10.0.0.3       0       draining  draining  3d     ?            2    0.0%    weight 0; what is left ends in 1m0s

SWITCH            CONFIRMED  ERROR
0000000000000002  6          table full
`},
		{"get vip a/b", `
name          dns
service       10.0.0.100:53-54/udp
mode          nat source-hash
phase         down: no backends
version       1, declared by file
idle timeout  1m0s
affinity      10m0s
reject        drop
on imbalance  reweight

BACKEND  ADDRESS  WEIGHT  ADMIN  STATE  SINCE  CONNECTIONS  NEW  SHARE  REASON
`},
		{"get vip far", `
name      far
service   10.0.0.102:80/tcp
mode      deferred
phase     up
version   2, declared by api
gateways  0000000000000001, 0000000000000002
handover  step flip, generation 9, 3 kept, 1007 pins in 2820 cells, the last change took 412ms: for switch 0000000000000002

BACKEND  ADDRESS                     WEIGHT  ADMIN  STATE  SINCE  CONNECTIONS  NEW  SHARE   REASON
b1       10.8.0.5:8080 via 10.0.0.1  1       -      up     60m    ?            0    100.0%  -
`},
		{"get switches", `
DPID              STATE  SINCE  OPENFLOW  HASH    ADDRESS          RULES  PACKET-INS  DROPPED  NOTE
0000000000000001  ready  90m    1.5       murmur  127.0.0.1:40000  42     1000        3        -
0000000000000002  away   60s    -         -       -                0      0           0        echo timed out?[31m; no Nicira extensions
`},
		{"get ports 1", `
PORT  NAME     KIND  STATE  RX         TX           RX-PACKETS  TX-PACKETS  ERRORS
1     s1-eth1  edge  up     0 bit/s    1.23 Mbit/s  10          20          0
2     s1?eth2  link  down   999 bit/s  5 Gbit/s     0           0           0
`},
		{"get flows 0x1", `
PACKETS  RULE
5        table=0, priority=1 actions=drop
`},
		{"get hosts", `
MAC                ADDRESSES          SWITCH            PORT  STATE
02:00:00:00:00:01  10.0.0.1,10.0.0.9  0000000000000001  1     live
02:00:00:00:00:02  -                  0000000000000002  3     silent
`},
		{"get links", `
A                 PORT  B                 PORT
0000000000000001  2     0000000000000002  10
`},
		{"get connections web", `
CLIENT          PORT  BACKEND  SWITCH            AGE
10.0.0.9:40000  80    b1       0000000000000001  60s
`},
		{"get imbalance", `
NAME  KIND  VERDICT     SINCE  F                P      EFFECT  STREAK  TOP  REASON
web   vip   imbalanced  60s    19.25 (1, 26.5)  8e-07  50%     3       b1   50 % from its fair share, p 8e-07
dns   vip   undecided   7s     -                -      -       0       -    7 of 60 samples
`},
		{"get imbalance web", `
name     web
verdict  imbalanced: 50 % from its fair share, p 8e-07
since    2026-05-01T11:59:00Z
test     mode robust, F 19.25 (1, 26.5), p 8e-07, effect 50% (gate 20%), 3 in a row
window   60 of 60 samples of 1s, tested each 10; begun 30m ago

PORT  SWITCH            NO  CAPACITY  MEAN      DEVIATION  REASON
b1    0000000000000001  1   1         3 Mbit/s  50%        -
b2    0000000000000001  2   1         1 Mbit/s  -50%       -
b3    0000000000000002  1   1         -         -          down

    b1  b2
b1  \   **
b2  **  \
`},
		{"get imbalance dns", `
name     dns
verdict  undecided: 7 of 60 samples
since    2026-05-01T11:59:53Z
test     mode robust, none yet
window   7 of 60 samples of 1s, tested each 10; begun 7s ago

PORT  SWITCH  NO  CAPACITY  MEAN  DEVIATION  REASON
b1    -       -   1         -     -          not heard yet
`},
		{"explain --src 10.0.0.9:40000 --dst 10.0.0.100:80", `
connection  10.0.0.9:40000 to 10.0.0.100:80/tcp
vip         web, mode group
client      at switch 0000000000000001
backend     b1 via 10.0.0.1

SWITCH            HASH    BACKEND  REASON
0000000000000001  murmur  b1       -
0000000000000002  -       -        its hash is not known
`},
		{"get events", `
ID  TIME                  KIND  SUBJECT  MESSAGE
1   2026-05-01T11:59:00Z  vip   web      created
`},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			result{0, tt.want[1:], ""}.check(t, command(t, f.URL, "", strings.Fields(tt.args)...))
		})
	}
	result{1, "", "evenflow: there is no /api/v1/vips/none\n"}.check(t, command(t, f.URL, "", "get", "vip", "none"))
}

func TestGetFormats(t *testing.T) {
	f := newFakeAPI(t, reads())
	got := command(t, f.URL, "", "get", "vips", "-o", "json")
	if compact(t, got.out) != compact(t, reads()["GET /api/v1/vips"].body) || !strings.HasPrefix(got.out, "{\n  \"items\": [\n") {
		t.Errorf("JSON is not the server's answer: %s", got.out)
	}
	got = command(t, f.URL, "", "get", "switches", "-o", "yaml")
	if !strings.HasPrefix(got.out, "items:\n- dpid: \"0000000000000001\"\n  connected: true\n") {
		t.Errorf("YAML: %s", got.out)
	}
	// Read again, the YAML is what the server said.
	back, err := yaml.YAMLToJSON([]byte(got.out))
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	for text, v := range map[string]*any{string(back): &a, switchesRead: &b} {
		if err := yaml.Unmarshal([]byte(text), v); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("-said +read again\n%s", diff)
	}
}

func TestGetRefusesNonsense(t *testing.T) {
	f := newFakeAPI(t, map[string]answer{"GET /api/v1/vips": {body: `[1,2`}, "GET /api/v1/links": {body: `{"items":3}`}})
	for _, args := range []string{"get vips -o json", "get vips", "get links"} {
		if got := command(t, f.URL, "", strings.Fields(args)...); got.code != 1 || !strings.Contains(got.err, "answer of "+f.URL) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// lines is a writer that hands over each line.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	for s := range strings.Lines(string(b)) {
		l <- s
	}
	return len(b), nil
}

func watch(t *testing.T, server string, out io.Writer, args ...string) (end func() int) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append(args, "--server", server, "--watch", "--interval", "1ms"),
			&terminal{nil, out, out, func(string) string { return "" }, func() time.Time { return now }})
	}()
	return func() int { cancel(); return <-done }
}

func TestWatchShowsChanges(t *testing.T) {
	f := newFakeAPI(t, map[string]answer{"GET /api/v1/links": {body: `{"items":[]}`}})
	out := make(lines)
	end := watch(t, f.URL, out, "get", "links")
	if got := <-out; got != "A  PORT  B  PORT\n" {
		t.Errorf("got %q", got)
	}
	f.mu.Lock()
	f.answers["GET /api/v1/links"] = reads()["GET /api/v1/links"]
	f.mu.Unlock()
	if a, b, c := <-out, <-out, <-out; a != "\n" || !strings.HasPrefix(b, "A     ") || !strings.HasPrefix(c, "0000000000000001  2 ") {
		t.Errorf("got %q %q %q", a, b, c)
	}
	if code := end(); code != 0 {
		t.Errorf("code %d", code)
	}
}

// An end in the midst of a request is an end like any other.
func TestWatchEndsDuringRequest(t *testing.T) {
	asked := make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- true
		<-r.Context().Done()
	}))
	defer s.Close()
	var out strings.Builder
	end := watch(t, s.URL, &out, "get", "links")
	<-asked
	if code := end(); code != 0 || out.String() != "" {
		t.Errorf("code %d, output %q", code, out.String())
	}
}

func TestWatchEvents(t *testing.T) {
	asked := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RawQuery + " " + r.Header.Get("Accept")
		io.WriteString(w, ": ping\n\nevent: lost\ndata: {\"lost\": 3}\n\nid: 8\ndata: {\"id\":8,\"time\":\"2026-05-01T11:59:00Z\","+ //nolint:errcheck
			"\"kind\":\"vip\",\"subject\":\"web\",\"message\":\"up\",\"origin\":\"api\"}\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler) // as when the controller is killed
	}))
	defer s.Close()
	out := make(lines)
	end := watch(t, s.URL, out, "get", "events", "--since", "7")
	for _, since := range []string{"7", "8"} { // the stream breaks off, and is opened again behind the last event
		if got, want := <-asked, "since="+since+" text/event-stream"; got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
		for _, want := range []string{"evenflow: events between are not kept any more: {\"lost\": 3}\n", "2026-05-01T11:59:00Z  vip  web  up (by api)\n",
			"evenflow: unexpected EOF\n"} {
			if got := <-out; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
	go func() {
		for range out { //nolint:revive // what still comes until the end
		}
	}()
	if code := end(); code != 0 {
		t.Errorf("code %d", code)
	}
	close(out)
}

func TestWatchEventsRefused(t *testing.T) {
	f := newFakeAPI(t, map[string]answer{"GET /api/v1/events": {401, `{"detail":"want Authorization: Bearer and the token"}`}})
	result{1, "", "evenflow: want Authorization: Bearer and the token\n"}.check(t, command(t, f.URL, "", "get", "events", "--watch"))
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Second: "0s", 0: "0s", 119 * time.Second: "119s", 2 * time.Minute: "2m",
		119 * time.Minute: "119m", 47 * time.Hour: "47h", 49 * time.Hour: "2d"} {
		if got := age(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
