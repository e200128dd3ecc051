package vip

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, text string) Spec {
	t.Helper()
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

const webText = `{"name":"web","address":"10.0.0.100","protocol":"tcp","port":80,"mode":"nat","backends":[
	{"name":"b1","address":"10.0.0.1"},{"name":"b2","address":"10.0.0.2","port":8080,"weight":0}]}`

func TestNormalizeWritesDefaults(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"tcp", webText, `{"name":"web","address":"10.0.0.100","protocol":"tcp","port":"80","mode":"nat","scheduler":"two-choices",
			"idle_timeout":"1h0m0s","health":{"type":"none"},"drain_timeout":"5m0s","reject":"answer","on_imbalance":"alarm","backends":[
			{"name":"b1","address":"10.0.0.1","weight":1,"admin":"enabled"},
			{"name":"b2","address":"10.0.0.2","port":8080,"weight":0,"admin":"enabled"}]}`},
		{"no mode", `{"name":"a","address":"10.0.0.100","protocol":"udp","port":53}`,
			`{"name":"a","address":"10.0.0.100","protocol":"udp","port":"53","mode":"group","health":{"type":"none"},"drain_timeout":"5m0s","reject":"answer","on_imbalance":"alarm","backends":[]}`},
		{"udp, no backends", `{"name":"dns","address":"10.0.0.100","protocol":"udp","port":"053","mode":"nat"}`,
			`{"name":"dns","address":"10.0.0.100","protocol":"udp","port":"53","mode":"nat","scheduler":"two-choices",
			"idle_timeout":"1m0s","health":{"type":"none"},"drain_timeout":"5m0s","reject":"answer","on_imbalance":"alarm","backends":[]}`},
		{"what stands stays", `{"name":"a","address":"10.0.0.100","protocol":"tcp","port":"8000-8010","mode":"nat","scheduler":"source-hash",
			"idle_timeout":"5s","health":{"type":"none"},"drain_timeout":"1s","reject":"drop","gateways":[],"affinity":{"timeout":"0s"},"backends":[]}`,
			`{"name":"a","address":"10.0.0.100","protocol":"tcp","port":"8000-8010","mode":"nat","scheduler":"source-hash",
			"idle_timeout":"5s","health":{"type":"none"},"drain_timeout":"1s","reject":"drop","on_imbalance":"alarm","backends":[]}`},
		{"probes", `{"name":"a","address":"10.0.0.100","protocol":"tcp","port":80,"mode":"group","health":{"type":"tcp"}}`,
			`{"name":"a","address":"10.0.0.100","protocol":"tcp","port":"80","mode":"group",
			"health":{"type":"tcp","interval":"2s","timeout":"1s","rise":2,"fall":3},"drain_timeout":"5m0s","reject":"answer","on_imbalance":"alarm","backends":[]}`},
		{"fast probes", `{"name":"a","address":"10.0.0.100","protocol":"udp","port":80,"mode":"group",
			"health":{"type":"arp","interval":"500ms","rise":1}}`,
			`{"name":"a","address":"10.0.0.100","protocol":"udp","port":"80","mode":"group",
			"health":{"type":"arp","interval":"500ms","timeout":"500ms","rise":1,"fall":3},"drain_timeout":"5m0s","reject":"answer","on_imbalance":"alarm","backends":[]}`},
		{"a range of one", `{"name":"a","address":"10.0.0.100","protocol":"tcp","port":"80-80","mode":"nat"}`,
			`{"name":"a","address":"10.0.0.100","protocol":"tcp","port":"80","mode":"nat","scheduler":"two-choices",
			"idle_timeout":"1h0m0s","health":{"type":"none"},"drain_timeout":"5m0s","reject":"answer","on_imbalance":"alarm","backends":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Normalize(parse(t, tt.in))
			if diff := cmp.Diff(parse(t, tt.want), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if err := Validate(got); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(got, Normalize(got)); diff != "" {
				t.Errorf("normalising twice differs:\n%s", diff)
			}
		})
	}
}

func TestNormalizeSharesNothing(t *testing.T) {
	in := parse(t, webText)
	out := Normalize(in)
	out.Backends[0].Name = "changed"
	*out.Backends[1].Weight = 7
	if in.Backends[0].Name != "b1" || *in.Backends[1].Weight != 0 || in.Backends[0].Weight != nil {
		t.Errorf("the input has changed: %+v", in.Backends)
	}
}

func TestValidate(t *testing.T) {
	long := strings.Repeat("a", 64)
	tests := []struct{ change, want string }{
		{`"name":""`, `name: want 1 to 63 of a-z, 0-9, '.', '_' and '-', the first a letter or digit`},
		{`"name":"Web"`, `name: Web: want 1 to 63 of`},
		{`"name":"-web"`, `name: -web: want`},
		{`"name":"` + long + `"`, `name: ` + long + `: want`},
		{`"name":"web\n"`, `name: web`},
		{`"name":"a.b_c-9"`, ``},
		{`"address":""`, `address: want an IP address such as 10.0.0.100 or fd00::100`},
		{`"address":"10.0.0.256"`, `address: 10.0.0.256: want an IP address`},
		{`"address":"2001:db8::1"`, ``},
		{`"address":"2001:DB8:0:0::0001","backends":[{"name":"b","address":"2001:db8::2"}]`, ``},
		{`"address":"2001:db8::1","backends":[{"name":"b","address":"2001:DB8::0:1"}]`, `backends[0].address: 2001:db8::1: is the VIP's own address`},
		{`"address":"2001:db8::1","backends":[{"name":"b","address":"10.0.0.1"}]`,
			`backends[0].address: 10.0.0.1: a backend has the address family of its VIP, IPv6`},
		{`"address":"2001:db8::1","backends":[{"name":"b","address":"fe80::1"}]`, `backends[0].address: fe80::1: want an address that is not link-local`},
		{`"address":"::ffff:10.0.0.1"`, `address: ::ffff:10.0.0.1: want an IPv4 address as such: 10.0.0.1`},
		{`"address":"fe80::1"`, `want an address that is not link-local`},
		{`"address":"fd00::1%eth0"`, `unicast`},
		{`"address":"ff02::1"`, `unicast`},
		{`"address":"::"`, `unicast`},
		{`"address":"::1"`, `unicast`},
		{`"address":"224.0.0.1"`, `address: 224.0.0.1: want a unicast address`},
		{`"address":"0.0.0.0"`, `unicast`},
		{`"address":"127.0.0.1"`, `unicast`},
		{`"address":"255.255.255.255"`, `unicast`},
		{`"protocol":""`, `protocol: want one of tcp, udp`},
		{`"protocol":"sctp"`, `protocol: sctp: want one of tcp, udp`},
		{`"port":0`, `port: 0: want 1 to 65535, or a range`},
		{`"port":65536`, `port: 65536: want`},
		{`"port":65535`, ``}, // Floodlight parsed ports as signed 16 bits
		{`"port":"32768-65535"`, ``},
		{`"port":"90-80"`, `port: 90-80: want`},
		{`"port":"80-"`, `port: 80-: want`},
		{`"port":"http"`, `port: http: want`},
		{`"port":-1`, `port: -1: want`},
		{`"mode":"fast"`, `mode: fast: want one of nat, group, deferred, othello`},
		{`"scheduler":"best"`, `scheduler: best: want one of two-choices, round-robin, weighted-round-robin, least-connections, source-hash`},
		{`"idle_timeout":"4s"`, `idle_timeout: 4s: want whole seconds from 5s to 65535s`},
		{`"idle_timeout":"65536s"`, `idle_timeout: 18h12m16s: want`},
		{`"idle_timeout":"65535s"`, ``},
		{`"idle_timeout":"5500ms"`, `idle_timeout: 5.5s: want whole seconds`},
		{`"idle_timeout":"-1s"`, `idle_timeout: -1s: want`},
		{`"on_imbalance":"panic"`, `on_imbalance: panic: want one of alarm, reweight`},
		{`"on_imbalance":"reweight","backends":[{"name":"b1","address":"10.0.0.1","weight":10}]`, ``},
		{`"on_imbalance":"reweight","backends":[{"name":"b1","address":"10.0.0.1","weight":0}]`, ``},
		{`"on_imbalance":"reweight","backends":[{"name":"b1","address":"10.0.0.1","weight":3}]`, `backends[0].weight: 3: is too little to be moved in steps`},
		{`"on_imbalance":"reweight","scheduler":"round-robin"`, `on_imbalance: reweight: scheduler round-robin goes by no weights`},
		{`"on_imbalance":"reweight","scheduler":"roulette"`, `on_imbalance: reweight: scheduler roulette goes by no weights`},
		{`"on_imbalance":"reweight","mode":"group","scheduler":"","backends":[{"name":"b1","address":"10.0.0.1","weight":10}]`, ``},
		{`"on_imbalance":"reweight","mode":"group","protocol":"udp","scheduler":""`, `on_imbalance: reweight: goes by live connections; of udp in mode group nobody knows them`},
		{`"backends":[{"name":"b1","address":"10.0.0.1","capacity":-1}]`, `backends[0].capacity: -1: want Mbit/s, more than 0`},
		{`"backends":[{"name":"b1","address":"10.0.0.1","capacity":1e8}]`, `backends[0].capacity: 1e+08: want Mbit/s`},
		{`"backends":[{"name":"b1","address":"10.0.0.1","capacity":2.5}]`, ``},
		{`"reject":"no"`, `reject: no: want one of answer, drop`},
		{`"drain_timeout":"-1s"`, `drain_timeout: -1s: want at least 1s`},
		{`"gateways":["0000000000000001"]`, `gateways: [0000000000000001]: means nothing in mode nat`},
		// Floodlight stored health checks and persistence and never read them.
		{`"affinity":{"timeout":"30s"}`, ``},
		{`"affinity":{"timeout":"24h"}`, ``},
		{`"mode":"group","affinity":{"timeout":"1s"}`, ``},
		{`"mode":"group","affinity":{"timeout":"999ms"}`, `affinity.timeout: 999ms: want whole seconds from 1s to 24h`},
		{`"affinity":{"timeout":"1500ms"}`, `affinity.timeout: 1.5s: want whole seconds from 1s to 24h`},
		{`"affinity":{"timeout":"25h"}`, `affinity.timeout: 25h0m0s: want whole seconds from 1s to 24h`},
		{`"affinity":{"timeout":"-1s"}`, `affinity.timeout: -1s: want`},
		{`"health":{"type":"http"}`, `health.type: http: want one of none, arp, icmp, tcp`},
		{`"protocol":"udp","health":{"type":"tcp"}`, `health.type: tcp: a VIP of UDP has no port to connect to; want none, arp or icmp`},
		{`"health":{"type":"arp","interval":"100ms"}`, `health.interval: 100ms: want 200ms to 1h0m0s`},
		{`"health":{"type":"arp","interval":"2h"}`, `health.interval: 2h0m0s: want 200ms to 1h0m0s`},
		{`"health":{"type":"icmp","interval":"1s","timeout":"2s"}`, `health.timeout: 2s: want 50ms to the interval, 1s`},
		{`"health":{"type":"icmp","timeout":"1ms"}`, `health.timeout: 1ms: want 50ms to the interval, 2s`},
		{`"health":{"type":"icmp","rise":-1}`, `health.rise: -1: want 1 to 100`},
		{`"health":{"type":"icmp","fall":101}`, `health.fall: 101: want 1 to 100`},
		{`"health":{"type":"none","rise":2}`, `health: none: interval, timeout, rise and fall mean nothing`},
		{`"backends":[{"name":"b","address":"10.0.0.100"}]`, `backends[0].address: 10.0.0.100: is the VIP's own address`},
		{`"backends":[{"name":"b","address":"2001:db8::1"}]`, `backends[0].address: 2001:db8::1: a backend has the address family of its VIP, IPv4`},
		{`"backends":[{"name":"b","address":"239.0.0.1"}]`, `backends[0].address: 239.0.0.1: want a unicast`},
		{`"backends":[{"name":"B","address":"10.0.0.1"}]`, `backends[0].name: B: want`},
		{`"backends":[{"name":"b","address":"10.0.0.1","weight":256}]`, `backends[0].weight: 256: want 0 (drains) to 255`},
		{`"backends":[{"name":"b","address":"10.0.0.1","weight":-1}]`, `backends[0].weight: -1: want`},
		{`"backends":[{"name":"b","address":"10.0.0.1","weight":255,"port":65535}]`, ``},
		{`"backends":[{"name":"b","address":"10.0.0.1","admin":"off"}]`, `backends[0].admin: off: want one of enabled, draining, disabled`},
		{`"backends":[{"name":"b","address":"10.0.0.1"},{"name":"b","address":"10.0.0.2"}]`, `backends[1].name: b: is also the name of backends[0]`},
		{`"backends":[{"name":"a","address":"10.0.0.1","port":8080},{"name":"b","address":"10.0.0.1","port":8080}]`,
			`backends[1].port: 8080: backends[0] is the same address and port`},
		{`"backends":[{"name":"a","address":"10.0.0.1"},{"name":"b","address":"10.0.0.1","port":80}]`,
			`backends[1].port: 80: backends[0] has the same address and listens on the same port`},
		{`"backends":[{"name":"a","address":"10.0.0.1","port":80},{"name":"b","address":"10.0.0.1"}]`,
			`backends[1].port: 0: backends[0] has the same address and listens on the same port`},
		{`"backends":[{"name":"a","address":"10.0.0.1"},{"name":"b","address":"10.0.0.1","port":81}]`, ``},
		{`"backends":[]`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.change, func(t *testing.T) {
			s := parse(t, webText)
			if strings.Contains(tt.change, "backends") || strings.Contains(tt.change, "2001:db8::1") {
				s.Backends = nil // or JSON would be read over the old ones
			}
			if err := json.Unmarshal([]byte("{"+tt.change+"}"), &s); err != nil {
				t.Fatal(err)
			}
			err := Validate(Normalize(s))
			var e FieldErrors
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && !errors.As(err, &e):
				t.Errorf("got %v, want FieldErrors", err)
			case tt.want != "" && (len(e) != 1 || !strings.Contains(e[0].Error(), tt.want)):
				t.Errorf("got %v\nwant %s", e, tt.want)
			}
		})
	}
}

