package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/topo"
)

const whole = `# everything
openflow: [127.0.0.1:6653, "unix:/run/evenflow/s1.sock", "ssl:0.0.0.0:6654"]
openflow_tls: {cert: /etc/evenflow/cert.pem, key: /etc/evenflow/key.pem, ca: /etc/evenflow/switches.pem}
openflow_versions: ["1.5"]
http_tls: {cert: a.pem, key: b.pem}
http: 127.0.0.1:8081
data: /var/lib/evenflow
token_file: /etc/evenflow/token
allowed_hosts: [lb.example.net]
log: {level: debug, format: json}
ports:
  - {dpid: 0000000000000012, port_no: 1, kind: edge}   # digits alone are no number
  - dpid: "00000000000000a1"
    port_no: 2
    kind: link
    link: {dpid: 0000000000000001, port_no: 3}
routers:
  - {address: 10.0.0.254/24, gateway: 10.0.0.1}
  - address: fd00::fe/64
routes:
  - {network: 10.8.0.0/16, via: 10.0.0.1}
  - {network: "fd08::/48", via: "fd00::1"}
packet_in:
  vip: 9000
detector:
  mode: paper
  interval: 500ms
  alpha: 0.01
  gate: 1
  sets:
    - name: uplinks
      ports:
        - {dpid: 0000000000000001, port_no: 1, capacity: 2.5}
        - {dpid: 0000000000000001, port_no: 2}
vips:
  - name: web
    address: 10.0.0.100
    protocol: tcp
    port: 80
    mode: nat
    idle_timeout: 30s
    backends:
      - &b {name: b1, address: 10.0.0.1, port: 8080}
      - {name: b2, address: 10.0.0.2, weight: 0, admin: draining}
  - {name: dns, address: 10.0.0.100, protocol: udp, port: 53-54}
`

