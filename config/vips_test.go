package config

import (
	"strings"
	"testing"
)

func TestVIPs(t *testing.T) {
	const a = "name: a\naddress: 10.0.0.100\nprotocol: tcp\nport: 80\n"
	const b = "name: b\naddress: 10.0.0.101\nprotocol: udp\nport: \"53\"\n"
	item := func(s string) string { return "- " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") + "\n" }
	tests := []struct{ name, text, want string }{
		{"one VIP", a, "a"},
		{"two documents", "---\n" + a + "---\n" + b, "a b"},
		{"a list", item(a) + item(b), "a b"},
		{"under vips", "vips:\n" + item(a) + item(b), "a b"},
		{"mixed", "vips:\n" + item(a) + "---\n" + b, "a b"},
		{"JSON", `{"name":"a","address":"10.0.0.100","protocol":"tcp","port":80,"backends":[{"name":"x","address":"10.0.0.1"}]}`, "a"},
		{"an empty list", "vips: []\n", ""},
		{"as read", a + "version: 7\norigin: api\nstatus: {phase: up, backends: [{name: x, state: up}]}\n", "a"},
		{"a list as read", "items:\n" + item(a+"version: 7\nstatus: {}\n") + item(b), "a b"},
		{"an alias", "vips:\n- &x {name: a, address: 10.0.0.100, protocol: tcp, port: 80, backends: [&y {name: x, address: 10.0.0.1}]}\n" +
			"- {name: b, address: 10.0.0.101, protocol: tcp, port: 80, backends: [*y]}\n", "a b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			specs, err := VIPs("f", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range specs {
				names = append(names, s.Name)
				if s.Scheduler != "" {
					t.Errorf("%s has got defaults, which are the server's to write", s.Name)
				}
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestVIPsErrors(t *testing.T) {
	const a = "name: a\naddress: 10.0.0.100\nprotocol: tcp\nport: 80\n"
	tests := []struct{ text, want string }{
		{"", "f: no VIPs: want a list under the key vips, or one VIP in each document"},
		{"# nothing\n", "f: no VIPs"},
		{a + "---\n" + a, `f:6: name: "a" is also declared in line 1`},
		{a + "---\nname: b\n", "f:6: address: want an IP address"},
		{"vips: 3\n", "f:1: vips: want a list"},
		{"just text\n", "f:1: want keys: name, address,"},
		{"vips: []\nvip: []\n", "f:2: vip: unknown key; want one of vips"},
		{a + "backends:\n- {name: b, address: 10.0.0.1, status: {}}", "f:6: backends[0].status: unknown key"},
		{"- name: a\n  port: x\n  address: 10.0.0.1\n  protocol: tcp", "f:2: [0].port: x: want 1 to 65535"},
		{a + "backends:\n- {name: b, address: 10.0.0.1}\n- {name: b, address: 10.0.0.2}", "f:7: backends[1].name: b: is also the name of backends[0]"},
	}
	for _, tt := range tests {
		_, err := VIPs("f", []byte(tt.text))
		if errs, ok := err.(Errors); !ok || len(errs) == 0 || !strings.HasPrefix(errs[0].Error(), tt.want) {
			t.Errorf("%q\ngot  %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func FuzzVIPs(f *testing.F) {
	f.Add(whole)
	f.Add("a: &x [*x]")
	f.Add("? a\n: b")
	f.Add("<<: {a: b}")
	f.Fuzz(func(t *testing.T, text string) {
		VIPs("f", []byte(text))  //nolint:errcheck // it must end and not panic
		Parse("f", []byte(text)) //nolint:errcheck
	})
}