// changed fails the test unless a VIP of a mode with a change is refused for one field, as wanted, or valid if nothing is.
func changed(t *testing.T, mode Mode, change, want string) {
	t.Helper()
	s := parse(t, webText)
	s.Mode = mode
	if strings.Contains(change, "backends") {
		s.Backends = nil
	}
	if err := json.Unmarshal([]byte("{"+change+"}"), &s); err != nil {
		t.Fatal(err)
	}
	err := Validate(Normalize(s))
	var e FieldErrors
	if want == "" && err != nil || want != "" && (!errors.As(err, &e) || len(e) != 1 || !strings.Contains(e[0].Error(), want)) {
		t.Errorf("%s: got %v\nwant %s", change, err, want)
	}
}

// What mode nat alone acts upon is refused, by its name, in mode group; and a group has its limit.
func TestValidateGroup(t *testing.T) {
	const three = `"backends":[{"name":"a","address":"10.0.0.1","weight":255},{"name":"b","address":"10.0.0.2","weight":255},
		{"name":"c","address":"10.0.0.3","weight":%d}]`
	heavy := func(n int) string {
		all := make([]string, 0, n)
		for i := range n {
			all = append(all, fmt.Sprintf(`{"name":"b%d","address":"10.0.1.%d","weight":130}`, i, i+1))
		}
		return `"backends":[` + strings.Join(all, ",") + `]`
	}
	for _, tt := range []struct{ change, want string }{
		{`"port":"8000-8010"`, ``},
		{fmt.Sprintf(three, 255), ``},
		{heavy(8), ``},
		{heavy(9), `backends: 1170: is their weight in all; in mode group want at most 1100`},
		{`"scheduler":"round-robin"`, `scheduler: round-robin: means nothing in mode group`},
		{`"idle_timeout":"1h"`, `idle_timeout: 1h0m0s: means nothing in mode group`},
		{`"gateways":["0000000000000001"]`, `gateways: [0000000000000001]: means nothing in mode group`},
	} {
		changed(t, ModeGroup, tt.change, tt.want)
	}
}