func TestParse(t *testing.T) {
	got, err := Parse("evenflow.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.OpenFlow = []string{"127.0.0.1:6653", "unix:/run/evenflow/s1.sock", "ssl:0.0.0.0:6654"}
	want.OpenFlowTLS = SwitchTLS{"/etc/evenflow/cert.pem", "/etc/evenflow/key.pem", "/etc/evenflow/switches.pem"}
	want.OpenFlowVersions = []string{"1.5"}
	want.HTTPTLS = Certificate{"a.pem", "b.pem"}
	want.HTTP, want.Data, want.TokenFile = "127.0.0.1:8081", "/var/lib/evenflow", "/etc/evenflow/token"
	want.Hosts = []string{"lb.example.net"}
	want.Log = Log{"debug", "json"}
	want.Ports = []Port{{DPID: 0x12, PortNo: 1, Kind: "edge"}, {DPID: 0xa1, PortNo: 2, Kind: "link", Link: &topo.PortID{DPID: 1, No: 3}}}
	want.Routers = []Router{{"10.0.0.254/24", "10.0.0.1"}, {Address: "fd00::fe/64"}}
	want.Routes = []Route{{"10.8.0.0/16", "10.0.0.1"}, {"fd08::/48", "fd00::1"}}
	want.PacketIn.VIP = 9000
	want.Detector.Mode, want.Detector.Interval, want.Detector.Alpha, want.Detector.Gate = "paper", vip.Duration(500e6), 0.01, 1
	want.Detector.Sets = []PortSet{{"uplinks", []WatchedPort{{DPID: 1, PortNo: 1, Capacity: 2.5}, {DPID: 1, PortNo: 2}}}}
	want.VIPs = []vip.Spec{
		{Name: "web", Address: "10.0.0.100", Protocol: vip.TCP, Port: "80", Mode: vip.ModeNAT, IdleTimeout: 30e9, Backends: []vip.BackendSpec{
			{Name: "b1", Address: "10.0.0.1", Port: 8080}, {Name: "b2", Address: "10.0.0.2", Weight: new(0), Admin: vip.Draining}}},
		{Name: "dns", Address: "10.0.0.100", Protocol: vip.UDP, Port: "53-54"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestParseEmptyIsDefault(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "vips:\n", "vips: []\n"} {
		got, err := Parse("f", []byte(text))
		if diff := cmp.Diff(Default(), got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const web = "vips:\n- name: web\n  address: 10.0.0.100\n  protocol: tcp\n  port: 80\n"
	const link = "ports:\n- dpid: 0000000000000001\n  port_no: 1\n  kind: link\n"
	tests := []struct{ text, want string }{
		{"opnflow: []", "f:1: opnflow: unknown key; want one of openflow, openflow_tls, openflow_versions, http, http_tls, data, token_file, allowed_hosts, log, ports, routers, routes, packet_in, detector, vips"},
		{"a: [", "f:1: sequence end token ']' not found"},
		{"http: 127.0.0.1:80\nhttp: 127.0.0.1:81", `f:2: mapping key "http" already defined at [1:1]`},
		{"http: x\n---\nhttp: y", "f:3: a second document; a configuration is one"},
		{"- a", "f:1: want keys: openflow, openflow_tls, openflow_versions, http,"},
		{"openflow: 127.0.0.1:6653", "f:1: openflow: want a list"},
		{"openflow:\n- 127.0.0.1:6653\n- nowhere", `f:3: openflow[1]: "nowhere": want HOST:PORT, such as 127.0.0.1:6653, ssl:HOST:PORT, or unix:PATH`},
		{"openflow: ['unix:']", `f:1: openflow[0]: "unix:": want a path, as in unix:PATH`},
		{"openflow_versions: ['1.4']", `f:1: openflow_versions[0]: "1.4": want one of 1.3, 1.5`},
		{"openflow_tls: {crt: x}", "f:1: openflow_tls.crt: unknown key; want one of cert, key, ca"},
		{"openflow: []", "f:1: openflow: want at least one address"},
		{"http: 127.0.0.1:65536", `f:1: http: "127.0.0.1:65536": want HOST:PORT, such as 127.0.0.1:8080`},
		{"http: [a]", "f:1: http: want text"},
		{"log:\n  level: loud", `f:2: log.level: "loud": want one of error, warn, info, debug`},
		{"log:\n  format: xml", `f:2: log.format: "xml": want one of text, json`},
		{"log: debug", "f:1: log: want keys: level, format"},
		{"packet_in:\n  vip: 0", "f:2: packet_in.vip: 0: want at least 1 packet per second"},
		{"packet_in:\n  vip: -1", "f:2: packet_in.vip: -1: want a whole number from 0 to 4294967295"},
		{"packet_in:\n  arp: 1", "f:2: packet_in.arp: unknown key; want one of lldp, neighbour, vip, other, reject"},
		{"detector: {mode: best}", `f:1: detector.mode: "best": want one of robust, paper, off`},
		{"detector:\n  interval: 0s", "f:2: detector.interval: 0s: want 100ms to 1m0s"},
		{"detector:\n  window: 7", "f:2: detector.window: 7: want 8 to 3600 samples in mode robust"},
		{"detector:\n  mode: paper\n  window: 1", "f:3: detector.window: 1: want 2 to 3600 samples in mode paper"},
		{"detector:\n  step: 0", "f:2: detector.step: 0: want 1 to 3600 samples"},
		{"detector:\n  alpha: 0", "f:2: detector.alpha: 0: want more than 0 and less than 1"},
		{"detector:\n  alpha: 1.0", "f:2: detector.alpha: 1: want more than 0 and less than 1"},
		{"detector:\n  alpha: .nan", "f:2: detector.alpha: .nan: want a number"},
		{"detector:\n  alpha: much", "f:2: detector.alpha: much: want a number"},
		{"detector:\n  gate: -1", "f:2: detector.gate: -1: want 0 to 10: a part of a port's fair share, such as 0.2"},
		{"detector:\n  gate_many: 11", "f:2: detector.gate_many: 11: want 0 to 10"},
		{"detector:\n  streak: 0", "f:2: detector.streak: 0: want 1 to 3600"},
		{"detector:\n  release: 0", "f:2: detector.release: 0: want 1 to 3600"},
		{"detector:\n  cool_down: -1", "f:2: detector.cool_down: -1: want 0 to 3600"},
		{"detector:\n  min_rate: -1", "f:2: detector.min_rate: -1: want a whole number from 0"},
		{"detector:\n  sets:\n  - name: a\n    ports: []", "f:4: detector.sets[0].ports: 0: want 2 to 1000 ports to compare"},
		{"detector:\n  sets:\n  - name: A\n    ports: [{dpid: 0000000000000001, port_no: 1}, {dpid: 0000000000000001, port_no: 2}]",
			`f:3: detector.sets[0].name: "A": want 1 to 63 of a-z`},
		{"detector:\n  sets:\n  - name: a\n    ports: [{dpid: 0000000000000001, port_no: 1}, {dpid: 0000000000000001, port_no: 1}]",
			"f:4: detector.sets[0].ports[1].port_no: detector.sets[0].ports[0] is the same port"},
		{"detector:\n  sets:\n  - name: a\n    ports: [{port_no: 1}, {dpid: 0000000000000001, port_no: 1}]",
			"f:4: detector.sets[0].ports[0].dpid: is needed: 16 hex digits"},
		{"detector:\n  sets:\n  - name: a\n    ports: [{dpid: 0000000000000001, port_no: 2, capacity: -1}, {dpid: 0000000000000001, port_no: 1}]",
			"f:4: detector.sets[0].ports[0].capacity: -1: want more than 0"},
		{"ports:\n- {port_no: 1, kind: edge}", "f:2: ports[0].dpid: is needed: 16 hex digits"},
		{"ports:\n- {dpid: 1, port_no: 1, kind: edge}", `f:2: ports[0].dpid: datapath id "1": want 16 hex digits`},
		{"ports:\n- dpid: 0000000000000001\n  kind: edge", "f:2: ports[0].port_no: 0: want the number of a port, 1 to 4294967039"},
		{"ports:\n- dpid: 0000000000000001\n  port_no: 1", `f:2: ports[0].kind: "": want one of edge, link`},
		{link + "  link: {dpid: 0000000000000001, port_no: 1}", "f:5: ports[0].link: is the port itself; want the port at the other end"},
		{link + "- {dpid: 0000000000000001, port_no: 1, kind: link}", "f:5: ports[1].port_no: ports[0] is the same port"},
		{"ports:\n- {dpid: 0000000000000001, port_no: 1, kind: edge, link: {dpid: 0000000000000002, port_no: 1}}",
			"f:2: ports[0].link: means nothing for kind edge; leave it out"},
		{"routers: [10.0.0.254]", "f:1: routers[0]: want keys: address, gateway"},
		{"routers:\n- address: 10.0.0.254", `f:2: routers[0].address: "10.0.0.254": want an address with the length of its network's prefix`},
		{"routers:\n- gateway: 10.0.0.1", `f:2: routers[0].address: "": want an address with`},
		{"routers:\n- address: 127.0.0.1/8", `f:2: routers[0].address: "127.0.0.1/8": want an address that a host can have`},
		{"routers:\n- address: 10.0.0.254/24\n  gateway: 10.0.1.1", `f:3: routers[0].gateway: "10.0.1.1": want another address of the network 10.0.0.0/24`},
		{"routers:\n- address: 10.0.0.254/24\n  gateway: 10.0.0.254", `f:3: routers[0].gateway: "10.0.0.254": want another`},
		{"routers:\n- address: 10.0.0.254/24\n  gateway: r1", `f:3: routers[0].gateway: "r1": want the address of a host`},
		{"routers:\n- address: fe80::fe/64\n  gateway: fe80::1", "f:3: routers[0].gateway: means nothing for a link-local address"},
		{"routers:\n- address: 10.0.0.254/24\n- address: 10.0.0.254/16", "f:3: routers[1].address: routers[0] has the same address"},
		{"routers:\n- {address: 10.0.0.254/24, gateway: 10.0.0.1}\n- {address: 10.0.0.253/24, gateway: 10.0.0.2}",
			"f:3: routers[1].gateway: routers[0] has a gateway for the same network"},
		{"routes:\n- network: 10.8.0.0/16", `f:2: routes[0].via: "": want the address of a host, such as 10.0.0.1`},
		{"routes:\n- via: 10.0.0.1", `f:2: routes[0].network: "": want a network, such as 10.8.0.0/16 or fd08::/48`},
		{"routes:\n- {network: 10.8.0.1/16, via: 10.0.0.1}", `f:2: routes[0].network: "10.8.0.1/16" has bits of a host; want 10.8.0.0/16`},
		{"routes:\n- {network: 224.0.0.0/8, via: 10.0.0.1}", `f:2: routes[0].network: "224.0.0.0/8": want a network that can be behind a router`},
		{"routes:\n- {network: 10.8.0.0/16, via: 'fd00::1'}", `f:2: routes[0].via: "fd00::1": want an address of the family of network 10.8.0.0/16`},
		{"routes:\n- {network: 'fd08::/48', via: 'fe80::1%eth0'}", `f:2: routes[0].via: "fe80::1%eth0": want the address of a host`},
		{"routes:\n- {network: 10.8.0.0/16, via: 255.255.255.255}", `f:2: routes[0].via: "255.255.255.255": want the address of a host`},
		{"routes:\n- {network: 10.0.0.0/8, via: 10.0.0.1}", "f:2: routes[0].via: 10.0.0.1 is behind itself; want a host of the layer-2 network, and if a route has that network, an address of it in routers"},
		{"routes:\n- {network: 10.8.0.0/16, via: 10.9.0.1}\n- {network: 10.9.0.0/16, via: 10.0.0.1}",
			"f:2: routes[0].via: 10.9.0.1 is behind 10.0.0.1, as routes say; want a host"},
		{"routes:\n- {network: 10.8.0.0/16, via: 10.0.0.1}\n- {network: 10.8.0.0/16, via: 10.0.0.2}", "f:3: routes[1].network: routes[0] has the same network"},
		{"routers:\n- address: 10.0.0.254/24\nroutes:\n- {network: 10.0.0.0/24, via: 10.1.0.1}",
			"f:4: routes[0].network: is the network of routers[0], whose hosts are behind nobody"},
		{"routers:\n- address: 10.0.0.254/24\nroutes:\n- {network: 10.0.0.128/25, via: 10.0.0.1}",
			"f:4: routes[0].network: has the address of routers[0], which is behind nobody"},
		{"routers:\n- address: 10.0.0.254/24\nroutes:\n- {network: 10.8.0.0/16, via: 10.0.0.254}",
			"f:4: routes[0].via: is the address of routers[0]; want that of a host"},
		{"routers:\n- {address: 10.0.0.254/24, gateway: 10.0.0.5}\nroutes:\n- {network: 10.0.0.0/28, via: 10.0.0.130}",
			"f:2: routers[0].gateway: 10.0.0.5 is behind 10.0.0.130, as routes say; want a host of the layer-2 network"},
		{web + "  mode: nat\n  scheduler: best", "f:7: vips[0].scheduler: best: want one of two-choices,"},
		{web + "  bakends: []", "f:6: vips[0].bakends: unknown key; want one of name, address, protocol, port,"},
		{web + "  idle_timeout: 30", `f:6: vips[0].idle_timeout: duration 30: want text such as "30s"`},
		{web + "  idle_timeout: soon", `f:6: vips[0].idle_timeout: duration "soon": want text such as "30s" or "5m"`},
		{web + "  backends:\n  - name: b\n    address: 10.0.0.1\n    port: 70000", "f:9: vips[0].backends[0].port: 70000: want a whole number from 0 to 65535"},
		{web + "  backends:\n  - name: b\n    address: 10.0.0.1\n    weight: 300", "f:9: vips[0].backends[0].weight: 300: want 0 (drains) to 255"},
		{web + "  backends:\n  - name: b", "f:7: vips[0].backends[0].address: want an IP address"},
		{web + "- name: web\n  address: 10.0.0.101\n  protocol: tcp\n  port: 80", `f:6: vips[1].name: "web" is also declared in line 2`},
		{web + "  backends: [*b]", "f:6: vips[0].backends[0]: there is no &b before *b"},
		{web + "  name2: !!str x", "f:6: vips[0].name2: unknown key"},
		{"vips:\n- name: !!str x", "f:2: vips[0].name: tag !!str: tags are not supported"},
	}
	for _, tt := range tests {
		_, err := Parse("f", []byte(tt.text))
		if errs, ok := err.(Errors); !ok || len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tt.want) {
			t.Errorf("%s\ngot  %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func TestParseNamesAllAtOnce(t *testing.T) {
	_, err := Parse("f", []byte("http: here\nlog: {level: loud}\nopenflow: []\n"))
	const want = `f:1: http: "here": want HOST:PORT, such as 127.0.0.1:8080
f:2: log.level: "loud": want one of error, warn, info, debug
f:3: openflow: want at least one address`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "tcp:127.0.0.53:6653": true, "[::1]:80": true, "localhost:80": true, "unix:/run/x": true, "ssl:127.0.0.1:6653": true,
		"ssl:10.0.0.1:6653": false,
		"0.0.0.0:80":        false, ":80": false, "[::]:80": false, "10.0.0.1:80": false, "example.net:80": false, "nonsense": false,
	} {
		if got := Loopback(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