func TestValidateNamesAllAtOnce(t *testing.T) {
	s := parse(t, `{"name":"web","address":"10.0.0.100","protocol":"tcp","port":"x","mode":"nat","scheduler":"best","backends":[
		{"name":"b1","address":"10.0.0.1"},{"name":"b1","address":"nowhere","weight":999}]}`)
	var e FieldErrors
	if !errors.As(Validate(Normalize(s)), &e) {
		t.Fatal("not refused")
	}
	var fields []string
	for _, f := range e {
		fields = append(fields, f.Field)
	}
	want := []string{"port", "scheduler", "backends[1].name", "backends[1].weight", "backends[1].address"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestValidateLimitsBackends(t *testing.T) {
	s := parse(t, webText)
	s.Backends = nil
	for i := range MaxBackends {
		s.Backends = append(s.Backends, BackendSpec{Name: fmt.Sprint("b", i), Address: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)})
	}
	if err := Validate(Normalize(s)); err != nil {
		t.Error(err)
	}
	s.Backends = append(s.Backends, BackendSpec{Name: "last", Address: "10.2.0.1"})
	if err := Validate(Normalize(s)); err == nil || err.Error() != "backends: 4097: at most 4096" {
		t.Error(err)
	}
}

func TestValidateDeferred(t *testing.T) {
	for _, tt := range []struct{ change, want string }{
		{`"handover":1`, ``},
		{`"handover":48,"handover_idle":"1s"`, ``},
		{`"handover":-1`, `handover: -1: is how many generations of backends are kept; want 1 (no hand-over) to 48`},
		{`"handover":49`, `handover: 49: is how many generations`},
		{`"handover_idle":"10ms"`, `handover_idle: 10ms: want at least 1s`},
		{`"handover_rate":10000000`, ``},
		{`"handover_rate":10000001`, `handover_rate: 10000001: is packets a second; want 1 to 10000000`},
		{`"handover_rate":-1`, `handover_rate: -1: is packets`},
		{`"affinity":{"timeout":"1m"}`, ``},
		{`"affinity":{"timeout":"1ms"}`, `affinity.timeout: 1ms: want whole seconds`},
		{`"mode":"othello","affinity":{"timeout":"1m"}`, `affinity.timeout: 1m0s: mode othello hashes whole connections`},
		{`"scheduler":"round-robin"`, `scheduler: round-robin: means nothing in mode deferred`},
		{`"idle_timeout":"1h"`, `idle_timeout: 1h0m0s: means nothing in mode deferred`},
		{`"port":"8000-8010","backends":[{"name":"b1","address":"10.0.0.1"}]`, ``},
		{`"port":"8000-8010","backends":[{"name":"b1","address":"10.0.0.1","port":80}]`, `backends[0].port: 80: a VIP of mode deferred with several ports keeps them`},
		{`"mode":"group","handover":3`, `handover: 3: means nothing in mode group`},
		{`"mode":"nat","handover_rate":9`, `handover_rate: 9: means nothing in mode nat`},
		{`"mode":"nat","handover_idle":"1m"`, `handover_idle: 1m0s: means nothing in mode nat`},
	} {
		changed(t, ModeDeferred, tt.change, tt.want)
	}
}

func TestValidateGateways(t *testing.T) {
	for _, tt := range []struct{ change, want string }{
		{`"gateways":["0000000000000001","00000000000000ff"]`, ``},
		{`"gateways":["1"]`, `gateways[0]: 1: want the datapath id of a switch, 16 hexadecimal digits`},
		{`"gateways":["00000000000000FF"]`, `gateways[0]: 00000000000000FF: want the datapath id`},
		{`"gateways":["0000000000000001","0000000000000001"]`, `gateways[1]: 0000000000000001: is named twice`},
	} {
		changed(t, ModeDeferred, tt.change, tt.want)
	}
}
